//! A run on a real disk with a bug in one of its stages: for tests of what a panic leaves behind.

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use iosched_experiment::machine::Resources;
use iosched_experiment::run::{Experiment, Observer};
use iosched_experiment::workload::participants::Participants;
use iosched_experiment::workload::properties::Properties;
use iosched_experiment::workload::{Execution, Running, Workload};
use iosched_files::interrupt;
use iosched_host::safety::journal::Journal;
use iosched_host::safety::{guardian, panics};
use iosched_host::system::device::Disks;
use iosched_result::statistics::stopping::Stopping;
use iosched_result::types::arm::Arm;
use iosched_result::types::outcome::{CgroupRef, Fixed, Outcome};
use iosched_result::types::plan::Turn;
use iosched_result::types::result::Design;
use iosched_result::types::result::{ResultFile, Round};
use iosched_result::types::scratch_place::ScratchPlace;

#[derive(Clone)]
struct Buggy(String);

impl Buggy {
    fn reached(&self, stage: &str) {
        assert!(self.0 != stage, "on purpose");
    }
}

impl Observer for Buggy {
    fn scratch_file_grows(&mut self, _: &ScratchPlace, _: u64) {}
    fn begin(&mut self, _: &ResultFile) {
        self.reached("preflight");
    }
    fn round_begins(&mut self, turn: &Turn, _: &Arm) {
        if turn.planned.index == 1 {
            self.reached("switch");
        }
    }
    fn trace_begins(&mut self, _: &Arm) {}
    fn waits(&mut self, _: &str) {}
    fn round_ends(&mut self, _: &ResultFile, _: &Round) {
        self.reached("between");
    }
}

impl Workload for Buggy {
    #[allow(clippy::unnecessary_literal_bound)] // The trait returns names that live as long as the workload.
    fn name(&self) -> &str {
        "buggy"
    }
    fn description(&self) -> serde_json::Value {
        serde_json::json!({ "kind": "buggy" })
    }
    fn properties(&self) -> Properties {
        Properties::new(Fixed::Work)
    }
    fn start(&mut self, _: &Execution<'_>) -> Result<Box<dyn Running>> {
        self.reached("start");
        Ok(Box::new(self.clone()))
    }
}

impl Running for Buggy {
    fn poll(&mut self) -> Result<Option<Outcome>> {
        self.reached("round");
        if self.0 == "thread" {
            let bug = || panic!("on purpose");
            let thread = std::thread::Builder::new().name("other".into());
            let _ = thread.spawn(bug)?.join();
        }
        Ok(Some(Outcome::default()))
    }
    fn cgroups(&self) -> Vec<CgroupRef> {
        Vec::new()
    }
    fn stop(&mut self) {}
}

pub fn run(stage: &str, device: &str, launcher: &Path) -> ExitCode {
    let buggy = Buggy(stage.to_owned());
    panics::end_in_order(
        |text| eprintln!("{text}"),
        || {
            let outcome = interrupt::install().and_then(|()| compare(&buggy, device, launcher));
            if let Err(error) = outcome {
                eprintln!("{error:#}");
            }
            buggy.reached("report");
            ExitCode::SUCCESS
        },
    )
}

fn compare(buggy: &Buggy, device: &str, launcher: &Path) -> Result<ResultFile> {
    let journal = Journal::create()?;
    let guardian = guardian::start(launcher, &journal)?;
    let resources = Resources {
        scratch: None,
        hold: None,
        control: None,
        participants: Participants::default(),
        guardian: &guardian,
        fio_version: None,
        journal: &journal,
        launcher,
    };
    let (disks, _) = Disks::resolve(&[device.to_owned()])?;
    let arms = ["none", "mq-deadline,nr_requests=32"].map(str::parse);
    let experiment = Experiment {
        disks,
        design: Design::new(
            arms.into_iter().collect::<Result<_>>()?,
            0,
            Stopping::Fixed { blocks: 2 },
            Vec::new(),
        )
        .timed(Duration::ZERO, Duration::from_millis(200)),
        workload: &mut buggy.clone(),
        participants: Vec::new(),
        scratch_file: None,
        seed: 1,
        output: None,
        replaces_output: false,
        notes: Vec::new(),
        earlier: None,
    };
    experiment.run(resources, &mut buggy.clone())
}
