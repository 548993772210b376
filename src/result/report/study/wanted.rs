//! What each cell with goals decides, in words. Pure.

use std::fmt::Write;

use crate::report::{decision, limits};
use crate::study::result::StudyResult;

/// A line for each cell with goals, and those of its limits.
pub fn decisions(study: &StudyResult) -> String {
    let mut text = String::new();
    let wanted = study
        .compared()
        .filter(|cell| cell.result.design.goals.is_some());
    for cell in wanted {
        let found = match cell.why_invalid() {
            Some(why) => format!("No decision: {why}."),
            None => decision::sentence(&cell.result),
        };
        let _ = writeln!(text, "{}: {found}", cell.name);
        for line in limits::in_words(&cell.result).lines() {
            let _ = writeln!(text, "  {line}");
        }
    }
    text
}
