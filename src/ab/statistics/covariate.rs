//! Adjusts a metric for what was measured before each round's own switch, which its arm cannot have caused. Pure.
//!
//! One slope for all arms, from the deviations within blocks and arms. A slope for each arm, as in Lin's estimator, needs
//! more rounds than a run has: with 6 to 20 blocks it errs more than it explains.

use super::layout::{Cell, within_blocks};

/// With fewer residual degrees of freedom the slope is noise.
const FEWEST_DF: usize = 8;

/// How a metric follows the covariate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slope {
    slope: f64,
    mean: f64,
}

impl Slope {
    /// None if there are too few rounds with a covariate, or it is constant.
    pub fn of(cells: &[Cell]) -> Option<Slope> {
        let known: Vec<&Cell> = cells
            .iter()
            .filter(|cell| cell.before_load.is_some())
            .collect();
        let mut arms: Vec<usize> = known.iter().map(|cell| cell.arm).collect();
        arms.sort_unstable();
        arms.dedup();
        let load = |cell: &Cell| cell.before_load.unwrap_or_default();
        let fit = within_blocks(&known, |cell| {
            let others = arms.iter().skip(1).map(|arm| f64::from(cell.arm == *arm));
            others.chain([load(cell)]).collect()
        })?;
        let slope = *fit.coefficients.last()?;
        let mean = known.iter().map(|cell| load(cell)).sum::<f64>() / known.len() as f64;
        (fit.df >= FEWEST_DF && slope.is_finite()).then_some(Slope { slope, mean })
    }

    /// What `y` would have been after a mean load; `y` itself if the load before is unknown.
    pub fn adjusted(self, y: f64, before_load: Option<f64>) -> f64 {
        y - self.bias(before_load)
    }

    /// What the load before has added to a value.
    pub fn bias(self, before_load: Option<f64>) -> f64 {
        before_load.map_or(0.0, |load| self.slope * (load - self.mean))
    }
}

#[cfg(test)]
mod tests {
    use super::super::layout::LAGS;
    use super::*;

    /// Eight blocks of two arms; arm 1 adds 0.5, the load adds twice itself.
    fn cells() -> Vec<Cell> {
        let loads = [
            3.0, 1.0, 4.0, 1.5, 5.0, 9.0, 2.0, 6.0, 5.5, 3.5, 5.0, 8.0, 9.0, 7.0, 9.5, 3.0,
        ];
        let cells = loads.iter().enumerate();
        cells
            .map(|(index, load)| Cell {
                block: index / 2,
                arm: index % 2,
                position: index % 2,
                before: [None; LAGS],
                before_load: Some(*load),
                y: 10.0 * (index / 2) as f64 + 0.5 * (index % 2) as f64 + 2.0 * load,
            })
            .collect()
    }

    #[test]
    fn what_the_load_adds_is_taken_away() {
        let cells = cells();
        // Rounds: 16, blocks: 8, arms: 1, slope: 1: six degrees of freedom are too few, so two more blocks.
        let mut more = cells.clone();
        more.extend(cells.iter().map(|cell| Cell {
            block: cell.block + 8,
            ..*cell
        }));
        assert_eq!(Slope::of(&cells), None);
        let slope = Slope::of(&more).unwrap();
        assert!((slope.slope - 2.0).abs() < 1e-9, "{slope:?}");
        let adjusted = |cell: &Cell| slope.adjusted(cell.y, cell.before_load);
        for pair in more.chunks(2) {
            let difference = adjusted(&pair[1]) - adjusted(&pair[0]);
            assert!((difference - 0.5).abs() < 1e-9, "{difference}");
        }
        assert!((slope.adjusted(7.0, None) - 7.0).abs() < 1e-12);
    }

    #[test]
    fn a_constant_load_explains_nothing() {
        let mut cells = cells();
        for cell in &mut cells {
            cell.before_load = Some(1.0);
        }
        assert_eq!(Slope::of(&cells), None);
        for cell in &mut cells {
            cell.before_load = None;
        }
        assert_eq!(Slope::of(&cells), None);
    }
}
