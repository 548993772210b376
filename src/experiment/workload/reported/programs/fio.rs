//! fio run as a command, with `--output-format=json` or `json+`, or its normal output: I/Os and bytes per second of all jobs together, and their
//! completion latency.

use serde_json::Value;
use std::time::Duration;

use super::arguments::{after_program, is_above_zero, long};
use super::{Metrics, PERCENTILES, Program, fio_documents, fio_reports, fio_text};
use crate::workload::fio_result::{self, FioReport};
use crate::workload::reported::Found;
use crate::workload::reported::output::Printed;
use iosched_result::types::outcome::{DirectionResult, JobResult, ProgramLatency};

pub static FIO: Program = Program {
    name: "fio",
    parse,
    is_timed: |words| {
        let arguments = after_program(words, "fio");
        let is_based = long(arguments, "--time_based").is_some_and(|value| value != "0");
        is_based || long(arguments, "--runtime").is_some_and(is_above_zero)
    },
    logs: |_| false,
};

/// A direction of all jobs. Names, and how to find it in a job and in its JSON.
type Direction = (&'static str, fn(&JobResult) -> Option<&DirectionResult>);
const DIRECTIONS: [Direction; 3] = [
    ("read", |job| job.read.as_ref()),
    ("write", |job| job.write.as_ref()),
    ("trim", |job| job.trim.as_ref()),
];

const IN_SEQUENCE: &str = "its jobs are in several groups (stonewall or new_group), so they have no rate together; \
                                      run each group by itself";

/// Err: there are two runs, or groups of jobs one after the other. Of --status-interval there are several reports of one.
pub(super) fn ensure_one(printed: &Printed) -> Result<(), String> {
    let text = &printed.stdout;
    let document = fio_documents::only_run(text)?;
    let report = fio_reports::only_run(text)?;
    let of_json = fio_result::parse(document.as_bytes());
    let of_text = fio_text::jobs(report);
    let of_document = of_json.as_ref().ok().map(|report| &report.summary);
    if of_document.is_some_and(is_in_sequence) || fio_text::is_in_sequence(report) {
        return Err(IN_SEQUENCE.to_owned());
    }
    let (Ok(of_json), Ok(of_text)) = (of_json, of_text) else {
        return Ok(());
    };
    // With --output-format=normal,json, both have the same numbers.
    let of_json = of_json.jobs.iter().flat_map(|job| job.result.directions());
    let of_json = of_json.map(|of| of.ios as f64).sum::<f64>();
    let of_text = of_text
        .iter()
        .flat_map(|job| job.directions.iter().flatten());
    let of_text = of_text.map(|of| of.ios).reduce(|a, b| a + b);
    match of_text {
        Some(of_text) if (of_json - of_text).abs() > f64::EPSILON => Err(format!(
            "it has 2 reports, JSON with {of_json} I/Os and lines with {of_text}; print one, or name the number with --metric-regex"
        )),
        _ => Ok(()),
    }
}

fn parse(printed: &Printed) -> Result<Found, String> {
    // With --output-format=normal,json there are both; the JSON has all digits.
    let has_json = printed.stdout.lines().any(|line| line.trim_end() == "{");
    if !has_json && fio_text::is_it(&printed.stdout) {
        let text = fio_reports::only_run(&printed.stdout)?;
        return fio_text::parse(text, printed);
    }
    let add = "add --output-format=json to its arguments, without --output";
    let text = fio_documents::only_run(&printed.stdout)?;
    let report = fio_result::parse(text.as_bytes()).map_err(|why| format!("{why}; {add}"))?;
    if jobs(&report.summary).any(|job| job.get("mixed").is_some() && job.get("read").is_none()) {
        return Err(
            "its reads and writes are in one number: leave out unified_rw_reporting".to_owned(),
        );
    }
    if let Some(problem) = fio_result::problem(&report, Duration::ZERO, None) {
        return Err(problem);
    }
    let mut metrics = Metrics::of("fio");
    let all: Vec<&DirectionResult> = DIRECTIONS
        .iter()
        .flat_map(|of| of_jobs(&report, of))
        .collect();
    let (ios, bytes) = rates(&all).ok_or("fio's jobs ran for less than 1 ms")?;
    metrics.per_second("ios_per_s", ios);
    metrics.headline();
    metrics.bytes_per_second("bytes_per_s", bytes);
    for direction in &DIRECTIONS {
        let results = of_jobs(&report, direction);
        let name = direction.0;
        if let Some((ios, bytes)) = rates(&results) {
            metrics.per_second(&format!("{name}_ios_per_s"), ios);
            metrics.bytes_per_second(&format!("{name}_bytes_per_s"), bytes);
        }
        let clat = results.iter().filter_map(|result| result.clat.as_ref());
        let printed = format!("/{name}/clat_ns/percentile");
        latency(&report, (name, &printed), clat, &mut metrics);
    }
    // fsync and fdatasync alike.
    let syncs = report
        .jobs
        .iter()
        .filter_map(|job| job.result.sync_lat.as_ref());
    latency(
        &report,
        ("sync", "/sync/lat_ns/percentile"),
        syncs,
        &mut metrics,
    );
    metrics.end()
}

/// The mean and the percentiles of all jobs together. `printed`: where a job's JSON has its own percentiles.
fn latency<'a>(
    report: &FioReport,
    (name, printed): (&str, &str),
    of_jobs: impl Iterator<Item = &'a ProgramLatency> + Clone,
    metrics: &mut Metrics,
) {
    let Some(pooled) = ProgramLatency::pooled(of_jobs.clone()) else {
        return;
    };
    metrics.time_ns(&format!("{name}_latency_mean"), pooled.mean_ns);
    // Only json+ has the histograms that several jobs need; json has the percentiles of each.
    let is_only = of_jobs.count() == 1;
    let printed = is_only
        .then(|| percentiles(&report.summary, printed))
        .flatten();
    for (percentile, p) in PERCENTILES {
        let of_json = printed.and_then(|of| of.get(format!("{:.6}", p * 100.0))?.as_f64());
        let ns = pooled.quantile_ns(p).map(|ns| ns as f64).or(of_json);
        if let Some(ns) = ns {
            let name = format!("{name}_latency_{percentile}");
            metrics.percentile_ns(&name, ns, pooled.count as f64, p);
        }
    }
}

fn of_jobs<'a>(report: &'a FioReport, (_, of): &Direction) -> Vec<&'a DirectionResult> {
    report
        .jobs
        .iter()
        .filter_map(|job| of(&job.result))
        .collect()
}

/// I/Os and bytes per second until the last job ended, as in fio's status of a group.
fn rates(results: &[&DirectionResult]) -> Option<(f64, f64)> {
    let longest_ms = results.iter().map(|result| result.runtime_ms).max()?;
    let seconds = longest_ms as f64 / 1000.0;
    let ios: f64 = results.iter().map(|result| result.ios as f64).sum();
    let bytes: f64 = results.iter().map(|result| result.bytes as f64).sum();
    (seconds > 0.0).then(|| (ios / seconds, bytes / seconds))
}

fn jobs(document: &Value) -> impl Iterator<Item = &Value> {
    document
        .get("jobs")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
}

/// Each group starts when the one before has ended.
fn is_in_sequence(document: &Value) -> bool {
    let mut groups: Vec<u64> = jobs(document)
        .filter_map(|job| job.get("groupid")?.as_u64())
        .collect();
    groups.dedup();
    groups.len() > 1
}

/// Percentiles of the only job that has any there, in ns.
fn percentiles<'a>(document: &'a Value, pointer: &str) -> Option<&'a Value> {
    let of = |job: &'a Value| job.pointer(pointer).filter(|of| of.get("0.00").is_none());
    jobs(document).find_map(of)
}
