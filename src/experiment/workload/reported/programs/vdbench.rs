//! vdbench: rate, bytes per second and response time of each run definition, from its line "avg_N-M".

use super::report::{failure, lines, only};
use super::{MIB, Metrics, NS_PER_MS, Program, number, plain};
use crate::workload::reported::Found;
use crate::workload::reported::output::Printed;

pub static VDBENCH: Program = Program {
    name: "vdbench",
    parse,
    // The seconds are in its parameter file.
    is_timed: |_| true,
    logs: |_| false,
};

const STARTING: &str = "Starting RD=";
const END: &str = "Vdbench execution completed successfully";
/// Runs that prepare files.
const FORMAT: &str = "format_for_";
const MB: f64 = 1e6;

/// The columns of a table by the first row of its header.
#[derive(Clone, Copy, PartialEq)]
enum Table {
    /// "interval i/o MB/sec bytes read resp read write": of disks.
    Disks,
    /// "Interval ReqstdOps cpu% read read write mb/sec ...": of file systems.
    Files,
}

/// The first rows of headers, the second before version 5.04.07.
const HEADS: [(&str, Table); 3] = [
    (
        "interval i/o mb/sec bytes read resp read write read write",
        Table::Disks,
    ),
    (
        "interval i/o mb/sec bytes read resp read write resp",
        Table::Disks,
    ),
    (
        "interval reqstdops cpu% read read write mb/sec mb/sec",
        Table::Files,
    ),
];

#[derive(Default)]
struct Run<'a> {
    name: &'a str,
    is_paced: bool,
    table: Option<Table>,
    megabyte: f64,
    average: Option<Vec<f64>>,
}

fn parse(printed: &Printed) -> Result<Found, String> {
    let all = || lines(&printed.stdout).chain(lines(&printed.stderr));
    failure(all(), "vdbench", |line| {
        [
            "Data Validation error",
            "marked in error",
            "Vdbench is terminating",
            "RuntimeException",
            "Vdbench aborting",
        ]
        .iter()
        .any(|words| line.contains(words))
    })?;
    let text = &printed.stdout;
    only(lines(text), |line| line.contains(END))?
        .ok_or_else(|| format!("there is no line \"{END}\""))?;
    let runs = runs(text)?;
    let mut metrics = Metrics::of("vdbench");
    for run in runs.iter().filter(|run| !run.name.starts_with(FORMAT)) {
        add(run, &mut metrics)?;
    }
    metrics.end()
}

/// The end of an execution, or the run definition whose start a line tells: forxx= gives several runs the same name.
pub(super) fn result_of(line: &str, _: &[&str]) -> Option<String> {
    if line.contains(END) {
        return Some(String::new());
    }
    let name = name_of(line.split_once(STARTING)?.1);
    (!name.starts_with(FORMAT)).then(|| plain(name))
}

fn name_of(started: &str) -> &str {
    started.split([';', ' ']).next().unwrap_or_default()
}

fn runs(text: &str) -> Result<Vec<Run<'_>>, String> {
    let mut found: Vec<Run> = Vec::new();
    for line in lines(text) {
        if let Some((_, rest)) = line.split_once(STARTING) {
            found.push(Run {
                name: name_of(rest),
                is_paced: is_paced(rest),
                megabyte: MIB,
                ..Run::default()
            });
        }
        let Some(last) = found.last_mut() else {
            continue;
        };
        if let Some(table) = table(line) {
            last.table = Some(table);
        } else if line.contains("1000**2") {
            last.megabyte = MB;
        } else if let Some((_, rest)) = line.split_once("avg_") {
            let mut words = rest.split_whitespace();
            let is_range = words.next().is_some_and(|range| range.contains('-'));
            // The use of the CPU may be NaN.
            let numbers: Vec<f64> = words.map_while(number).collect();
            if last.average.replace(numbers).is_some() || !is_range {
                return Err(format!(
                    "a second average belongs to no run: {:?}",
                    line.trim()
                ));
            }
        }
    }
    Ok(found)
}

fn table(line: &str) -> Option<Table> {
    let line = line.to_ascii_lowercase().replace('.', " ");
    let words = line.split_whitespace();
    let head: Vec<&str> = words.skip_while(|word| *word != "interval").collect();
    let head = head.join(" ");
    let known = HEADS.iter().find(|(words, _)| head.starts_with(words));
    known.map(|(_, table)| *table)
}

/// "rd1; I/O rate: 100; elapsed=5", "rd1; elapsed=600; fwdrate=max. For loops: None".
fn is_paced(text: &str) -> bool {
    let of = |label: &str| {
        let (_, rest) = text.split_once(label)?;
        rest.split(|c: char| c.is_whitespace() || ";.".contains(c))
            .find(|word| !word.is_empty())
    };
    let rate = of("I/O rate: ").or(of("fwdrate="));
    rate.is_some_and(|rate| rate.starts_with(|c: char| c.is_ascii_digit()))
}

fn add(run: &Run, metrics: &mut Metrics) -> Result<(), String> {
    let name = plain(run.name);
    let numbers = run.average.as_deref().unwrap_or_default();
    let table = run.table;
    let table =
        table.ok_or_else(|| format!("the table of its run {name} is of an unknown version"))?;
    // Columns of rate, bytes per second, and three response times.
    let columns = match table {
        Table::Disks => [0, 1, 4, 5, 6],
        Table::Files => [0, 11, 1, 6, 8],
    };
    let row = columns.map(|column| numbers.get(column).copied());
    let [
        Some(rate),
        Some(bytes),
        Some(resp_ms),
        Some(read_ms),
        Some(write_ms),
    ] = row
    else {
        return Err(format!("its run {name} has no average"));
    };
    if rate == 0.0 {
        return Err(format!("its run {name} did no I/O"));
    }
    metrics.per_second(&format!("{name}.ops_per_s"), rate);
    if !run.is_paced {
        metrics.headline();
    }
    if bytes > 0.0 {
        metrics.bytes_per_second(&format!("{name}.bytes_per_s"), bytes * run.megabyte);
    }
    for (ms, of) in [
        (resp_ms, "latency_mean"),
        (read_ms, "read_latency_mean"),
        (write_ms, "write_latency_mean"),
    ] {
        if ms > 0.0 {
            metrics.time_ns(&format!("{name}.{of}"), ms * NS_PER_MS);
            if run.is_paced && of == "latency_mean" {
                metrics.headline();
            }
        }
    }
    Ok(())
}
