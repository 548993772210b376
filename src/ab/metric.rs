//! Metrics: one number a round, its scale, its direction and the difference that matters. Pure.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::verdict::{Direction, Scale};
use crate::failure::Failure;
use crate::snapshot::{Op, Stage};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Metric {
    pub name: String,
    /// `ns`, `s`, `io/s`, `bytes`, `bytes/s`, or `1` for shares and indices.
    pub unit: String,
    pub scale: Scale,
    pub direction: Direction,
    /// The smallest difference that matters: a fraction on the log scale, else in the unit.
    pub margin: f64,
}

pub(super) const STAGES: [(&str, Stage); 3] = [
    ("queue_wait", Stage::Q2d),
    ("device", Stage::D2c),
    ("total", Stage::Q2c),
];
/// Since the program asked, where that is measured.
pub(super) const ASKED: [&str; 3] = ["submission", "asked_wait", "asked_total"];
/// The program's own latency, all jobs of fio together.
pub(super) const PROGRAM: &str = "program";
pub(super) const SCOPES: [(&str, &[Op]); 3] = [
    ("", &Op::DATA),
    ("read_", &[Op::Read]),
    ("write_", &Op::WRITES),
];
/// Percentile, its probability and its default margin.
pub(super) const QUANTILES: [(&str, f64, f64); 5] = [
    ("p50", 0.5, 0.05),
    ("p90", 0.9, 0.05),
    ("p95", 0.95, 0.10),
    ("p99", 0.99, 0.10),
    ("p99.9", 0.999, 0.20),
];

impl Metric {
    /// By its name; the name says all but the margin's override.
    pub fn named(name: &str) -> Option<Metric> {
        // `JOB.` comes first; the point of `p99.9` is no such point.
        let kind = Kind::of(name, false).or_else(|| Kind::of(name.split_once('.')?.1, true))?;
        let (higher, lower) = (Direction::HigherIsBetter, Direction::LowerIsBetter);
        let (unit, scale, direction, margin) = match kind {
            Kind::Iops => ("io/s", Scale::Log, higher, 0.05),
            Kind::Throughput => ("bytes/s", Scale::Log, higher, 0.05),
            Kind::Elapsed => ("s", Scale::Log, lower, 0.05),
            Kind::Latency { margin } => ("ns", Scale::Log, lower, margin),
            Kind::CpuTime => ("ns", Scale::Log, lower, 0.10),
            Kind::RequestSize => ("bytes", Scale::Log, higher, 0.10),
            Kind::Share => ("1", Scale::Identity, higher, 0.02),
        };
        Some(Metric {
            name: name.to_owned(),
            unit: unit.to_owned(),
            scale,
            direction,
            margin,
        })
    }

    /// `NAME[:MARGIN]`, the margin in per cent; for a share in points of a hundredth.
    pub fn parse(text: &str) -> anyhow::Result<Metric> {
        let (name, margin) = match text.rsplit_once(':') {
            Some((name, margin)) => (name, Some(margin)),
            None => (text, None),
        };
        if name == LONGEST_WAIT {
            return Err(Failure::usage(
                format!("{name} is one single I/O of a round, and cannot be compared"),
                "it is in the result; for a verdict take a percentile, as queue_wait_p99.9",
            ));
        }
        let mut metric = Metric::named(name).ok_or_else(|| {
            Failure::usage(
                format!("there is no metric {name}"),
                "metrics: iops, throughput, elapsed, cpu_per_1000_ios, merge_ratio, request_size, jain_bytes; \
                 [read_|write_]{queue_wait|device|total|submission|asked_wait|asked_total}_{mean|sd|p50|p90|p95|p99|p99.9|spread}; \
                 [read_|write_]program_{mean|p50|p90|p95|p99|p99.9}; \
                 of one fio job: JOB.iops, JOB.throughput, JOB.{read|write}_clat_{mean|sd|p50|...}",
            )
        })?;
        if let Some(margin) = margin {
            let percent: f64 = margin.trim_end_matches('%').parse().unwrap_or(f64::NAN);
            if !(percent > 0.0 && percent < 100.0) {
                return Err(Failure::usage(
                    format!(
                        "the margin {margin} of {name} is not a number of per cent above 0 and below 100"
                    ),
                    format!("for instance {name}:5"),
                ));
            }
            metric.margin = percent / 100.0;
        }
        Ok(metric)
    }
}

/// In a round's values and without inference: the maximum of a round says nothing about the next one.
pub const LONGEST_WAIT: &str = "queue_wait_max";

enum Kind {
    Iops,
    Throughput,
    Elapsed,
    CpuTime,
    RequestSize,
    Share,
    Latency { margin: f64 },
}

impl Kind {
    /// Of a name without `JOB.`; a job has other latencies than a device.
    fn of(name: &str, is_job: bool) -> Option<Kind> {
        match name {
            "iops" => return Some(Kind::Iops),
            "throughput" => return Some(Kind::Throughput),
            _ if is_job => {}
            "elapsed" => return Some(Kind::Elapsed),
            "cpu_per_1000_ios" => return Some(Kind::CpuTime),
            "request_size" => return Some(Kind::RequestSize),
            "merge_ratio" | "jain_bytes" => return Some(Kind::Share),
            _ => {}
        }
        let (base, statistic) = name.rsplit_once('_')?;
        let stage = if is_job {
            matches!(base, "read_clat" | "write_clat").then_some(base)
        } else {
            stage_of(base)
        };
        let is_latency = stage.is_some();
        let margin = match statistic {
            "mean" => 0.05,
            // fio's jobs can be pooled but for these.
            "sd" | "spread" if stage == Some(PROGRAM) => return None,
            "sd" | "spread" => 0.20,
            _ => QUANTILES.iter().find(|(name, ..)| *name == statistic)?.2,
        };
        is_latency.then_some(Kind::Latency { margin })
    }
}

/// Which latency a metric is about; `base` is its name without the statistic.
fn stage_of(base: &str) -> Option<&str> {
    // The longest scope that it begins with: one of them is empty.
    let scopes = SCOPES
        .iter()
        .filter_map(|(scope, _)| base.strip_prefix(scope));
    let stage = scopes.min_by_key(|stage| stage.len())?;
    let of_device = STAGES.iter().map(|(name, _)| *name);
    let mut known = of_device.chain(ASKED).chain([PROGRAM]);
    known.any(|name| name == stage).then_some(stage)
}

/// Whether a metric's clock starts when the kernel gets to see an I/O: such ones compare only arms whose submitters stood
/// still for a request alike, since what they would have asked for meanwhile is in no such time.
pub fn starts_in_kernel(name: &str) -> bool {
    let stage = name.rsplit_once('_').and_then(|(base, _)| stage_of(base));
    stage.is_some_and(|stage| ["queue_wait", "total"].contains(&stage) || ASKED.contains(&stage))
}

#[cfg(test)]
#[path = "metric_tests.rs"]
mod tests;
