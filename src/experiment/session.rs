//! Resources that an experiment holds on the real machine for its length. They are taken in one order, and given back in the
//! reverse one: the journal, the guardian that restores what the journal says if this process dies, then a simulated disk.

use std::path::PathBuf;

use anyhow::{Context, Result};
use iosched_host::preflight::Hold;
use iosched_host::safety::guardian::{self, Guardian};
use iosched_host::safety::journal::Journal;
use iosched_host::scratch::Scratch;
use iosched_host::system::device::{Device, Disks};
use iosched_result::types::scratch::spec::DiskSpec;
use iosched_result::types::scratch::truth::Truth;

use crate::machine::Resources;
use crate::workload::fio;
use crate::workload::participants::Participants;

/// Fields are dropped in the order in which they stand.
pub struct Session {
    scratch: Option<Scratch>,
    guardian: Guardian,
    launcher: PathBuf,
    journal: Journal,
}

impl Session {
    pub fn begin() -> Result<Session> {
        let journal = Journal::create()?;
        let launcher = std::env::current_exe().context("finding this program's own path")?;
        Ok(Session {
            scratch: None,
            guardian: guardian::start(&launcher, &journal)?,
            launcher,
            journal,
        })
    }

    /// Makes a simulated disk, of its usual size. Returns what to tell the user of it.
    pub fn make_scratch(&mut self, spec: DiskSpec) -> Result<Vec<String>> {
        let scratch = Scratch::create(spec, spec.usual_bytes(), &self.journal)?;
        let made = format!(
            "made {}: {}",
            scratch.device_names().join(", "),
            scratch.truth().text
        );
        let mounted = scratch.mount_point();
        let mounted = mounted.map(|point| format!("it is mounted at {}", point.display()));
        let why = scratch.fallback();
        let why = why.map(|why| {
            format!("it is a plain loop device on memory, without a simulated service time, because {why}")
        });
        self.scratch = Some(scratch);
        Ok([Some(made), mounted, why].into_iter().flatten().collect())
    }

    pub fn scratch(&self) -> Option<&Scratch> {
        self.scratch.as_ref()
    }

    /// The properties of the simulated disk.
    pub fn truth(&self) -> Option<Truth> {
        self.scratch().map(|scratch| scratch.truth().clone())
    }

    pub fn journal(&self) -> &Journal {
        &self.journal
    }

    pub fn guardian(&self) -> &Guardian {
        &self.guardian
    }

    /// All LUNs of the simulated disk, or what its file system stands on; None without one.
    pub fn scratch_disks(&self) -> Result<Option<Disks>> {
        let Some(scratch) = self.scratch() else {
            return Ok(None);
        };
        let names = match scratch.mount_point() {
            Some(point) => vec![point.display().to_string()],
            None => scratch.device_names().to_vec(),
        };
        let mut disks = Disks::resolve(&names)?.0;
        if names.len() > 1 || disks.members.len() > 1 {
            disks.named = vec![format!("scratch:{}", scratch.truth().spec())];
        }
        Ok(Some(disks))
    }

    /// For the rounds. `hold`: of the raw disk that the workload may overwrite. `control`: the disk that no arm touches.
    pub fn resources(
        &self,
        hold: Option<Hold>,
        control: Option<Device>,
        participants: Participants,
    ) -> Result<Resources<'_>> {
        Ok(Resources {
            scratch: self.truth(),
            hold,
            control,
            participants,
            guardian: &self.guardian,
            fio_version: fio::installed_version()?,
            journal: &self.journal,
            launcher: &self.launcher,
        })
    }
}
