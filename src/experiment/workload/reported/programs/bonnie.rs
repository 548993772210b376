//! bonnie++: rates and latencies from its line of CSV, which it prints after its table and alone with -q.

use super::report::{lines, only};
use super::{KIB, Metrics, Program, number, time_ns};
use crate::workload::reported::Found;
use crate::workload::reported::output::Printed;
use iosched_result::metric::reported::Better;

pub static BONNIE: Program = Program {
    name: "bonnie++",
    parse,
    is_timed: |_| false,
    logs: |_| false,
};

/// Rates in the order of the line, each followed by the use of the CPU; blocks of bytes are in KiB/s.
const RATES: [(&str, Unit, bool); 6] = [
    ("char_write_bytes_per_s", Unit::Kib, false),
    ("write_bytes_per_s", Unit::Kib, true),
    ("rewrite_bytes_per_s", Unit::Kib, true),
    ("char_read_bytes_per_s", Unit::Kib, false),
    ("read_bytes_per_s", Unit::Kib, true),
    ("seeks_per_s", Unit::Number, true),
];
/// Rates of the tests with many files, after five fields that describe them.
const FILES: [&str; 6] = [
    "seq_creates_per_s",
    "seq_stats_per_s",
    "seq_deletes_per_s",
    "random_creates_per_s",
    "random_stats_per_s",
    "random_deletes_per_s",
];
const FIELDS_OF_FILES: usize = 5;
const LATENCIES: [&str; 12] = [
    "char_write_latency_max",
    "write_latency_max",
    "rewrite_latency_max",
    "char_read_latency_max",
    "read_latency_max",
    "seek_latency_max",
    "seq_create_latency_max",
    "seq_stat_latency_max",
    "seq_delete_latency_max",
    "random_create_latency_max",
    "random_stat_latency_max",
    "random_delete_latency_max",
];

#[derive(Clone, Copy)]
enum Unit {
    Kib,
    Number,
}

fn parse(printed: &Printed) -> Result<Found, String> {
    let line = only(lines(&printed.stdout), |line| before_rates(line).is_some())?;
    let line = line.ok_or("there is no line of CSV of version 1.96 or later")?;
    let fields: Vec<&str> = line.trim().split(',').collect();
    let rates = before_rates(line).unwrap_or_default();
    let files = rates + 2 * RATES.len() + FIELDS_OF_FILES;
    let latencies = files + 2 * FILES.len();
    if fields.len() != latencies + LATENCIES.len() {
        return Err(format!("its line of CSV has {} fields", fields.len()));
    }
    let mut metrics = Metrics::of("bonnie");
    for (index, (name, unit, is_headline)) in RATES.into_iter().enumerate() {
        let Some(rate) = rate(fields[rates + 2 * index])? else {
            continue;
        };
        match unit {
            Unit::Kib => metrics.bytes_per_second(name, rate * KIB),
            Unit::Number => metrics.per_second(name, rate),
        }
        if is_headline {
            metrics.headline();
        }
    }
    let is_only_files = fields[rates..rates + 2 * RATES.len()]
        .iter()
        .all(|field| field.is_empty());
    for (index, name) in FILES.into_iter().enumerate() {
        if let Some(rate) = rate(fields[files + 2 * index])? {
            metrics.add(name, rate, "1/s", Some(Better::Higher));
            if is_only_files {
                metrics.headline();
            }
        }
    }
    if metrics.found.metrics.is_empty() {
        return Err("every test took less than half a second; use larger sizes".to_owned());
    }
    for (name, field) in LATENCIES.into_iter().zip(&fields[latencies..]) {
        if let Some(ns) = latency_ns(field)? {
            metrics.time_ns(name, ns);
        }
    }
    metrics.end()
}

/// How many fields stand before the rates: "1.98,2.00a,HOST,..." has two more than 1.96 and 1.97.
pub(super) fn before_rates(line: &str) -> Option<usize> {
    let (format, rest) = line.split_once(',')?;
    match format {
        "1.96" | "1.97" if rest.contains(',') => Some(7),
        "1.98" if rest.contains(',') => Some(9),
        _ => None,
    }
}

/// None for a test that was left out or took too short a time ("+++++").
fn rate(field: &str) -> Result<Option<f64>, String> {
    if field.is_empty() || field.chars().all(|c| c == '+') {
        return Ok(None);
    }
    let rate = number(field).ok_or_else(|| format!("{field:?} in its CSV is not a rate"))?;
    Ok(Some(rate).filter(|rate| *rate > 0.0))
}

/// "9729us", "11ms" or "2s": the longest operation of a test.
fn latency_ns(field: &str) -> Result<Option<f64>, String> {
    if field.is_empty() || field.chars().all(|c| c == '+') {
        return Ok(None);
    }
    let ns = time_ns(field).ok_or_else(|| format!("{field:?} in its CSV is not a time"))?;
    Ok(Some(ns).filter(|ns| *ns > 0.0))
}
