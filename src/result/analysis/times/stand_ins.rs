//! The metrics of a pilot's bins that stand for those that decide.

use crate::metric::table::{self, Found};
use crate::metric::{Metric, QUANTILES};

/// The metrics of the probe that a pilot keeps for these.
pub fn kept(primary: &[Metric]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for metric in primary {
        for name in stand_ins(&metric.name)
            .into_iter()
            .chain(rates(&metric.name))
        {
            let is_new = !names.contains(&name);
            names.extend(is_new.then_some(name));
        }
    }
    names
}

/// The I/Os per second that the weight of a mean is.
pub fn weight_of(name: &str) -> Option<String> {
    let (label, rest) = split(name);
    let scope = if label.is_empty() { scope(rest) } else { "" };
    rest.ends_with("_mean")
        .then(|| format!("{label}{scope}iops"))
}

/// A label with its point, or nothing; and the rest.
fn split(name: &str) -> (String, &str) {
    match table::find(name) {
        Some(Found {
            label: Some(label), ..
        }) => (format!("{label}."), &name[label.len() + 1..]),
        _ => (String::new(), name),
    }
}

fn scope(rest: &str) -> &'static str {
    let begins = |word| rest.starts_with(word);
    match () {
        () if begins("read_") => "read_",
        () if begins("write_") || begins("sync_") => "write_",
        () if begins("discard_") || begins("trim_") => "discard_",
        () => "",
    }
}

/// Itself if every bin can have it, else what varies alike.
pub(super) fn stand_ins(name: &str) -> Vec<String> {
    let (_, rest) = split(name);
    let is_latency = table::find(name).is_some_and(|found| found.row.unit == "ns");
    let mut names = Vec::new();
    if is_latency {
        let quantile = QUANTILES.iter().find_map(|(q, ..)| name.strip_suffix(*q));
        names.push(quantile.map_or_else(|| name.to_owned(), |stem| format!("{stem}mean")));
        names.push(format!("{}total_mean", scope(rest)));
        names.push("total_mean".to_owned());
    } else {
        names.push(name.to_owned());
    }
    names.push("iops".to_owned());
    names
}

/// The I/Os that a percentile is of: the fewest of these.
pub(super) fn rates(name: &str) -> Vec<String> {
    let (label, rest) = split(name);
    [format!("{label}iops"), format!("{}iops", scope(rest))].into()
}
