//! filebench: operations and bytes per second and latency, from the line "IO Summary", and the latency of each flowop.

use super::report::{failure, lines, only};
use super::{MIB, Metrics, NS_PER_MS, Program, number, plain};
use crate::workload::reported::Found;
use crate::workload::reported::output::Printed;

pub static FILEBENCH: Program = Program {
    name: "filebench",
    parse,
    // The seconds are in its script.
    is_timed: |_| true,
    logs: |_| false,
};

const SUMMARY: &str = "IO Summary: ";

fn parse(printed: &Printed) -> Result<Found, String> {
    let all = || lines(&printed.stdout).chain(lines(&printed.stderr));
    failure(all(), "filebench", |line| {
        line.contains("NO VALID RESULTS")
            || line.contains("Unexpected Process termination")
            || line.contains("run terminated prematurely")
    })?;
    let line = only(all(), |line| line.contains(SUMMARY))?;
    let line = line.ok_or("there is no line \"IO Summary\"")?;
    let summary = line.split_once(SUMMARY).map_or("", |(_, rest)| rest);
    let mut metrics = Metrics::of("filebench");
    add_summary(summary, &mut metrics)
        .ok_or_else(|| format!("its line \"IO Summary\" cannot be read: {summary:?}"))?;
    let all: Vec<&str> = all().collect();
    for line in all {
        if let Some((name, ms)) = flowop(line).filter(|(_, ms)| *ms > 0.0) {
            metrics.time_ns(&format!("{name}.latency_mean"), ms * NS_PER_MS);
        }
    }
    metrics.end()
}

/// "47380 ops 23618.001 ops/s 5905/5905 rd/wr 3642.0mb/s 0.084ms/op", of version 1.4 "47380 ops, 23618.001 ops/s, (5905/5905
/// r/w), 3642.0mb/s, 50us cpu/op, 0.1ms latency". mb are 2^20 bytes, by filebench.h.
fn add_summary(text: &str, metrics: &mut Metrics) -> Option<()> {
    let text = text.replace(['(', ')'], " ");
    let words: Vec<&str> = text
        .split_whitespace()
        .map(|word| word.trim_end_matches(','))
        .filter(|word| !word.is_empty())
        .collect();
    let [
        count,
        "ops",
        rate,
        "ops/s",
        per_kind,
        "rd/wr" | "r/w",
        bytes,
        rest @ ..,
    ] = &words[..]
    else {
        return None;
    };
    let latency_ms = match rest {
        [latency] => latency.strip_suffix("ms/op"),
        [_, "cpu/op", latency, "latency"] => latency.strip_suffix("ms"),
        _ => None,
    };
    let latency_ms = number(latency_ms?)?;
    let (reads, writes) = per_kind.split_once('/')?;
    let (reads, writes) = (number(reads)?, number(writes)?);
    let bytes = number(bytes.strip_suffix("mb/s")?)?;
    let rate = number(rate)
        .filter(|rate| *rate > 0.0 && number(count).is_some_and(|count| count > 0.0))?;
    metrics.per_second("ops_per_s", rate);
    metrics.headline();
    for (name, rate) in [("reads_per_s", reads), ("writes_per_s", writes)] {
        if rate > 0.0 {
            metrics.per_second(name, rate);
        }
    }
    if bytes > 0.0 {
        metrics.bytes_per_second("bytes_per_s", bytes * MIB);
    }
    if latency_ms > 0.0 {
        metrics.time_ns("latency_mean", latency_ms * NS_PER_MS);
    }
    Some(())
}

/// "app1  11845ops  5905ops/s  11.5mb/s  0.008ms/op [0.001ms - 8.081ms]".
fn flowop(line: &str) -> Option<(String, f64)> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [name, count, rate, bytes, latency, ..] = &words[..] else {
        return None;
    };
    number(count.strip_suffix("ops")?)?;
    number(rate.strip_suffix("ops/s")?)?;
    number(bytes.strip_suffix("mb/s")?)?;
    Some((plain(name), number(latency.strip_suffix("ms/op")?)?))
}
