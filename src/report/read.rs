//! A result file from outside: read, and held to what the reports take for granted. Pure.
//!
//! A file may be of another version, cut short, edited by hand or made to do harm. Whatever passes here can be shown,
//! judged and gone on with; whatever does not is refused with the place that is wrong.

use std::collections::BTreeSet;

use serde::Deserialize;

use super::result::{ResultFile, Round, SCHEMA_VERSION, Status};
use crate::ab::analysis;
use crate::ab::metric::Metric;
use crate::ab::plan::Design as Order;
use crate::histogram::DEVICE;
use crate::snapshot::{DeviceOp, Op, Stage};

/// Why the bytes are no result that can be read.
#[derive(Debug)]
pub enum Unreadable {
    /// No JSON, or not with these fields.
    Json(serde_json::Error),
    /// Of another version of the format, or without one.
    Version(Option<u64>),
    /// Parts that do not fit together.
    Inconsistent(String),
}

/// All that a file of any version has.
#[derive(Deserialize)]
struct Head {
    schema_version: Option<u64>,
}

/// With its conclusions: of a run that was killed nobody has drawn them.
pub fn parse(bytes: &[u8]) -> Result<ResultFile, Unreadable> {
    let head: Head = serde_json::from_slice(bytes).map_err(Unreadable::Json)?;
    if head.schema_version != Some(u64::from(SCHEMA_VERSION)) {
        return Err(Unreadable::Version(head.schema_version));
    }
    let mut result: ResultFile = serde_json::from_slice(bytes).map_err(Unreadable::Json)?;
    check(&result).map_err(Unreadable::Inconsistent)?;
    if result.status == Status::Running {
        analysis::conclude(&mut result);
    }
    Ok(result)
}

/// No run takes longer, and the number still is a `Duration`.
const LONGEST_S: f64 = 1e9;
/// Every count is exact in any JSON reader, and sums of them fit.
const LARGEST_COUNT: u64 = 1 << 53;

fn check(result: &ResultFile) -> Result<(), String> {
    design(result)?;
    plan(result)?;
    for (index, round) in result.rounds.iter().enumerate() {
        self::round(result, round).map_err(|why| format!("rounds[{index}]: {why}"))?;
    }
    for excluded in &result.excluded {
        let block = excluded.block;
        require(block < result.plan.blocks(), || {
            format!("excluded: there is no block {block}")
        })?;
    }
    for row in &result.comparisons {
        let known = |label: &String| result.arm_index(label).is_some();
        require(known(&row.arm) && known(&row.reference), || {
            format!(
                "comparisons: there is no arm {:?} or {:?}",
                row.arm, row.reference
            )
        })?;
        metric(&row.metric)?;
        let question = row.comparison.question;
        require(is_part(question.alpha) && question.margin > 0.0, || {
            format!(
                "comparisons: alpha {}, margin {}",
                question.alpha, question.margin
            )
        })?;
    }
    result.metrics.iter().try_for_each(metric)
}

fn design(result: &ResultFile) -> Result<(), String> {
    let design = &result.design;
    let labels: BTreeSet<&str> = design.arms.iter().map(|arm| arm.label.as_str()).collect();
    require(labels.len() == design.arms.len(), || {
        "design.arms: two have the same label".to_owned()
    })?;
    require(design.reference < design.arms.len(), || {
        format!("design.reference: there is no arm {}", design.reference)
    })?;
    for (name, seconds) in [
        ("ramp_s", design.ramp_s),
        ("round_time_s", design.round_time_s),
    ] {
        require((0.0..=LONGEST_S).contains(&seconds), || {
            format!("design.{name}: {seconds} is no time")
        })?;
    }
    require(is_part(design.alpha), || {
        format!("design.alpha: {} is no level", design.alpha)
    })?;
    design.primary.iter().try_for_each(metric)
}

fn plan(result: &ResultFile) -> Result<(), String> {
    let plan = &result.plan;
    let order = match plan.arms {
        0 | 1 => Order::Single,
        2 => Order::BalancedPairs,
        _ => Order::Williams,
    };
    require(
        plan.arms == result.design.arms.len() && plan.design == order,
        || {
            format!(
                "plan: {:?} of {} arms, the design has {}",
                plan.design,
                plan.arms,
                result.design.arms.len()
            )
        },
    )?;
    // Every arm once a block, block after block.
    for (index, planned) in plan.rounds.iter().enumerate() {
        let place = (planned.block, planned.position);
        let is_in_place = place == (index / plan.arms, index % plan.arms);
        require(
            is_in_place && planned.index == index && planned.arm < plan.arms,
            || format!("plan.rounds[{index}] is not in its place"),
        )?;
    }
    Ok(())
}

fn round(result: &ResultFile, round: &Round) -> Result<(), String> {
    require(round.block < result.plan.blocks(), || {
        format!("there is no block {}", round.block)
    })?;
    require(round.position < result.plan.arms, || {
        format!("there is no position {}", round.position)
    })?;
    require(round.attempt <= result.rounds.len(), || {
        format!("attempt {}", round.attempt)
    })?;
    require(result.arm_index(&round.arm).is_some(), || {
        format!("there is no arm {:?}", round.arm)
    })?;
    let members = match result.device.disks().len() {
        1 => 0,
        several => several,
    };
    require(round.evidence.members.len() == members, || {
        format!("evidence.members are not {members}")
    })?;
    require(round.lost_events <= LARGEST_COUNT, || {
        "lost_events is too large".to_owned()
    })?;
    let foreign = round.evidence.foreign.map_or(0, |foreign| foreign.bytes);
    require(foreign <= LARGEST_COUNT, || {
        "foreign bytes are too many".to_owned()
    })?;
    let ops = &round.evidence.device.ops;
    require(ops.iter().map(|op| op.op).eq(Op::ALL), || {
        "evidence.device.ops are not those of this version".to_owned()
    })?;
    ops.iter().try_for_each(device_op)
}

fn device_op(op: &DeviceOp) -> Result<(), String> {
    let name = op.op.name();
    for stage in Stage::ALL {
        let histogram = op.stage(stage);
        require(histogram.layout() == DEVICE, || {
            format!(
                "the {} histogram of {name} has another layout",
                stage.name()
            )
        })?;
        require(histogram.count() <= LARGEST_COUNT, || {
            format!("the {} histogram of {name} counts too many", stage.name())
        })?;
    }
    require(op.ios.max(op.bytes) <= LARGEST_COUNT, || {
        format!("{name} has too many I/Os or bytes")
    })
}

fn metric(metric: &Metric) -> Result<(), String> {
    require(metric.margin > 0.0, || {
        format!("the margin of {} is {}", metric.name, metric.margin)
    })
}

/// A level or a probability.
fn is_part(x: f64) -> bool {
    x > 0.0 && x < 1.0
}

fn require(holds: bool, why: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(why()) }
}
