//! iozone: the table of its tests, one row for each size of the file and of a record; and its throughput mode (`-t`).

use super::arguments::all_short;
use super::{KIB, Metrics, NS_PER_US, Program, after, iozone_throughput, number};
use crate::workload::reported::Found;
use crate::workload::reported::output::Printed;
use iosched_result::metric::reported::Better;

pub static IOZONE: Program = Program {
    name: "iozone",
    parse,
    is_timed: |_| false,
    logs: |_| false,
};

/// Columns of the table, and the test (`-i`) that they belong to.
const COLUMNS: [(u32, &str); 13] = [
    (0, "write"),
    (0, "rewrite"),
    (1, "read"),
    (1, "reread"),
    (2, "random_read"),
    (2, "random_write"),
    (3, "backward_read"),
    (4, "record_rewrite"),
    (5, "stride_read"),
    (6, "fwrite"),
    (6, "frewrite"),
    (7, "fread"),
    (7, "freread"),
];
/// Short options with a value.
const WITH_VALUE: &str = "bdfgHijJklLnPqrsStuUVXYy";

/// The unit of the numbers of the table.
#[derive(Clone, Copy)]
pub(super) enum Unit {
    /// iozone's kB and KB are 1024 bytes: with -s 4m it prints "File size set to 4096 kB".
    KibPerSecond,
    /// -O
    PerSecond,
    /// -N
    UsPerOperation,
}

impl Unit {
    fn of(text: &str) -> Unit {
        if text.contains("Output is in operations per second") {
            Unit::PerSecond
        } else if text.contains("Output is in microseconds per operation") {
            Unit::UsPerOperation
        } else {
            Unit::KibPerSecond
        }
    }

    pub(super) fn add(self, metrics: &mut Metrics, name: &str, value: f64) {
        match self {
            Unit::KibPerSecond => metrics.bytes_per_second(name, value * KIB),
            Unit::PerSecond => metrics.per_second(name, value),
            Unit::UsPerOperation => metrics.add(name, value * NS_PER_US, "ns", Some(Better::Lower)),
        }
    }
}

fn parse(printed: &Printed) -> Result<Found, String> {
    let text = &printed.stdout;
    if !text.contains("iozone test complete.") {
        return Err("there is no line \"iozone test complete.\"".to_owned());
    }
    // -V compares each byte that it reads.
    let doubt = text
        .lines()
        .find(|line| line.contains("are invalid in this mode"));
    if let Some(line) = doubt {
        return Err(format!("iozone says {:?}", line.trim()));
    }
    let mut metrics = Metrics::of("iozone");
    iozone_throughput::find(text, &mut metrics);
    let rows = table(text)?;
    let unit = Unit::of(text);
    for row in &rows {
        for (column, value) in &row.values {
            // Below the resolution of -N, or of a test that moved less than 1 kB/s.
            if *value > 0.0 {
                let name = format!("{column}.{}kB.{}kB", row.file_kb, row.record_kb);
                unit.add(&mut metrics, &name, *value);
                // In a table of several rows nothing is the result; its elapsed time is.
                if rows.len() == 1 {
                    metrics.headline();
                }
            }
        }
    }
    metrics.end()
}

struct Row<'a> {
    file_kb: &'a str,
    record_kb: &'a str,
    values: Vec<(&'static str, f64)>,
}

/// Tests that were not asked for leave blanks that are narrower than their columns, so a number's place does not tell its
/// column. The command line does, which iozone prints.
fn table(text: &str) -> Result<Vec<Row<'_>>, String> {
    let mut lines = text.lines();
    let is_header = |line: &&str| {
        line.to_lowercase()
            .split_whitespace()
            .take(2)
            .eq(["kb", "reclen"])
    };
    if lines.find(is_header).is_none() {
        return Ok(Vec::new());
    }
    let command = after(text, "Command line used:").ok_or("it does not print its command line")?;
    let columns = columns(command)?;
    let rows = lines.map(|line| line.split_whitespace().collect::<Vec<&str>>());
    let is_row =
        |words: &Vec<&str>| words.len() > 2 && words[..2].iter().all(|word| number(word).is_some());
    rows.filter(is_row)
        .map(|words| row(&words, &columns))
        .collect()
}

/// The columns of the tests that a command line asks for; by default of all.
fn columns(command: &str) -> Result<Vec<&'static str>, String> {
    let words: Vec<String> = command.split_whitespace().map(str::to_owned).collect();
    let tests = all_short(&words, 'i', WITH_VALUE);
    let tests: Option<Vec<u32>> = tests.iter().map(|test| test.parse().ok()).collect();
    let tests = tests.ok_or("its command line has a test that is not a number")?;
    let is_asked = |test: u32| tests.is_empty() || tests.contains(&test);
    let columns = COLUMNS.iter().filter(|(test, _)| is_asked(*test));
    Ok(columns.map(|(_, column)| *column).collect())
}

fn row<'a>(words: &[&'a str], columns: &[&'static str]) -> Result<Row<'a>, String> {
    let values: Option<Vec<f64>> = words[2..].iter().map(|word| number(word)).collect();
    let values = values.ok_or("its table has something else than numbers")?;
    if values.len() != columns.len() {
        return Err(format!(
            "a row of its table has {} numbers, and its command line asks for {}: {}",
            values.len(),
            columns.len(),
            columns.join(", ")
        ));
    }
    Ok(Row {
        file_kb: words[0],
        record_kb: words[1],
        values: columns.iter().copied().zip(values).collect(),
    })
}
