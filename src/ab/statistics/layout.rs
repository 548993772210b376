//! Position and carry-over effects, estimated from all rounds of a metric at once. Each block and each arm has a mean
//! of its own. Pure.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::estimate;
use super::least_squares::{Fit, p_of_t};

/// One round's value of a metric, with its place in the plan.
#[derive(Clone, Copy, Debug)]
pub struct Cell {
    pub block: usize,
    pub arm: usize,
    /// Position in the block, from 0.
    pub position: usize,
    /// The arm of the preceding round; None for the first round and when something else ran in between.
    pub before: Option<usize>,
    /// The load before the round, in logarithms; only in a live run.
    pub before_load: Option<f64>,
    /// On the metric's scale, finite.
    pub y: f64,
}

/// Positions count as different when an F test is significant at this level.
const POSITION_LEVEL: f64 = 0.05;

/// How much each position of a block differs from the mean of the positions.
#[derive(Clone, Debug, PartialEq)]
pub struct PositionEffect {
    pub by_position: Vec<f64>,
    /// The p-value of an F test over all positions.
    pub p: f64,
}

impl PositionEffect {
    /// None when positions are confounded with arms, for example after a single block.
    pub fn of(cells: &[Cell]) -> Option<PositionEffect> {
        let positions = cells.iter().map(|cell| cell.position + 1).max()?;
        let arms = |cell: &Cell| arms(cells, cell);
        let both = |cell: &Cell| {
            let places = (1..positions).map(|place| f64::from(cell.position == place));
            arms(cell).into_iter().chain(places).collect()
        };
        let cells_of_all: Vec<&Cell> = cells.iter().collect();
        let larger = within_blocks(&cells_of_all, both)?;
        let smaller = within_blocks(&cells_of_all, arms)?;
        Some(PositionEffect {
            by_position: robust(cells, positions),
            p: larger.p_beyond(&smaller),
        })
    }

    pub fn is_evident(&self) -> bool {
        self.p <= POSITION_LEVEL
    }

    /// The bias of a difference between rounds at these two positions.
    pub fn of_pair(&self, positions: (usize, usize)) -> f64 {
        let at = |position: usize| self.by_position.get(position).copied().unwrap_or(0.0);
        at(positions.0) - at(positions.1)
    }
}

/// Robust position effects: Hodges-Lehmann centres of blocks, arms and positions in turn, so that a stalled round has
/// no influence.
fn robust(cells: &[Cell], positions: usize) -> Vec<f64> {
    const SWEEPS: usize = 4;
    let mut residuals: Vec<f64> = cells.iter().map(|cell| cell.y).collect();
    let mut effects = vec![0.0; positions];
    for _ in 0..SWEEPS {
        sweep(cells, &mut residuals, |cell| cell.block);
        sweep(cells, &mut residuals, |cell| cell.arm);
        let found = sweep(cells, &mut residuals, |cell| cell.position);
        let pairs = effects.iter_mut().zip(found);
        pairs.for_each(|(effect, more)| *effect += more);
    }
    let mean = effects.iter().sum::<f64>() / positions as f64;
    effects.iter().map(|effect| effect - mean).collect()
}

/// Subtracts from each residual the centre of its group.
fn sweep(cells: &[Cell], residuals: &mut [f64], group: impl Fn(&Cell) -> usize) -> Vec<f64> {
    let groups = cells.iter().map(|cell| group(cell) + 1).max().unwrap_or(0);
    let mut members = vec![Vec::new(); groups];
    for (index, cell) in cells.iter().enumerate() {
        members[group(cell)].push(index);
    }
    let centre = |of: &Vec<usize>| {
        let values: Vec<f64> = of.iter().map(|&index| residuals[index]).collect();
        estimate::hodges_lehmann(&values).unwrap_or(0.0)
    };
    let centres: Vec<f64> = members.iter().map(centre).collect();
    for (residual, cell) in residuals.iter_mut().zip(cells) {
        *residual -= centres[group(cell)];
    }
    centres
}

/// What an arm leaves behind for the following round, compared with what the first arm leaves behind.
#[derive(Debug)]
pub struct CarryOver {
    fit: Fit,
    /// Number of coefficients before those of the preceding arms.
    offset: usize,
    /// By arm: the index of its coefficient; none for the baseline arm.
    places: Vec<Option<usize>>,
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
        let followers: Vec<&Cell> = cells.iter().filter(|cell| cell.before.is_some()).collect();
        let positions = cells.iter().map(|cell| cell.position + 1).max()?;
        let mut before: Vec<usize> = followers.iter().filter_map(|cell| cell.before).collect();
        before.sort_unstable();
        before.dedup();
        let held_against = *before.first()?;
        let others: Vec<usize> = before
            .into_iter()
            .filter(|arm| *arm != held_against)
            .collect();
        if others.is_empty() {
            return None;
        }
        let offset = arms(cells, followers[0]).len() + positions - 1;
        let regressors = |cell: &Cell| {
            let places = (1..positions).map(|place| f64::from(cell.position == place));
            let left = others
                .iter()
                .map(|arm| f64::from(cell.before == Some(*arm)));
            let arms = arms(cells, cell).into_iter();
            arms.chain(places).chain(left).collect()
        };
        let last = others.iter().chain([&held_against]).max()?;
        let between = match others[..] {
            [other] => between_blocks(cells, other),
            _ => None,
        };
        Some(CarryOver {
            between,
            fit: within_blocks(&followers, regressors)?,
            offset,
            places: (0..=*last)
                .map(|arm| others.iter().position(|other| *other == arm))
                .collect(),
        })
    }

    /// What `arm` leaves behind minus what `other` leaves behind. None when one of them never preceded a round.
    pub fn between(&self, arm: usize, other: usize) -> Option<Contrast> {
        let mut weights = vec![0.0; self.fit.coefficients.len()];
        for (arm, weight) in [(arm, 1.0), (other, -1.0)] {
            if let Some(place) = self.places.get(arm)? {
                weights[self.offset + place] += weight;
            }
        }
        Some(self.contrast(&weights))
    }

    /// The bias of the mean difference between `arm` and `reference`, from the arms that preceded the rounds of each.
    pub fn bias(&self, cells: &[Cell], arm: usize, reference: usize) -> Contrast {
        let mut weights = vec![0.0; self.fit.coefficients.len()];
        for (of, sign) in [(arm, 1.0), (reference, -1.0)] {
            let rounds: Vec<&Cell> = cells.iter().filter(|cell| cell.arm == of).collect();
            for before in rounds.iter().filter_map(|cell| cell.before) {
                if let Some(Some(place)) = self.places.get(before) {
                    weights[self.offset + place] += sign / rounds.len() as f64;
                }
            }
        }
        self.contrast(&weights)
    }

    fn contrast(&self, weights: &[f64]) -> Contrast {
        let within = self.fit.contrast(weights);
        let Some(between) = &self.between else {
            return Contrast::of(within, self.fit.p(within));
        };
        // Two independent estimates of the same quantity.
        let weight = weights[self.offset];
        let other = between.contrast(&[weight, 0.0, 0.0]);
        let share = other.1.powi(2) / (within.1.powi(2) + other.1.powi(2));
        if !share.is_finite() {
            return Contrast::of(within, self.fit.p(within));
        }
        let estimate = share * within.0 + (1.0 - share) * other.0;
        let both = (estimate, within.1 * share.sqrt());
        Contrast::of(both, p_of_t(both, self.fit.df + between.df))
    }
}

impl Contrast {
    fn of((estimate, standard_error): (f64, f64), p: f64) -> Contrast {
        Contrast {
            estimate,
            standard_error,
            p,
        }
    }
}

/// Regression of the block means of two arms on the number of their rounds that followed `arm`, with a quadratic drift.
/// The randomised order decides which blocks have more of them.
fn between_blocks(cells: &[Cell], arm: usize) -> Option<Fit> {
    let mut blocks: BTreeMap<usize, Vec<&Cell>> = BTreeMap::new();
    for cell in cells {
        blocks.entry(cell.block).or_default().push(cell);
    }
    let mut rows = Vec::new();
    for (block, cells) in blocks {
        let before: Vec<usize> = cells.iter().filter_map(|cell| cell.before).collect();
        if before.len() == cells.len() && cells.len() == 2 {
            let after = before.iter().filter(|before| **before == arm).count() as f64 / 2.0;
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

/// An indicator for each arm that occurs, except the first.
fn arms(cells: &[Cell], cell: &Cell) -> Vec<f64> {
    let mut all: Vec<usize> = cells.iter().map(|cell| cell.arm).collect();
    all.sort_unstable();
    all.dedup();
    let others = all.into_iter().skip(1);
    others.map(|arm| f64::from(cell.arm == arm)).collect()
}

/// Least squares with a mean of its own for each block, so that differences between blocks have no influence.
pub fn within_blocks(cells: &[&Cell], regressors: impl Fn(&Cell) -> Vec<f64>) -> Option<Fit> {
    let (mut x, mut y, mut blocks) = (Vec::new(), Vec::new(), 0);
    let last = cells.iter().map(|cell| cell.block).max()?;
    for block in 0..=last {
        let of_block: Vec<&&Cell> = cells.iter().filter(|cell| cell.block == block).collect();
        let n = of_block.len() as f64;
        if of_block.is_empty() {
            continue;
        }
        blocks += 1;
        let rows: Vec<Vec<f64>> = of_block.iter().map(|cell| regressors(cell)).collect();
        let mean_y = of_block.iter().map(|cell| cell.y).sum::<f64>() / n;
        for (row, cell) in rows.iter().zip(&of_block) {
            let centred =
                (0..row.len()).map(|i| row[i] - rows.iter().map(|row| row[i]).sum::<f64>() / n);
            x.push(centred.collect());
            y.push(cell.y - mean_y);
        }
    }
    Fit::new(&x, &y, blocks)
}
