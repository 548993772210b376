//! What negative controls can tell: work that no arm should change, timed before and after the workload of each round. A
//! control that shows no difference is a reassurance only if it could have shown one. Pure.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::metric::Metric;
use super::statistics::power;
use super::statistics::verdict::{Question, Verdict};
use super::table::Table;
use crate::ab::result::ArmComparison;

/// How much a control varies by itself, and what it could have shown.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Sight {
    /// Standard deviation of the difference between two rounds of one arm, on the metric's scale, from successive rounds
    /// of every arm.
    pub spread: Option<f64>,
    /// The smallest difference that this many blocks show with 80 % power at that spread, in the margin's unit.
    pub detectable: Option<f64>,
    /// A difference as large as the margin could have gone unseen.
    pub is_blind: bool,
}

impl Sight {
    pub(super) fn of(
        table: &Table<'_>,
        metric: &Metric,
        question: Question,
        blocks: usize,
    ) -> Sight {
        let spread = spread(table, metric);
        let reach = spread.and_then(|spread| power::reach_of(question, spread, blocks));
        let detectable = reach.and_then(|reach| metric.scale.to_margin(reach));
        Sight {
            spread,
            detectable,
            is_blind: detectable.is_none_or(|smallest| smallest > metric.margin),
        }
    }
}

/// A drift of the machine adds to it, so a control is rather called blind than seeing.
fn spread(table: &Table<'_>, metric: &Metric) -> Option<f64> {
    let mut last: BTreeMap<usize, f64> = BTreeMap::new();
    let mut squares = Vec::new();
    let mut cells = table.cells(metric);
    cells.sort_by_key(|cell| cell.block);
    for cell in cells {
        if let Some(before) = last.insert(cell.arm, cell.y) {
            squares.push((cell.y - before).powi(2));
        }
    }
    let n = squares.len() as f64;
    (n > 0.0).then(|| (squares.iter().sum::<f64>() / n).sqrt())
}

/// The controls of a round: the mean of before and after its workload.
pub(super) fn of_round(
    before: &BTreeMap<String, f64>,
    after: &BTreeMap<String, f64>,
) -> BTreeMap<String, f64> {
    let both = before.iter().filter_map(|(name, before)| {
        let mean = f64::midpoint(*before, *after.get(name)?);
        Some((name.clone(), mean))
    });
    both.collect()
}

impl ArmComparison {
    /// A control that differs by its margin or more: then something other than the scheduler differs. A smaller
    /// difference raises no alarm, because each control errs in 5 % of the runs; nor does the estimate of a blind one.
    pub fn is_alarming(&self) -> bool {
        let found = &self.comparison;
        let differs = matches!(found.verdict, Verdict::Better | Verdict::Worse);
        let is_large = || {
            let margins = self.metric.scale.margins(self.metric.margin);
            let estimate = found.estimate.unwrap_or(0.0);
            estimate >= margins.up || estimate <= -margins.down
        };
        let sees = self.sight.is_some_and(|sight| !sight.is_blind);
        self.control && differs && (found.beyond_margin || sees && is_large())
    }
}
