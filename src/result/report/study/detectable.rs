//! Differences that the blocks of a budget can show, in words. Pure.

use crate::metric::Metric;
use crate::report::units;
use crate::statistics::scale::Scale;
use crate::study::times::{Budget, Detectable};

/// One line for each cell.
pub fn lines(budget: &Budget) -> Vec<String> {
    let mut cells: Vec<(&str, Vec<String>)> = Vec::new();
    for found in &budget.detectable {
        let words = format!("{} {}", found.metric, size(found));
        match cells.last_mut().filter(|(cell, _)| *cell == found.cell) {
            Some((_, metrics)) => metrics.push(words),
            None => cells.push((&found.cell, vec![words])),
        }
    }
    let lines = cells.into_iter();
    lines
        .map(|(cell, metrics)| format!("{cell}: differences of {}", metrics.join(", ")))
        .collect()
}

fn size(found: &Detectable) -> String {
    let metric = Metric::named(&found.metric);
    match metric.filter(|metric| metric.scale == Scale::Identity) {
        Some(metric) => units::value(Some(found.effect), &metric.unit),
        None if found.effect < 1.0 => format!("{:.0} %", 100.0 * found.effect),
        None => format!("x{:.1}", 1.0 + found.effect),
    }
}
