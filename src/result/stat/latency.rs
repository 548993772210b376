//! The times of one stage, as in the JSON of `iosched stat`. Pure.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::measured::histogram::Histogram;

/// Latency of the requests that completed in the interval. Nanoseconds; null if nothing was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LatencySummary {
    /// Number of measured requests (bios in the fields per bio).
    pub count: u64,
    /// Arithmetic mean: exact for a process's `queue_wait` and `device_time`, otherwise to the precision of the
    /// histogram's cells.
    pub mean_ns: Option<f64>,
    /// Median; not above `max_ns`.
    pub p50_ns: Option<f64>,
    /// 99th percentile; not above `max_ns`.
    pub p99_ns: Option<f64>,
    /// Fewer than 100 values lie beyond the median, so that single I/Os move it; text output marks it with `~`.
    #[serde(default)]
    pub p50_is_of_few: bool,
    /// The same for the 99th percentile: fewer than 10,000 values.
    #[serde(default)]
    pub p99_is_of_few: bool,
    /// The longest: exact where the mean is, otherwise the upper end of its histogram cell.
    pub max_ns: Option<f64>,
}

impl LatencySummary {
    pub(super) fn nothing() -> Self {
        LatencySummary {
            count: 0,
            mean_ns: None,
            p50_ns: None,
            p99_ns: None,
            p50_is_of_few: false,
            p99_is_of_few: false,
            max_ns: None,
        }
    }

    pub(super) fn of(histogram: &Histogram, mean_ns: Option<f64>, max_ns: Option<f64>) -> Self {
        // A quantile is only known to its cell, while the maximum may be exact: clamp the quantile to it.
        let quantile = |p| {
            let ns = histogram.quantile_ns(p)?;
            Some(max_ns.map_or(ns, |max| ns.min(max)))
        };
        let is_of_few = |p| !histogram.is_empty() && !histogram.supports_quantile(p);
        LatencySummary {
            count: histogram.count(),
            mean_ns,
            p50_ns: quantile(0.5),
            p99_ns: quantile(0.99),
            p50_is_of_few: is_of_few(0.5),
            p99_is_of_few: is_of_few(0.99),
            max_ns,
        }
    }

    /// Mean and maximum to the precision of the histogram's cells (device: 1.6 %, owner: 6.3 %).
    pub fn of_cells(histogram: &Histogram) -> Self {
        let max_ns = histogram.end_ns().map(|end| end as f64);
        Self::of(histogram, histogram.mean_ns(), max_ns)
    }
}

/// Reads and writes together; most processes do only one of them.
pub(super) fn both([reads, writes]: &[Histogram; 2]) -> Cow<'_, Histogram> {
    if writes.is_empty() {
        return Cow::Borrowed(reads);
    }
    let mut sum = reads.clone();
    let _ = sum.merge(writes); // the layouts are always the same
    Cow::Owned(sum)
}
