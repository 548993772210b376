//! Rounds in their places, and position effects, estimated from all rounds of a metric at once. Each block and each arm
//! has a mean of its own. Pure.

use super::estimate;
use super::least_squares::Fit;

/// One round's value of a metric, with its place in the plan.
#[derive(Clone, Copy, Debug)]
pub struct Cell {
    pub block: usize,
    pub arm: usize,
    /// Position in the block, from 0.
    pub position: usize,
    /// The arms of the preceding rounds, the last one first; None where there was none, and when something else ran in
    /// between.
    pub before: [Option<usize>; LAGS],
    /// The load before the first round of the block, in logarithms; only in a live run.
    pub before_load: Option<f64>,
    /// On the metric's scale, finite.
    pub y: f64,
}

/// For how many rounds what an arm leaves behind is looked for.
pub const LAGS: usize = 3;

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
        let arms = indicators(cells);
        let both = |cell: &Cell| {
            let places = (1..positions).map(|place| f64::from(cell.position == place));
            arms(cell).into_iter().chain(places).collect()
        };
        let cells_of_all: Vec<&Cell> = cells.iter().collect();
        let larger = within_blocks(&cells_of_all, both)?;
        let smaller = within_blocks(&cells_of_all, &arms)?;
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

/// A function that gives a cell's indicators: one for each arm that occurs, except the first.
pub(super) fn indicators(cells: &[Cell]) -> impl Fn(&Cell) -> Vec<f64> {
    let mut all: Vec<usize> = cells.iter().map(|cell| cell.arm).collect();
    all.sort_unstable();
    all.dedup();
    all.drain(..all.len().min(1));
    move |cell| all.iter().map(|arm| f64::from(cell.arm == *arm)).collect()
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
