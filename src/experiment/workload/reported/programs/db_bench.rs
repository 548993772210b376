//! db_bench of RocksDB: rate and latency of each benchmark, percentiles with `--histogram` or `--statistics`.

use std::collections::BTreeMap;

use super::arguments::{after_program, is_above_zero, long};
use super::{MIB, Metrics, NS_PER_US, Program, number, plain};
use crate::workload::reported::Found;
use crate::workload::reported::output::Printed;

pub static DB_BENCH: Program = Program {
    name: "db_bench",
    parse,
    is_timed: |words| {
        let arguments = after_program(words, "db_bench");
        // gflags accepts one hyphen too.
        ["--duration", "-duration"]
            .iter()
            .any(|name| long(arguments, name).is_some_and(is_above_zero))
    },
    logs: |_| false,
};

/// Operations of `--statistics`.
const OPERATIONS: [(&str, &str); 3] = [
    ("rocksdb.db.get.micros ", "get"),
    ("rocksdb.db.write.micros ", "write"),
    ("rocksdb.db.seek.micros ", "seek"),
];

/// Facts that are known of one benchmark.
#[derive(Default)]
struct Benchmark {
    name: String,
    ops_per_s: f64,
    bytes_per_s: Option<f64>,
    us: Option<f64>,
    samples: Option<f64>,
    percentiles_us: Vec<(String, f64)>,
    /// How many kinds of operations have a histogram.
    histograms: u32,
    /// The lines that follow are of one of them.
    is_in_histogram: bool,
}

fn parse(printed: &Printed) -> Result<Found, String> {
    let mut found: Vec<Benchmark> = Vec::new();
    // How many results follow that belong to a warm-up, or of which the mean is printed after them.
    let mut to_skip = 0;
    let mut is_skipped = false;
    for line in printed.stdout.lines() {
        if let Some(runs) = repeats(line) {
            to_skip = runs;
        } else if let Some(mean) = mean_of_runs(line) {
            let is_next = |last: &Benchmark| last.name != mean.name || last.us.is_some();
            if found.last().is_none_or(is_next) {
                found.push(mean);
            } else if let Some(last) = found.last_mut() {
                *last = mean;
            }
        } else if let Some(result) = result(line) {
            is_skipped = to_skip > 0;
            to_skip = to_skip.saturating_sub(1);
            if !is_skipped {
                found.push(result);
            }
        } else if let Some(last) = found.last_mut().filter(|_| !is_skipped) {
            histogram(line, last);
        }
    }
    let mut metrics = Metrics::of("db_bench");
    let mut times = BTreeMap::new();
    for benchmark in found {
        // A benchmark that is listed twice is another one.
        let time: &mut u32 = times.entry(benchmark.name.clone()).or_default();
        *time += 1;
        let name = match time {
            1 => benchmark.name.clone(),
            time => format!("{}_{time}", benchmark.name),
        };
        add(&mut metrics, &name, &benchmark);
    }
    if metrics.found.metrics.is_empty() {
        return Err("there is no line \"BENCHMARK : N micros/op N ops/sec\"".to_owned());
    }
    for line in printed.stdout.lines() {
        statistics(line, &mut metrics);
    }
    metrics.end()
}

fn add(metrics: &mut Metrics, name: &str, benchmark: &Benchmark) {
    if benchmark.ops_per_s > 0.0 {
        metrics.per_second(&format!("{name}.ops_per_s"), benchmark.ops_per_s);
        metrics.headline();
    }
    if let Some(bytes_per_s) = benchmark.bytes_per_s {
        metrics.bytes_per_second(&format!("{name}.bytes_per_s"), bytes_per_s);
    }
    // Seconds of all threads by operations: the mean latency.
    if let Some(us) = benchmark.us.filter(|us| *us > 0.0) {
        metrics.time_ns(&format!("{name}.latency_mean"), us * NS_PER_US);
    }
    // Percentiles of reads and those of writes would have one name.
    let percentiles = benchmark.percentiles_us.iter();
    for (percentile, us) in percentiles.filter(|(_, us)| benchmark.histograms == 1 && *us > 0.0) {
        let p = percentile[1..].parse::<f64>().unwrap_or(100.0) / 100.0;
        let name = format!("{name}.latency_{}", percentile.to_lowercase());
        let samples = benchmark.samples.unwrap_or(0.0);
        metrics.percentile_ns(&name, us * NS_PER_US, samples, p);
    }
}

/// "fillseq      :       9.582 micros/op 102732 ops/sec 0.195 seconds 20000 operations;   11.4 MB/s", before version 7.3
/// without seconds and operations. The rate of bytes is missing where a benchmark counts none.
fn result(line: &str) -> Option<Benchmark> {
    let (name, rest) = line.split_once(" : ")?;
    let (us, rest) = rest.split_once(" micros/op ")?;
    let (rate, rest) = rest.split_once(" ops/sec")?;
    let whole = number(rate.trim())?;
    Some(Benchmark {
        name: name_of(name)?,
        // Printed whole: below 1/s it is 0.
        ops_per_s: if whole > 0.0 {
            whole
        } else {
            slow(rest).unwrap_or(whole)
        },
        bytes_per_s: rest
            .split_once(';')
            .and_then(|(_, rest)| megabytes(rest, "MB/s")),
        us: Some(number(us.trim())?),
        ..Benchmark::default()
    })
}

/// The rate by " 12.5 seconds 3 operations;".
fn slow(text: &str) -> Option<f64> {
    let (seconds, rest) = text.split_once(" seconds ")?;
    let (operations, _) = rest.split_once(" operations")?;
    let seconds = number(seconds.trim()).filter(|seconds| *seconds > 0.0)?;
    Some(number(operations)? / seconds)
}

/// "readrandom [AVG    2 runs] : 727907 (± 57025) ops/sec;   80.5 (± 6.3) MB/sec"; some versions print it after each run, newer
/// ones with "0.001 ms/op;" before the bytes.
fn mean_of_runs(line: &str) -> Option<Benchmark> {
    let (name, rest) = line.split_once(" [AVG ")?;
    let (_, rest) = rest.split_once("] : ")?;
    let (rate, rest) = rest.split_once(" ops/sec")?;
    Some(Benchmark {
        name: name_of(name)?,
        ops_per_s: number(rate.split_whitespace().next()?)?,
        bytes_per_s: rest
            .rsplit_once(';')
            .and_then(|(_, rest)| megabytes(rest, "MB/sec")),
        ..Benchmark::default()
    })
}

fn name_of(text: &str) -> Option<String> {
    let name = text.trim();
    let is_one = !name.is_empty() && !name.contains(char::is_whitespace);
    is_one.then(|| plain(name))
}

/// In db_bench_tool.cc, a rate is bytes / 1048576.0 / seconds.
fn megabytes(text: &str, unit: &str) -> Option<f64> {
    let (rate, _) = text.split_once(unit)?;
    let rate = number(rate.split_whitespace().next()?)?;
    Some(rate * MIB).filter(|rate| *rate > 0.0)
}

/// "Warming up benchmark by running 1 times", "Running benchmark for 2 times".
fn repeats(line: &str) -> Option<u64> {
    let warm_up = line.strip_prefix("Warming up benchmark by running ");
    let rest = warm_up.or_else(|| line.strip_prefix("Running benchmark for "))?;
    rest.strip_suffix(" times")?.parse().ok()
}

/// "Microseconds per write:", "Count: 20000 Average: ..." and "Percentiles: P50: 2.31 P75: 2.72 ...", after the result that they
/// belong to. The benchmark "stats" prints histograms of levels with other titles.
fn histogram(line: &str, benchmark: &mut Benchmark) {
    if line.starts_with("Microseconds per ") {
        benchmark.histograms += 1;
        benchmark.is_in_histogram = true;
    }
    if !benchmark.is_in_histogram {
        return;
    }
    if let Some(rest) = line.strip_prefix("Count: ") {
        benchmark.samples = rest.split_whitespace().next().and_then(number);
    } else if let Some(rest) = line.strip_prefix("Percentiles: ") {
        benchmark.percentiles_us = pairs(rest);
        benchmark.is_in_histogram = false;
    }
}

/// "P50: 2.31 P75: 2.72", or "P50 : 2.31 P75 : 2.72".
fn pairs(text: &str) -> Vec<(String, f64)> {
    let text = text.replace(" :", ":");
    let words: Vec<&str> = text.split_whitespace().collect();
    let pairs = words.chunks_exact(2).filter_map(|pair| {
        let name = pair[0].strip_suffix(':')?;
        let is_percentile = name.strip_prefix('P').and_then(number).is_some();
        Some((name.to_owned(), number(pair[1])?)).filter(|_| is_percentile)
    });
    pairs.collect()
}

/// "rocksdb.db.get.micros P50 : 0.72 P95 : 1.99 P99 : 3.30 P100 : 12088.0 COUNT : 60000 SUM : 221674": all benchmarks
/// together.
fn statistics(line: &str, metrics: &mut Metrics) {
    for (label, operation) in OPERATIONS {
        let Some(rest) = line.strip_prefix(label) else {
            continue;
        };
        let count = rest
            .split_once("COUNT : ")
            .and_then(|(_, rest)| super::first_number(rest));
        for (percentile, us) in pairs(rest) {
            let p = percentile[1..].parse::<f64>().unwrap_or(100.0) / 100.0;
            let count = count.filter(|count| *count > 0.0 && p < 1.0);
            if let Some(count) = count {
                let name = format!("{operation}_latency_{}", percentile.to_lowercase());
                metrics.percentile_ns(&name, us * NS_PER_US, count, p);
            }
        }
    }
}
