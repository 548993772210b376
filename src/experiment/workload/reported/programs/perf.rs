//! `perf stat` beside a command: what its processes used, by the lines on standard error. None of it decides.

use super::report::{lines, only};
use super::{Metrics, NS_PER_MS, NS_PER_S, Program, number, plain};
use crate::workload::reported::Found;
use crate::workload::reported::output::Printed;
use iosched_result::metric::reported::{Better, Reported};

pub static PERF: Program = Program {
    name: "perf",
    parse,
    is_timed: |_| false,
    logs: |_| false,
};

const HEAD: &str = " Performance counter stats for ";
const END: &str = " seconds time elapsed";

fn parse(printed: &Printed) -> Result<Found, String> {
    let all = || lines(&printed.stderr).chain(lines(&printed.stdout));
    only(all(), |line| line.starts_with(HEAD))?
        .ok_or("there is no \"Performance counter stats\"; leave out -o, -x and -I")?;
    let report = all().skip_while(|line| !line.starts_with(HEAD)).skip(1);
    let mut metrics = Metrics::of("perf");
    let mut is_complete = false;
    for line in report {
        let text = line.split('#').next().unwrap_or_default().trim();
        if text.contains(END) {
            is_complete = true;
        } else if let Some((name, value, unit)) = counter(text)? {
            let is_time = unit == "ns";
            let better = is_time.then_some(Better::Lower);
            // A time of 0 did not pass, or was below the resolution.
            if !(is_time && value == 0.0) {
                metrics.add(&name, value, unit, better);
            }
        }
    }
    if !is_complete {
        return Err("its counters end before \"seconds time elapsed\"".to_owned());
    }
    let mut found = metrics.end()?;
    // A counter of each kind of core has a line of its own.
    let all = found.metrics.clone();
    let is_alone =
        |metric: &Reported| all.iter().filter(|other| other.name == metric.name).count() == 1;
    found.metrics.retain(is_alone);
    Ok(found)
}

/// Name, value and unit. "1.48 msec task-clock", "12 context-switches", "0.001511000 seconds user". None for one that was not
/// counted, for another unit and for a name that is too long.
fn counter(text: &str) -> Result<Option<(String, f64, &'static str)>, String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let (value, name, unit, factor) = match words[..] {
        [value, "msec", event, ..] => (value, event, "ns", NS_PER_MS),
        [value, "seconds", event @ ("user" | "sys")] => (value, event, "ns", NS_PER_S),
        [value, event] | [value, event, "(+-" | "(", ..] => (value, event, "1", 1.0),
        _ => return Ok(None),
    };
    if value.starts_with('<') || !value.starts_with(|c: char| c.is_ascii_digit()) {
        return Ok(None);
    }
    // A count has separators in some languages, and one of three digits is no decimal number.
    let is_count = unit == "1";
    let is_right = |value: &str| !is_count || value.bytes().all(|byte| byte.is_ascii_digit());
    let number = number(value).filter(|_| is_right(value));
    let number = number.ok_or_else(|| {
        format!("{value:?} is not a number of the language C; run it with LC_ALL=C")
    })?;
    let name = match name {
        "user" => "user_time".to_owned(),
        "sys" => "system_time".to_owned(),
        event => plain(event).replace('-', "_"),
    };
    let is_short = name.len() <= 50;
    Ok(Some((name, number * factor, unit)).filter(|_| is_short))
}
