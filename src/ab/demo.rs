//! `iosched-ab demo`: a reader beside a greedy writer, under every scheduler that this machine has.

use std::time::Duration;

use anyhow::{Context, Result};
use iosched_experiment::machine::Means;
use iosched_experiment::run::Experiment;
use iosched_experiment::workload::participants::Participants;
use iosched_experiment::workload::{Workload, catalogue, fio};
use iosched_host::machine::device::Device;
use iosched_host::safety::guardian;
use iosched_host::safety::journal::Journal;
use iosched_host::scheduler;
use iosched_result::metric::Metric;
use iosched_result::statistics::stopping::Stopping;
use iosched_result::types::arm::Arm;
use iosched_result::types::scratch::model::DiskModel;
use iosched_result::types::washout::Washout;

use crate::carry_out::{carry_out, make_scratch, output, seed};
use crate::cli::DemoArguments;
use iosched_read::talk::note;

/// Enough to decide six simultaneous comparisons where they are clear.
const BLOCKS: usize = 8;
const RAMP: Duration = Duration::from_millis(500);
const TIME: Duration = Duration::from_secs(2);
/// How long each arm is traced after the rounds.
const TRACE: Duration = Duration::from_secs(1);

pub fn run(arguments: &DemoArguments) -> Result<()> {
    let output = output(
        arguments.output.as_deref(),
        arguments.force,
        "iosched-ab-demo",
    )?;
    let journal = Journal::create()?;
    let launcher = std::env::current_exe().context("finding this program's own path")?;
    let guardian = guardian::start(&launcher, &journal)?;
    let mut workload = catalogue::find("probe-hog")?;
    workload.check()?;
    let scratch = make_scratch(DiskModel::Ssd, &journal)?;
    let device = Device::resolve(scratch.device_name())?.device;
    let schedulers = scheduler::choice(&device)?.available;
    note(&format!(
        "a reader, 4 KiB at a time (probe), beside a greedy writer (hog) under {}: takes about {} minutes",
        schedulers.join(", "),
        (schedulers.len() * BLOCKS * 5).div_ceil(60)
    ));
    let arms = schedulers
        .iter()
        .map(|name| name.parse())
        .collect::<Result<Vec<Arm>>>()?;
    let reference = arms
        .iter()
        .position(|arm| arm.scheduler == "none")
        .unwrap_or(0);
    let metrics = ["probe.read_clat_mean:20", "hog.throughput:10"];
    let means = Means {
        scratch: Some(scratch.truth().clone()),
        hold: None,
        control: None,
        participants: Participants::default(),
        guardian: &guardian,
        fio_version: fio::installed_version()?,
        journal: &journal,
        launcher: &launcher,
    };
    let experiment = Experiment {
        control_disk: None,
        disks: device.into(),
        arms,
        reference,
        workload: &mut workload,
        participants: Vec::new(),
        scratch_file: None,
        stopping: Stopping::Fixed { blocks: BLOCKS },
        seed: seed(arguments.seed),
        ramp: RAMP,
        washout: Washout::NONE,
        cold: None,
        time: TIME,
        primary: metrics.iter().map(|text| Metric::parse(text, false)).collect::<Result<_>>()?,
        output,
        replaces_output: arguments.force,
        notes: vec![
            "the demo's rounds are short: bfq favours new queues in their first seconds, which are most of a round here"
                .to_owned(),
        ],
        is_placebo: false,
        live: None,
        order: false,
        fairness: false,
        trace: Some(TRACE),
        earlier: None,
    };
    carry_out(experiment, means)
}
