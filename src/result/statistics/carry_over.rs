//! Carry-over: what an arm leaves behind for the rounds after its own, estimated from all rounds of a metric. Pure.
//!
//! The carry-over may last for one round or for several, and with two arms the differences within blocks alone
//! cannot tell one from the other: the order of two blocks has the same influence in both cases, with opposite signs.
//! So a few shapes of decay are tried, within and between blocks, and the one that explains the rounds best is used.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::layout::{Cell, LAGS, indicators, within_blocks};
use super::least_squares::{Fit, p_of_t};

/// How much is left for the next round, the one after it, and so on, compared with the next one.
type Shape = [f64; LAGS];

const SHAPES: [Shape; 4] = [
    [1.0, 0.0, 0.0],
    [1.0, 0.5, 0.25],
    [1.0, 1.0, 0.0],
    [1.0, 1.0, 1.0],
];

/// By so much a shape that lasts for several rounds must explain the rounds better, in logarithms of the likelihood.
const HANDICAP: f64 = 0.4;

/// The carry-over of each arm, compared with that of the first of those that precede a round.
#[derive(Debug)]
pub struct CarryOver {
    shape: Shape,
    /// None where the order of the rounds confounds it with arms and positions.
    within: Option<Fit>,
    /// Number of coefficients before those of the preceding arms.
    offset: usize,
    /// The arms that preceded a round, without the one that the others are compared with.
    others: Vec<usize>,
    held_against: usize,
    /// With two arms: an estimate from the means of the blocks.
    between: Option<Fit>,
}

/// An estimate with its standard error.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Contrast {
    pub estimate: f64,
    pub standard_error: f64,
    /// Two-sided, from Student's t.
    pub p: f64,
}

impl CarryOver {
    /// None when it is confounded with arms and positions, or when the same arm preceded every round.
    pub fn of(cells: &[Cell]) -> Option<CarryOver> {
        let candidates = SHAPES
            .iter()
            .filter_map(|shape| CarryOver::with(cells, *shape));
        candidates.max_by(|a, b| a.likelihood().total_cmp(&b.likelihood()))
    }

    fn with(cells: &[Cell], shape: Shape) -> Option<CarryOver> {
        let mut before: Vec<usize> = cells.iter().filter_map(|cell| cell.before[0]).collect();
        before.sort_unstable();
        before.dedup();
        let (held_against, others) = before.split_first()?;
        if others.is_empty() {
            return None;
        }
        let all = before.len();
        let positions = cells.iter().map(|cell| cell.position + 1).max()?;
        let followers: Vec<&Cell> = cells.iter().filter(|c| c.before[0].is_some()).collect();
        let arms = indicators(cells);
        let regressors = |cell: &Cell| {
            let places = (1..positions).map(|place| f64::from(cell.position == place));
            let left = others.iter().map(|arm| exposure(cell, *arm, all, shape));
            arms(cell).into_iter().chain(places).chain(left).collect()
        };
        let within = within_blocks(&followers, regressors);
        let between = match others {
            [other] => between_blocks(cells, *other, shape),
            _ => None,
        };
        (within.is_some() || between.is_some()).then(|| CarryOver {
            shape,
            offset: arms(followers[0]).len() + positions - 1,
            others: others.to_vec(),
            held_against: *held_against,
            within,
            between,
        })
    }

    /// For how many rounds it lasts.
    pub fn rounds(&self) -> usize {
        self.shape.iter().filter(|left| **left > 0.0).count()
    }

    /// The carry-over of `arm` to the next round minus that of `other`. None when one of them never preceded a round.
    pub fn between(&self, arm: usize, other: usize) -> Option<Contrast> {
        let mut weights = vec![0.0; self.others.len()];
        for (arm, weight) in [(arm, 1.0), (other, -1.0)] {
            if arm != self.held_against {
                weights[self.others.iter().position(|known| *known == arm)?] += weight;
            }
        }
        Some(self.contrast(&weights))
    }

    /// The bias of the mean difference between `arm` and `reference`, from the arms that preceded the rounds of each.
    pub fn bias(&self, cells: &[Cell], arm: usize, reference: usize) -> Contrast {
        let mut weights = vec![0.0; self.others.len()];
        for (of, sign) in [(arm, 1.0), (reference, -1.0)] {
            let rounds: Vec<&Cell> = cells.iter().filter(|cell| cell.arm == of).collect();
            for (weight, other) in weights.iter_mut().zip(&self.others) {
                let all = self.others.len() + 1;
                let met = rounds
                    .iter()
                    .map(|cell| exposure(cell, *other, all, self.shape));
                *weight += sign * met.sum::<f64>() / rounds.len().max(1) as f64;
            }
        }
        self.contrast(&weights)
    }

    /// Contrast of the coefficients of the preceding arms.
    fn contrast(&self, weights: &[f64]) -> Contrast {
        let within = self.within.as_ref().map(|fit| {
            let before = vec![0.0; self.offset];
            let all: Vec<f64> = before.iter().chain(weights).copied().collect();
            (fit.contrast(&all), fit.df)
        });
        let between = self.between.as_ref().map(|fit| {
            let found = fit.contrast(&[weights[0], 0.0, 0.0]);
            (found, fit.df)
        });
        match (within, between) {
            (Some(one), Some(other)) => Contrast::pooled(one, other),
            (Some((found, df)), None) | (None, Some((found, df))) => Contrast::of(found, df),
            (None, None) => unreachable!("one of them was estimated"),
        }
    }

    /// How well it explains the rounds: the logarithm of the likelihood, but for a constant that all shapes share.
    fn likelihood(&self) -> f64 {
        let unit = [1.0];
        let pooled = (self.others.len() == 1).then(|| self.contrast(&unit).estimate);
        let of = |fit: &Fit, weights: &[f64]| {
            let (own, error) = fit.contrast(weights);
            let off = pooled.map_or(0.0, |pooled| (pooled - own) / error);
            let squares = fit.residual_squares * (1.0 + off.powi(2) / fit.df as f64);
            -0.5 * (fit.df + 1) as f64 * squares.max(f64::MIN_POSITIVE).ln()
        };
        let within = self.within.as_ref().map(|fit| {
            let mut weights = vec![0.0; self.offset];
            weights.push(1.0);
            weights.resize(fit.coefficients.len(), 0.0);
            of(fit, &weights)
        });
        let between = self.between.as_ref().map(|fit| of(fit, &[1.0, 0.0, 0.0]));
        let lasts_longer = self.shape[1] > 0.0;
        let penalty = if lasts_longer { HANDICAP } else { 0.0 };
        within.unwrap_or(0.0) + between.unwrap_or(0.0) - penalty
    }
}

impl Contrast {
    fn of((estimate, standard_error): (f64, f64), df: usize) -> Contrast {
        Contrast {
            estimate,
            standard_error,
            p: p_of_t((estimate, standard_error), df),
        }
    }

    /// Two independent estimates of the same quantity, with their degrees of freedom.
    fn pooled(one: ((f64, f64), usize), other: ((f64, f64), usize)) -> Contrast {
        let ((within, between), df) = ((one.0, other.0), one.1 + other.1);
        let share = between.1.powi(2) / (within.1.powi(2) + between.1.powi(2));
        if !share.is_finite() {
            return Contrast::of(within, one.1);
        }
        let estimate = share * within.0 + (1.0 - share) * between.0;
        Contrast::of((estimate, within.1 * share.sqrt()), df)
    }
}

/// How much of what `arm` leaves behind a round met. Where the arm before the last is not known, an even share of all.
fn exposure(cell: &Cell, arm: usize, arms: usize, shape: Shape) -> f64 {
    let lags = cell.before.iter().zip(shape);
    let met = lags.map(|(before, weight)| match before {
        Some(before) => weight * f64::from(*before == arm),
        None => weight / arms as f64,
    });
    met.sum()
}

/// Regression of the block means of two arms on what their rounds met of `arm`, with a quadratic drift. The randomised
/// order decides which blocks met more of it.
fn between_blocks(cells: &[Cell], arm: usize, shape: Shape) -> Option<Fit> {
    let mut blocks: BTreeMap<usize, Vec<&Cell>> = BTreeMap::new();
    for cell in cells {
        blocks.entry(cell.block).or_default().push(cell);
    }
    let mut rows = Vec::new();
    for (block, cells) in blocks {
        if cells.len() == 2 && cells.iter().all(|cell| cell.before[0].is_some()) {
            let met = cells.iter().map(|cell| exposure(cell, arm, 2, shape));
            let after = met.sum::<f64>() / 2.0;
            let y = cells.iter().map(|cell| cell.y).sum::<f64>() / 2.0;
            let t = block as f64;
            rows.push((vec![after, t, t * t], y));
        }
    }
    let n = rows.len() as f64;
    let mean_x = |i: usize| rows.iter().map(|(x, _)| x[i]).sum::<f64>() / n;
    let means: Vec<f64> = (0..3).map(mean_x).collect();
    let mean_y = rows.iter().map(|(_, y)| y).sum::<f64>() / n;
    let centred = |row: &(Vec<f64>, f64)| row.0.iter().zip(&means).map(|(x, m)| x - m).collect();
    let x: Vec<Vec<f64>> = rows.iter().map(centred).collect();
    let y: Vec<f64> = rows.iter().map(|row| row.1 - mean_y).collect();
    Fit::new(&x, &y, 1)
}
