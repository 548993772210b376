//! The table of metrics for `--help`, for `iosched-ab metrics` and for docs/metrics.md. Pure.

use std::fmt::Write;

use super::table::{Margin, Needs, Of, ROWS, Role, Row};
use crate::statistics::scale::{Direction, Scale};

/// The widest line of a help text.
const WIDTH: usize = 90;

/// The names, without anything else.
pub fn help() -> String {
    let groups = [
        (Of::Whole, ""),
        (
            Of::Part,
            "of one part, which is a job of fio, a control group, or a participant:",
        ),
        (Of::Job, "of a job of fio:"),
        (Of::Group, "of a control group:"),
        (Of::Participant, "of --cgroup, --unit and --pid:"),
    ];
    let mut text = String::new();
    for (of, title) in groups {
        let rows = ROWS
            .iter()
            .filter(|row| row.of == of && row.role == Role::Decides);
        if !title.is_empty() {
            let _ = writeln!(text, "  {title}");
        }
        let names: Vec<String> = rows.map(name).collect();
        for line in wrapped(&names.join(", "), WIDTH - 4) {
            let indent = if title.is_empty() { "  " } else { "    " };
            let _ = writeln!(text, "{indent}{line}");
        }
    }
    text
}

/// Between words.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.len() + 1 + word.len() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// The names of a row, with a word in capitals in place of the label: `JOB.sync_lat_mean`.
pub fn name(row: &Row) -> String {
    let label = match row.of {
        Of::Whole => "",
        Of::Part => "PART.",
        Of::Job => "JOB.",
        Of::Group => "GROUP.",
        Of::Participant => "PARTICIPANT.",
    };
    format!("{label}{}", row.names)
}

fn better(direction: Direction) -> &'static str {
    match direction {
        Direction::HigherIsBetter => "higher",
        Direction::LowerIsBetter => "lower",
        Direction::Neutral => "neither",
    }
}

fn margin(row: &Row) -> String {
    match (row.role, row.margin) {
        (Role::Shown, _) => "not compared".to_owned(),
        (_, Margin::OfStatistic) => "by statistic".to_owned(),
        (_, Margin::Of(margin)) if row.scale == Scale::Identity => margin.to_string(),
        (_, Margin::Of(margin)) => format!("{} %", 100.0 * margin),
    }
}

/// When a round has it; empty for always.
pub fn when(row: &Row) -> &'static str {
    match row.needs {
        Needs::Nothing => "",
        Needs::FixedWork => "a command that does not end by the clock",
        Needs::Program => "fio measures the latency of every job",
        Needs::Asynchronous => "fio jobs with libaio or io_uring, and a kernel that tells",
        Needs::DetailOrder => "`--detail order`",
        Needs::DetailFairness => "`--detail fairness`, and what `jain_bytes` needs",
        Needs::Sharing => "two parts or processes at least",
        Needs::OwnGroups => "no participants",
        Needs::ControlDisk => "`--control DISK`",
        Needs::Live => "`--workload live`",
    }
}

/// Output of `iosched-ab metrics`.
pub fn text() -> String {
    let mut text = String::new();
    for row in ROWS {
        let (unit, better, margin) = (row.unit, better(row.direction), margin(row));
        let _ = writeln!(text, "{}\n    {}", name(row), row.says);
        let _ = write!(text, "    unit {unit}, better: {better}, margin: {margin}");
        let when = when(row).replace('`', "");
        let needs = if when.is_empty() {
            String::new()
        } else {
            format!(", needs: {when}")
        };
        let _ = writeln!(text, "{needs}");
    }
    text
}

/// The table of docs/metrics.md.
pub fn markdown() -> String {
    let mut text = "| metric | meaning, per round | unit | better | margin | needs |\n|---|---|---|---|---|---|\n".to_owned();
    for row in ROWS {
        let name = name(row).replace('|', "\\|");
        let _ = writeln!(
            text,
            "| `{name}` | {} | {} | {} | {} | {} |",
            row.says,
            row.unit,
            better(row.direction),
            margin(row),
            when(row)
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEGIN: &str = "<!-- metrics -->\n";
    const END: &str = "<!-- end of metrics -->\n";

    /// `UPDATE=1 cargo test -p iosched-result --lib the_page` writes it.
    #[test]
    fn the_page_has_the_table() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/metrics.md");
        let page = std::fs::read_to_string(path).expect("the page");
        let (head, rest) = page.split_once(BEGIN).expect("a mark");
        let (_, tail) = rest.split_once(END).expect("a mark");
        let made = format!("{head}{BEGIN}{}{END}{tail}", markdown());
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(path, &made).expect("the page");
        } else {
            assert_eq!(
                page, made,
                "UPDATE=1 cargo test -p iosched-result --lib the_page"
            );
        }
    }

    #[test]
    fn the_help_is_narrow_and_whole() {
        let help = help();
        assert!(help.lines().all(|line| line.len() <= 100), "{help}");
        let flat = help.split_whitespace().collect::<Vec<_>>().join(" ");
        for row in ROWS.iter().filter(|row| row.role == Role::Decides) {
            assert!(flat.contains(&name(row)), "{}", row.names);
        }
    }
}
