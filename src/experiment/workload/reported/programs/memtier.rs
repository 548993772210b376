//! memtier_benchmark: operations per second and latency, of all operations and of each kind, from its table of results.

use super::arguments::{after_program, is_above_zero, long};
use super::report::{failure, lines, only};
use super::{KIB, Metrics, NS_PER_MS, Program, first_number, number, plain};
use crate::workload::reported::Found;
use crate::workload::reported::output::Printed;

pub static MEMTIER: Program = Program {
    name: "memtier_benchmark",
    parse,
    is_timed: |words| {
        let arguments = after_program(words, "memtier_benchmark");
        long(arguments, "--test-time").is_some_and(is_above_zero)
    },
    logs: |_| false,
};

/// Titles of the table that is of all runs: the best and the worst of several are printed too.
const TITLES: [&str; 2] = ["ALL STATS", "AGGREGATED AVERAGE RESULTS"];
const TOTALS: &str = "Totals";

fn parse(printed: &Printed) -> Result<Found, String> {
    let all = lines(&printed.stdout).chain(lines(&printed.stderr));
    failure(all, "memtier_benchmark", |line| {
        line.contains("handle error response")
            || line.starts_with("Connection error")
            || line.contains("connection dropped")
            || line.contains("due to connection failures")
            || line.starts_with("error:")
    })?;
    let is_title = |line: &str| TITLES.iter().any(|title| line.starts_with(title));
    let text = &printed.stdout;
    only(lines(text), is_title)?
        .ok_or("there is no table \"ALL STATS\"; leave out --out-file and --json-out-file")?;
    let mut table = lines(text).skip_while(|line| !is_title(line));
    let mut rows = table
        .by_ref()
        .skip_while(|line| !line.starts_with("Type "))
        .filter(|line| !line.starts_with("---"));
    let header = cells(rows.next().unwrap_or_default());
    let rows: Vec<Vec<&str>> = rows
        .take_while(|line| !line.is_empty())
        .map(cells)
        .collect();
    let is_whole = |row: &Vec<&str>| row.len() == header.len();
    let totals = rows.iter().filter(|row| row[0] == TOTALS).count();
    if !rows.iter().all(is_whole) || totals != 1 {
        return Err("its table of results is incomplete".to_owned());
    }
    let mut metrics = Metrics::of("memtier_benchmark");
    for row in &rows {
        add(&header, row, requests(text), &mut metrics)?;
    }
    metrics.end()
}

/// The names of columns contain single blanks.
fn cells(line: &str) -> Vec<&str> {
    line.split("  ")
        .map(str::trim)
        .filter(|cell| !cell.is_empty())
        .collect()
}

/// All requests of one run, from its configuration. None with --test-time.
fn requests(text: &str) -> Option<f64> {
    let of = |label: &str| {
        let mut lines = lines(text);
        lines.find_map(|line| first_number(line).filter(|_| line.trim_end().ends_with(label)))
    };
    Some(of("  Threads")? * of("  Connections per thread")? * of("  Requests per client")?)
}

fn add(
    header: &[&str],
    row: &[&str],
    requests: Option<f64>,
    metrics: &mut Metrics,
) -> Result<(), String> {
    let of = |column: &str| {
        let at = header.iter().position(|name| *name == column)?;
        number(row[at]).filter(|value| *value > 0.0)
    };
    let is_total = row[0] == TOTALS;
    let prefix = match row[0] {
        TOTALS => String::new(),
        kind => format!("{}.", plain(&kind.to_ascii_lowercase())),
    };
    let Some(ops_per_s) = of("Ops/sec") else {
        // There were no operations of this kind.
        return if is_total {
            Err("there were no operations".to_owned())
        } else {
            Ok(())
        };
    };
    metrics.per_second(&format!("{prefix}ops_per_s"), ops_per_s);
    if is_total {
        metrics.headline();
    }
    if let Some(kib) = of("KB/sec") {
        metrics.bytes_per_second(&format!("{prefix}bytes_per_s"), kib * KIB);
    }
    // Before version 1.4 there is only one column of latency.
    if let Some(ms) = of("Avg. Latency").or(of("Latency")) {
        metrics.time_ns(&format!("{prefix}latency_mean"), ms * NS_PER_MS);
    }
    for column in header {
        let percent = column
            .strip_prefix('p')
            .and_then(|of| of.strip_suffix(" Latency"));
        if let Some(percent) = percent
            && let (Some(ms), Some(p)) = (of(column), number(percent))
        {
            let name = format!("{prefix}latency_p{percent}");
            // The number of those of one kind is not printed.
            let count = requests.filter(|_| is_total).unwrap_or(0.0);
            metrics.percentile_ns(&name, ms * NS_PER_MS, count, p / 100.0);
        }
    }
    Ok(())
}
