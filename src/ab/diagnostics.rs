//! What the rounds tell about each other: drift, order and carry-over. Warnings, never corrections. Pure.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, StudentsT};

use super::analysis;
use super::metric::Metric;
use super::stats;
use super::verdict::Scale;
use crate::report::result::{ResultFile, Round};

/// On the metric's scale: logarithms, or the metric's unit for shares.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Diagnostics {
    pub metric: String,
    /// By how much the device, or what else uses the machine, changed from block to block.
    pub drift_per_block: Option<Effect>,
    /// Of a place further back in its block.
    pub position: Option<Effect>,
    /// Of the round before, by what ran in it, against the reference before.
    pub carry_over: Vec<CarryOver>,
    /// Of the differences of each arm to the reference, from one block to the next: by arm.
    pub autocorrelation: Vec<Autocorrelation>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Effect {
    pub estimate: f64,
    /// By least squares and Student's t.
    pub p: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CarryOver {
    /// The arm that ran before.
    pub after: String,
    pub effect: Effect,
    /// Clear, and half a margin or more: the ramp is too short.
    pub is_warning: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Autocorrelation {
    pub arm: String,
    pub lag_1: f64,
}

/// For each primary metric.
pub fn diagnostics(result: &ResultFile) -> Vec<Diagnostics> {
    let metrics = result.design.primary.iter();
    metrics.map(|metric| of_metric(result, metric)).collect()
}

/// A round that counts, with what ran before it.
struct Observation {
    block: usize,
    arm: usize,
    position: usize,
    before: Option<usize>,
    y: f64,
}

fn of_metric(result: &ResultFile, metric: &Metric) -> Diagnostics {
    let observations = observations(result, metric);
    let arms = result.design.arms.len();
    let (reference, label) = (result.design.reference, |arm: usize| {
        result.design.arms[arm].label.clone()
    });
    let others: Vec<usize> = (0..arms).filter(|arm| *arm != reference).collect();
    let is = |arm: Option<usize>, which: usize| f64::from(arm == Some(which));
    // Arms always; what else is asked for comes last.
    let of_arms =
        |o: &Observation| -> Vec<f64> { others.iter().map(|&arm| is(Some(o.arm), arm)).collect() };
    let with_position = |o: &Observation| [of_arms(o), vec![o.position as f64]].concat();
    let with_before = |o: &Observation| {
        let before = others.iter().map(|&arm| is(o.before, arm));
        [of_arms(o), before.collect()].concat()
    };
    let followers: Vec<&Observation> = observations.iter().filter(|o| o.before.is_some()).collect();
    let all: Vec<&Observation> = observations.iter().collect();
    let carry_over = within_blocks(&followers, with_before).unwrap_or_default();
    let threshold = metric.scale.of_margin(metric.margin) / 2.0;
    Diagnostics {
        metric: metric.name.clone(),
        drift_per_block: drift(&observations),
        position: within_blocks(&all, with_position).and_then(|found| found.last().copied()),
        carry_over: others
            .iter()
            .zip(carry_over.into_iter().skip(others.len()))
            .map(|(&arm, effect)| CarryOver {
                after: label(arm),
                effect,
                is_warning: effect.p < 0.01 && effect.estimate.abs() > threshold,
            })
            .collect(),
        autocorrelation: others
            .iter()
            .filter_map(|&arm| {
                let lag_1 = lag_1(&differences(&observations, arm, reference))?;
                let arm = label(arm);
                Some(Autocorrelation { arm, lag_1 })
            })
            .collect(),
    }
}

fn observations(result: &ResultFile, metric: &Metric) -> Vec<Observation> {
    let counted = analysis::counted_rounds(result);
    let before = |round: &Round| {
        let earlier = round.index.checked_sub(1)?;
        result.arm_index(&result.rounds.get(earlier)?.arm)
    };
    let rounds = counted.into_iter();
    rounds
        .filter_map(|round| {
            let value = round.metrics.get(&metric.name).copied()?;
            let y = match metric.scale {
                Scale::Log => value.ln(),
                Scale::Identity => value,
            };
            y.is_finite().then_some(Observation {
                block: round.block,
                arm: result.arm_index(&round.arm)?,
                position: round.position,
                before: before(round),
                y,
            })
        })
        .collect()
}

fn differences(observations: &[Observation], arm: usize, reference: usize) -> Vec<f64> {
    let of = |block: usize, arm: usize| {
        let found = observations
            .iter()
            .find(|o| (o.block, o.arm) == (block, arm));
        found.map(|o| o.y)
    };
    let blocks = observations
        .iter()
        .filter(|o| o.arm == arm)
        .map(|o| o.block);
    let mut blocks: Vec<usize> = blocks.collect();
    blocks.sort_unstable();
    blocks
        .into_iter()
        .filter_map(|block| Some(of(block, arm)? - of(block, reference)?))
        .collect()
}

fn lag_1(d: &[f64]) -> Option<f64> {
    let mean = stats::mean(d)?;
    let products: f64 = d.windows(2).map(|w| (w[0] - mean) * (w[1] - mean)).sum();
    let squares: f64 = d.iter().map(|x| (x - mean).powi(2)).sum();
    Some(products / squares).filter(|lag| lag.is_finite())
}

/// The slope of the blocks' means.
fn drift(observations: &[Observation]) -> Option<Effect> {
    let blocks = observations.iter().map(|o| o.block).max()? + 1;
    let means = (0..blocks).filter_map(|block| {
        let of_block = observations.iter().filter(|o| o.block == block);
        let y: Vec<f64> = of_block.map(|o| o.y).collect();
        Some((block as f64, stats::mean(&y)?))
    });
    let (x, y): (Vec<f64>, Vec<f64>) = means.unzip();
    let (mean_x, mean_y) = (stats::mean(&x)?, stats::mean(&y)?);
    let x: Vec<Vec<f64>> = x.into_iter().map(|x| vec![x - mean_x]).collect();
    let y: Vec<f64> = y.into_iter().map(|y| y - mean_y).collect();
    least_squares(&x, &y, 1)?.first().copied()
}

/// Least squares with a mean of its own for each block: whatever blocks differ by is no evidence.
fn within_blocks(
    observations: &[&Observation],
    regressors: impl Fn(&Observation) -> Vec<f64>,
) -> Option<Vec<Effect>> {
    let (mut x, mut y, mut blocks) = (Vec::new(), Vec::new(), 0);
    let last = observations.iter().map(|o| o.block).max()?;
    for block in 0..=last {
        let of_block: Vec<&&Observation> =
            observations.iter().filter(|o| o.block == block).collect();
        let n = of_block.len() as f64;
        if of_block.is_empty() {
            continue;
        }
        blocks += 1;
        let rows: Vec<Vec<f64>> = of_block.iter().map(|o| regressors(o)).collect();
        let mean_y = of_block.iter().map(|o| o.y).sum::<f64>() / n;
        for (row, o) in rows.iter().zip(&of_block) {
            let centred =
                (0..row.len()).map(|i| row[i] - rows.iter().map(|row| row[i]).sum::<f64>() / n);
            x.push(centred.collect());
            y.push(o.y - mean_y);
        }
    }
    least_squares(&x, &y, blocks)
}

/// Of centred data, which has used up `means` degrees of freedom. None where the regressors do not tell apart.
fn least_squares(x: &[Vec<f64>], y: &[f64], means: usize) -> Option<Vec<Effect>> {
    let k = x.first()?.len();
    let df = x.len().checked_sub(means + k).filter(|df| *df > 0)?;
    let sum = |f: &dyn Fn(usize) -> f64| (0..x.len()).map(f).sum::<f64>();
    // [X'X | I], to be reduced to [I | its inverse].
    let mut rows: Vec<Vec<f64>> = (0..k)
        .map(|i| {
            let left = (0..k).map(|j| sum(&|n| x[n][i] * x[n][j]));
            left.chain((0..k).map(|j| f64::from(i == j))).collect()
        })
        .collect();
    for column in 0..k {
        let pivot =
            (column..k).max_by(|&a, &b| rows[a][column].abs().total_cmp(&rows[b][column].abs()))?;
        rows.swap(column, pivot);
        let head = rows[column][column];
        if head.abs() < 1e-9 {
            return None;
        }
        rows[column].iter_mut().for_each(|value| *value /= head);
        let pivot_row = rows[column].clone();
        for (_, row) in rows.iter_mut().enumerate().filter(|(i, _)| *i != column) {
            let factor = row[column];
            row.iter_mut()
                .zip(&pivot_row)
                .for_each(|(value, pivot)| *value -= factor * pivot);
        }
    }
    let xy: Vec<f64> = (0..k).map(|i| sum(&|n| x[n][i] * y[n])).collect();
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let beta: Vec<f64> = rows.iter().map(|row| dot(&row[k..], &xy)).collect();
    let residuals = sum(&|n| (y[n] - dot(&x[n], &beta)).powi(2));
    let student = StudentsT::new(0.0, 1.0, df as f64).ok()?;
    let effects = (0..k).map(|i| {
        let error = (residuals / df as f64 * rows[i][k + i]).sqrt();
        let t = beta[i] / error;
        // Without noise there is nothing to doubt, or nothing there.
        let p = if t.is_nan() {
            1.0
        } else {
            2.0 * student.cdf(-t.abs())
        };
        Effect {
            estimate: beta[i],
            p,
        }
    });
    Some(effects.collect())
}

#[cfg(test)]
#[path = "diagnostics_tests.rs"]
mod tests;
