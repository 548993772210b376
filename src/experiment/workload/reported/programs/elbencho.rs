//! elbencho: rates and latency of each phase, from its table of results, until the last worker had ended.

use super::arguments::{after_program, is_above_zero, long};
use super::report::{failure, lines};
use super::{MIB, Metrics, Program, number, plain, time_ns};
use crate::workload::reported::Found;
use crate::workload::reported::output::Printed;

pub static ELBENCHO: Program = Program {
    name: "elbencho",
    parse,
    is_timed: |words| {
        let arguments = after_program(words, "elbencho");
        long(arguments, "--timelimit").is_some_and(is_above_zero)
            || arguments.iter().any(|word| word == "--infloop")
    },
    logs: |_| false,
};

/// Phases between those that measure.
const IDLE: [&str; 2] = ["SYNC", "DROPCACHE"];
/// Phases that decide.
const IO: [&str; 2] = ["WRITE", "READ"];
/// After each phase.
const SEPARATOR: &str = "---";
const MB: f64 = 1e6;

/// "WRITE  Elapsed time  :  first  last", and rows without a phase.
struct Phase<'a> {
    name: &'a str,
    /// The label of each, and the words after the colon.
    rows: Vec<(&'a str, Vec<&'a str>)>,
    is_whole: bool,
}

fn parse(printed: &Printed) -> Result<Found, String> {
    let all = lines(&printed.stdout).chain(lines(&printed.stderr));
    failure(all, "elbencho", |line| {
        line.starts_with("ERROR:") || line.contains("Aborting due to") || line.contains("[ERROR]")
    })?;
    let phases = phases(&printed.stdout);
    if phases.is_empty() {
        return Err("there is no table with \"Elapsed time\"".to_owned());
    }
    if phases.iter().any(|phase| !phase.is_whole) {
        return Err("its table ends before the line \"---\"".to_owned());
    }
    let mut metrics = Metrics::of("elbencho");
    let is_io = |phase: &Phase| phase.name.starts_with("RWMIX") || IO.contains(&phase.name);
    for phase in phases.iter().filter(|phase| !IDLE.contains(&phase.name)) {
        add(phase, is_io(phase), &mut metrics)?;
    }
    metrics.end()
}

/// The phase whose first row a line is: a run has each once.
pub(super) fn result_of(line: &str, _: &[&str]) -> Option<String> {
    let (label, _) = line.split_once(':')?;
    let name = label.trim_end().strip_suffix("Elapsed time")?.trim();
    let is_one = !name.is_empty() && !name.contains(char::is_whitespace);
    is_one.then(|| name.to_owned())
}

fn phases(text: &str) -> Vec<Phase<'_>> {
    let mut found: Vec<Phase> = Vec::new();
    for line in lines(text) {
        if line == SEPARATOR {
            for phase in &mut found {
                phase.is_whole = true;
            }
        }
        // The colon stands alone: a line of the arguments has others.
        let Some((label, values)) = line.split_once(':') else {
            continue;
        };
        let words: Vec<&str> = values.split_whitespace().collect();
        let name = result_of(line, &[]).and_then(|_| line.split_whitespace().next());
        let label = label.trim();
        if let Some(name) = name {
            found.push(Phase {
                name,
                rows: vec![("Elapsed time", words)],
                is_whole: false,
            });
        } else if let Some(last) = found.last_mut().filter(|_| line.starts_with("     ")) {
            last.rows.push((label, words));
        }
    }
    found
}

fn add(phase: &Phase, decides: bool, metrics: &mut Metrics) -> Result<(), String> {
    let prefix = plain(&phase.name.to_ascii_lowercase());
    let mut rates = Vec::new();
    for (label, words) in &phase.rows {
        let Some((rank, name, factor)) = rate(label) else {
            continue;
        };
        let last = match words[..] {
            [_, last] => number(last),
            _ => None,
        };
        let last = last.ok_or_else(|| format!("its row {label:?} is incomplete"))?;
        if last > 0.0 {
            rates.push((rank, name, last * factor));
        }
    }
    let Some(most_exact) = rates.iter().map(|(rank, ..)| *rank).min() else {
        return Err(format!("its phase {} has no rate", phase.name));
    };
    for (rank, name, rate) in rates {
        let name = format!("{prefix}.{name}");
        if name.ends_with("bytes_per_s") {
            metrics.bytes_per_second(&name, rate);
        } else {
            metrics.per_second(&name, rate);
        }
        if decides && rank == most_exact {
            metrics.headline();
        }
    }
    for (label, words) in &phase.rows {
        if let Some(of) = label.strip_suffix(" latency") {
            latency(&format!("{prefix}.{}", of_what(of)), words, metrics);
        }
    }
    Ok(())
}

/// The metric of a row, and which of the rows decides: rates of bytes are whole MiB/s. A mix has rows of both directions and,
/// in newer versions, of their sum.
fn rate(label: &str) -> Option<(u8, &'static str, f64)> {
    let of = label.split_once(' ').map_or((label, ""), |parts| parts);
    let row = match of {
        ("IOPS", "total") => (0, "ios_per_s", 1.0),
        ("IOPS", "") => (1, "ios_per_s", 1.0),
        ("IOPS", "read") => (1, "read_ios_per_s", 1.0),
        ("IOPS", "write") => (1, "write_ios_per_s", 1.0),
        ("Throughput", "MiB/s") | ("MiB/s", "total") => (4, "bytes_per_s", MIB),
        ("Throughput", "MB/s") | ("MB/s", "total") => (4, "bytes_per_s", MB),
        ("MiB/s", "read") => (5, "read_bytes_per_s", MIB),
        ("MiB/s", "write") => (5, "write_bytes_per_s", MIB),
        ("MB/s", "read") => (5, "read_bytes_per_s", MB),
        ("MB/s", "write") => (5, "write_bytes_per_s", MB),
        ("Files/s" | "Objects/s", "" | "total") => (2, "files_per_s", 1.0),
        ("Files/s" | "Objects/s", "read") => (3, "read_files_per_s", 1.0),
        ("Files/s" | "Objects/s", "write") => (3, "write_files_per_s", 1.0),
        ("Dirs/s" | "Buckets/s", "") => (3, "dirs_per_s", 1.0),
        _ => return None,
    };
    Some(row)
}

/// "IO", "IO rd" and "IO wr", "Files", ...
fn of_what(label: &str) -> String {
    let name = label.to_ascii_lowercase();
    let name = name.replace(" rd", " read").replace(" wr", " write");
    plain(&name)
}

/// "[ min=108us avg=469us max=14.5ms ]": the percentiles are without the number of operations.
fn latency(prefix: &str, words: &[&str], metrics: &mut Metrics) {
    for (label, name) in [("avg=", "latency_mean"), ("max=", "latency_max")] {
        let text = words.iter().find_map(|word| word.strip_prefix(label));
        let ns = text.and_then(time_ns);
        if let Some(ns) = ns.filter(|ns| *ns > 0.0) {
            metrics.time_ns(&format!("{prefix}_{name}"), ns);
        }
    }
}
