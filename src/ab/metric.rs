//! Metrics: one number a round, its scale, its direction and the difference that matters. Pure.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::verdict::{Direction, Scale};
use crate::failure::Failure;
use crate::histogram::Histogram;
use crate::snapshot::{Interval, Op, Stage};
use crate::workload::{CgroupRef, JobResult, Outcome};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Metric {
    pub name: String,
    /// `ns`, `s`, `io/s` or `bytes/s`.
    pub unit: String,
    pub scale: Scale,
    pub direction: Direction,
    /// The smallest difference that matters: a fraction on the log scale.
    pub margin: f64,
}

const STAGES: [(&str, Stage); 3] = [
    ("queue_wait", Stage::Q2d),
    ("device", Stage::D2c),
    ("total", Stage::Q2c),
];
const SCOPES: [(&str, &[Op]); 3] = [
    ("", &Op::DATA),
    ("read_", &[Op::Read]),
    ("write_", &Op::WRITES),
];
/// Percentile, its probability and its default margin.
const QUANTILES: [(&str, f64, f64); 5] = [
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
        let (unit, direction, margin) = match kind {
            Kind::Iops => ("io/s", Direction::HigherIsBetter, 0.05),
            Kind::Throughput => ("bytes/s", Direction::HigherIsBetter, 0.05),
            Kind::Elapsed => ("s", Direction::LowerIsBetter, 0.05),
            Kind::Latency { margin } => ("ns", Direction::LowerIsBetter, margin),
        };
        Some(Metric {
            name: name.to_owned(),
            unit: unit.to_owned(),
            scale: Scale::Log,
            direction,
            margin,
        })
    }

    /// `NAME[:MARGIN]`, the margin in per cent.
    pub fn parse(text: &str) -> anyhow::Result<Metric> {
        let (name, margin) = match text.rsplit_once(':') {
            Some((name, margin)) => (name, Some(margin)),
            None => (text, None),
        };
        let mut metric = Metric::named(name).ok_or_else(|| {
            Failure::usage(
                format!("there is no metric {name}"),
                "metrics: iops, throughput, elapsed; [read_|write_]{queue_wait|device|total}_{mean|sd|p50|p90|p95|p99|p99.9}; \
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

enum Kind {
    Iops,
    Throughput,
    Elapsed,
    Latency { margin: f64 },
}

impl Kind {
    /// Of a name without `JOB.`; a job has other latencies than a device.
    fn of(name: &str, is_job: bool) -> Option<Kind> {
        match name {
            "iops" => return Some(Kind::Iops),
            "throughput" => return Some(Kind::Throughput),
            "elapsed" if !is_job => return Some(Kind::Elapsed),
            _ => {}
        }
        let (base, statistic) = name.rsplit_once('_')?;
        let is_latency = if is_job {
            matches!(base, "read_clat" | "write_clat")
        } else {
            SCOPES.iter().any(|(scope, _)| {
                let stage = base.strip_prefix(scope);
                stage.is_some_and(|stage| STAGES.iter().any(|(name, _)| *name == stage))
            })
        };
        let margin = match statistic {
            "mean" => 0.05,
            "sd" => 0.20,
            _ => QUANTILES.iter().find(|(name, ..)| *name == statistic)?.2,
        };
        is_latency.then_some(Kind::Latency { margin })
    }
}

/// What a round yields: the values, and which percentiles are missing or shaky.
#[derive(Debug, Default)]
pub struct Values {
    pub metrics: BTreeMap<String, f64>,
    pub insufficient_tail: Vec<String>,
    pub fragile_percentile: Vec<String>,
}

/// Every metric that the round's numbers support. `window_s` is the length of the device's interval.
///
/// The throughput of a control group is the probe's, over the window; of a fio job without a group of its own, fio's.
pub fn values(
    window: &Interval,
    cgroups: &[CgroupRef],
    outcome: &Outcome,
    is_fixed_work: bool,
) -> Values {
    let device = &window.devices[0];
    let window_s = window.duration_s();
    let mut values = Values::default();
    if is_fixed_work {
        values.put("elapsed".into(), outcome.elapsed_ns as f64 / 1e9);
    } else {
        let (ios, bytes) = Op::DATA
            .iter()
            .map(|op| &device.ops[*op as usize])
            .fold((0, 0), |sum, op| (sum.0 + op.ios, sum.1 + op.bytes));
        values.put("iops".into(), ios as f64 / window_s);
        values.put("throughput".into(), bytes as f64 / window_s);
    }
    for (scope, ops) in SCOPES {
        for (name, stage) in STAGES {
            values.put_histogram(&format!("{scope}{name}"), &device.stage(stage, ops));
        }
    }
    for job in &outcome.jobs {
        values.put_job(job);
    }
    for cgroup in cgroups
        .iter()
        .filter(|cgroup| cgroup.on_bios && window_s > 0.0)
    {
        let members = window
            .owners
            .iter()
            .filter(|owner| owner.key.cgroup_id == cgroup.id);
        let (ios, bytes) = members.fold((0, 0), |sum, owner| {
            (sum.0 + owner.ios(), sum.1 + owner.bytes())
        });
        values.put(format!("{}.iops", cgroup.label), ios as f64 / window_s);
        values.put(
            format!("{}.throughput", cgroup.label),
            bytes as f64 / window_s,
        );
    }
    values
}

impl Values {
    fn put(&mut self, name: String, value: f64) {
        if value.is_finite() {
            self.metrics.insert(name, value);
        }
    }

    fn put_histogram(&mut self, name: &str, histogram: &Histogram) {
        if let Some(mean) = histogram.mean_ns() {
            self.put(format!("{name}_mean"), mean);
        }
        if let Some(sd) = histogram.sd_ns() {
            self.put(format!("{name}_sd"), sd);
        }
        for (suffix, p, _) in QUANTILES {
            let metric = format!("{name}_{suffix}");
            if histogram.count() > 0 && !histogram.supports_quantile(p) {
                self.insufficient_tail.push(metric);
                continue;
            }
            if histogram.quantile_is_fragile(p) == Some(true) {
                self.fragile_percentile.push(metric.clone());
            }
            if let Some(ns) = histogram.quantile_ns(p) {
                self.put(metric, ns);
            }
        }
    }

    fn put_job(&mut self, job: &JobResult) {
        let name = &job.name;
        let sum = |value: fn(&crate::workload::DirectionResult) -> f64| {
            job.directions().map(value).sum::<f64>()
        };
        self.put(format!("{name}.iops"), sum(|direction| direction.iops));
        self.put(
            format!("{name}.throughput"),
            sum(|direction| direction.bytes_per_s),
        );
        for (scope, direction) in [("read", &job.read), ("write", &job.write)] {
            let Some(clat) = direction
                .as_ref()
                .and_then(|direction| direction.clat.as_ref())
            else {
                continue;
            };
            self.put(format!("{name}.{scope}_clat_mean"), clat.mean_ns);
            self.put(format!("{name}.{scope}_clat_sd"), clat.sd_ns);
            for (suffix, p, _) in QUANTILES {
                let metric = format!("{name}.{scope}_clat_{suffix}");
                if clat.count as f64 * (1.0 - p) < 99.999 {
                    self.insufficient_tail.push(metric);
                } else if let Some(ns) = clat.quantile_ns(p) {
                    self.put(metric, ns as f64);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot::DeviceNumbers;

    fn window(device: DeviceNumbers, seconds: u64) -> Interval {
        Interval {
            start_ns: 0,
            end_ns: seconds * 1_000_000_000,
            devices: vec![device],
            owners: Vec::new(),
        }
    }

    #[test]
    fn names_say_unit_direction_and_margin() {
        let p99 = Metric::parse("read_total_p99").unwrap();
        assert_eq!(
            (p99.unit.as_str(), p99.direction, p99.margin),
            ("ns", Direction::LowerIsBetter, 0.10)
        );
        let hog = Metric::parse("hog.throughput:8").unwrap();
        assert_eq!(
            (hog.direction, hog.margin),
            (Direction::HigherIsBetter, 0.08)
        );
        assert!(Metric::named("probe.read_clat_p99.9").is_some());
        assert!(Metric::named("elapsed").is_some());
    }

    #[test]
    fn unknown_names_and_margins_are_refused() {
        for text in [
            "latency",
            "p99",
            "total_p98",
            "iopsx",
            "x.elapsed",
            "iops:0",
            "iops:abc",
            "iops:100",
            "",
        ] {
            assert!(Metric::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn every_value_has_a_name_that_parses() {
        let mut device = DeviceNumbers::new("sda");
        for op in &mut device.ops[..2] {
            op.ios = 200_000;
            for ns in 0..200_000 {
                op.q2d.record(ns);
                op.d2c.record(ns);
                op.q2c.record(ns);
            }
        }
        let values = values(&window(device, 2), &[], &Outcome::default(), false);
        assert!((values.metrics["iops"] - 200_000.0).abs() < 1e-6);
        assert_eq!(values.metrics.len(), 2 + 3 * 3 * 7);
        for name in values.metrics.keys() {
            assert!(Metric::named(name).is_some(), "{name}");
        }
    }

    #[test]
    fn a_percentile_needs_its_tail() {
        let mut device = DeviceNumbers::new("sda");
        (0..5_000).for_each(|ns| device.ops[0].q2c.record(ns));
        let values = values(&window(device, 1), &[], &Outcome::default(), false);
        assert!(values.metrics.contains_key("total_p95"));
        assert!(
            !values.metrics.contains_key("total_p99"),
            "only 50 of 5000 lie beyond"
        );
        assert!(values.insufficient_tail.contains(&"total_p99".to_owned()));
    }
}
