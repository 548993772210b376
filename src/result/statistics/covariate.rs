//! Adjusts a metric for the load before each block, which none of the block's arms can have caused. Pure.
//!
//! The load before a round is the doing of the arm before it, if load reacts to the arm; and which arm came before says,
//! within a block, which arm this one is. So adjusting for that load would turn the reaction into a difference. Nothing that
//! was measured before the block's first switch depends on the order that was drawn for the block. That load is the same
//! for all rounds of a block, and explains differences within it by the time that has passed since, because what is high
//! falls back: each position has a slope of its own, compared with the first.
//!
//! The slopes are the same for all arms. A slope for each arm, as in Lin's estimator, needs more rounds than a run has: with
//! 6 to 20 blocks it errs more than it explains.

use super::estimate;
use super::layout::{Cell, indicators, within_blocks};
use super::rows::RowBlock;

/// With fewer residual degrees of freedom the slopes are noise.
const FEWEST_DF: usize = 8;

/// How a metric follows the load before the block.
#[derive(Clone, Debug, PartialEq)]
pub struct Slopes {
    /// Compared with the first position.
    pub by_position: Vec<f64>,
    mean: f64,
    /// By how much differences of adjusted values must be spread: the slopes used degrees of freedom.
    spread: f64,
}

impl Slopes {
    /// None if there are too few blocks with a load, or it is constant.
    pub fn of(cells: &[Cell]) -> Option<Slopes> {
        let known: Vec<Cell> = cells
            .iter()
            .filter(|cell| cell.before_load.is_some())
            .copied()
            .collect();
        let positions = known.iter().map(|cell| cell.position + 1).max()?;
        let load = |cell: &Cell| cell.before_load.unwrap_or_default();
        let mean = known.iter().map(load).sum::<f64>() / known.len() as f64;
        let arms = indicators(&known);
        let regressors = |cell: &Cell| {
            let places = (1..positions).map(|place| f64::from(cell.position == place));
            let slopes = places.clone().map(|place| place * (load(cell) - mean));
            let all = arms(cell).into_iter().chain(places);
            all.chain(slopes).collect()
        };
        let fit = within_blocks(&known.iter().collect::<Vec<_>>(), regressors)?;
        let of_later = fit.coefficients.iter().rev().take(positions - 1).rev();
        let by_position: Vec<f64> = [0.0].into_iter().chain(of_later.copied()).collect();
        let is_known = fit.df >= FEWEST_DF && by_position.iter().all(|slope| slope.is_finite());
        let df = fit.df as f64;
        is_known.then_some(Slopes {
            spread: ((df + (positions - 1) as f64) / df).sqrt(),
            by_position,
            mean,
        })
    }

    /// The `y` that would follow a mean load; `y` itself if the load before is unknown.
    pub fn adjusted(&self, cell: &Cell) -> f64 {
        cell.y - self.bias(cell.position, cell.before_load)
    }

    /// Differences of adjusted values, as far from their centre as if nothing had been learnt from them.
    pub fn spread(&self, blocks: &mut [RowBlock]) {
        let known = blocks.iter().filter_map(|block| block.difference?.finite());
        let Some(centre) = estimate::hodges_lehmann(&known.collect::<Vec<f64>>()) else {
            return;
        };
        let spread = |x: f64| {
            if x.is_finite() {
                centre + (x - centre) * self.spread
            } else {
                x
            }
        };
        for difference in blocks
            .iter_mut()
            .filter_map(|block| block.difference.as_mut())
        {
            difference.lower = spread(difference.lower);
            difference.upper = spread(difference.upper);
        }
    }

    /// The bias of a value in this position by the load before the block.
    pub fn bias(&self, position: usize, before_load: Option<f64>) -> f64 {
        let slope = self.by_position.get(position).copied().unwrap_or_default();
        before_load.map_or(0.0, |load| slope * (load - self.mean))
    }
}

#[cfg(test)]
mod tests {
    use super::super::layout::LAGS;
    use super::*;

    /// Twelve blocks of two arms in changing order; arm 1 adds 0.5, and in the second round twice the load is gone.
    fn cells() -> Vec<Cell> {
        let loads = [3.0, 1.0, 4.0, 1.5, 5.0, 9.0, 2.0, 6.0, 5.5, 3.5, 5.0, 8.0];
        let blocks = loads.iter().enumerate();
        let rounds = blocks.flat_map(|(block, load)| [(block, 0, *load), (block, 1, *load)]);
        rounds
            .map(|(block, position, load)| {
                let arm = (position + block / 2) % 2;
                Cell {
                    block,
                    arm,
                    position,
                    before: [None; LAGS],
                    before_load: Some(load),
                    y: 10.0 * block as f64 + 0.5 * arm as f64 - 2.0 * load * position as f64,
                }
            })
            .collect()
    }

    #[test]
    fn what_the_load_adds_is_taken_away() {
        let cells = cells();
        // Rounds: 20, blocks: 10, arms: 1, positions: 1, slopes: 1: seven degrees of freedom are too few.
        assert_eq!(Slopes::of(&cells[..20]), None);
        let slopes = Slopes::of(&cells).unwrap();
        assert!((slopes.by_position[1] + 2.0).abs() < 1e-9, "{slopes:?}");
        // The rest is the position, which is no load.
        let falls_back = 2.0
            * cells
                .iter()
                .filter_map(|cell| cell.before_load)
                .sum::<f64>()
            / 24.0;
        for pair in cells.chunks(2) {
            let difference = slopes.adjusted(&pair[1]) - slopes.adjusted(&pair[0]);
            let of_arms = 0.5 * (pair[1].arm as f64 - pair[0].arm as f64);
            assert!(
                (difference - of_arms + falls_back).abs() < 1e-9,
                "{difference}"
            );
        }
        assert!(slopes.bias(1, None).abs() < 1e-12);
    }

    #[test]
    fn a_constant_load_explains_nothing() {
        let mut cells = cells();
        for cell in &mut cells {
            cell.before_load = Some(1.0);
        }
        assert_eq!(Slopes::of(&cells), None);
        for cell in &mut cells {
            cell.before_load = None;
        }
        assert_eq!(Slopes::of(&cells), None);
    }
}
