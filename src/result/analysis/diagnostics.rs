//! Diagnostics of the rounds: drift, order and carry-over. They warn and never correct. Pure.

use super::table::Table;
use crate::metric::Metric;
use crate::statistics::carry_over::CarryOver;
use crate::statistics::estimate;
use crate::statistics::layout::{Cell, within_blocks};
use crate::statistics::least_squares::Fit;
use crate::types::diagnostics::{Autocorrelation, Diagnostics, EffectEstimate, LeftBehind};
use crate::types::result::ResultFile;

/// The diagnostics of each primary metric.
pub fn diagnostics(result: &ResultFile) -> Vec<Diagnostics> {
    let metrics = result.design.primary.iter();
    metrics.map(|metric| of_metric(result, metric)).collect()
}

fn of_metric(result: &ResultFile, metric: &Metric) -> Diagnostics {
    let cells = Table::new(result).cells(metric);
    let reference = result.design.reference;
    let label = |arm: usize| result.design.arms[arm].label.clone();
    let others = (0..result.design.arms.len()).filter(|arm| *arm != reference);
    let left_behind = CarryOver::of(&cells);
    let threshold = metric.scale.of_margin(metric.margin) / 2.0;
    let carry_over = others.clone().filter_map(|arm| {
        let left_behind = left_behind.as_ref()?;
        let effect = left_behind.between(arm, reference)?;
        Some(LeftBehind {
            after: label(arm),
            effect: EffectEstimate {
                estimate: effect.estimate,
                p: effect.p,
            },
            lasts_rounds: left_behind.rounds(),
            is_warning: effect.p < 0.01 && effect.estimate.abs() > threshold,
        })
    });
    let autocorrelation = others.filter_map(|arm| {
        let lag_1 = lag_1(&differences(&cells, arm, reference))?;
        Some(Autocorrelation {
            arm: label(arm),
            lag_1,
        })
    });
    Diagnostics {
        metric: metric.name.clone(),
        drift_per_block: drift(&cells),
        position: position(&cells),
        carry_over: carry_over.collect(),
        autocorrelation: autocorrelation.collect(),
    }
}

/// The slope over the positions.
fn position(cells: &[Cell]) -> Option<EffectEstimate> {
    let arms = cells.iter().map(|cell| cell.arm).max()?;
    let cells: Vec<&Cell> = cells.iter().collect();
    let regressors = |cell: &Cell| {
        let arms = (1..=arms).map(|arm| f64::from(cell.arm == arm));
        arms.chain([cell.position as f64]).collect()
    };
    let fit = within_blocks(&cells, regressors)?;
    Some(effect(&fit, arms))
}

fn effect(fit: &Fit, which: usize) -> EffectEstimate {
    let mut weights = vec![0.0; fit.coefficients.len()];
    weights[which] = 1.0;
    let found = fit.contrast(&weights);
    EffectEstimate {
        estimate: found.0,
        p: fit.p(found),
    }
}

/// Differences of the blocks in which both have a value.
fn differences(cells: &[Cell], arm: usize, reference: usize) -> Vec<f64> {
    let of = |block: usize, arm: usize| {
        let found = cells.iter().find(|c| (c.block, c.arm) == (block, arm));
        found.map(|cell| cell.y)
    };
    let of_arm = cells.iter().filter(|cell| cell.arm == arm);
    let mut blocks: Vec<usize> = of_arm.map(|cell| cell.block).collect();
    blocks.sort_unstable();
    blocks
        .into_iter()
        .filter_map(|block| Some(of(block, arm)? - of(block, reference)?))
        .collect()
}

fn lag_1(d: &[f64]) -> Option<f64> {
    let mean = estimate::mean(d)?;
    let products: f64 = d.windows(2).map(|w| (w[0] - mean) * (w[1] - mean)).sum();
    let squares: f64 = d.iter().map(|x| (x - mean).powi(2)).sum();
    Some(products / squares).filter(|lag| lag.is_finite())
}

/// The slope of the block means.
fn drift(cells: &[Cell]) -> Option<EffectEstimate> {
    let blocks = cells.iter().map(|cell| cell.block).max()? + 1;
    let means = (0..blocks).filter_map(|block| {
        let of_block = cells.iter().filter(|cell| cell.block == block);
        let y: Vec<f64> = of_block.map(|cell| cell.y).collect();
        Some((block as f64, estimate::mean(&y)?))
    });
    let (x, y): (Vec<f64>, Vec<f64>) = means.unzip();
    let (mean_x, mean_y) = (estimate::mean(&x)?, estimate::mean(&y)?);
    let x: Vec<Vec<f64>> = x.into_iter().map(|x| vec![x - mean_x]).collect();
    let y: Vec<f64> = y.into_iter().map(|y| y - mean_y).collect();
    Some(effect(&Fit::new(&x, &y, 1)?, 0))
}

#[cfg(test)]
#[path = "diagnostics_tests.rs"]
mod tests;
