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

/// Blocks that were added to a run after its end, for all who were not satisfied with what it showed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Extension {
    /// The blocks that the run had before.
    pub after_blocks: usize,
    pub blocks: usize,
}

impl Extension {
    pub fn end(self) -> usize {
        self.after_blocks.saturating_add(self.blocks)
    }
}

/// When a run ends: its rule, and how often it was extended.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Schedule<'a> {
    pub stopping: Stopping,
    /// In their order.
    pub extensions: &'a [Extension],
}

/// That may be asked for.
pub const MOST_BLOCKS: usize = 1000;
/// Block counts after which a verdict may end the run; [`SHARE_OF_A_LOOK`] is calibrated for these.
pub const LOOKS: [usize; 5] = [6, 8, 12, 16, 20];
/// The level of each look as a share of the level of the run: calibrated by simulation, see `tests/verdicts.rs`.
const SHARE_OF_A_LOOK: f64 = 0.40;
/// The same where the first look comes before all of these.
const SHARE_OF_ONE_MORE: f64 = 0.34;
/// The same for a fixed run that was extended: its end was a look at the whole level, so what comes later has little left.
const SHARE_OF_AN_EXTENSION: f64 = 0.30;
/// Blocks that an open run draws at a time.
const STRETCH: usize = 8;
/// A file may say anything.
const MOST_TIMES: usize = 100;
/// Minimum number of blocks before an open run is judged.
const FEWEST: usize = 4;

fn once() -> usize {
    1
}

impl Schedule<'_> {
    /// The level of one interval, given the level `alpha` of its comparison over the whole run. The looks of a run have room for
    /// those of its extensions; the end of a fixed run has not.
    pub fn level(&self, alpha: f64) -> f64 {
        match self.stopping {
            Stopping::Fixed { .. } if !self.extensions.is_empty() => SHARE_OF_AN_EXTENSION * alpha,
            other => other.level(alpha),
        }
    }

    /// Number of blocks to draw next, when `done` are finished and nothing has ended the run; None at its end.
    pub fn next_segment(&self, done: usize) -> Option<usize> {
        match self.end() {
            None => self.stopping.next_segment(done),
            Some(end) => end.checked_sub(done).filter(|left| *left > 0),
        }
    }

    /// Maximum number of blocks; None for an open run.
    pub fn most_blocks(&self) -> Option<usize> {
        self.end().or_else(|| self.stopping.most_blocks())
    }

    /// Block counts, up to `planned`, after which verdicts are drawn.
    pub fn looks(&self, planned: usize) -> Vec<usize> {
        let Some(first) = self.extensions.first() else {
            return self.stopping.looks(planned);
        };
        let mut looks = self.stopping.looks(first.after_blocks.min(planned));
        let ends = self.extensions.iter().map(|extension| extension.end());
        looks.extend(ends.filter(|end| *end <= planned));
        looks
    }

    /// Whether the run can go on from here: it was not cut short.
    pub fn is_look(&self, blocks: usize) -> bool {
        let is_scheduled = match self.stopping {
            Stopping::Looks { .. } => blocks == 0 || self.stopping.all_looks().contains(&blocks),
            Stopping::Fixed { .. } | Stopping::Open => true,
        };
        is_scheduled || !self.extensions.is_empty()
    }

    /// Whether verdicts may end the run after so many blocks: not before those that were added.
    pub fn may_end_at(&self, blocks: usize) -> bool {
        self.end().is_none_or(|end| blocks >= end)
    }

    /// The number of blocks after the last extension; None: the run was not extended.
    fn end(&self) -> Option<usize> {
        self.extensions.last().map(|extension| extension.end())
    }
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

    /// How often such a run may be extended: for so many its level is enough. See `tests/verdicts/extended.rs`.
    pub fn most_extensions(self) -> usize {
        match self {
            Stopping::Fixed { .. } | Stopping::Looks { .. } => 2,
            // Its intervals hold however often they are looked at.
            Stopping::Open => 100,
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
                let mut due: Vec<usize> = looks.filter(|look| *look <= planned).collect();
                // What a limit of time has shortened ends with a look, too.
                if due.last().is_some_and(|last| *last < planned) {
                    due.push(planned);
                }
                due
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
    fn an_extension_has_one_look_at_its_end() {
        let added = |after_blocks, blocks| Extension {
            after_blocks,
            blocks,
        };
        let extensions = [added(8, 12), added(20, 3)];
        let early = Schedule {
            stopping: Stopping::LOOKS,
            extensions: &extensions[..1],
        };
        // It ended after 8, and the looks after 12 and 16 are no longer due.
        assert_eq!(early.looks(8), [6, 8]);
        assert_eq!(early.looks(20), [6, 8, 20]);
        assert_eq!(
            (early.next_segment(8), early.next_segment(20)),
            (Some(12), None)
        );
        assert!(!early.may_end_at(8) && early.may_end_at(20));
        let fixed = Schedule {
            stopping: Stopping::Fixed { blocks: 8 },
            extensions: &extensions,
        };
        assert_eq!(fixed.looks(23), [8, 20, 23]);
        assert_eq!(fixed.most_blocks(), Some(23));
        assert!(fixed.level(0.05) < 0.05);
        assert!((early.level(0.05) - Stopping::LOOKS.level(0.05)).abs() < 1e-12);
    }

    #[test]
    fn only_looks_cost_level() {
        let near = |a: f64, b: f64| (a - b).abs() < 1e-12;
        assert!(near(Stopping::LOOKS.level(0.05), 0.05 * SHARE_OF_A_LOOK));
        assert!(near(Stopping::Fixed { blocks: 12 }.level(0.05), 0.05));
        assert!(near(Stopping::Open.level(0.05), 0.05));
    }
}
