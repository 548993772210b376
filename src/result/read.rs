//! Reads an untrusted result file and checks every invariant that the reports rely on. Pure.
//!
//! A file may be of another version, truncated, edited by hand or crafted to do harm. Whatever passes these checks can
//! be reported, judged and resumed; everything else is rejected with the place of the error.

mod goals; // what the user wanted of it
pub mod schema2; // files of the version before
mod trace; // traces of a result
mod why; // who waited behind whom

use std::collections::BTreeSet;

use crate::analysis::shift::DECILES;
use crate::analysis::{conclude, no_ratio};
use crate::head::Head;
use crate::measured::histogram::DEVICE;
use crate::measured::snapshot::{DeviceOp, Op, Stage};
use crate::metric::Metric;
use crate::statistics::stopping::{MOST_BLOCKS, Stopping};
use crate::types::plan::{BlockOrder, PlannedRound};
use crate::types::result::{ResultFile, Round, SCHEMA_VERSION, ShiftFunction, Status};

/// Why the bytes cannot be read as a result.
#[derive(Debug)]
pub enum Unreadable {
    /// Not valid JSON, or fields are missing or of the wrong type.
    Json(serde_json::Error),
    /// Another version of the format, or no version at all.
    Version(Option<u64>),
    /// Parts of the file contradict each other.
    Inconsistent(String),
}

/// Draws the conclusions too, if the run was killed before it could.
pub fn parse(bytes: &[u8]) -> Result<ResultFile, Unreadable> {
    let head = Head::of(bytes).map_err(Unreadable::Json)?;
    let version = head.schema_version.and_then(|it| u32::try_from(it).ok());
    let read = match version {
        Some(SCHEMA_VERSION) => serde_json::from_slice(bytes),
        Some(schema2::VERSION) => serde_json::from_slice(bytes).map(|schema2::Converted(it)| it),
        _ => return Err(Unreadable::Version(head.schema_version)),
    };
    let mut result: ResultFile = read.map_err(Unreadable::Json)?;
    check(&result).map_err(Unreadable::Inconsistent)?;
    if result.status == Status::Running {
        conclude::conclude(&mut result);
    } else {
        no_ratio::draw_again(&mut result);
    }
    Ok(result)
}

/// Far more than an option takes, and few enough for memory.
const MOST_PLANNED: usize = 100 * MOST_BLOCKS;
/// Far longer than any run, and still within the range of `Duration`.
const LONGEST_S: f64 = 1e9;
/// Up to here every JSON reader represents a count exactly, and sums do not overflow.
const LARGEST_COUNT: u64 = 1 << 53;

/// Err: which parts contradict each other.
pub fn check(result: &ResultFile) -> Result<(), String> {
    if let Some(scratch) = &result.device.scratch {
        let spec = scratch.spec();
        spec.check()
            .map_err(|what| format!("device.scratch: {spec}: {what}"))?;
    }
    design(result)?;
    plan(result)?;
    for (index, round) in result.rounds.iter().enumerate() {
        self::round(result, round).map_err(|why| format!("rounds[{index}]: {why}"))?;
    }
    for excluded in &result.excluded {
        let block = excluded.block;
        require(block < result.plan.blocks(), || {
            format!("excluded: block {block} does not exist")
        })?;
    }
    for row in &result.comparisons {
        let known = |label: &String| result.arm_index(label).is_some();
        require(known(&row.arm) && known(&row.reference), || {
            format!(
                "comparisons: arm {:?} or {:?} does not exist",
                row.arm, row.reference
            )
        })?;
        metric(&row.metric)?;
        let intervals = [row.comparison.interval, row.comparison.ratio_interval];
        let mut intervals = intervals.into_iter().flatten();
        require(intervals.all(|i| i.lower <= i.upper), || {
            format!(
                "comparisons: an interval of {} ends before it begins",
                row.metric.name
            )
        })?;
        let question = row.comparison.question;
        require(is_part(question.alpha) && question.margin > 0.0, || {
            format!(
                "comparisons: alpha {} or margin {} is out of range",
                question.alpha, question.margin
            )
        })?;
    }
    result.shifts.iter().try_for_each(|of| shift(result, of))?;
    result
        .traces
        .iter()
        .try_for_each(|of| trace::check(result, of))?;
    result.metrics.iter().try_for_each(metric)
}

fn shift(result: &ResultFile, of: &ShiftFunction) -> Result<(), String> {
    let known = |label: &String| result.arm_index(label).is_some();
    require(known(&of.arm) && known(&of.reference), || {
        format!(
            "shifts: arm {:?} or {:?} does not exist",
            of.arm, of.reference
        )
    })?;
    let found = of.deciles.iter().map(|decile| decile.p);
    require(found.eq(DECILES), || {
        "shifts: the deciles are not 0.1 to 0.9".to_owned()
    })
}

fn design(result: &ResultFile) -> Result<(), String> {
    let design = &result.design;
    let labels: BTreeSet<&str> = design.arms.iter().map(|arm| arm.label.as_str()).collect();
    require(labels.len() == design.arms.len(), || {
        "design.arms: two arms have the same label".to_owned()
    })?;
    require(design.reference < design.arms.len(), || {
        format!("design.reference: arm {} does not exist", design.reference)
    })?;
    for (name, seconds) in [
        ("ramp_s", design.ramp_s),
        ("round_time_s", design.round_time_s),
        ("washout_s", design.washout_s),
        ("trace_s", design.trace_s.unwrap_or(0.0)),
        ("budget_s", design.budget_s.unwrap_or(0.0)),
    ] {
        require((0.0..=LONGEST_S).contains(&seconds), || {
            format!("design.{name}: {seconds} is not a valid duration in seconds")
        })?;
    }
    times(result)?;
    require(is_part(design.alpha), || {
        format!(
            "design.alpha: {} is not a valid significance level",
            design.alpha
        )
    })?;
    goals::check(result)?;
    blocks(result)?;
    design.primary.iter().try_for_each(metric)
}

/// As many as a run can have, and each extension begins where what was planned before has ended.
fn blocks(result: &ResultFile) -> Result<(), String> {
    if let Stopping::Fixed { blocks } = result.design.stopping {
        require(blocks <= MOST_PLANNED, || {
            format!("design.stopping: {blocks} blocks are more than any run has")
        })?;
    }
    let mut planned = None;
    for extension in &result.design.extensions {
        let begins = planned.is_none_or(|end| extension.after_blocks == end);
        let is_some = (1..=MOST_BLOCKS).contains(&extension.blocks);
        let has_begun = extension.after_blocks <= result.plan.blocks();
        require(begins && is_some && has_begun, || {
            format!(
                "design.extensions: {} blocks after {} do not follow what was planned before",
                extension.blocks, extension.after_blocks
            )
        })?;
        planned = Some(extension.end());
    }
    Ok(())
}

/// Those that a pilot chose, and what the rounds say that they took.
fn times(result: &ResultFile) -> Result<(), String> {
    let design = &result.design;
    let is_piloted = design.auto_times.is_some();
    require(
        !is_piloted || result.times.is_some() || result.rounds.is_empty(),
        || "times: a pilot was to choose them, and there are rounds without".to_owned(),
    )?;
    if let Some(chosen) = &result.times {
        let is_same = |one: f64, other: f64| (one - other).abs() < 1e-9;
        let are_same = is_same(chosen.ramp_s, design.ramp_s)
            && is_same(chosen.round_time_s, design.round_time_s);
        require(are_same, || {
            "times: they are not those of the design".to_owned()
        })?;
    }
    let chosen = result.times.as_ref();
    let blocks = chosen.and_then(|chosen| chosen.blocks_in_budget);
    require(blocks.is_none_or(|blocks| blocks <= MOST_PLANNED), || {
        "times.blocks_in_budget: more than any run has".to_owned()
    })?;
    let pilot = chosen.iter().flat_map(|chosen| &chosen.pilot);
    let pilot = pilot.flat_map(|round| [round.bin_s, round.around_s]);
    let unlimited = chosen.and_then(|chosen| chosen.unlimited_round_time_s);
    let spent = result
        .rounds
        .iter()
        .filter_map(|round| round.evidence.times);
    let parts = spent.flat_map(|it| [it.washout_s, it.switch_s, it.start_s, it.ramp_s, it.end_s]);
    let all = parts.chain(result.rounds_took_s);
    let all = all.chain(pilot).chain(unlimited);
    let mut all = all.filter(|seconds| !(0.0..=LONGEST_S).contains(seconds));
    match all.next() {
        None => Ok(()),
        Some(seconds) => Err(format!(
            "times: {seconds} is not a valid duration in seconds"
        )),
    }
}

fn plan(result: &ResultFile) -> Result<(), String> {
    let plan = &result.plan;
    let order = match plan.arms {
        0 | 1 => BlockOrder::Single,
        _ => BlockOrder::Random,
    };
    require(
        plan.arms == result.design.arms.len() && plan.design == order,
        || {
            format!(
                "plan: its order, of {} arms, does not fit the {} arms of the design",
                plan.arms,
                result.design.arms.len()
            )
        },
    )?;
    // Block after block, and no arm twice in one.
    let mut before: Option<&PlannedRound> = None;
    let mut seen = BTreeSet::new();
    for (index, planned) in plan.rounds.iter().enumerate() {
        let (block, position) = before.map_or((0, 0), |before| {
            let goes_on = planned.block == before.block;
            (
                before.block + usize::from(!goes_on),
                if goes_on { before.position + 1 } else { 0 },
            )
        });
        let is_in_place =
            (planned.block, planned.position, planned.index) == (block, position, index);
        let is_new = seen.insert((planned.block, planned.arm));
        require(planned.phase_ns < 1_000_000_000, || {
            format!(
                "plan.rounds[{index}]: phase_ns {} is not below 1,000,000,000",
                planned.phase_ns
            )
        })?;
        require(is_in_place && is_new && planned.arm < plan.arms, || {
            format!("plan.rounds[{index}] is out of order")
        })?;
        before = Some(planned);
    }
    Ok(())
}

fn round(result: &ResultFile, round: &Round) -> Result<(), String> {
    require(round.block < result.plan.blocks(), || {
        format!("block {} does not exist", round.block)
    })?;
    require(round.position < result.plan.arms, || {
        format!("position {} does not exist", round.position)
    })?;
    require(round.attempt <= result.rounds.len(), || {
        format!(
            "attempt {} is larger than the number of rounds",
            round.attempt
        )
    })?;
    require(result.arm_index(&round.arm).is_some(), || {
        format!("arm {:?} does not exist", round.arm)
    })?;
    let members = match result.device.disks().len() {
        1 => 0,
        several => several,
    };
    require(round.evidence.members.len() == members, || {
        format!("evidence.members does not have {members} entries")
    })?;
    require(round.index as u64 <= LARGEST_COUNT, || {
        format!("index {} is too large", round.index)
    })?;
    require((0.0..=LONGEST_S).contains(&round.window_s), || {
        format!("window_s {} is not a valid duration", round.window_s)
    })?;
    require(round.lost_events <= LARGEST_COUNT, || {
        "lost_events is too large".to_owned()
    })?;
    let foreign = round
        .evidence
        .foreign
        .as_ref()
        .map_or(0, |foreign| foreign.bytes);
    require(foreign <= LARGEST_COUNT, || {
        "evidence.foreign.bytes is too large".to_owned()
    })?;
    for owner in &round.evidence.owners {
        let most = owner.ops.iter().map(|op| op.ios.max(op.bytes)).max();
        require(most.unwrap_or(0) <= LARGEST_COUNT, || {
            format!(
                "owner {:?} has too large a number of I/Os or bytes",
                owner.comm
            )
        })?;
    }
    if let Some(of_round) = &round.evidence.why {
        why::check(result, of_round)?;
    }
    let ops = &round.evidence.device.ops;
    require(ops.iter().map(|op| op.op).eq(Op::ALL), || {
        "evidence.device.ops does not list the operations of this version".to_owned()
    })?;
    ops.iter().try_for_each(device_op)
}

fn device_op(op: &DeviceOp) -> Result<(), String> {
    let name = op.op.name();
    for stage in Stage::ALL {
        let histogram = op.stage(stage);
        require(histogram.layout() == DEVICE, || {
            format!(
                "the {} histogram of {name} has a different bucket layout",
                stage.name()
            )
        })?;
        require(histogram.count() <= LARGEST_COUNT, || {
            format!(
                "the {} histogram of {name} has too large a count",
                stage.name()
            )
        })?;
    }
    require(op.ios.max(op.bytes) <= LARGEST_COUNT, || {
        format!("{name} has too large a number of I/Os or bytes")
    })
}

fn metric(metric: &Metric) -> Result<(), String> {
    const LARGEST: f64 = 1e6;
    // A metric that a command reports is declared after the first block; until then it has no margin.
    let is_declared = !metric.is_open() || metric.margin != 0.0;
    let is_margin = metric.margin > 0.0 && metric.margin <= LARGEST;
    require(is_margin || !is_declared, || {
        format!(
            "the margin of {} is {}, not above 0 or above a million",
            metric.name, metric.margin
        )
    })
}

/// Whether `x` is a significance level or another probability strictly between 0 and 1.
fn is_part(x: f64) -> bool {
    x > 0.0 && x < 1.0
}

fn require(holds: bool, why: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(why()) }
}
