//! Negative controls: work that no arm should change, timed before and after the workload of each round. A
//! control that shows no difference is a reassurance only if it could have shown one. Pure.

use std::collections::BTreeMap;

use super::table::Table;
use crate::metric::Metric;
use crate::statistics::power;
use crate::statistics::verdict::Question;
use crate::types::controls::Sight;

/// The difference that this control could have shown.
pub(super) fn sight(
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
pub fn of_round(
    before: &BTreeMap<String, f64>,
    after: &BTreeMap<String, f64>,
) -> BTreeMap<String, f64> {
    let both = before.iter().filter_map(|(name, before)| {
        let mean = f64::midpoint(*before, *after.get(name)?);
        Some((name.clone(), mean))
    });
    both.collect()
}
