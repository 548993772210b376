//! Verdicts that hold over all cells of a study together. The rows of one cell share a level, so the best of many cells is
//! easily noise; here the cells share it too. Pure.

use serde::{Deserialize, Serialize};

use super::result::{CellResult, StudyResult};
use crate::analysis::conclude;
use crate::statistics::verdict::Verdict;
use crate::types::result::ArmComparison;

/// A verdict that holds together with all others of the study.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Shown {
    pub cell: String,
    pub metric: String,
    pub arm: String,
    pub reference: String,
    pub verdict: Verdict,
    /// Two-sided, at the last look: the level of the cell divided by the number of cells.
    pub alpha: f64,
}

/// The primary comparisons of the valid cells, at the level of the study. A cell counts even if it is not valid: it could
/// have been chosen.
pub fn comparisons(study: &StudyResult) -> Vec<(&CellResult, Vec<ArmComparison>)> {
    let cells = study.compared().count();
    let valid = study.compared().filter(|cell| cell.why_invalid().is_none());
    valid
        .map(|cell| {
            let rows = conclude::primary_comparisons_among(&cell.result, cells);
            (cell, rows)
        })
        .collect()
}

/// The differences that hold over the whole study.
pub fn shown(study: &StudyResult) -> Vec<Shown> {
    let of_cell = |(cell, rows): (&CellResult, Vec<ArmComparison>)| {
        let decided = rows.into_iter().filter(is_difference);
        let name = cell.name.clone();
        let shown = decided.map(move |row| Shown {
            cell: name.clone(),
            metric: row.metric.name,
            arm: row.arm,
            reference: row.reference,
            verdict: row.comparison.verdict,
            alpha: row.comparison.question.alpha,
        });
        shown.collect::<Vec<_>>()
    };
    comparisons(study).into_iter().flat_map(of_cell).collect()
}

pub fn is_difference(row: &ArmComparison) -> bool {
    matches!(
        row.comparison.verdict,
        Verdict::Better | Verdict::Worse | Verdict::Differs
    )
}
