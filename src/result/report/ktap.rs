//! KTAP, the kernel's test protocol, version 1: the same test cases as in JUnit. Failures and errors are not ok. Pure.

use std::fmt::Write;

use super::cases::{self, State};
use super::escape::ktap as one_line;
use super::words;
use crate::types::result::ResultFile;

/// Names begin with the workload where there are several results.
pub fn render(results: &[&ResultFile]) -> String {
    let mut number = 0;
    let mut lines = String::new();
    for result in results {
        let _ = writeln!(lines, "# {}", one_line(&words::title(result)));
        let workload = match results.len() {
            0 | 1 => String::new(),
            _ => one_line(&format!("{}: ", result.workload.name)),
        };
        for case in cases::of_report(result) {
            number += 1;
            let name = format!("{workload}{}", one_line(&case.name));
            let _ = writeln!(lines, "# {}", one_line(&case.text));
            let _ = match case.state {
                State::Passed => writeln!(lines, "ok {number} {name}"),
                State::Skipped => writeln!(lines, "ok {number} {name} # SKIP inconclusive"),
                State::Failed | State::Error(_) => writeln!(lines, "not ok {number} {name}"),
            };
        }
    }
    format!("KTAP version 1\n1..{number}\n{lines}")
}
