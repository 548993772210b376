//! The verdicts of a file, drawn again from its rounds: the file may be of another version, or edited. Pure.

use crate::analysis::limits::limits;
use crate::analysis::table::Table;
use crate::analysis::{conclude, exclusion};
use crate::statistics::verdict::bonferroni;
use crate::types::result::{ArmComparison, Class, ResultFile};

/// `results`: of how many the failure of one is a failure of all. They share the level.
pub fn redrawn(result: &ResultFile, results: usize) -> ResultFile {
    let mut again = result.clone();
    again.excluded = exclusion::excluded_blocks(&again);
    again.design.alpha = bonferroni(again.design.alpha, results);
    let judged = conclude::judged_comparisons(&again);
    let is_judged = |row: &ArmComparison| row.class() != Class::Exploratory;
    again.comparisons.retain(|row| !is_judged(row));
    again.comparisons.splice(0..0, judged);
    again.limits = limits(&Table::new(&again));
    again
}
