//! dd: bytes per second, from the last line that it writes to standard error in any language.

use std::path::Path;

use super::report::numbered;
use super::{Metrics, Program};
use crate::workload::reported::Found;
use crate::workload::reported::output::Printed;
use iosched_result::text::number;

pub static DD: Program = Program {
    name: "dd",
    parse,
    is_timed: |_| false,
    logs: |_| false,
};

/// Between the parts of the summary: a comma and a blank, or one of the East.
const COMMAS: [&str; 4] = [", ", ",\u{a0}", "，", "、"];

fn parse(printed: &Printed) -> Result<Found, String> {
    // A script may have joined the two.
    let of = |text| numbered(text).map(|(_, line)| line).collect::<Vec<&str>>();
    let streams = [of(&printed.stderr), of(&printed.stdout)];
    if let Some(error) = streams.iter().flatten().find(|line| is_error(line)) {
        return Err(format!("dd failed: {error:?}"));
    }
    let found = streams.iter().find_map(|lines| {
        let mut ends = lines.iter().enumerate();
        ends.find_map(|(at, line)| copy(line, &lines[..at]))
    });
    let (bytes, seconds) = found.ok_or(
        "there is no line \"N bytes copied, N s, N MB/s\" on standard error; status=none and status=noxfer suppress it, and \
         LC_ALL=C gives it this form",
    )?;
    if bytes <= 0.0 {
        return Err("dd copied nothing".to_owned());
    }
    if seconds <= 0.0 {
        return Err("dd copied in no time".to_owned());
    }
    // The printed rate has only three digits.
    let mut metrics = Metrics::of("dd");
    metrics.bytes_per_second("bytes_per_s", bytes / seconds);
    metrics.headline();
    metrics.end()
}

/// Each copy ends with one such line.
pub(super) fn result_of(line: &str, before: &[&str]) -> Option<String> {
    copy(line, before).map(|_| String::new())
}

/// Bytes and seconds. Between the records and the summary, there may be "1 truncated record".
fn copy(line: &str, before: &[&str]) -> Option<(f64, f64)> {
    let mut last = before.iter().rev().take(2);
    summary(line).filter(|_| last.any(|line| is_record(line)))
}

/// "64+0 records out" precedes the summary, but not the lines of status=progress.
fn is_record(line: &str) -> bool {
    let is_count = |word: &str| {
        let parts = word.split_once('+');
        let is_whole = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
        parts.is_some_and(|(full, partial)| is_whole(full) && is_whole(partial))
    };
    line.split_whitespace().any(is_count)
}

/// Bytes and seconds of "67108864 bytes (67 MB, 64 MiB) copied, 0.0735 s, 913 MB/s". In every language the bytes come first,
/// the seconds last but one and the rate last; words, units, commas, decimal marks and blanks differ.
fn summary(line: &str) -> Option<(f64, f64)> {
    let (bytes, rest) = line.split_once(char::is_whitespace)?;
    let is_whole = !bytes.is_empty() && bytes.bytes().all(|byte| byte.is_ascii_digit());
    let (rest, rate) = parted(rest.trim_end())?;
    let (_, seconds) = parted(rest)?;
    let rate = number::read(rate)
        .ok()
        .filter(|rate| rate.unit.contains('/'));
    let seconds = seconds_of(seconds)?;
    rate.filter(|_| is_whole)?;
    Some((bytes.parse().ok()?, seconds))
}

/// Before and after the last comma that separates parts.
fn parted(text: &str) -> Option<(&str, &str)> {
    let last = COMMAS
        .iter()
        .filter_map(|comma| Some((text.rfind(comma)?, comma.len())))
        .max()?;
    Some((&text[..last.0], text[last.0 + last.1..].trim()))
}

/// With six or more significant digits, a comma is never one of thousands.
fn seconds_of(text: &str) -> Option<f64> {
    let (value, unit) = text.split_once(char::is_whitespace)?;
    let is_one = !unit.trim().is_empty() && !unit.trim().contains(char::is_whitespace);
    let starts = value.starts_with(|c: char| c.is_ascii_digit());
    let value: f64 = value
        .replace(',', ".")
        .parse()
        .ok()
        .filter(|_| starts && is_one)?;
    value.is_finite().then_some(value)
}

/// It names itself as it was called, perhaps by its path.
fn is_error(line: &str) -> bool {
    let said = line.split_once(": ");
    said.is_some_and(|(name, said)| {
        let is_dd = Path::new(name).file_name().is_some_and(|name| name == "dd");
        is_dd && !said.to_lowercase().contains("warn")
    })
}
