//! sysbench 0.4 to 1.1: events per second, latency, and what fileio and the database tests add.

use super::arguments::{after_program, is_above_zero, long};
use super::{KIB, MIB, Metrics, NS_PER_MS, Program, after, first_number, number};
use crate::workload::reported::Found;
use crate::workload::reported::output::Printed;
use iosched_result::metric::reported::Better;

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
    match text.lines().filter(|line| begins_latency(line)).count() {
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
    let (events, rate) = events(text)?;
    metrics.per_second("events_per_s", rate);
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

/// The title of version 1; those of versions before.
fn begins_latency(line: &str) -> bool {
    let line = line.trim();
    ["Latency (ms):", "response time:", "per-request statistics:"].contains(&line)
}

/// How many there were, and their rate: as printed, where it is; otherwise from the total, as sysbench does it.
fn events(text: &str) -> Result<(f64, f64), String> {
    let Some(events) = after(text, "total number of events:").and_then(first_number) else {
        return fileio_events(text).ok_or_else(|| "there is no number of events".to_owned());
    };
    if events <= 0.0 {
        return Err("there were no events".to_owned());
    }
    let printed = after(text, "events/s (eps):").or(after(text, "events per second:"));
    let printed = printed.and_then(first_number);
    let in_parentheses = || {
        let line = after(text, "transactions:").or(after(text, "Total operations:"))?;
        in_parentheses(line)
    };
    let rate = printed
        .or_else(in_parentheses)
        .or_else(|| Some(events / seconds(text)?));
    Ok((events, rate.ok_or("there is no total time")?))
}

fn seconds(text: &str) -> Option<f64> {
    let seconds = after(text, "total time:").or(after(text, "time elapsed:"))?;
    number(seconds.strip_suffix('s')?).filter(|seconds| *seconds > 0.0)
}

/// fileio of version 1.1 prints no number of events: each is a read, a write or an fsync. The sum of all latencies by their
/// mean is their number, as exact as the mean's two decimals are.
fn fileio_events(text: &str) -> Option<(f64, f64)> {
    let rates = ["read:  IOPS=", "write: IOPS=", "fsync: IOPS="]
        .map(|label| after(text, label).and_then(first_number));
    let rate: f64 = rates.iter().flatten().sum();
    let of = |label| after(text, label).and_then(first_number);
    let count = of("sum:").zip(of("avg:")).filter(|(_, mean)| *mean > 0.0);
    Some((count.map_or(0.0, |(sum, mean)| sum / mean), rate)).filter(|(_, rate)| *rate > 0.0)
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
    fileio_before_1(text, metrics);
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

/// "Operations performed:  6000 reads, 4000 writes, 12800 Other = 22800 Total" and
/// "Read 93.75Mb  Written 62.5Mb  Total transferred 156.25Mb  (13.391Mb/sec)", of which a prefix counts by 1024.
fn fileio_before_1(text: &str, metrics: &mut Metrics) {
    let Some(seconds) = seconds(text) else { return };
    let counts = after(text, "Operations performed:").and_then(|line| line.split_once('='));
    for part in counts.map_or("", |(parts, _)| parts).split(',') {
        let mut words = part.split_whitespace();
        let (count, what) = (
            words.next().and_then(number),
            words.next().unwrap_or_default(),
        );
        let name = match what.to_lowercase().as_str() {
            "read" | "reads" => "reads_per_s",
            "write" | "writes" => "writes_per_s",
            "other" => "fsyncs_per_s",
            _ => continue,
        };
        if let Some(count) = count.filter(|count| *count > 0.0) {
            metrics.per_second(name, count / seconds);
        }
    }
    let transferred = after(text, "Read ").filter(|line| line.contains("Total transferred "));
    let written = transferred.and_then(|line| line.split_once("Written "));
    for (size, name) in [
        (transferred, "read_bytes_per_s"),
        (written.map(|(_, size)| size), "written_bytes_per_s"),
    ] {
        let bytes = size.and_then(|size| bytes(size.split_whitespace().next()?));
        if let Some(bytes) = bytes.filter(|bytes| *bytes > 0.0) {
            metrics.bytes_per_second(name, bytes / seconds);
        }
    }
}

/// "93.75Mb", "512b".
fn bytes(word: &str) -> Option<f64> {
    let size = word.strip_suffix('b')?;
    let unprefixed = size.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let factor = match &size[unprefixed.len()..] {
        "" => 1.0,
        "K" | "k" => KIB,
        "M" | "m" => MIB,
        "G" | "g" => MIB * KIB,
        "T" | "t" => MIB * MIB,
        _ => return None,
    };
    Some(number(unprefixed)? * factor)
}

/// In ms with two decimals: 0.00 is below the resolution and no value.
fn latency(text: &str, events: f64, metrics: &mut Metrics) {
    let lines = text.lines().skip_while(|line| !begins_latency(line));
    for line in lines.skip(1).take_while(|line| !line.trim().is_empty()) {
        let Some((label, value)) = line.trim().split_once(':') else {
            continue;
        };
        let value = value.trim();
        let value = value.strip_suffix("ms").unwrap_or(value);
        let Some(ms) = first_number(value).filter(|ms| *ms > 0.0) else {
            continue;
        };
        match label {
            "avg" => metrics.time_ns("latency_mean", ms * NS_PER_MS),
            "max" => metrics.time_ns("latency_max", ms * NS_PER_MS),
            _ => {
                let percent = label
                    .strip_prefix("approx.")
                    .unwrap_or(label)
                    .strip_suffix(" percentile");
                let percent =
                    percent.and_then(|percent| number(percent.trim().trim_end_matches("th")));
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
