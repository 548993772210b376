//! Outlying blocks: rounds that stalled. Pure.

use serde::{Deserialize, Serialize};

use super::estimate;
use super::scale::{Direction, Margins};
use super::signed_rank::Difference;

/// Counted by the arm whose round was the worse one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StalledRounds {
    pub arm: usize,
    pub reference: usize,
}

impl StalledRounds {
    /// Censored blocks, and blocks both beyond the margin and so many robust standard deviations from the median that
    /// only one of a hundred comparisons with normal noise contains such a block.
    pub fn among(d: &[Difference], margins: Margins, direction: Direction) -> StalledRounds {
        let finite: Vec<f64> = d.iter().filter_map(|d| d.finite()).collect();
        let mut found = StalledRounds::default();
        let mut count = |is_low: bool| match (direction, is_low) {
            (Direction::Neutral, _) => {}
            (Direction::HigherIsBetter, true) | (Direction::LowerIsBetter, false) => found.arm += 1,
            _ => found.reference += 1,
        };
        for censored in d.iter().filter(|d| d.is_censored() && d.is_point()) {
            count(censored.lower < 0.0);
        }
        let Some(median) = estimate::median(&finite) else {
            return found;
        };
        let deviations: Vec<f64> = finite.iter().map(|x| (x - median).abs()).collect();
        let robust_sd = 1.4826 * estimate::median(&deviations).unwrap_or(0.0);
        let limit = robust_sd * deviations_allowed(finite.len());
        for x in finite.iter().map(|x| x - median) {
            let margin = if x < 0.0 { margins.down } else { margins.up };
            if x.abs() > limit.max(margin) {
                count(x < 0.0);
            }
        }
        found
    }

    /// The largest share of rounds that may stall although none of `blocks` did, at 95 % confidence (the rule of
    /// three).
    pub fn unseen_share(blocks: usize) -> Option<f64> {
        (blocks > 0).then(|| 1.0 - 0.05f64.powf(1.0 / blocks as f64))
    }
}

/// The 99th percentile of the largest deviation from the median among `blocks` normal values, in robust standard
/// deviations. From 200,000 simulated draws each; checked by `tests/verdicts.rs`.
fn deviations_allowed(blocks: usize) -> f64 {
    const TABLE: [(usize, f64); 11] = [
        (4, 18.4),
        (5, 18.4),
        (6, 10.7),
        (7, 10.7),
        (8, 8.2),
        (10, 7.0),
        (12, 6.4),
        (16, 5.7),
        (20, 5.3),
        (40, 4.6),
        (80, 4.4),
    ];
    match TABLE.partition_point(|&(n, _)| n <= blocks) {
        0 => f64::INFINITY,
        n if n == TABLE.len() => TABLE[n - 1].1,
        n => {
            let ((n0, k0), (n1, k1)) = (TABLE[n - 1], TABLE[n]);
            let share = (blocks - n0) as f64 / (n1 - n0) as f64;
            k0 + (k1 - k0) * share
        }
    }
}
