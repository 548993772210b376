//! dbench: throughput, the longest latency, and the mean latency of each operation. It runs for a fixed time (`-t`).

use super::arguments::{after_program, long};
use super::{Metrics, NS_PER_MS, Program, after, number, plain};
use crate::workload::reported::Found;
use crate::workload::reported::output::Printed;

pub static DBENCH: Program = Program {
    name: "dbench",
    parse,
    is_timed: |words| long(after_program(words, "dbench"), "--run-once").is_none(),
    logs: |_| false,
};

/// In dbench.c, a rate is 1.0e-6 * bytes / seconds.
const MB: f64 = 1e6;

fn parse(printed: &Printed) -> Result<Found, String> {
    let text = &printed.stdout;
    let failed = |line: &&str| line.starts_with("Child failed with status");
    if let Some(line) = text.lines().chain(printed.stderr.lines()).find(failed) {
        return Err(format!("dbench failed: {line:?}"));
    }
    let last = after(text, "Throughput ").ok_or("there is no line \"Throughput N MB/sec\"")?;
    let (rate, rest) = last.split_once(" MB/sec").unwrap_or_default();
    let rate = number(rate).ok_or("its line \"Throughput\" has no number of MB/sec")?;
    let mut metrics = Metrics::of("dbench");
    metrics.bytes_per_second("bytes_per_s", rate * MB);
    metrics.headline();
    let longest = rest.split_once("max_latency=").map(|(_, longest)| longest);
    let longest = longest.and_then(|text| number(text.strip_suffix(" ms")?));
    if let Some(ms) = longest {
        metrics.time_ns("latency_max", ms * NS_PER_MS);
    }
    for (operation, ms) in operations(text) {
        let name = format!("{}.latency_mean", plain(operation));
        metrics.time_ns(&name, ms * NS_PER_MS);
    }
    metrics.end()
}

/// The table of operations: name, count, mean and longest latency in ms. A mean below the printed resolution is left out,
/// and the tables of single clients.
fn operations(text: &str) -> impl Iterator<Item = (&str, f64)> {
    let rows = text
        .lines()
        .skip_while(|line| !line.trim_start().starts_with("Operation "))
        .skip(2)
        .take_while(|line| !line.trim().is_empty());
    rows.filter_map(|row| {
        let words: Vec<&str> = row.split_whitespace().collect();
        match words[..] {
            [operation, _, mean, _] => Some((operation, number(mean).filter(|ms| *ms > 0.0)?)),
            _ => None,
        }
    })
}
