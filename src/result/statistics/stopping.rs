//! Stopping rules and the interval levels that follow from them; fixed before the first round. Pure.

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Stopping {
    /// The run ends after this many blocks, whatever they show.
    Fixed { blocks: usize },
    /// The run ends at the first of the [`LOOKS`] at which every primary comparison has a verdict, and at the latest at the last
    /// one.
    Looks {
        /// Short rounds have so many times the blocks at each look, and one look more after the first six blocks. Absent: 1.
        #[serde(default = "once")]
        times: usize,
    },
    /// The run ends as soon as every primary comparison has a verdict, or by hand. The intervals are valid at any time.
    Open,
}

/// Block counts after which a verdict may end the run; [`SHARE_OF_A_LOOK`] is calibrated for these.
pub const LOOKS: [usize; 5] = [6, 8, 12, 16, 20];
/// The level of each look as a share of the level of the run: calibrated by simulation, see `tests/verdicts.rs`.
const SHARE_OF_A_LOOK: f64 = 0.40;
/// The same where the first look comes before all of these.
const SHARE_OF_ONE_MORE: f64 = 0.34;
/// Blocks that an open run draws at a time.
const STRETCH: usize = 8;
/// A file may say anything.
const MOST_TIMES: usize = 100;
/// Minimum number of blocks before an open run is judged.
const FEWEST: usize = 4;

fn once() -> usize {
    1
}

/// How an interval is computed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// The exact signed-rank interval around the Hodges-Lehmann estimate.
    SignedRank,
    /// The intersection of the t-mixture intervals after each block; it may be inspected after any of them.
    AlwaysValid,
}

impl Stopping {
    /// Looks at the blocks of [`LOOKS`].
    pub const LOOKS: Stopping = Stopping::Looks { times: 1 };

    pub fn method(self) -> Method {
        match self {
            Stopping::Fixed { .. } | Stopping::Looks { .. } => Method::SignedRank,
            Stopping::Open => Method::AlwaysValid,
        }
    }

    /// The level of one interval, given the level `alpha` of its comparison over the whole run.
    pub fn level(self, alpha: f64) -> f64 {
        match self {
            Stopping::Fixed { .. } | Stopping::Open => alpha,
            Stopping::Looks { times: 0 | 1 } => SHARE_OF_A_LOOK * alpha,
            Stopping::Looks { .. } => SHARE_OF_ONE_MORE * alpha,
        }
    }

    /// Number of blocks to draw next, when `done` are finished and nothing has ended the run; None at its end.
    pub fn next_segment(self, done: usize) -> Option<usize> {
        match self {
            Stopping::Fixed { blocks } => blocks.checked_sub(done).filter(|left| *left > 0),
            Stopping::Looks { .. } => {
                let looks = self.all_looks().into_iter();
                looks
                    .filter(|look| *look > done)
                    .min()
                    .map(|look| look - done)
            }
            Stopping::Open => Some(STRETCH),
        }
    }

    /// Maximum number of blocks; None for an open run.
    pub fn most_blocks(self) -> Option<usize> {
        match self {
            Stopping::Fixed { blocks } => Some(blocks),
            Stopping::Looks { .. } => self.all_looks().last().copied(),
            Stopping::Open => None,
        }
    }

    /// In their order.
    fn all_looks(self) -> Vec<usize> {
        let times = match self {
            Stopping::Looks { times } => times.clamp(1, MOST_TIMES),
            Stopping::Fixed { .. } | Stopping::Open => return Vec::new(),
        };
        let first = (times > 1).then_some(LOOKS[0]);
        let looks = LOOKS.into_iter().map(|look| look * times);
        first.into_iter().chain(looks).collect()
    }

    /// Block counts, up to `planned`, after which the run may end.
    pub fn looks(self, planned: usize) -> Vec<usize> {
        match self {
            Stopping::Fixed { .. } => vec![planned],
            Stopping::Looks { .. } => {
                let looks = self.all_looks().into_iter();
                looks.filter(|look| *look <= planned).collect()
            }
            Stopping::Open => (FEWEST.min(planned)..=planned).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_lead_from_look_to_look() {
        let segments: Vec<_> = [0, 6, 8, 12, 16, 20]
            .map(|done| Stopping::LOOKS.next_segment(done))
            .into();
        assert_eq!(
            segments,
            [Some(6), Some(2), Some(4), Some(4), Some(4), None]
        );
        let fixed = Stopping::Fixed { blocks: 12 };
        assert_eq!(
            (fixed.next_segment(0), fixed.next_segment(12)),
            (Some(12), None)
        );
        assert_eq!(Stopping::Open.next_segment(8), Some(8));
        assert_eq!(Stopping::LOOKS.looks(8), [6, 8]);
        assert_eq!(Stopping::LOOKS.looks(20), [6, 8, 12, 16, 20]);
        assert_eq!(Stopping::Fixed { blocks: 12 }.looks(12), [12]);
        assert_eq!(Stopping::Open.looks(8), [4, 5, 6, 7, 8]);
    }

    #[test]
    fn only_looks_cost_level() {
        let near = |a: f64, b: f64| (a - b).abs() < 1e-12;
        assert!(near(Stopping::LOOKS.level(0.05), 0.05 * SHARE_OF_A_LOOK));
        assert!(near(Stopping::Fixed { blocks: 12 }.level(0.05), 0.05));
        assert!(near(Stopping::Open.level(0.05), 0.05));
    }
}
