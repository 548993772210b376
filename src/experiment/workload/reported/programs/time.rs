//! GNU time (`/usr/bin/time -v`) beside a command: what it used, by the lines on standard error. None of it decides.

use super::report::{failure, lines, only};
use super::{KIB, Metrics, NS_PER_S, Program, number};
use crate::workload::reported::Found;
use crate::workload::reported::output::Printed;
use iosched_result::metric::reported::Better;

pub static TIME: Program = Program {
    name: "time",
    parse,
    is_timed: |_| false,
    logs: |_| false,
};

const HEAD: &str = "Command being timed: ";
const END: &str = "Exit status: ";
/// Labels, names and units of what it prints, by time.c, and the factor to the unit.
const LINES: [(&str, &str, &str, f64, Option<Better>); 9] = [
    (
        "User time (seconds): ",
        "user_time",
        "ns",
        NS_PER_S,
        Some(Better::Lower),
    ),
    (
        "System time (seconds): ",
        "system_time",
        "ns",
        NS_PER_S,
        Some(Better::Lower),
    ),
    (
        "Maximum resident set size (kbytes): ",
        "max_rss",
        "bytes",
        KIB,
        Some(Better::Lower),
    ),
    (
        "Major (requiring I/O) page faults: ",
        "major_page_faults",
        "1",
        1.0,
        None,
    ),
    (
        "Minor (reclaiming a frame) page faults: ",
        "minor_page_faults",
        "1",
        1.0,
        None,
    ),
    (
        "Voluntary context switches: ",
        "voluntary_context_switches",
        "1",
        1.0,
        None,
    ),
    (
        "Involuntary context switches: ",
        "involuntary_context_switches",
        "1",
        1.0,
        None,
    ),
    ("File system inputs: ", "file_system_inputs", "1", 1.0, None),
    (
        "File system outputs: ",
        "file_system_outputs",
        "1",
        1.0,
        None,
    ),
];

fn parse(printed: &Printed) -> Result<Found, String> {
    let all = || {
        lines(&printed.stderr)
            .chain(lines(&printed.stdout))
            .map(str::trim_start)
    };
    failure(all(), "the command", |line| {
        line.starts_with("Command exited with non-zero status")
            || line.starts_with("Command terminated by signal")
    })?;
    only(all(), |line| line.starts_with(HEAD))?
        .ok_or("there is no \"Command being timed\"; call /usr/bin/time -v, and leave out -o")?;
    let mut metrics = Metrics::of("time");
    let mut is_complete = false;
    for line in all().skip_while(|line| !line.starts_with(HEAD)).skip(1) {
        is_complete |= line.trim_end() == "Exit status: 0";
        let row = LINES.iter().find(|(label, ..)| line.starts_with(label));
        if let Some((label, name, unit, factor, better)) = row {
            let value = number(line[label.len()..].trim());
            let value = value.ok_or_else(|| format!("{line:?} has no number"))?;
            // A time of 0.00 s is below the resolution; a size of 0 was not measured.
            if value > 0.0 || *unit == "1" {
                metrics.add(name, value * factor, unit, *better);
            }
        }
    }
    if !is_complete {
        return Err(format!("there is no line \"{END}0\""));
    }
    metrics.end()
}
