//! sysbench 1.0 and 1.1: events per second, latency, and what fileio and the database tests add.

use super::arguments::{after_program, is_above_zero, long};
use super::{Better, MIB, Metrics, NS_PER_MS, Program, after, first_number, number};
use crate::workload::reported::Found;
use crate::workload::reported::output::Printed;

pub static SYSBENCH: Program = Program {
    name: "sysbench",
    parse,
    is_timed: |words| is_timed(after_program(words, "sysbench")),
    logs: |_| false,
};

/// By sysbench.c: --time is 10 s by default and holds beside --events; only --time=0 leaves the end to --events. The older
/// --max-time counts if it is above 0.
fn is_timed(arguments: &[String]) -> bool {
    let is_run = arguments.iter().any(|argument| argument == "run");
    let has_old = long(arguments, "--max-time").is_some_and(is_above_zero);
    is_run && (has_old || long(arguments, "--time").is_none_or(is_above_zero))
}

fn parse(printed: &Printed) -> Result<Found, String> {
    let text = &printed.stdout;
    let mut lines = text.lines().chain(printed.stderr.lines());
    if let Some(line) = lines.find(|line| line.starts_with("FATAL:")) {
        return Err(format!("sysbench failed: {line:?}"));
    }
    match text
        .lines()
        .filter(|line| line.starts_with("Latency (ms):"))
        .count()
    {
        1 => {}
        0 => {
            return Err(
                "there is no section \"Latency (ms):\"; only the command run prints it".to_owned(),
            );
        }
        several => {
            return Err(format!(
                "it has {several} reports, each of a part of the time; leave out --report-checkpoints"
            ));
        }
    }
    let mut metrics = Metrics::of("sysbench");
    let events = after(text, "total number of events:").and_then(first_number);
    let events = events
        .filter(|events| *events > 0.0)
        .ok_or("there were no events")?;
    metrics.per_second(
        "events_per_s",
        events_per_s(text, events).ok_or("there is no total time")?,
    );
    metrics.headline();
    for (label, name) in [
        ("transactions:", "transactions_per_s"),
        ("queries:", "queries_per_s"),
    ] {
        if let Some(rate) = after(text, label).and_then(in_parentheses) {
            metrics.per_second(name, rate);
        }
    }
    fileio(text, &mut metrics);
    latency(text, events, &mut metrics);
    fairness(text, &mut metrics);
    metrics.end()
}

/// As printed, where it is. Otherwise from the total, as sysbench does it.
fn events_per_s(text: &str, events: f64) -> Option<f64> {
    let printed = after(text, "events/s (eps):").or(after(text, "events per second:"));
    let printed = printed.and_then(first_number);
    let in_parentheses = || {
        let line = after(text, "transactions:").or(after(text, "Total operations:"))?;
        in_parentheses(line)
    };
    let computed = || {
        let seconds = after(text, "total time:").or(after(text, "time elapsed:"))?;
        let seconds = number(seconds.strip_suffix('s')?)?;
        (seconds > 0.0).then_some(events / seconds)
    };
    printed.or_else(in_parentheses).or_else(computed)
}

/// The rate in "483    (240.58 per sec.)".
fn in_parentheses(text: &str) -> Option<f64> {
    first_number(text.split_once('(')?.1)
}

/// A rate of 0 belongs to a test without such operations.
fn fileio(text: &str, metrics: &mut Metrics) {
    let positive = |number: &f64| *number > 0.0;
    let of = |label| after(text, label).and_then(first_number).filter(positive);
    for (label, name) in [
        ("reads/s:", "reads_per_s"),
        ("writes/s:", "writes_per_s"),
        ("fsyncs/s:", "fsyncs_per_s"),
    ] {
        if let Some(rate) = of(label) {
            metrics.per_second(name, rate);
        }
    }
    for (label, name) in [
        ("read, MiB/s:", "read_bytes_per_s"),
        ("written, MiB/s:", "written_bytes_per_s"),
    ] {
        if let Some(rate) = of(label) {
            metrics.bytes_per_second(name, rate * MIB);
        }
    }
    // Version 1.1: "read:  IOPS=6971.08 108.92 MiB/s (114.21 MB/s)".
    for (label, ios, bytes) in [
        ("read:  IOPS=", "reads_per_s", "read_bytes_per_s"),
        ("write: IOPS=", "writes_per_s", "written_bytes_per_s"),
        ("fsync: IOPS=", "fsyncs_per_s", ""),
    ] {
        let Some(rate) = of(label) else { continue };
        metrics.per_second(ios, rate);
        let mut words = after(text, label)
            .into_iter()
            .flat_map(str::split_whitespace);
        if let (Some(rate), Some("MiB/s")) = (words.nth(1).and_then(number), words.next()) {
            metrics.bytes_per_second(bytes, rate * MIB);
        }
    }
}

/// In ms with two decimals: 0.00 is below the resolution and no value.
fn latency(text: &str, events: f64, metrics: &mut Metrics) {
    let lines = text
        .lines()
        .skip_while(|line| !line.starts_with("Latency (ms):"));
    for line in lines.skip(1).take_while(|line| !line.trim().is_empty()) {
        let Some((label, value)) = line.trim().split_once(':') else {
            continue;
        };
        let Some(ms) = first_number(value).filter(|ms| *ms > 0.0) else {
            continue;
        };
        match label {
            "avg" => metrics.time_ns("latency_mean", ms * NS_PER_MS),
            "max" => metrics.time_ns("latency_max", ms * NS_PER_MS),
            _ => {
                let percent = label.strip_suffix("th percentile").and_then(number);
                if let Some(percent) = percent.filter(|percent| *percent < 100.0) {
                    let name = format!("latency_p{percent}");
                    metrics.percentile_ns(&name, ms * NS_PER_MS, events, percent / 100.0);
                }
            }
        }
    }
}

/// How the events are spread over the threads; one thread has no spread.
fn fairness(text: &str, metrics: &mut Metrics) {
    let threads = after(text, "Number of threads:").and_then(first_number);
    let spread = after(text, "events (avg/stddev):").and_then(|line| line.split_once('/'));
    let spread = spread.and_then(|(_, deviation)| first_number(deviation));
    if let Some(deviation) = spread.filter(|_| threads.is_some_and(|threads| threads > 1.0)) {
        metrics.add("fairness_sd", deviation, "1", Some(Better::Lower));
    }
}
