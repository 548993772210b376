//! ioping: latency of its requests, and their rate without the pauses between them.

use serde_json::Value;

use super::arguments::{after_program, is_above_zero, long, short};
use super::marks::ensure_once;
use super::{KIB, MIB, Metrics, NS_PER_MS, NS_PER_US, Program, number};
use crate::workload::reported::Found;
use crate::workload::reported::output::Printed;

pub static IOPING: Program = Program {
    name: "ioping",
    parse,
    is_timed: |words| is_timed(after_program(words, "ioping")),
    logs: |_| false,
};

const WITH_VALUE: &str = "itTwsScopPlraeb";

/// By ioping.c: -R is -i 0 -w 3 unless these are given. With a pause after each request (-i, 1 s by default; -l and -r
/// set it), their number gives the time.
fn is_timed(arguments: &[String]) -> bool {
    let value = |letter, name| short(arguments, letter, WITH_VALUE).or(long(arguments, name));
    let is_rapid = value('R', "--rapid").is_some();
    if value('w', "--work-time").map_or(is_rapid, is_above_zero) {
        return true;
    }
    let has_rate = value('l', "--speed-limit")
        .or(value('r', "--rate-limit"))
        .is_some();
    let is_immediate = is_rapid || value('N', "--nowait").is_some();
    has_rate || value('i', "--interval").map_or(!is_immediate, is_above_zero)
}

/// Each run prints once: the title, the line of -B, or the bracket that opens the list of -J. With -p, such lines as of -B
/// stand before the title too.
pub(super) fn ensure_one(printed: &Printed) -> Result<(), String> {
    let is_title =
        |line: &str| line.starts_with("--- ") && line.ends_with(" ioping statistics ---");
    let has_title = printed.stdout.lines().any(is_title);
    ensure_once(printed, &|line, _| {
        let is_batch = !has_title && of_batch(line).is_some();
        (is_title(line) || line == "[{" || is_batch).then(String::new)
    })
}

/// Numbers that the three formats have in common.
struct Statistics {
    requests: f64,
    requests_per_s: f64,
    bytes_per_s: f64,
    min_ns: f64,
    mean_ns: f64,
    max_ns: f64,
    deviation_ns: f64,
}

fn parse(printed: &Printed) -> Result<Found, String> {
    let text = printed.stdout.trim();
    let found = if text.starts_with('[') {
        of_json(text).ok_or("its JSON is not one list that ends with \"stat\"")?
    } else if let Some(line) = text.lines().find(|line| line.starts_with(TIMES)) {
        of_text(text, line)?
    } else {
        of_batch(text).ok_or("there is no line \"min/avg/max/mdev = N us / N us / N us / N us\"")?
    };
    if found.requests < 1.0 {
        return Err("no request was completed; the first one is a warm-up".to_owned());
    }
    let mut metrics = Metrics::of("ioping");
    metrics.time_ns("latency_mean", found.mean_ns);
    metrics.headline();
    metrics.time_ns("latency_min", found.min_ns);
    metrics.time_ns("latency_max", found.max_ns);
    metrics.time_ns("latency_sd", found.deviation_ns);
    metrics.per_second("requests_per_s", found.requests_per_s);
    metrics.bytes_per_second("bytes_per_s", found.bytes_per_s);
    metrics.end()
}

const TIMES: &str = "min/avg/max/mdev = ";

/// "400 requests completed in 60.0 ms, 1.56 MiB read, 6.67 k iops, 26.0 MiB/s"; version 0.9 has no size.
fn of_text(text: &str, times: &str) -> Result<Statistics, String> {
    let cannot =
        |line: &str| format!("its line {line:?} has another form than that of versions 0.9 to 1.3");
    let mut lines = text.lines();
    let line = lines.find(|line| line.contains(" requests completed in "));
    let line = line.ok_or("there is no line \"N requests completed in N s, N iops, N KiB/s\"")?;
    let rates = || {
        let (requests, rest) = line.split_once(" requests completed in ")?;
        let parts: Vec<&str> = rest.split(", ").collect();
        let ([_, iops, speed] | [_, _, iops, speed]) = parts[..] else {
            return None;
        };
        let iops = decimal(iops.strip_suffix(" iops")?)?;
        Some((decimal(requests)?, iops, size(speed.strip_suffix("/s")?)?))
    };
    let (requests, requests_per_s, bytes_per_s) = rates().ok_or_else(|| cannot(line))?;
    let all = times[TIMES.len()..].split(" / ").map(time_ns);
    let all: Option<Vec<f64>> = all.collect();
    let Some([min_ns, mean_ns, max_ns, deviation_ns]) = all.as_deref() else {
        return Err(cannot(times));
    };
    Ok(Statistics {
        requests,
        requests_per_s,
        bytes_per_s,
        min_ns: *min_ns,
        mean_ns: *mean_ns,
        max_ns: *max_ns,
        deviation_ns: *deviation_ns,
    })
}

/// The line of -B: ten raw numbers, times in ns; in version 0.9 the first eight, times in us. With -p or -P there are several
/// lines, none of the whole run.
fn of_batch(text: &str) -> Option<Statistics> {
    let numbers: Option<Vec<f64>> = text.split(' ').map(number).collect();
    let numbers = numbers?;
    let ns = match numbers.len() {
        10 => 1.0,
        8 => NS_PER_US,
        _ => return None,
    };
    Some(Statistics {
        requests: numbers[0],
        requests_per_s: numbers[2],
        bytes_per_s: numbers[3],
        min_ns: numbers[4] * ns,
        mean_ns: numbers[5] * ns,
        max_ns: numbers[6] * ns,
        deviation_ns: numbers[7] * ns,
    })
}

/// The statistics at the end of -J, times in ns.
fn of_json(text: &str) -> Option<Statistics> {
    let document: Value = serde_json::from_str(text).ok()?;
    let found = document.as_array()?.last()?.get("stat")?;
    let of = |key: &str| found.get(key)?.as_f64().filter(|number| *number >= 0.0);
    Some(Statistics {
        requests: of("count")?,
        requests_per_s: of("iops")?,
        bytes_per_s: of("bps")?,
        min_ns: of("min")?,
        mean_ns: of("avg")?,
        max_ns: of("max")?,
        deviation_ns: of("mdev")?,
    })
}

/// `units`: names of units and their factors.
fn with_unit(text: &str, units: &[(&str, f64)]) -> Option<f64> {
    let (value, unit) = text.trim().split_once(' ').unwrap_or((text.trim(), ""));
    let (_, factor) = units.iter().find(|(name, _)| *name == unit)?;
    Some(number(value)? * factor)
}

/// The tables of suffixes in ioping.c: counts and rates of requests count by 1000, sizes by 1024.
fn decimal(text: &str) -> Option<f64> {
    let units = [("", 1.0), ("k", 1e3), ("M", 1e6), ("G", 1e9), ("T", 1e12)];
    with_unit(text, &units)
}

fn size(text: &str) -> Option<f64> {
    let units = [
        ("B", 1.0),
        ("KiB", KIB),
        ("MiB", MIB),
        ("GiB", MIB * KIB),
        ("TiB", MIB * MIB),
        ("PiB", MIB * MIB * KIB),
    ];
    with_unit(text, &units)
}

fn time_ns(text: &str) -> Option<f64> {
    let units = [
        ("ns", 1.0),
        ("us", NS_PER_US),
        ("ms", NS_PER_MS),
        ("s", 1e9),
        ("min", 60e9),
        ("hour", 3600e9),
        ("day", 86400e9),
    ];
    with_unit(text, &units)
}
