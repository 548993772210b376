//! Differences that the blocks of a budget can show, in words. Pure.

use crate::report::times;
use crate::study::times::Budget;

/// One line for each cell.
pub fn lines(budget: &Budget) -> Vec<String> {
    let mut cells: Vec<(&str, Vec<String>)> = Vec::new();
    for found in &budget.detectable {
        let words = format!(
            "{} {}",
            found.metric,
            times::effect(&found.metric, found.effect)
        );
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
