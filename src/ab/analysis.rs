//! From rounds to verdicts: differences to the reference within each block. Pure.

use super::metric::Metric;
use super::stats;
use super::verdict::{Question, bonferroni, compare};
use crate::histogram::{DEVICE, Histogram};
use crate::report::result::{ArmComparison, ArmWaiting, ResultFile, Round};
use crate::snapshot::{Op, Stage};

/// Everything that the rounds so far allow to be said.
pub fn comparisons(result: &ResultFile) -> Vec<ArmComparison> {
    let others = result.design.arms.len().saturating_sub(1);
    let family = result.design.primary.len() * others;
    let primary_alpha = bonferroni(result.design.alpha, family.max(1));
    let primary = result
        .design
        .primary
        .iter()
        .map(|metric| (metric.clone(), true, primary_alpha));
    let exploratory = exploratory(result)
        .into_iter()
        .map(|metric| (metric, false, result.design.alpha));
    primary
        .chain(exploratory)
        .flat_map(|(metric, is_primary, alpha)| {
            (0..result.design.arms.len())
                .filter(|arm| *arm != result.design.reference)
                .map(move |arm| comparison(result, &metric, is_primary, alpha, arm))
                .collect::<Vec<_>>()
        })
        .collect()
}

/// Every other metric that some round has: shown, but at its own level and without a claim.
fn exploratory(result: &ResultFile) -> Vec<Metric> {
    let mut names: Vec<&String> = result
        .valid_rounds()
        .flat_map(|round| round.metrics.keys())
        .collect();
    names.sort();
    names.dedup();
    names
        .into_iter()
        .filter(|name| {
            result
                .design
                .primary
                .iter()
                .all(|metric| metric.name != **name)
        })
        .filter_map(|name| Metric::named(name))
        .collect()
}

fn comparison(
    result: &ResultFile,
    metric: &Metric,
    primary: bool,
    alpha: f64,
    arm: usize,
) -> ArmComparison {
    let label = &result.design.arms[arm].label;
    let reference = &result.design.arms[result.design.reference].label;
    let value = |block: usize, label: &str| {
        result
            .valid_rounds()
            .find(|round| round.block == block && round.arm == label)
            .and_then(|round| round.metrics.get(&metric.name).copied())
    };
    // Blocks that are planned but not run yet are not missing.
    let differences: Vec<Option<f64>> = (0..result.plan.blocks())
        .filter(|block| is_run(result, *block))
        .map(|block| {
            metric
                .scale
                .difference(value(block, label), value(block, reference))
        })
        .collect();
    let flagged = |list: fn(&Round) -> &Vec<String>| {
        let rounds: Vec<&Round> = result
            .valid_rounds()
            .filter(|round| round.arm == *label || round.arm == *reference)
            .collect();
        let hits = rounds
            .iter()
            .filter(|round| list(round).contains(&metric.name))
            .count();
        hits * 2 > rounds.len()
    };
    let question = Question {
        scale: metric.scale,
        direction: metric.direction,
        margin: metric.margin,
        alpha,
        insufficient_tail: flagged(|round| &round.insufficient_tail),
        fragile_percentile: flagged(|round| &round.fragile_percentile),
    };
    let median = |label: &str| {
        let values: Vec<f64> = result
            .valid_rounds()
            .filter(|round| round.arm == label)
            .filter_map(|round| round.metrics.get(&metric.name).copied())
            .collect();
        stats::median(&values)
    };
    ArmComparison {
        metric: metric.clone(),
        primary,
        arm: label.clone(),
        reference: reference.clone(),
        arm_median: median(label),
        reference_median: median(reference),
        comparison: compare(&differences, question),
    }
}

/// Every round of the block has been carried out, whether it counts or not.
fn is_run(result: &ResultFile, block: usize) -> bool {
    let planned = result
        .plan
        .rounds
        .iter()
        .filter(|round| round.block == block)
        .count();
    result
        .rounds
        .iter()
        .filter(|round| round.block == block)
        .count()
        == planned
}

/// Blocks with at least one round that does not count.
pub fn excluded_blocks(result: &ResultFile) -> Vec<usize> {
    let mut blocks: Vec<usize> = result
        .rounds
        .iter()
        .filter(|round| round.problem.is_some())
        .map(|round| round.block)
        .collect();
    blocks.dedup();
    blocks
}

const SHORTEST_WAIT_NS: u64 = 50_000;

/// Did requests wait, arm by arm? All arms are held to the same threshold.
pub fn waiting(result: &ResultFile) -> Vec<ArmWaiting> {
    let arms = &result.design.arms;
    let pooled = |label: &str, stage: Stage| {
        let mut sum = Histogram::new(DEVICE);
        for round in result.valid_rounds().filter(|round| round.arm == label) {
            // The layouts are the same by construction.
            let _ = sum.merge(&round.device.stage(stage, &Op::DATA));
        }
        sum
    };
    let device_medians = arms
        .iter()
        .filter_map(|arm| pooled(&arm.label, Stage::D2c).quantile_ns(0.5));
    let shortest_device_ns = device_medians.fold(f64::INFINITY, f64::min);
    let tenth_ns = if shortest_device_ns.is_finite() {
        (shortest_device_ns / 10.0) as u64
    } else {
        0
    };
    let threshold_ns = SHORTEST_WAIT_NS.max(tenth_ns);
    let wait = if result.probe.measures_q2g {
        Stage::Q2d
    } else {
        Stage::G2d
    };
    arms.iter()
        .map(|arm| {
            let waits = pooled(&arm.label, wait);
            let last = result
                .valid_rounds()
                .filter(|round| round.arm == arm.label)
                .last();
            ArmWaiting {
                arm: arm.label.clone(),
                hardware_depth: last
                    .and_then(|round| round.applied.effective.hardware_depth)
                    .map(|hardware| hardware.depth),
                requests: waits.count(),
                threshold_ns,
                share: waits.share_above(threshold_ns),
            }
        })
        .collect()
}
