//! Reads fio's output and decides whether it counts. Pure: bytes in, values out, and no input causes a panic.
//!
//! fio prints text before its JSON, may print several documents, exits with 0 without having done any I/O, and writes
//! valid JSON of a shortened run when it is interrupted. None of these may pass as a result.

use std::time::Duration;

use serde_json::Value;

use iosched_result::types::outcome::{DirectionResult, JobResult, ProgramLatency};

/// The last complete document of an output file.
#[derive(Clone, Debug, PartialEq)]
pub struct FioReport {
    pub fio_version: String,
    pub jobs: Vec<Job>,
    /// Text before and after the JSON: fio's messages.
    pub diagnostics: String,
    /// The document without its histograms.
    pub summary: Value,
}

/// One entry of `jobs`: a job, or a group of jobs with `group_reporting`.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    pub result: JobResult,
    /// errno of the job, and the number of errors after which it continued.
    pub error: i64,
    pub errors_ignored: u64,
}

/// The error contains the text before the JSON, which explains why there is no JSON.
pub fn parse(bytes: &[u8]) -> Result<FioReport, String> {
    let (prefix, rest) = split(bytes);
    let prefix = String::from_utf8_lossy(prefix).trim().to_owned();
    let Some(json) = rest else {
        return Err(no_json(&prefix));
    };
    let mut documents = serde_json::Deserializer::from_slice(json).into_iter::<Value>();
    let mut last = None;
    let mut end = 0;
    let mut suffix = "";
    while let Some(document) = documents.next() {
        match document {
            Ok(value) => last = Some(value),
            Err(e) if e.is_eof() => return Err("fio's JSON is truncated".to_owned()),
            Err(e) if last.is_none() => return Err(format!("fio's JSON cannot be read: {e}")),
            Err(_) => {
                suffix = std::str::from_utf8(&json[end..]).unwrap_or("(text that is not UTF-8)");
                break;
            }
        }
        end = documents.byte_offset();
    }
    let mut document = last.ok_or_else(|| no_json(&prefix))?;
    let diagnostics = format!("{prefix}\n{suffix}").trim().to_owned();
    let jobs = match document.get("jobs").and_then(Value::as_array) {
        Some(jobs) => jobs.iter().map(job).collect::<Result<Vec<_>, _>>()?,
        None => return Err("fio's JSON has no list of jobs".to_owned()),
    };
    let fio_version = text(&document, "fio version");
    strip_histograms(&mut document);
    Ok(FioReport {
        fio_version,
        jobs,
        diagnostics,
        summary: document,
    })
}

fn no_json(prefix: &str) -> String {
    if prefix.is_empty() {
        "fio wrote no result".to_owned()
    } else {
        format!("fio wrote no result, only: {}", one_line(prefix))
    }
}

/// The first lines joined into one, for messages: fio with many threads repeats itself.
pub fn one_line(text: &str) -> String {
    const LINES: usize = 2;
    let lines: Vec<&str> = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    let more = if lines.len() > LINES {
        format!(" | and {} more lines", lines.len() - LINES)
    } else {
        String::new()
    };
    lines
        .iter()
        .take(LINES)
        .copied()
        .collect::<Vec<_>>()
        .join(" | ")
        + &more
}

/// Splits before the first line that is exactly `{`.
fn split(bytes: &[u8]) -> (&[u8], Option<&[u8]>) {
    let mut start = 0;
    for line in bytes.split_inclusive(|&byte| byte == b'\n') {
        if line.trim_ascii_end() == b"{" {
            return (&bytes[..start], Some(&bytes[start..]));
        }
        start += line.len();
    }
    (bytes, None)
}

fn job(value: &Value) -> Result<Job, String> {
    let direction = |name| value.get(name).map(direction).transpose();
    Ok(Job {
        result: JobResult {
            name: text(value, "jobname"),
            read: direction("read")?.flatten(),
            write: direction("write")?.flatten(),
            trim: direction("trim")?.flatten(),
            // Its `total_ios` is 0 for fdatasync.
            sync_lat: match value.get("sync") {
                Some(sync) => latency_of(sync, "lat_ns")?,
                None => None,
            },
        },
        // A missing `error` field counts as an error.
        error: value.get("error").and_then(Value::as_i64).unwrap_or(-1),
        errors_ignored: number(value, "total_err"),
    })
}

/// None for a direction without I/O.
fn direction(value: &Value) -> Result<Option<DirectionResult>, String> {
    let ios = number(value, "total_ios");
    if ios == 0 {
        return Ok(None);
    }
    Ok(Some(DirectionResult {
        ios,
        bytes: number(value, "io_bytes"),
        runtime_ms: number(value, "runtime"),
        iops: real(value, "iops"),
        bytes_per_s: real(value, "bw_bytes"),
        clat: latency_of(value, "clat_ns")?,
        lat: latency_of(value, "lat_ns")?,
    }))
}

/// None if nothing was measured.
fn latency_of(direction: &Value, which: &str) -> Result<Option<ProgramLatency>, String> {
    let measured = direction.get(which).filter(|of| number(of, "N") > 0);
    measured.map(latency).transpose()
}

fn latency(value: &Value) -> Result<ProgramLatency, String> {
    let mut bins = Vec::new();
    if let Some(object) = value.get("bins").and_then(Value::as_object) {
        for (midpoint, count) in object {
            let bin = midpoint.parse::<u64>().ok().zip(count.as_u64());
            let bin = bin
                .ok_or_else(|| format!("fio's histogram has an invalid bin {midpoint}: {count}"))?;
            if bin.1 > 0 {
                bins.push(bin);
            }
        }
    }
    bins.sort_unstable();
    let counted = bins
        .iter()
        .try_fold(0_u64, |sum, bin| sum.checked_add(bin.1));
    if counted.is_none() {
        return Err("the counts of fio's histogram exceed 64 bits".to_owned());
    }
    Ok(ProgramLatency {
        count: number(value, "N"),
        mean_ns: real(value, "mean"),
        sd_ns: real(value, "stddev"),
        min_ns: number(value, "min"),
        max_ns: number(value, "max"),
        bins,
    })
}

fn number(value: &Value, key: &str) -> u64 {
    value.get(key).and_then(Value::as_u64).unwrap_or(0)
}

fn real(value: &Value, key: &str) -> f64 {
    value.get(key).and_then(Value::as_f64).unwrap_or(0.0)
}

fn text(value: &Value, key: &str) -> String {
    let text = value.get(key).and_then(Value::as_str);
    text.unwrap_or_default().to_owned()
}

/// [`ProgramLatency`] already has the bins, which are most of the document.
fn strip_histograms(value: &mut Value) {
    match value {
        Value::Object(object) => {
            object.shift_remove("bins");
            object.values_mut().for_each(strip_histograms);
        }
        Value::Array(array) => array.iter_mut().for_each(strip_histograms),
        _ => {}
    }
}

/// A job that ran for a smaller part of the requested time did not measure what was requested.
const SHORTEST_PART: f64 = 0.95;

/// Why `report` does not count, if it does not. `entries`: the required number of jobs, if known.
pub fn problem(report: &FioReport, requested: Duration, entries: Option<usize>) -> Option<String> {
    if report.jobs.is_empty() {
        return Some("fio reports no job".to_owned());
    }
    if let Some(expected) = entries.filter(|&expected| expected != report.jobs.len()) {
        let reported = report.jobs.len();
        return Some(format!("fio reports {reported} jobs instead of {expected}"));
    }
    report
        .jobs
        .iter()
        .find_map(|job| job_problem(job, requested))
}

fn job_problem(job: &Job, requested: Duration) -> Option<String> {
    let name = &job.result.name;
    if job.error != 0 {
        return Some(format!("fio's job {name} ended with error {}", job.error));
    }
    if job.errors_ignored > 0 {
        let count = job.errors_ignored;
        return Some(format!("fio's job {name} had {count} I/O errors"));
    }
    let Some(longest_ms) = job.result.directions().map(|d| d.runtime_ms).max() else {
        return Some(format!("fio's job {name} did no I/O"));
    };
    let requested_ms = requested.as_millis() as f64;
    ((longest_ms as f64) < SHORTEST_PART * requested_ms)
        .then(|| format!("fio's job {name} ran for {longest_ms} ms instead of {requested_ms} ms"))
}

#[cfg(test)]
#[path = "fio_result_tests.rs"]
mod tests;
