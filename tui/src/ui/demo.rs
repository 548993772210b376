//! `iosched --demo`: a scratch SSD of its own with a reader (probe) and a greedy writer (hog) at work, each in its own
//! control group. All of it goes when the [`Demo`] is dropped, and the guardian sees to it when we are killed.

use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use iosched::guardian::{self, Guardian};
use iosched::journal::{Journal, TemporaryFiles};
use iosched::scratch::{Model, Scratch};
use iosched::workload::{self, Running, Workload, catalogue};

/// Small machines, too, have twice as much memory to spare.
const SIZE_BYTES: u64 = 256 << 20;
/// Longer than anybody looks.
const TIME: Duration = Duration::from_secs(24 * 3600);

/// Ended in the order of the fields.
pub struct Demo {
    running: Box<dyn Running>,
    _files: TemporaryFiles,
    scratch: Scratch,
    _guardian: Guardian,
}

impl Demo {
    /// Must live on the thread that called this: the kernel ends the workload with that.
    pub fn start(journal: &Journal, launcher: &Path) -> Result<Self> {
        let mut workload = catalogue::find("probe-hog")?;
        workload.check()?;
        let guardian = guardian::start(launcher, journal)?;
        let scratch = Scratch::create(Model::Ssd, SIZE_BYTES, journal)?;
        let files = TemporaryFiles::create(journal, "demo")?;
        let running = workload.start(&workload::Round {
            device_nodes: &[Path::new("/dev").join(scratch.device_name())],
            arm_label: "demo",
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

    /// Its control groups by id.
    pub fn labels(&self) -> Vec<(u64, String)> {
        self.running
            .cgroups()
            .into_iter()
            .map(|group| (group.id, group.label))
            .collect()
    }

    /// A sentence for people.
    pub fn text(&self) -> String {
        let load = "probe reads a little, hog writes all it can. F compares schedulers";
        match self.scratch.fallback() {
            None => format!("Demo SSD: {load}"),
            Some(why) => format!("Demo on memory: {load}. No simulated SSD, because {why}"),
        }
    }
}
