//! Parsers for the output of well-known benchmarks. Each gives its metrics the name of the program as a prefix, converts
//! times to ns and rates of bytes to bytes/s, and refuses output in which its metrics are missing. Pure, except the
//! reading of pgbench's log.

use super::Found;
use super::output::Printed;
use super::pattern::NoValue;
use iosched_result::metric::reported::{Better, Reported, check_name};
use iosched_result::statistics::beyond;

mod arguments; // options on a command line
mod bonnie;
mod db_bench;
mod dbench;
mod dd;
mod elbencho;
mod filebench;
mod fio;
mod fio_documents; // how many runs of fio there are in an output
mod fio_reports; // how many runs there are in its normal output
mod fio_text; // its normal output
mod hammerdb;
mod ioping;
mod iozone;
mod iozone_throughput; // its mode with several processes
mod marks; // by which lines a report is known
mod memtier;
mod mysqlslap;
mod perf;
mod pg_test_fsync;
mod pgbench;
mod redis_benchmark;
mod report; // one report in an output
mod stress_ng;
mod sysbench;
mod time;
mod transaction_log; // of pgbench
mod vdbench;
pub mod wrappers; // perf and time, which run a benchmark
mod ycsb;

pub use marks::resembling;

/// Facts that are known of a benchmark.
#[derive(Debug)]
pub struct Program {
    pub name: &'static str,
    pub parse: fn(&Printed) -> Result<Found, String>,
    /// Whether these arguments make it run for a fixed time: its elapsed time says nothing then.
    pub is_timed: fn(&[String]) -> bool,
    /// Whether it takes `--log-prefix=PATH` beside these arguments, and logs each transaction there.
    pub logs: fn(&[String]) -> bool,
}

const PROGRAMS: [&Program; 21] = [
    &bonnie::BONNIE,
    &db_bench::DB_BENCH,
    &dbench::DBENCH,
    &dd::DD,
    &elbencho::ELBENCHO,
    &filebench::FILEBENCH,
    &fio::FIO,
    &hammerdb::HAMMERDB,
    &ioping::IOPING,
    &iozone::IOZONE,
    &memtier::MEMTIER,
    &mysqlslap::MYSQLSLAP,
    &perf::PERF,
    &pg_test_fsync::PG_TEST_FSYNC,
    &pgbench::PGBENCH,
    &redis_benchmark::REDIS_BENCHMARK,
    &stress_ng::STRESS_NG,
    &sysbench::SYSBENCH,
    &time::TIME,
    &vdbench::VDBENCH,
    &ycsb::YCSB,
];

/// Percentiles, and their probabilities.
const PERCENTILES: [(&str, f64); 5] = [
    ("p50", 0.5),
    ("p90", 0.9),
    ("p95", 0.95),
    ("p99", 0.99),
    ("p99.9", 0.999),
];
const NS_PER_US: f64 = 1e3;
const NS_PER_MS: f64 = 1e6;
const NS_PER_S: f64 = 1e9;
const KIB: f64 = 1024.0;
const MIB: f64 = 1024.0 * 1024.0;

/// Other names of the same programs.
const ALIASES: [(&str, &str); 4] = [
    ("hammerdb", "hammerdbcli"),
    ("mariadb-slap", "mysqlslap"),
    ("vdbench.sh", "vdbench"),
    ("ycsb.sh", "ycsb"),
];

/// By the name of the program, without its directory.
pub fn find(name: &str) -> Option<&'static Program> {
    let alias = ALIASES.iter().find(|(alias, _)| *alias == name);
    let name = alias.map_or(name, |(_, name)| name);
    PROGRAMS.into_iter().find(|program| program.name == name)
}

pub fn names() -> Vec<&'static str> {
    PROGRAMS.iter().map(|program| program.name).collect()
}

/// The report of a program, if it is there once. Values of two runs would be mixed.
pub fn read(program: &Program, printed: &Printed) -> Result<Found, NoValue> {
    marks::ensure_one(program.name, printed).map_err(NoValue::Misread)?;
    (program.parse)(printed).map_err(NoValue::Absent)
}

/// Whether so many samples support the percentile with probability `p`.
fn supports(count: f64, p: f64) -> bool {
    beyond::has(count, p, beyond::TO_REPORT)
}

/// The text after `label` on the last line that begins with it, without the blanks around.
fn after<'a>(text: &'a str, label: &str) -> Option<&'a str> {
    let mut lines = text.lines().rev();
    lines.find_map(|line| Some(line.trim_start().strip_prefix(label)?.trim()))
}

/// A finite number that is not negative, and nothing else.
fn number(word: &str) -> Option<f64> {
    let starts_as_one = word.starts_with(|c: char| c.is_ascii_digit());
    let number: f64 = word.parse().ok().filter(|_| starts_as_one)?;
    number.is_finite().then_some(number)
}

/// A number with the unit of a time behind it, in nanoseconds.
fn time_ns(text: &str) -> Option<f64> {
    let units = [
        ("ns", 1.0),
        ("us", NS_PER_US),
        ("ms", NS_PER_MS),
        ("s", NS_PER_S),
    ];
    let in_unit = |(unit, ns): (&str, f64)| Some(number(text.strip_suffix(unit)?)? * ns);
    units.into_iter().find_map(in_unit)
}

/// The number that is the first word of a text.
fn first_number(text: &str) -> Option<f64> {
    number(text.split_whitespace().next()?)
}

/// A part of a metric's name that the output contains: other characters than those of names become `_`.
fn plain(text: &str) -> String {
    let mut plain = String::new();
    for c in text.trim().chars() {
        if c.is_ascii_alphanumeric() || "-.".contains(c) {
            plain.push(c);
        } else if !plain.ends_with('_') {
            plain.push('_');
        }
    }
    plain
}

/// The metrics that a parser has found so far.
#[derive(Default)]
struct Metrics {
    program: &'static str,
    found: Found,
}

impl Metrics {
    fn of(program: &'static str) -> Self {
        Metrics {
            program,
            found: Found::default(),
        }
    }

    /// `name` without the program's.
    fn add(&mut self, name: &str, value: f64, unit: &str, better: Option<Better>) {
        let name = format!("{}.{name}", self.program);
        let metric = Reported::new(name, value, unit, better);
        self.found.metrics.push(metric);
    }

    fn per_second(&mut self, name: &str, value: f64) {
        self.add(name, value, "1/s", Some(Better::Higher));
    }

    fn bytes_per_second(&mut self, name: &str, value: f64) {
        self.add(name, value, "bytes/s", Some(Better::Higher));
    }

    fn time_ns(&mut self, name: &str, value: f64) {
        self.add(name, value, "ns", Some(Better::Lower));
    }

    /// A percentile of `count` samples with probability `p`.
    fn percentile_ns(&mut self, name: &str, ns: f64, count: f64, p: f64) {
        if supports(count, p) {
            self.time_ns(name, ns);
        } else {
            let name = format!("{}.{name}", self.program);
            self.found.insufficient_tail.push(name);
        }
    }

    /// The last one added decides if the user names no metric.
    fn headline(&mut self) {
        if let Some(last) = self.found.metrics.last_mut() {
            last.is_headline = true;
        }
    }

    /// All of them, if there are any and all can be used.
    fn end(self) -> Result<Found, String> {
        if self.found.metrics.is_empty() {
            return Err("it contains no result".to_owned());
        }
        for metric in &self.found.metrics {
            check_name(&metric.name).map_err(|why| format!("{:?}: {why}", metric.name))?;
            if !metric.value.is_finite() {
                return Err(format!("{} is not a finite number", metric.name));
            }
        }
        Ok(self.found)
    }
}

#[cfg(test)]
mod fixture; // real output in tests/data/commands
#[cfg(test)]
mod tests;
