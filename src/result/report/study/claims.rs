//! Claims on a study as a whole: whoever picks from many cells needs rows that hold for all together. Pure.

use std::fmt::Write;

use crate::report::words;
use crate::statistics::verdict::Verdict;
use crate::study::result::{CellResult, StudyResult};
use crate::study::{joint, pareto};
use crate::types::result::ArmComparison;

/// How many of the verdicts hold for all cells together.
pub(super) fn holding(study: &StudyResult, cells: usize) -> String {
    let valid = study.compared().filter(|cell| cell.why_invalid().is_none());
    let decided = valid.flat_map(CellResult::primary);
    let decided = decided.filter(|row| joint::is_difference(row)).count();
    format!(
        "A claim on the whole study needs more: of {decided} rows that differ within their cell, {} do so at 5 % for all {cells} cells \
         together.",
        joint::shown(study).len()
    )
}

/// The arms that no other beats, each with its largest gain and its largest loss of those that hold over all cells
/// together: the largest is chosen from them.
pub(in crate::report) fn choice(text: &mut String, study: &StudyResult) {
    let choice = pareto::choice(study);
    text.push('\n');
    if !choice.unbeaten.is_empty() {
        let _ = writeln!(
            text,
            "Beaten by no other arm, as far as is shown (no arm is as good everywhere and better somewhere): {}.",
            choice.unbeaten.join(", ")
        );
    }
    if !choice.incomplete.is_empty() {
        let _ = writeln!(
            text,
            "Not judged, because a value is missing: {}.",
            choice.incomplete.join(", ")
        );
    }
    let in_study = joint::comparisons(study);
    for arm in choice.unbeaten {
        let rows = in_study.iter().flat_map(|(cell, rows)| {
            let rows = rows.iter().filter(|row| row.arm == arm);
            rows.map(move |row| (*cell, row))
        });
        let rows: Vec<(&CellResult, &ArmComparison)> = rows.collect();
        let of = |verdict: Verdict| {
            let decided = rows
                .iter()
                .filter(|(_, row)| row.comparison.verdict == verdict);
            decided.max_by(|(_, a), (_, b)| size(a).total_cmp(&size(b)))
        };
        for (verdict, what) in [(Verdict::Better, "gains"), (Verdict::Worse, "costs")] {
            if let Some((cell, row)) = of(verdict) {
                let _ = writeln!(
                    text,
                    "  {arm} {what} most in {}: {} {}",
                    cell.name,
                    row.metric.name,
                    words::said(&row.comparison, &row.metric.unit)
                );
            }
        }
    }
}

fn size(row: &ArmComparison) -> f64 {
    row.comparison.estimate.map_or(0.0, f64::abs)
}
