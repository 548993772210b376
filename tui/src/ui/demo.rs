//! `iosched --demo`: a simulated SSD with a reader (probe) and a greedy writer (hog), each in its own control group.
//! All of it is removed when the [`Demo`] is dropped, or by the guardian if this process is killed.

use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use iosched_experiment::workload::{self, Running, Workload, catalogue};
use iosched_host::safety::guardian::{self, Guardian};
use iosched_host::safety::journal::{Journal, TemporaryFiles};
use iosched_host::scratch::Scratch;
use iosched_result::types::scratch::model::DiskModel;

use super::state::action::KeyCommand;
use super::state::keymap::Keymap;

/// The device is in memory; small machines have at least twice as much to spare.
const SIZE_BYTES: u64 = 256 << 20;
/// Longer than anybody watches a demo.
const TIME: Duration = Duration::from_secs(24 * 3600);

/// The fields are dropped in this order.
pub struct Demo {
    running: Box<dyn Running>,
    _files: TemporaryFiles,
    scratch: Scratch,
    _guardian: Guardian,
}

impl Demo {
    /// The result must stay on the calling thread: when that thread ends, the kernel kills the workload.
    pub fn start(journal: &Journal, launcher: &Path) -> Result<Self> {
        let mut workload = catalogue::find("probe-hog")?;
        workload.check()?;
        let guardian = guardian::start_beside_a_screen(launcher, journal)?;
        let scratch = Scratch::create(DiskModel::Ssd, SIZE_BYTES, journal)?;
        let files = TemporaryFiles::create(journal, "demo")?;
        let running = workload.start(&workload::Execution {
            device_nodes: &[Path::new("/dev").join(scratch.device_name())],
            arm: None,
            disks: &[],
            index: 0,
            block: 0,
            seed: 1,
            ramp: Duration::ZERO,
            time: TIME,
            directory: files.path(),
            scratch_file: None,
            journal,
            launcher,
        })?;
        Ok(Demo {
            running,
            _files: files,
            scratch,
            _guardian: guardian,
        })
    }

    pub fn device_name(&self) -> String {
        self.scratch.device_name().to_owned()
    }

    /// The ids and labels of its control groups.
    pub fn labels(&self) -> Vec<(u64, String)> {
        self.running
            .cgroups()
            .into_iter()
            .map(|group| (group.id, group.label))
            .collect()
    }

    /// One sentence for the message line.
    pub fn text(&self, keys: &Keymap) -> String {
        let compares = keys.does(KeyCommand::Rotate, "compares the schedulers");
        let load = format!("probe reads a little, hog writes as fast as it can. {compares}");
        match self.scratch.fallback() {
            None => format!("Demo SSD: {load}"),
            Some(why) => format!("Demo on memory: {load}. No simulated SSD, because {why}"),
        }
    }
}
