//! When a run ends, and so at which level its intervals stand: decided before the first round. Pure.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::stats;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Stopping {
    /// After so many blocks, whatever they show.
    Fixed { blocks: usize },
    /// At the first of the [`LOOKS`] at which every primary comparison has its verdict, at the latest at the last.
    Looks,
    /// As soon as every primary comparison has its verdict, or by hand; the intervals hold at any time.
    Open,
}

/// Blocks after which a verdict may end the run; [`stats::pocock_level`] is calibrated for just these.
pub const LOOKS: [usize; 4] = [8, 12, 16, 20];
/// Blocks that an open run draws at a time.
const STRETCH: usize = 8;
/// Blocks below which an open run is not asked for a verdict.
const FEWEST: usize = 4;

/// How an interval is made.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// The exact signed-rank interval around the Hodges-Lehmann estimate.
    SignedRank,
    /// The intersection of t-mixture intervals after each block: it may be looked at after any of them.
    AlwaysValid,
}

impl Stopping {
    pub fn method(self) -> Method {
        match self {
            Stopping::Fixed { .. } | Stopping::Looks => Method::SignedRank,
            Stopping::Open => Method::AlwaysValid,
        }
    }

    /// The level of one interval, when `alpha` is what its comparison may err over the whole run.
    pub fn level(self, alpha: f64) -> f64 {
        match self {
            Stopping::Fixed { .. } | Stopping::Open => alpha,
            Stopping::Looks => stats::pocock_level(alpha),
        }
    }

    /// Blocks to draw, segment by segment, before the first round.
    pub fn segments(self) -> Vec<usize> {
        match self {
            Stopping::Fixed { blocks } => vec![blocks],
            Stopping::Looks => {
                let before = [0].into_iter().chain(LOOKS);
                LOOKS
                    .iter()
                    .zip(before)
                    .map(|(to, from)| to - from)
                    .collect()
            }
            Stopping::Open => vec![STRETCH],
        }
    }

    /// Blocks to draw when those drawn are done and nothing has ended the run.
    pub fn next_segment(self) -> Option<usize> {
        (self == Stopping::Open).then_some(STRETCH)
    }

    /// Blocks after which the run may end, of `planned` ones.
    pub fn looks(self, planned: usize) -> Vec<usize> {
        match self {
            Stopping::Fixed { .. } => vec![planned],
            Stopping::Looks => LOOKS.to_vec(),
            Stopping::Open => (FEWEST.min(planned)..=planned).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_add_up_to_the_looks() {
        assert_eq!(Stopping::Looks.segments(), [8, 4, 4, 4]);
        assert_eq!(Stopping::Looks.looks(20), [8, 12, 16, 20]);
        assert_eq!(Stopping::Fixed { blocks: 12 }.looks(12), [12]);
        assert_eq!(Stopping::Open.looks(8), [4, 5, 6, 7, 8]);
    }

    #[test]
    fn only_looks_cost_level() {
        let near = |a: f64, b: f64| (a - b).abs() < 1e-12;
        assert!(near(Stopping::Looks.level(0.05), 0.01914));
        assert!(near(Stopping::Fixed { blocks: 12 }.level(0.05), 0.05));
        assert!(near(Stopping::Open.level(0.05), 0.05));
    }
}
