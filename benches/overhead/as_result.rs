//! The numbers of this bench as results of `iosched-ab`, one for each load and scheduler, so that `iosched-ab gate --baseline` judges
//! whether a ratio has moved. The tracers are the arms, biolatency is the reference. Pure, but for the facts of the machine.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use iosched_host::system::environment;
use iosched_result::analysis::conclude;
use iosched_result::analysis::turn::{Next, next};
use iosched_result::metric::Metric;
use iosched_result::metric::reported::{Better, Reported};
use iosched_result::report::fixture;
use iosched_result::statistics::stopping::Stopping;
use iosched_result::types::plan::Turn;
use iosched_result::types::result::{ResultFile, Round, Status};

use crate::record::{Condition, Record, Slice};
use crate::{OURS, PEER};

/// The arms, with the names of their variants.
const ARMS: [(&str, &str); 3] = [
    (PEER, PEER),
    (OURS, OURS),
    ("iosched-light", "iosched, light"),
];
const IN_THE_KERNEL: &str = "bpf_ns_per_io";
const IN_USER_SPACE: &str = "user_ns_per_io";

/// By the name of a file. A condition in which not each arm has its numbers in two rounds has none. Arms that were not measured at all are
/// left out.
pub fn results(record: &Record) -> Result<BTreeMap<String, ResultFile>> {
    let mut results = BTreeMap::new();
    for condition in crate::table::conditions(record) {
        if let Some(result) = of(record, condition)? {
            let name = format!("{}-{}.json", condition.load.name(), condition.scheduler);
            results.insert(name, result);
        }
    }
    Ok(results)
}

fn of(record: &Record, condition: Condition) -> Result<Option<ResultFile>> {
    let same = |slice: &&Slice| slice.condition == condition;
    let mut rounds: BTreeMap<u32, BTreeMap<&str, &Slice>> = BTreeMap::new();
    for slice in record.slices.iter().filter(same) {
        let variants = rounds.entry(slice.round).or_default();
        variants.insert(&slice.variant, slice);
    }
    let is_measured = |(_, variant): &(&str, &str)| {
        let mut slices = record.slices.iter();
        slices.any(|slice| slice.variant == *variant)
    };
    let arms: Vec<(&str, &str)> = ARMS.into_iter().filter(is_measured).collect();
    let whole = |of: BTreeMap<&str, &Slice>| -> Option<Vec<Slices>> {
        let slices = arms.iter().map(|(_, variant)| of.get(variant));
        slices.map(|slice| Slices::of(slice?)).collect()
    };
    let blocks: Vec<Vec<Slices>> = rounds.into_values().filter_map(whole).collect();
    let arms: Vec<&str> = arms.into_iter().map(|(arm, _)| arm).collect();
    if blocks.len() < 2 || arms.len() < 2 || arms[0] != PEER {
        return Ok(None);
    }
    let mut result = empty(&arms, blocks.len(), record, condition);
    let ours = arms.iter().position(|arm| *arm == OURS);
    result.probe.memory_bytes = ours.map_or(0, |ours| blocks[0][ours].map_bytes);
    loop {
        match next(&result) {
            Next::Round(turn) => {
                let of = blocks
                    .get(turn.planned.block)
                    .context("a block of the plan")?;
                let round = round(&result, &turn, &of[turn.planned.arm]);
                result.rounds.push(round);
            }
            Next::Draw(segment) => result.plan.extend(segment.blocks, &segment.arms),
            Next::End => break,
        }
    }
    result.status = Status::Complete;
    conclude::conclude(&mut result);
    Ok(Some(result))
}

/// What decides, of one tracer in one round.
struct Slices {
    in_the_kernel_ns: f64,
    in_user_space_ns: f64,
    window_s: f64,
    map_bytes: u64,
}

impl Slices {
    fn of(slice: &Slice) -> Option<Slices> {
        let counted = slice.counted.as_ref()?;
        Some(Slices {
            in_the_kernel_ns: counted.ns_per_io(),
            in_user_space_ns: slice.plain.tool_ns_per_io()?,
            window_s: counted.window.time_ns as f64 / 1e9,
            map_bytes: counted.map_bytes,
        })
    }
}

fn empty(arms: &[&str], blocks: usize, record: &Record, condition: Condition) -> ResultFile {
    let mut result = fixture::empty(arms, Stopping::Fixed { blocks }, &[]);
    result.design.primary = vec![Metric::reported(&reported(IN_THE_KERNEL, 0.0))];
    result.environment = environment::read(None);
    result.started = humantime::format_rfc3339_seconds(std::time::SystemTime::now()).to_string();
    result.finished = Some(result.started.clone());
    result.design.ramp_s = 0.0;
    result.design.round_time_s = crate::WINDOW_WITH_STATISTICS.as_secs_f64();
    let device = &mut result.device;
    "loop".clone_into(&mut device.device.name);
    (
        device.device.major,
        device.device.minor,
        device.device.diskseq,
    ) = (7, 0, None);
    device.hardware_queues = 1;
    device.model = Some("loop device on memory".to_owned());
    device.firmware = None;
    device.size_bytes = None;
    result.workload.name = format!("overhead of tracers, {} load", condition.load.name());
    result.workload.description = serde_json::json!({
        "kind": "tracers beside fio randread of 4 KiB: the arms are tracers, not schedulers",
        "load": condition.load.name(),
        "scheduler": condition.scheduler,
    });
    result.notes = vec![format!(
        "made by `cargo bench --bench overhead`; seed {}; {} slices left out",
        record.seed, record.refused
    )];
    result
}

fn round(result: &ResultFile, turn: &Turn, slices: &Slices) -> Round {
    let numbers = [
        (IN_THE_KERNEL, slices.in_the_kernel_ns),
        (IN_USER_SPACE, slices.in_user_space_ns),
    ];
    let mut round = fixture::round(result, turn, Ok(BTreeMap::new()));
    let outcome = &mut round.evidence.outcome;
    outcome.reported = numbers.map(|(name, ns)| reported(name, ns)).to_vec();
    round.reported = outcome.reported_values();
    // What the fixture makes up, and nobody measured here.
    round.started.clone_from(&result.started);
    round.window_s = slices.window_s;
    (round.busy_share, round.steal_share, round.foreign_share) = (None, None, None);
    let evidence = &mut round.evidence;
    (evidence.load, evidence.foreign) = (None, None);
    evidence.applied.switch_ns = None;
    evidence.applied.effective.settings.clear();
    round
}

fn reported(name: &str, ns: f64) -> Reported {
    Reported::new(name, ns, "ns", Some(Better::Lower))
}
