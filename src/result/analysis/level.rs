//! Whether the disks kept their level: within the rounds of each arm, and from the first block to the last. Pure.

use super::table::Table;
use crate::statistics::estimate;
use crate::statistics::trend::{Trend, change_over};
use crate::statistics::verdict::bonferroni;
use crate::types::level::{ArmLevel, Levels, WindowPart};
use crate::types::result::Round;

/// With fewer I/Os in one part of a window, its rate is mostly noise.
const FEWEST_IOS: u64 = 10;

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
        let trend = |value: fn(&WindowPart) -> Option<f64>| {
            let changes: Vec<f64> = own().filter_map(|round| change(round, value)).collect();
            Trend::of_changes(&changes, alpha)
        };
        ArmLevel {
            arm: arm.label.clone(),
            throughput: trend(iops),
            device_time: trend(device_time),
        }
    });
    let over_run = |value: fn(&WindowPart) -> Option<f64>| {
        let blocks = by_block(&rounds, design.arms.len(), value);
        Trend::of_line(&blocks, alpha)
    };
    Some(Levels {
        arms: arms.collect(),
        run_throughput: over_run(iops),
        run_device_time: over_run(device_time),
    })
}

fn iops(part: &WindowPart) -> Option<f64> {
    (part.ios >= FEWEST_IOS).then(|| part.iops().ln())
}

fn device_time(part: &WindowPart) -> Option<f64> {
    let mean = part.device_mean_ns.filter(|_| part.ios >= FEWEST_IOS)?;
    Some(mean.ln())
}

/// In logarithms. None where a part has too few I/Os.
fn change(round: &Round, value: fn(&WindowPart) -> Option<f64>) -> Option<f64> {
    let parts = round.evidence.parts.iter();
    change_over(&parts.map(value).collect::<Option<Vec<f64>>>()?)
}

/// The mean over the arms in each block in which all of them have a value.
fn by_block(
    rounds: &[&Round],
    arms: usize,
    value: fn(&WindowPart) -> Option<f64>,
) -> Vec<(f64, f64)> {
    let last = rounds.iter().map(|round| round.block).max().unwrap_or(0);
    let means = (0..=last).filter_map(|block| {
        let own = rounds.iter().filter(|round| round.block == block);
        let values = own.filter_map(|round| {
            let parts = round.evidence.parts.iter();
            estimate::mean(&parts.map(value).collect::<Option<Vec<f64>>>()?)
        });
        let values: Vec<f64> = values.collect();
        (values.len() == arms).then_some((block as f64, estimate::mean(&values)?))
    });
    means.collect()
}

#[cfg(test)]
#[path = "level_tests.rs"]
mod tests;
