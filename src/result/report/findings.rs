//! Tables of findings, a row for each comparison, as wide as asked: first side by side, then grouped by metric, then with the
//! arm above its numbers. The reasons of a verdict stand below its row. Pure.

use std::fmt::Write;

use comfy_table::{CellAlignment, Table, presets};
use textwrap::core::display_width;

use super::escape;

pub struct Finding {
    /// What a gate makes of it, which stands first.
    pub outcome: Option<String>,
    pub metric: String,
    pub arm: String,
    /// The reference and its value, where one stands for all rows of the metric.
    pub reference: String,
    pub value: String,
    pub change: String,
    pub interval: String,
    pub verdict: String,
    /// Stand below the row; empty if there are none.
    pub reasons: String,
}

impl Finding {
    fn numbers(&self) -> [&str; 4] {
        [&self.value, &self.change, &self.interval, &self.verdict]
    }

    /// Names and reasons may come from a file: each cell is one line.
    fn escaped(&self) -> Finding {
        Finding {
            outcome: self.outcome.as_deref().map(escape::line),
            metric: escape::line(&self.metric),
            arm: escape::line(&self.arm),
            reference: escape::line(&self.reference),
            value: escape::line(&self.value),
            change: escape::line(&self.change),
            interval: escape::line(&self.interval),
            verdict: escape::line(&self.verdict),
            reasons: escape::line(&self.reasons),
        }
    }
}

/// The first form that is no wider; the last one if none is.
pub fn table(findings: &[Finding], width: usize) -> String {
    let forms = [side_by_side, grouped, arm_above];
    let findings: Vec<Finding> = findings.iter().map(Finding::escaped).collect();
    let made = forms.iter().map(|form| form(&findings));
    let mut widest = String::new();
    for lines in made {
        let fits = lines.iter().all(|(_, line)| display_width(line) <= width);
        widest = with_reasons(&findings, lines);
        if fits {
            break;
        }
    }
    widest
}

/// A line and the finding after which reasons may follow.
type Lines = Vec<(Option<usize>, String)>;

const NUMBERS: [&str; 4] = ["VALUE", "CHANGE", "INTERVAL", "VERDICT"];

fn side_by_side(findings: &[Finding]) -> Lines {
    let mut last = "";
    let rows = findings.iter().map(|finding| {
        let is_other = std::mem::replace(&mut last, &finding.metric) != finding.metric;
        // Logs of CI are searched line by line.
        let is_new = is_other || finding.outcome.is_some();
        let once = |text: &'_ str| {
            if is_new {
                text.to_owned()
            } else {
                String::new()
            }
        };
        vec![
            once(&finding.metric),
            finding.arm.clone(),
            once(&finding.reference),
        ]
    });
    let rows = rows.collect();
    let lines = drawn(findings, &["METRIC", "ARM", "REFERENCE"], rows);
    lines
        .into_iter()
        .enumerate()
        .map(|(row, line)| (row.checked_sub(1), line))
        .collect()
}

/// The metric and the reference have a line of their own.
fn grouped(findings: &[Finding]) -> Lines {
    let arms = findings.iter().map(|finding| vec![finding.arm.clone()]);
    let lines = drawn(findings, &["ARM"], arms.collect());
    with_headings(findings, lines, |_| None)
}

/// The arm, which may have many settings, has a line of its own, too.
fn arm_above(findings: &[Finding]) -> Lines {
    let indents = findings.iter().map(|_| vec![String::new()]);
    let lines = aligned(findings, &[""], indents.collect());
    with_headings(findings, lines, |finding| {
        let outcome = finding.outcome.iter().map(|outcome| format!("{outcome} "));
        Some(format!(" {}{}", outcome.collect::<String>(), finding.arm))
    })
}

/// The lines of a table with the metrics between its rows, and what stands above each row.
fn with_headings(
    findings: &[Finding],
    lines: Vec<String>,
    above: impl Fn(&Finding) -> Option<String>,
) -> Lines {
    let mut lines = lines.into_iter();
    let columns = lines.next().map(|columns| (None, columns));
    let mut all: Lines = columns.into_iter().collect();
    for (index, line) in lines.enumerate() {
        let before = [heading(findings, index), above(&findings[index])];
        all.extend(before.into_iter().flatten().map(|line| (None, line)));
        all.push((Some(index), line));
    }
    all
}

/// The line above the first row of a metric.
fn heading(findings: &[Finding], index: usize) -> Option<String> {
    let finding = &findings[index];
    let is_new = index == 0 || findings[index - 1].metric != finding.metric;
    is_new.then(|| format!(" {}, against {}", finding.metric, finding.reference))
}

fn drawn(findings: &[Finding], names: &[&str], rows: Vec<Vec<String>>) -> Vec<String> {
    let has_outcome = findings.iter().any(|finding| finding.outcome.is_some());
    let outcome: &[&str] = if has_outcome { &["GATE"] } else { &[] };
    let rows = rows.into_iter().zip(findings).map(|(names, finding)| {
        let outcome = has_outcome.then(|| finding.outcome.clone().unwrap_or_default());
        outcome.into_iter().chain(names).collect()
    });
    let rows = rows.collect();
    aligned(findings, &[outcome, names].concat(), rows)
}

fn aligned(findings: &[Finding], names: &[&str], rows: Vec<Vec<String>>) -> Vec<String> {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(names.iter().chain(&NUMBERS));
    for (row, finding) in rows.into_iter().zip(findings) {
        let numbers = finding.numbers().map(str::to_owned);
        table.add_row(row.into_iter().chain(numbers));
    }
    for index in [names.len(), names.len() + 1] {
        if let Some(column) = table.column_mut(index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.trim_fmt().lines().map(str::to_owned).collect()
}

fn with_reasons(findings: &[Finding], lines: Lines) -> String {
    let mut text = String::new();
    for (finding, line) in lines {
        text += &line;
        text.push('\n');
        let reasons = finding.map_or("", |index| &findings[index].reasons);
        if !reasons.is_empty() {
            let _ = writeln!(text, "     ({reasons})");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(metric: &str, arm: &str, verdict: &str) -> Finding {
        Finding {
            outcome: None,
            metric: metric.to_owned(),
            arm: arm.to_owned(),
            reference: "none 1.57 ms".to_owned(),
            value: "27.3 ms".to_owned(),
            change: "-36.7 %".to_owned(),
            interval: "-36.7 % .. -22.2 %".to_owned(),
            verdict: verdict.to_owned(),
            reasons: String::new(),
        }
    }

    fn findings() -> Vec<Finding> {
        vec![
            finding(
                "probe.read_clat_mean",
                "mq-deadline",
                "worse by more than 20 %",
            ),
            Finding {
                reasons: "1 of 8 rounds stall; more".to_owned(),
                ..finding("probe.read_clat_mean", "bfq", "better")
            },
            finding("hog.throughput", "bfq,low_latency=0", "not decided"),
        ]
    }

    fn lines(width: usize) -> Vec<String> {
        let text = table(&findings(), width);
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn it_is_side_by_side_where_there_is_room() {
        assert_eq!(
            lines(120),
            [
                " METRIC                ARM                REFERENCE       VALUE   CHANGE  INTERVAL            VERDICT",
                " probe.read_clat_mean  mq-deadline        none 1.57 ms  27.3 ms  -36.7 %  -36.7 % .. -22.2 %  worse by more than 20 %",
                "                       bfq                              27.3 ms  -36.7 %  -36.7 % .. -22.2 %  better",
                "     (1 of 8 rounds stall; more)",
                " hog.throughput        bfq,low_latency=0  none 1.57 ms  27.3 ms  -36.7 %  -36.7 % .. -22.2 %  not decided",
            ]
        );
    }

    #[test]
    fn it_is_grouped_by_metric_and_then_by_arm_where_there_is_less() {
        assert_eq!(
            lines(85),
            [
                " ARM                  VALUE   CHANGE  INTERVAL            VERDICT",
                " probe.read_clat_mean, against none 1.57 ms",
                " mq-deadline        27.3 ms  -36.7 %  -36.7 % .. -22.2 %  worse by more than 20 %",
                " bfq                27.3 ms  -36.7 %  -36.7 % .. -22.2 %  better",
                "     (1 of 8 rounds stall; more)",
                " hog.throughput, against none 1.57 ms",
                " bfq,low_latency=0  27.3 ms  -36.7 %  -36.7 % .. -22.2 %  not decided",
            ]
        );
        let above = lines(70);
        assert_eq!(
            above[2..4],
            [
                " mq-deadline",
                "    27.3 ms  -36.7 %  -36.7 % .. -22.2 %  worse by more than 20 %"
            ]
        );
        // Nothing is left out however narrow it is.
        assert_eq!(lines(10), above);
    }

    #[test]
    fn what_a_gate_makes_of_it_stands_first() {
        let outcome = |finding| Finding {
            outcome: Some("FAIL".to_owned()),
            ..finding
        };
        let all: Vec<Finding> = findings().into_iter().map(outcome).collect();
        for width in [140, 92, 70] {
            let text = table(&all, width);
            assert_eq!(text.matches("\n FAIL ").count(), 3, "{text}");
        }
    }
}
