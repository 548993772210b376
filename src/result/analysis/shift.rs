//! The shift function: the difference between an arm and the reference in each decile of the latencies. Pure.
//!
//!
//! The deciles of a block are differences of logarithms, compared by block like every metric. They are correlated, so
//! their common level comes from sign flips of whole blocks (see [`statistics::family`](super::statistics::family)).

use super::conclude::is_comparable_in;
use super::difference::{Value, against, ios_of};
use super::losses::Losses;
use super::table::{Pair, Table};
use crate::measured::histogram::Histogram;
use crate::measured::snapshot::{Op, Stage};
use crate::metric::SCOPES;
use crate::statistics::family::Joint;
use crate::statistics::scale::{Direction, Scale};
use crate::statistics::signed_rank::{self, Difference};
use crate::statistics::verdict::bonferroni;
use crate::types::result::{DecileShift, Round, ShiftFunction};

pub const DECILES: [f64; 9] = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9];

/// The differences of all deciles in one block.
pub type BlockShift = [Difference; DECILES.len()];

/// One per arm, metric and distribution that arm and reference both have.
pub fn shifts(table: &Table<'_>) -> Vec<ShiftFunction> {
    let design = &table.result.design;
    let others = design.arms.iter().enumerate();
    let others = others.filter(|(arm, _)| *arm != design.reference);
    let labels = others.map(|(_, arm)| arm.label.as_str());
    let of_arm = |arm| {
        SCOPES
            .iter()
            .filter_map(move |scope| shift(table, arm, scope))
    };
    labels.flat_map(of_arm).collect()
}

fn shift(table: &Table<'_>, arm: &str, scope: &(&str, &[Op])) -> Option<ShiftFunction> {
    let design = &table.result.design;
    let reference = design.arms[design.reference].label.as_str();
    let (scope, ops) = *scope;
    // A stalled submitter hides part of the total, but not of the device time.
    let (name, stage) = if is_comparable_in(table, &format!("{scope}total_p50"), arm, reference) {
        ("total", Stage::Q2c)
    } else {
        ("device", Stage::D2c)
    };
    let pairs = table.pairs(arm, reference);
    let blocks: Vec<(usize, BlockShift)> = pairs
        .iter()
        .filter_map(|pair| Some((pair.block, of_block(pair, stage, ops)?)))
        .collect();
    let deciles = band(&blocks, design.alpha);
    let is_known = deciles.iter().any(|decile| decile.estimate.is_some());
    is_known.then(|| ShiftFunction {
        arm: arm.to_owned(),
        reference: reference.to_owned(),
        distribution: format!("{scope}{name}"),
        deciles,
        blocks: blocks.len(),
    })
}

/// None when a round has no I/O of this kind, or both have too few.
fn of_block(pair: &Pair<'_>, stage: Stage, ops: &[Op]) -> Option<BlockShift> {
    let (arm, reference) = pair.arm.zip(pair.reference)?;
    let of = |round: &Round| round.evidence.device.stage(stage, ops);
    let (arm_times, reference_times) = (of(arm), of(reference));
    let mut block = [Difference::UNKNOWN; DECILES.len()];
    for (difference, p) in block.iter_mut().zip(DECILES) {
        *difference = against(
            Scale::Log,
            Direction::LowerIsBetter.worst(),
            (value(arm, &arm_times, p)?, ios_of(arm)),
            (value(reference, &reference_times, p)?, ios_of(reference)),
        )?;
    }
    Some(block)
}

/// As for percentile metrics, the outer deciles need 100 I/Os beyond them.
fn value(round: &Round, times: &Histogram, p: f64) -> Option<Value> {
    let outermost = DECILES[DECILES.len() - 1];
    if round.censored.is_some() {
        return Some(Value::Censored);
    }
    if !Losses::of(&round.evidence.device).leave_quantile(times, p) {
        return Some(Value::Doubtful);
    }
    let ns = times.quantile_ns(p)?;
    Some(if times.supports_quantile(outermost) {
        Value::Measured(ns)
    } else {
        Value::TooFew
    })
}

/// The estimate of each decile, with intervals that hold simultaneously at level `alpha`. `blocks`: the number of each
/// block and its differences.
pub fn band(blocks: &[(usize, BlockShift)], alpha: f64) -> Vec<DecileShift> {
    let of_decile = |i: usize| blocks.iter().map(move |(block, shift)| (*block, shift[i]));
    let finite = |i| of_decile(i).filter_map(|(block, d)| Some((block, d.finite()?)));
    let members = (0..DECILES.len()).map(|i| finite(i).collect());
    let level = Joint::of(members.collect()).level(alpha);
    let share = bonferroni(alpha, DECILES.len());
    let deciles = DECILES.into_iter().enumerate();
    deciles
        .map(|(i, p)| {
            let d: Vec<Difference> = of_decile(i).map(|(_, d)| d).collect();
            let estimate = signed_rank::hodges_lehmann(&d);
            let by_ranks = signed_rank::interval(&d, level);
            let interval = by_ranks.or_else(|| signed_rank::interval_of_few(&d, share));
            DecileShift {
                p,
                estimate,
                interval,
                ratio: Scale::Log.ratio(estimate),
                ratio_interval: Scale::Log.ratio_interval(interval),
            }
        })
        .collect()
}

#[cfg(test)]
#[path = "shift_tests.rs"]
mod tests;
