//! `iosched-ab demo`: a reader beside a greedy writer, under every scheduler that this machine has.

use std::time::Duration;

use anyhow::Result;
use iosched_experiment::run::Experiment;
use iosched_experiment::session::Session;
use iosched_experiment::workload::participants::Participants;
use iosched_experiment::workload::{Workload, catalogue};
use iosched_host::scheduler;
use iosched_result::metric::Metric;
use iosched_result::statistics::stopping::Stopping;
use iosched_result::types::arm::Arm;
use iosched_result::types::result::Design;
use iosched_result::types::scratch::model::DiskModel;

use crate::carry_out::carry_out;
use crate::cli::DemoArguments;
use crate::seed::seed;
use crate::{result_file, simulated};
use iosched_read::messages::note;

/// Enough to decide six simultaneous comparisons where they are clear.
const BLOCKS: usize = 8;
const RAMP: Duration = Duration::from_millis(300);
const TIME: Duration = Duration::from_millis(1500);
/// How long each arm is traced after the rounds.
const TRACE: Duration = Duration::from_secs(1);

pub fn run(arguments: &DemoArguments) -> Result<()> {
    let output = result_file::named(
        arguments.output.as_deref(),
        arguments.force,
        "iosched-ab-demo",
    )?;
    let mut workload = catalogue::find("probe-hog")?;
    workload.check()?;
    let mut session = Session::begin()?;
    let disks = simulated::make(&mut session, DiskModel::Ssd.into())?;
    let schedulers = scheduler::choice(&disks.members[0])?.available;
    note(&format!(
        "a reader, 4 KiB at a time (probe), beside a greedy writer (hog) under {}: takes about {} minutes",
        schedulers.join(", "),
        (schedulers.len() * BLOCKS * 3).div_ceil(60)
    ));
    let arms = schedulers
        .iter()
        .map(|name| name.parse())
        .collect::<Result<Vec<Arm>>>()?;
    let reference = arms
        .iter()
        .position(|arm| arm.scheduler == "none")
        .unwrap_or(0);
    let primary = ["probe.read_clat_mean:20", "hog.throughput:10"];
    let primary = primary.map(|text| Metric::parse(text, false));
    let primary = primary.into_iter().collect::<Result<_>>()?;
    let resources = session.resources(None, None, Participants::default())?;
    let experiment = Experiment {
        disks,
        design: Design {
            why: true,
            trace_s: Some(TRACE.as_secs_f64()),
            ..Design::new(arms, reference, Stopping::Fixed { blocks: BLOCKS }, primary)
                .timed(RAMP, TIME)
        },
        workload: &mut workload,
        participants: Vec::new(),
        scratch_file: None,
        seed: seed(arguments.seed),
        output,
        replaces_output: arguments.force,
        notes: vec![
            "the demo's rounds are short: bfq favours new queues in their first seconds, which are most of a round here"
                .to_owned(),
        ],
        earlier: None,
    };
    carry_out(experiment, resources)
}
