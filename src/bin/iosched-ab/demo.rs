//! `iosched-ab demo`: a reader beside a greedy writer, under every scheduler that this machine has.

use std::time::Duration;

use anyhow::{Context, Result};
use iosched::ab::metric::Metric;
use iosched::ab::run::Experiment;
use iosched::ab::stopping::Stopping;
use iosched::arm::Arm;
use iosched::device::Device;
use iosched::guardian;
use iosched::journal::Journal;
use iosched::scheduler;
use iosched::scratch::Model;
use iosched::workload::fio::Fio;
use iosched::workload::{Workload, catalogue};

use crate::carry_out::{carry_out, make_scratch, output, seed};
use crate::cli::Demo;
use crate::note;

/// Two Williams squares of four arms; eight blocks are the fewest that can decide six comparisons at once.
const BLOCKS: usize = 8;
const RAMP: Duration = Duration::from_millis(500);
const TIME: Duration = Duration::from_secs(2);

pub fn run(arguments: &Demo) -> Result<()> {
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
    let scratch = make_scratch(Model::Ssd, &journal)?;
    let device = Device::resolve(scratch.device_name())?.device;
    let schedulers = scheduler::choice(&device)?.available;
    note(&format!(
        "a reader of 4 KiB at a time (probe) beside a greedy writer (hog) under {}: about {} minutes",
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
    carry_out(Experiment {
        scratch: Some(scratch.truth().clone()),
        disks: device.into(),
        arms,
        reference,
        workload: &mut workload,
        scratch_file: None,
        hold: None,
        guardian: &guardian,
        fio_version: Fio::new("version", Vec::new()).version().ok(),
        stopping: Stopping::Fixed { blocks: BLOCKS },
        seed: seed(arguments.seed),
        ramp: RAMP,
        time: TIME,
        primary: metrics.iter().map(|text| Metric::parse(text)).collect::<Result<_>>()?,
        journal: &journal,
        launcher: &launcher,
        output,
        replaces_output: arguments.force,
        notes: vec![
            "rounds are short so that the demo is: bfq's first seconds, in which it favours newcomers, are most of \
             them"
                .to_owned(),
        ],
        is_placebo: false,
        earlier: None,
    })
}
