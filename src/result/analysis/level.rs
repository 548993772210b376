//! Whether the disks kept their level: within the rounds of each arm, and from the first block to the last. Pure.

use super::table::Table;
use crate::statistics::estimate;
use crate::statistics::trend::{Trend, change_over};
use crate::statistics::verdict::bonferroni;
use crate::types::level::{ArmLevel, Levels, WindowPart};
use crate::types::result::Round;

/// A window with fewer I/Os says mostly noise about the rates of its parts.
const FEWEST_IOS: u64 = 50;
/// A part with fewer I/Os says mostly noise about their mean device time.
const FEWEST_OF_PART: u64 = 10;

/// None if no round has parts: of a command, of the load of others, or of a short time.
pub fn levels(table: &Table<'_>) -> Option<Levels> {
    let rounds = table.counted_rounds();
    if rounds.iter().all(|round| round.evidence.parts.is_empty()) {
        return None;
    }
    let design = &table.result.design;
    // All of them hold together.
    let alpha = bonferroni(design.alpha, 2 * (design.arms.len() + 1));
    let arms = design.arms.iter().map(|arm| {
        let own = || rounds.iter().filter(|round| round.arm == arm.label);
        let trend = |values: fn(&Round) -> Option<Vec<f64>>| {
            let changes = own().filter_map(|round| change_over(&values(round)?));
            Trend::of_changes(&changes.collect::<Vec<f64>>(), alpha)
        };
        ArmLevel {
            arm: arm.label.clone(),
            iops: trend(iops),
            device_time: trend(device_time),
            rounds: own().count(),
        }
    });
    let over_run = |values: fn(&Round) -> Option<Vec<f64>>| {
        Trend::of_line(&by_block(&rounds, design.arms.len(), values), alpha)
    };
    Some(Levels {
        arms: arms.collect(),
        run_iops: over_run(iops),
        run_device_time: over_run(device_time),
        blocks: by_block(&rounds, design.arms.len(), |_| Some(vec![0.0])).len(),
    })
}

/// The logarithm of each part's I/Os per second. None if the whole window has too few I/Os.
fn iops(round: &Round) -> Option<Vec<f64>> {
    let parts = &round.evidence.parts;
    let ios = parts.iter().map(|part| part.ios);
    let is_enough = ios.fold(0, u64::saturating_add) >= FEWEST_IOS;
    is_enough.then(|| parts.iter().map(WindowPart::ln_iops).collect())
}

/// The logarithm of each part's mean device time. None if any part has too few I/Os.
fn device_time(round: &Round) -> Option<Vec<f64>> {
    let times = round.evidence.parts.iter().map(|part| {
        let mean = part.device_mean_ns?;
        (part.ios >= FEWEST_OF_PART).then(|| mean.ln())
    });
    times.collect()
}

/// The mean over the arms in each block in which all of them have a value.
fn by_block(
    rounds: &[&Round],
    arms: usize,
    values: fn(&Round) -> Option<Vec<f64>>,
) -> Vec<(f64, f64)> {
    let last = rounds.iter().map(|round| round.block).max().unwrap_or(0);
    let means = (0..=last).filter_map(|block| {
        let own = rounds.iter().filter(|round| round.block == block);
        let values = own.filter_map(|round| estimate::mean(&values(round)?));
        let values: Vec<f64> = values.collect();
        (values.len() == arms).then_some((block as f64, estimate::mean(&values)?))
    });
    means.collect()
}

#[cfg(test)]
#[path = "level_tests.rs"]
mod tests;
