//! YCSB: operations per second, and the latency of each kind of operation, from its text exporter, which is the default.

use super::report::{failure, lines, only};
use super::{Metrics, NS_PER_US, Program, number};
use crate::workload::reported::Found;
use crate::workload::reported::output::Printed;

pub static YCSB: Program = Program {
    name: "ycsb",
    parse,
    is_timed: |words| {
        let mut words = words.iter();
        words.any(|word| {
            let value = word.split_once("maxexecutiontime=").map(|(_, value)| value);
            value.and_then(number).is_some_and(|seconds| seconds > 0.0)
        })
    },
    logs: |_| false,
};

/// Beginnings of lines that are printed once per run, as in Client.java.
const RUN_TIME: &str = "[OVERALL], RunTime(ms), ";
const THROUGHPUT: &str = "[OVERALL], Throughput(ops/sec), ";
/// Closing the database is no operation of the workload.
const CLEANUP: &str = "CLEANUP";
/// Latencies from the time at which an operation should have started.
const INTENDED: &str = "Intended-";
const GOOD: [&str; 2] = ["OK", "BATCHED_OK"];

/// Numbers that are printed of one kind of operation.
#[derive(Default)]
struct Operation<'a> {
    name: &'a str,
    count: f64,
    has_status: bool,
    mean_us: Option<f64>,
    max_us: Option<f64>,
    percentiles_us: Vec<(&'a str, f64)>,
}

fn parse(printed: &Printed) -> Result<Found, String> {
    let text = &printed.stdout;
    let throughput = only(lines(text), |line| line.starts_with(THROUGHPUT))?;
    let ops_per_s = throughput
        .and_then(|line| number(line.strip_prefix(THROUGHPUT)?.trim()))
        .filter(|rate| *rate > 0.0)
        .ok_or("there is no line \"[OVERALL], Throughput(ops/sec), NUMBER\"")?;
    let run_time_ms = only(lines(text), |line| line.starts_with(RUN_TIME))?
        .and_then(|line| number(line.strip_prefix(RUN_TIME)?.trim()))
        .ok_or("there is no line \"[OVERALL], RunTime(ms), NUMBER\"")?;
    failure(lines(text), "YCSB", is_failed)?;
    let operations = operations(text);
    // All operations by their kinds: one that is read, modified and written counts three times.
    let counted: f64 = operations
        .iter()
        .filter(|of| of.name != CLEANUP && of.has_status)
        .map(|of| of.count)
        .sum();
    if counted < (ops_per_s * run_time_ms / 1000.0).round() {
        return Err("its report ends before the results of all operations".to_owned());
    }
    let is_paced = is_paced(&printed.stderr);
    let mut metrics = Metrics::of("ycsb");
    metrics.per_second("ops_per_s", ops_per_s);
    if !is_paced {
        metrics.headline();
    }
    for of in operations.iter().filter(|of| of.name != CLEANUP) {
        latency(of, is_paced, &mut metrics);
    }
    metrics.end()
}

/// "[READ], Return=ERROR, 3", or a kind of operation for those that failed.
fn is_failed(line: &str) -> bool {
    let Some((name, key, value)) = fields(line) else {
        return false;
    };
    let is_bad = key
        .strip_prefix("Return=")
        .is_some_and(|status| !GOOD.contains(&status));
    let is_failed = name.ends_with("-FAILED") && key == "Operations";
    (is_bad || is_failed) && number(value) != Some(0.0)
}

/// "[READ], AverageLatency(us), 1.5".
fn fields(line: &str) -> Option<(&str, &str, &str)> {
    let (name, rest) = line.strip_prefix('[')?.split_once("], ")?;
    let (key, value) = rest.split_once(", ")?;
    Some((name, key, value.trim()))
}

fn operations(text: &str) -> Vec<Operation<'_>> {
    let mut found: Vec<Operation> = Vec::new();
    for (name, key, value) in lines(text).filter_map(fields) {
        let Some(value) = number(value) else {
            continue;
        };
        if key == "Operations" {
            found.push(Operation {
                name,
                count: value,
                ..Operation::default()
            });
        }
        let Some(last) = found.last_mut().filter(|last| last.name == name) else {
            continue;
        };
        match key {
            "AverageLatency(us)" => last.mean_us = Some(value),
            "MaxLatency(us)" => last.max_us = Some(value),
            _ => {
                last.has_status |= key.starts_with("Return=");
                if let Some(percent) = key.strip_suffix("PercentileLatency(us)") {
                    let percent = percent.trim_end_matches(|c: char| c.is_ascii_alphabetic());
                    last.percentiles_us.push((percent, value));
                }
            }
        }
    }
    found
}

/// YCSB repeats its arguments. With `-target` the rate is given; the latency is the result.
fn is_paced(stderr: &str) -> bool {
    let arguments = lines(stderr).find_map(|line| line.strip_prefix("Command line: "));
    let words: Vec<&str> = arguments.unwrap_or("").split_whitespace().collect();
    words.windows(2).any(|pair| {
        let value = match pair[0] {
            "-target" => Some(pair[1]),
            "-p" => pair[1].strip_prefix("target="),
            _ => None,
        };
        value.and_then(number).is_some_and(|target| target > 0.0)
    })
}

fn latency(of: &Operation, is_paced: bool, metrics: &mut Metrics) {
    let (name, of_what) = match of.name.strip_prefix(INTENDED) {
        Some(name) => (name, "intended_latency"),
        None => (of.name, "latency"),
    };
    let name = super::plain(&name.to_ascii_lowercase());
    if let Some(us) = of.mean_us.filter(|us| *us > 0.0) {
        metrics.time_ns(&format!("{name}.{of_what}_mean"), us * NS_PER_US);
        if is_paced && of_what == "latency" {
            metrics.headline();
        }
    }
    if let Some(us) = of.max_us.filter(|us| *us > 0.0) {
        metrics.time_ns(&format!("{name}.{of_what}_max"), us * NS_PER_US);
    }
    for (percent, us) in &of.percentiles_us {
        // In whole microseconds: 0 is below the resolution.
        let p = number(percent).filter(|percent| *percent < 100.0 && *us > 0.0);
        if let Some(p) = p {
            let name = format!("{name}.{of_what}_p{percent}");
            metrics.percentile_ns(&name, us * NS_PER_US, of.count, p / 100.0);
        }
    }
}
