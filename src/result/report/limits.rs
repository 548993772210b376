//! Limits that the user gave, and which arms stay within, in words. Pure.

use super::units;
use super::words;
use crate::statistics::verdict::Reason;
use crate::types::limit::ArmLimit;
use crate::types::result::ResultFile;

/// A line for each limit, with all arms.
pub fn in_words(result: &ResultFile) -> String {
    let goals = result.design.goals.iter().flat_map(|goals| &goals.limits);
    let lines = goals.filter_map(|limit| {
        let rows = result.limits.iter();
        let rows: Vec<&ArmLimit> = rows.filter(|it| it.metric.name == limit.metric).collect();
        let arms: Vec<String> = rows.iter().map(|row| of_arm(row)).collect();
        let (name, bound) = (rows.first()?.metric.name.as_str(), bound(rows.first()?));
        Some(format!("Limit: {name} {bound}: {}.\n", arms.join("; ")))
    });
    lines.collect()
}

/// `bfq 8.10 ms (7.90 ms .. 8.40 ms) within`.
fn of_arm(row: &ArmLimit) -> String {
    format!("{} {} {}", row.arm, value(row), found(row))
}

pub fn found(row: &ArmLimit) -> &'static str {
    match row.holds {
        Some(true) => "within",
        Some(false) => "beyond",
        None => "not shown",
    }
}

/// `read_p99 under bfq: at most 10.0 ms: 12.3 ms (11.9 ms .. 12.8 ms): beyond`.
pub fn sentence(row: &ArmLimit) -> String {
    let (name, arm) = (&row.metric.name, &row.arm);
    format!(
        "{name} under {arm}: {}: {}: {}",
        bound(row),
        value(row),
        found(row)
    )
}

/// `at most 10.0 ms`.
pub fn bound(row: &ArmLimit) -> String {
    let limit = units::value(Some(row.limit), &row.metric.unit);
    format!("{} {limit}", row.side.words())
}

/// `8.10 ms (7.90 ms .. 8.40 ms)`, and what speaks against it.
pub fn value(row: &ArmLimit) -> String {
    let unit = &row.metric.unit;
    let comparison = &row.comparison;
    let reasons = comparison.reasons.iter();
    let notes = reasons.filter_map(|reason| match reason {
        Reason::NeedsRounds { .. } => None,
        Reason::Censored { blocks } => Some(format!(
            "no value in {blocks} of {} blocks",
            comparison.blocks
        )),
        Reason::NotComparable => {
            Some("stalled threads wait where it does not count, see Stalls".to_owned())
        }
        reason => Some(words::in_words(reason, comparison.blocks)),
    });
    let mut notes: Vec<String> = notes.collect();
    if row.blocks_beyond > 0 {
        let (beyond, all) = (row.blocks_beyond, comparison.blocks);
        notes.insert(0, format!("beyond in {beyond} of {all} blocks"));
    }
    if let Some(interval) = row.interval {
        let form = |end: f64| units::value(Some(end), unit);
        notes.insert(0, units::range(interval.lower, interval.upper, form));
    }
    match (row.value, notes.is_empty()) {
        (None, true) => "without a value".to_owned(),
        (None, false) => format!("without a value ({})", notes.join("; ")),
        (Some(value), true) => units::value(Some(value), unit),
        (Some(value), false) => {
            format!("{} ({})", units::value(Some(value), unit), notes.join("; "))
        }
    }
}

/// `read_p99 is 12.3 ms (11.9 ms .. 12.8 ms), not at most 10.0 ms`.
pub fn is_beyond(row: &ArmLimit) -> String {
    let (value, bound) = (value(row), bound(row));
    format!("{} is {value}, not {bound}", row.metric.name)
}

/// `read_p99 8.10 ms, at most 10.0 ms`.
pub fn is_within(row: &ArmLimit) -> String {
    let value = units::value(row.value, &row.metric.unit);
    let beyond = match row.blocks_beyond {
        0 => String::new(),
        beyond => format!(" (not in {beyond} of {} blocks)", row.comparison.blocks),
    };
    format!("{} {value}, {}{beyond}", row.metric.name, bound(row))
}

pub fn is_unsure(row: &ArmLimit) -> String {
    let (value, bound) = (value(row), bound(row));
    format!("{} is not shown to be {bound}: {value}", row.metric.name)
}
