//! fio's normal output: the same metrics as from its JSON, where the text has them. I/Os and milliseconds are printed whole, rates
//! of bytes with three or four digits.

use super::report::{failure, lines};
use super::{KIB, MIB, Metrics, NS_PER_MS, NS_PER_US, PERCENTILES, number};
use crate::workload::reported::Found;
use crate::workload::reported::output::Printed;

const DIRECTIONS: [&str; 3] = ["read", "write", "trim"];
/// The last section of a complete output begins so, once for each group.
pub(super) const STATUS: &str = "Run status group ";

/// One job, or all of a group.
#[derive(Default)]
pub(super) struct Job<'a> {
    pub name: &'a str,
    pub group: &'a str,
    /// The ID of the first process of a group.
    pub pid: &'a str,
    error: &'a str,
    pub directions: [Option<Direction>; 3],
    sync: Latency,
}

#[derive(Default)]
pub(super) struct Direction {
    pub ios: f64,
    bytes: f64,
    pub ms: f64,
    clat: Latency,
}

/// In ns.
#[derive(Default)]
struct Latency {
    mean: Option<f64>,
    /// Each with its percentage as printed.
    percentiles: Vec<(String, f64)>,
}

/// Whether it is this output, complete or not.
pub fn is_it(text: &str) -> bool {
    lines(text).any(|line| line.contains(": (groupid=") || line.starts_with(STATUS))
}

fn groups(text: &str) -> usize {
    let status = lines(text).filter(|line| line.starts_with(STATUS));
    status.count()
}

/// Whether jobs waited for others (stonewall, new_group).
pub fn is_in_sequence(text: &str) -> bool {
    let jobs = jobs(text).unwrap_or_default();
    groups(text) > 1 || jobs.iter().any(|job| job.group != jobs[0].group)
}

/// `text`: the report, of all that fio printed.
pub fn parse(text: &str, printed: &Printed) -> Result<Found, String> {
    let all = lines(&printed.stdout).chain(lines(&printed.stderr));
    failure(all, "fio", |line| {
        line.starts_with("fio: ") && (line.contains("error=") || line.contains("terminating"))
    })?;
    if groups(text) == 0 {
        return Err("its output ends before \"Run status group\"".to_owned());
    }
    let jobs = jobs(text)?;
    if let Some(job) = jobs.iter().find(|job| job.error != "0") {
        return Err(format!("fio failed: err={}", job.error));
    }
    let mut metrics = Metrics::of("fio");
    let all = || jobs.iter().flat_map(|job| job.directions.iter().flatten());
    let (ios, bytes) = rates(all()).ok_or("it did no I/O, or for less than 1 ms")?;
    metrics.per_second("ios_per_s", ios);
    metrics.headline();
    metrics.bytes_per_second("bytes_per_s", bytes);
    for (index, name) in DIRECTIONS.into_iter().enumerate() {
        let of = || {
            jobs.iter()
                .filter_map(move |job| job.directions[index].as_ref())
        };
        let Some((ios, bytes)) = rates(of()) else {
            continue;
        };
        metrics.per_second(&format!("{name}_ios_per_s"), ios);
        metrics.bytes_per_second(&format!("{name}_bytes_per_s"), bytes);
        // The latencies of several jobs cannot be put together.
        if let (1, Some(direction)) = (jobs.len(), of().next()) {
            latency(&direction.clat, name, direction.ios, &mut metrics);
        }
    }
    if let [job] = &jobs[..] {
        latency(&job.sync, "sync", 0.0, &mut metrics);
    }
    metrics.end()
}

/// I/Os and bytes per second until the last job ended, as from the JSON.
fn rates<'a>(of: impl Iterator<Item = &'a Direction> + Clone) -> Option<(f64, f64)> {
    let seconds = of.clone().map(|direction| direction.ms).reduce(f64::max)? / 1000.0;
    let ios: f64 = of.clone().map(|direction| direction.ios).sum();
    let bytes: f64 = of.map(|direction| direction.bytes).sum();
    (seconds > 0.0 && ios > 0.0).then(|| (ios / seconds, bytes / seconds))
}

fn latency(of: &Latency, name: &str, count: f64, metrics: &mut Metrics) {
    if let Some(ns) = of.mean.filter(|ns| *ns > 0.0) {
        metrics.time_ns(&format!("{name}_latency_mean"), ns);
    }
    for (percentile, p) in PERCENTILES {
        let is_it = |label: &str| {
            let percent = label.strip_suffix("th").and_then(number);
            percent.is_some_and(|percent| (percent - p * 100.0).abs() < 1e-9)
        };
        let found = of.percentiles.iter().find(|(label, _)| is_it(label));
        // How many syncs there were is not printed.
        if let Some((_, ns)) = found.filter(|_| count > 0.0) {
            metrics.percentile_ns(&format!("{name}_latency_{percentile}"), *ns, count, p);
        }
    }
}

/// Which latency the lines with percentiles belong to.
enum Place {
    Nowhere,
    Clat(usize, f64),
    Sync(f64),
}

pub(super) fn jobs(text: &str) -> Result<Vec<Job<'_>>, String> {
    let mut found: Vec<Job> = Vec::new();
    let (mut direction, mut place) = (None, Place::Nowhere);
    for line in lines(text) {
        if let Some(job) = head(line) {
            found.push(job);
            (direction, place) = (None, Place::Nowhere);
            continue;
        }
        let Some(job) = found.last_mut() else {
            continue;
        };
        let (label, rest) = line.trim().split_once(':').unwrap_or(("", ""));
        let label = label.trim_end();
        if let Some(index) = DIRECTIONS.iter().position(|name| *name == label)
            && rest.contains("IOPS=")
        {
            let read = size_and_time(rest);
            let (bytes, ms) = read.ok_or_else(|| format!("its line {line:?} is incomplete"))?;
            job.directions[index] = Some(Direction {
                bytes,
                ms,
                ..Direction::default()
            });
            direction = Some(index);
        } else if label == "mixed" && rest.contains("IOPS=") {
            // Both directions once more, with unified_rw_reporting=both.
            direction = None;
        } else if label == "issued rwts" || label == "issued rwt" {
            let issued = issued(rest).ok_or_else(|| format!("its line {line:?} is incomplete"))?;
            for (direction, ios) in job.directions.iter_mut().zip(issued) {
                if let Some(direction) = direction {
                    direction.ios = ios;
                }
            }
        } else if let Some((what, unit)) = unit_of(label) {
            place = match what {
                "clat percentiles" => {
                    direction.map_or(Place::Nowhere, |index| Place::Clat(index, unit))
                }
                "sync percentiles" => Place::Sync(unit),
                "clat" | "sync" => {
                    let mean = mean(rest).map(|mean| mean * unit);
                    let of = direction.and_then(|index| job.directions[index].as_mut());
                    match (what, of) {
                        ("sync", _) => job.sync.mean = mean,
                        (_, Some(of)) => of.clat.mean = mean,
                        _ => {}
                    }
                    Place::Nowhere
                }
                _ => Place::Nowhere,
            };
        } else if let Some(row) = line.trim().strip_prefix('|') {
            match place {
                Place::Clat(index, unit) => {
                    if let Some(of) = &mut job.directions[index] {
                        of.clat.percentiles.extend(percentiles(row, unit));
                    }
                }
                Place::Sync(unit) => job.sync.percentiles.extend(percentiles(row, unit)),
                Place::Nowhere => {}
            }
        }
    }
    Ok(found)
}

/// "a: (groupid=0, jobs=1): err= 0: pid=23838: Wed Nov 25 12:41:42 2026".
pub(super) fn head(line: &str) -> Option<Job<'_>> {
    let (name, rest) = line.split_once(": (groupid=")?;
    let (group, rest) = rest.split_once(',')?;
    let (_, error) = rest.split_once("): err=")?;
    let (_, pid) = error.split_once(": pid=").unwrap_or_default();
    Some(Job {
        name,
        group,
        pid: pid.split(':').next()?,
        error: error.split(':').next()?.split('(').next()?.trim(),
        ..Job::default()
    })
}

/// "IOPS=20.5k, BW=80.3MiB/s (84.2MB/s)(80.4MiB/1001msec); 0 zone resets": bytes and ms.
fn size_and_time(text: &str) -> Option<(f64, f64)> {
    let (_, rest) = text.split_once(")(")?;
    let (size, ms) = rest.split_once(')')?.0.split_once('/')?;
    Some((bytes(size)?, number(ms.strip_suffix("msec")?)?))
}

/// "80.4MiB", also "80.4MB" with kb_base=1000.
fn bytes(size: &str) -> Option<f64> {
    let at = size.find(|c: char| c.is_ascii_alphabetic())?;
    let unit = match &size[at..] {
        "B" => 1.0,
        "KiB" => KIB,
        "MiB" => MIB,
        "GiB" => MIB * KIB,
        "TiB" => MIB * MIB,
        "PiB" => MIB * MIB * KIB,
        "EiB" => MIB * MIB * MIB,
        "kB" => 1e3,
        "MB" => 1e6,
        "GB" => 1e9,
        "TB" => 1e12,
        "PB" => 1e15,
        "EB" => 1e18,
        _ => return None,
    };
    Some(number(&size[..at])? * unit)
}

/// "total=20570,20576,0,0 short=0,0,0,0 dropped=0,0,0,0", in version 3.1 "total=20570,20576,0, short=0,0,0, ...".
fn issued(text: &str) -> Option<[f64; 3]> {
    let (_, rest) = text.split_once("total=")?;
    let numbers = rest.split(' ').next()?.split(',');
    let numbers: Vec<f64> = numbers
        .filter(|word| !word.is_empty())
        .map_while(number)
        .collect();
    numbers.get(..3)?.try_into().ok()
}

/// "clat percentiles (usec)", "clat prio 2/0 (5.12% of IOs) percentiles (usec)".
fn unit_of(label: &str) -> Option<(&str, f64)> {
    let (what, unit) = label.strip_suffix(')')?.rsplit_once('(')?;
    let ns = match unit {
        "nsec" => 1.0,
        "usec" => NS_PER_US,
        "msec" => NS_PER_MS,
        "sec" => 1e9,
        _ => return None,
    };
    Some((what.trim(), ns))
}

/// "min=681, max=4480.9k, avg=72560.85, stdev=171752.60".
fn mean(text: &str) -> Option<f64> {
    let (_, rest) = text.split_once("avg=")?;
    number(rest.split(", ").next()?.trim())
}

/// " 1.00th=[   29],  5.00th=[   40]".
fn percentiles(row: &str, unit: f64) -> Vec<(String, f64)> {
    let cells = row.split(']').filter_map(|cell| {
        let (label, value) = cell.split_once("=[")?;
        let label = label.trim_matches([',', ' ']).to_owned();
        Some((label, number(value.trim())? * unit))
    });
    cells.collect()
}
