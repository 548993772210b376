//! mysqlslap (mariadb-slap): the time that all queries took, for each engine and each number of clients.

use super::report::{failure, lines};
use super::{Metrics, NS_PER_S, Program, first_number, plain};
use crate::workload::reported::Found;
use crate::workload::reported::output::Printed;

pub static MYSQLSLAP: Program = Program {
    name: "mysqlslap",
    parse,
    // It makes a number of queries.
    is_timed: |_| false,
    logs: |_| false,
};

/// Beginnings of lines, and the metrics' names.
const TIMES: [(&str, &str); 3] = [
    (
        "Average number of seconds to run all queries: ",
        "run_time_mean",
    ),
    (
        "Minimum number of seconds to run all queries: ",
        "run_time_min",
    ),
    (
        "Maximum number of seconds to run all queries: ",
        "run_time_max",
    ),
];
const BENCHMARK: &str = "Benchmark";
const ENGINE: &str = "Running for engine ";
const CLIENTS: &str = "Number of clients running queries: ";
/// The last line of a result.
const LAST: &str = "Average number of queries per client: ";

#[derive(Default)]
struct Benchmark {
    /// Prefix of its metrics, from the engine and the number of clients.
    name: String,
    times_s: Vec<(&'static str, f64)>,
    is_whole: bool,
}

fn parse(printed: &Printed) -> Result<Found, String> {
    let all = lines(&printed.stdout).chain(lines(&printed.stderr));
    failure(all, "mysqlslap", |line| {
        let said = line.split_once("slap: ").map(|(_, said)| said);
        let is_warning = |said: &str| {
            // MariaDB 11 of its old names.
            said.starts_with("Deprecated program name")
                || said.to_ascii_lowercase().contains("warning")
        };
        said.is_some_and(|said| !is_warning(said))
    })?;
    let found = benchmarks(&printed.stdout)?;
    if found.is_empty() {
        return Err("there is no section \"Benchmark\"; leave out --csv and --silent".to_owned());
    }
    let mut metrics = Metrics::of("mysqlslap");
    for benchmark in found {
        if !benchmark.is_whole || benchmark.times_s.len() != TIMES.len() {
            return Err("its last result is incomplete".to_owned());
        }
        for (name, seconds) in benchmark.times_s {
            if seconds == 0.0 {
                return Err("the queries took less than 1 ms; use more of them".to_owned());
            }
            metrics.time_ns(&format!("{}{name}", benchmark.name), seconds * NS_PER_S);
            if name == "run_time_mean" {
                metrics.headline();
            }
        }
    }
    metrics.end()
}

/// A run has one result for each engine and each number of clients.
pub(super) fn result_of(line: &str, before: &[&str]) -> Option<String> {
    let clients = line.trim().strip_prefix(CLIENTS)?;
    let mut section = before.iter().rev().map(|line| line.trim());
    let engine = section
        .by_ref()
        .take_while(|line| *line != BENCHMARK)
        .find_map(|line| line.strip_prefix(ENGINE));
    Some(format!("{} {clients}", engine.unwrap_or_default()))
}

fn benchmarks(text: &str) -> Result<Vec<Benchmark>, String> {
    let mut found: Vec<Benchmark> = Vec::new();
    for line in lines(text).map(str::trim) {
        if line == BENCHMARK {
            found.push(Benchmark::default());
            continue;
        }
        let Some(last) = found.last_mut() else {
            continue;
        };
        if let Some(engine) = line.strip_prefix(ENGINE) {
            last.name = format!("{}.", plain(engine));
        } else if let Some(clients) = line.strip_prefix(CLIENTS) {
            let number = clients.parse::<u32>();
            let number = number.map_err(|_| format!("no number of clients: {line:?}"))?;
            last.name = format!("{}clients_{number}.", last.name);
        } else if line.starts_with(LAST) {
            last.is_whole = true;
        }
        for (label, name) in TIMES {
            let Some(rest) = line.strip_prefix(label) else {
                continue;
            };
            let seconds = first_number(rest).filter(|_| rest.ends_with(" seconds"));
            let seconds = seconds.ok_or_else(|| format!("no number of seconds: {line:?}"))?;
            last.times_s.push((name, seconds));
        }
    }
    Ok(found)
}
