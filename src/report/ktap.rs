//! The kernel's test protocol, version 1: worse is not ok, undecided is skipped. Pure.

use std::fmt::Write;

use super::result::{ArmComparison, ResultFile, Status};
use super::{escape, words};
use crate::ab::verdict::Verdict;

pub fn render(result: &ResultFile) -> String {
    let cases: Vec<&ArmComparison> = result.comparisons.iter().filter(|c| c.primary).collect();
    let incomplete = result.status != Status::Complete;
    let mut ktap = format!(
        "KTAP version 1\n1..{}\n",
        cases.len() + usize::from(incomplete)
    );
    let _ = writeln!(ktap, "# {}", one_line(&words::title(result)));
    for (index, case) in cases.iter().enumerate() {
        let (number, name) = (index + 1, one_line(&words::name(case)));
        let _ = writeln!(ktap, "# {}", one_line(&words::sentence(case)));
        let _ = match case.comparison.verdict {
            Verdict::Worse => writeln!(ktap, "not ok {number} {name}"),
            Verdict::Inconclusive => writeln!(ktap, "ok {number} {name} # SKIP inconclusive"),
            Verdict::Better | Verdict::Equivalent => writeln!(ktap, "ok {number} {name}"),
        };
    }
    if incomplete {
        let _ = writeln!(ktap, "not ok {} the run is not complete", cases.len() + 1);
    }
    ktap
}

/// `#` begins a directive.
fn one_line(text: &str) -> String {
    escape::line(&text.replace(['\n', '\r', '#'], " "))
}
