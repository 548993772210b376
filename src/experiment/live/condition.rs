//! A condition on the recent numbers of a device: `METRIC > VALUE [for TIME]`. Pure.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use anyhow::Result;

use iosched_result::failure::Failure;
use iosched_result::measured::snapshot::{DeviceNumbers, Interval, Op, Stage};
use iosched_result::metric::{Metric, QUANTILES, SCOPES, STAGES};

#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    /// The condition as the user wrote it.
    text: String,
    what: What,
    is_above: bool,
    /// The threshold, in the metric's unit.
    limit: f64,
    /// How long it must hold without interruption.
    pub lasting: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum What {
    Iops(&'static [Op]),
    Throughput,
    Latency {
        stage: Stage,
        ops: &'static [Op],
        statistic: Statistic,
    },
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Statistic {
    Mean,
    Quantile(f64),
}

impl Condition {
    /// The value in an interval. Few I/Os make a percentile uncertain, which does not prevent action; without I/Os
    /// there is no value.
    fn value(&self, interval: &Interval) -> Option<f64> {
        let device = &interval.devices[0];
        let seconds = interval.duration_s();
        let rate = |ops: &[Op], of: fn(&DeviceNumbers, Op) -> u64| {
            let sum: u64 = ops.iter().map(|op| of(device, *op)).sum();
            (seconds > 0.0).then(|| sum as f64 / seconds)
        };
        match self.what {
            What::Iops(ops) => rate(ops, |device, op| device.ops[op as usize].ios),
            What::Throughput => rate(&Op::DATA, |device, op| device.ops[op as usize].bytes),
            What::Latency {
                stage,
                ops,
                statistic,
            } => {
                let histogram = device.stage(stage, ops);
                let (known, unrecorded) = (histogram.count(), device.quality.unrecorded);
                match statistic {
                    Statistic::Mean if unrecorded > 0 => mean_ns(device, stage, ops),
                    Statistic::Mean => histogram.mean_ns(),
                    // Requests without a record may have taken any time: none is sure to be shorter than the limit.
                    Statistic::Quantile(p) => {
                        let share = p * (known + unrecorded) as f64 / known as f64;
                        histogram.quantile_ns(share).filter(|_| share <= 1.0)
                    }
                }
            }
        }
    }

    /// A value with its unit.
    pub fn in_words(&self, value: f64) -> String {
        match self.what {
            What::Iops(_) => format!("{value:.0} io/s"),
            What::Throughput => format!("{:.1} MB/s", value / 1e6),
            What::Latency { .. } => format!("{:.2} ms", value / 1e6),
        }
    }

    pub fn without_time(&self) -> &str {
        self.text
            .rsplit_once(" for ")
            .map_or(&self.text, |(condition, _)| condition)
    }

    /// Whether the condition holds in an interval, and the value. If requests are in flight and none completes, or too many
    /// have no record, a latency counts as above every limit.
    pub fn holds(&self, interval: &Interval) -> (bool, Option<f64>) {
        let value = self.value(interval);
        let holds = match value {
            Some(value) if self.is_above => value > self.limit,
            Some(value) => value < self.limit,
            None => {
                let device = &interval.devices[0];
                let in_flight = device.in_flight.as_ref();
                let is_busy = in_flight.is_some_and(|now| now.queued + now.issued > 0);
                self.is_above && (is_busy || device.quality.unrecorded > 0)
            }
        };
        (holds, value)
    }

    fn parse(text: &str) -> Result<Condition, String> {
        let (rest, lasting) = match text.rsplit_once(" for ") {
            Some((rest, time)) => (rest, duration(time)?),
            None => (text, Duration::ZERO),
        };
        let at = rest.find(['<', '>']).ok_or("there is neither > nor <")?;
        let (name, value) = (rest[..at].trim(), rest[at + 1..].trim());
        let what = What::named(name)?;
        let unit = match what {
            What::Iops(_) => "io/s",
            What::Throughput => "bytes/s",
            What::Latency { .. } => "ns",
        };
        Ok(Condition {
            text: text.to_owned(),
            what,
            is_above: rest.as_bytes()[at] == b'>',
            limit: limit(value, unit)?,
            lasting,
        })
    }
}

/// The mean from the counts and sums, which are exact whatever is unrecorded. None without I/Os, and for stages without sums.
fn mean_ns(device: &DeviceNumbers, stage: Stage, ops: &[Op]) -> Option<f64> {
    let sums = ops.iter().map(|op| {
        let op = &device.ops[*op as usize];
        match stage {
            Stage::Q2d => Some((op.q2d_sum_ns, op.waits)),
            Stage::D2c => Some((op.d2c_sum_ns, op.ios)),
            Stage::Q2c => Some((op.q2c_sum_ns, op.ios)),
            Stage::Q2g | Stage::G2d | Stage::I2d => None,
        }
    });
    let sums: Option<Vec<(u64, u64)>> = sums.collect();
    let (ns, count) = sums?
        .into_iter()
        .fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    (count > 0).then(|| ns as f64 / count as f64)
}

impl What {
    fn named(name: &str) -> Result<What, String> {
        match name {
            "iops" => return Ok(What::Iops(&Op::DATA)),
            "read_iops" => return Ok(What::Iops(&[Op::Read])),
            "write_iops" => return Ok(What::Iops(&Op::WRITES)),
            "throughput" => return Ok(What::Throughput),
            _ => {}
        }
        let latency = || {
            let (base, statistic) = name.rsplit_once('_')?;
            let statistic = match statistic {
                "mean" => Statistic::Mean,
                _ => Statistic::Quantile(QUANTILES.iter().find(|it| it.0 == statistic)?.1),
            };
            SCOPES.into_iter().find_map(|(scope, ops)| {
                let stage = base.strip_prefix(scope)?;
                let stage = STAGES.into_iter().find(|(known, _)| *known == stage)?.1;
                Some(What::Latency {
                    stage,
                    ops,
                    statistic,
                })
            })
        };
        latency().ok_or_else(|| {
            let why = if Metric::named(name).is_some() {
                "cannot be checked every second"
            } else {
                "is unknown"
            };
            format!("the metric {name} {why}; use iops, throughput or [read_|write_|discard_]{{queue_wait|device|total}}_{{mean|p50|p90|p95|p99|p99.9}}")
        })
    }
}

fn duration(text: &str) -> Result<Duration, String> {
    let seconds = text
        .trim()
        .parse::<f64>()
        .ok()
        .filter(|seconds| (0.0..1e6).contains(seconds));
    seconds
        .map(Duration::from_secs_f64)
        .or_else(|| humantime::parse_duration(text.trim()).ok())
        .ok_or_else(|| format!("{text:?} is not a duration such as 3s"))
}

/// A number with a unit, in the metric's own unit.
fn limit(text: &str, unit: &str) -> Result<f64, String> {
    let end = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let number: f64 = text[..end]
        .parse()
        .map_err(|_| format!("{text:?} has no number"))?;
    let given = text[end..].trim();
    let factor = match (unit, given) {
        ("ns", "ns") | ("io/s", "" | "/s" | "io/s") | ("bytes/s", "" | "B/s") => 1.0,
        ("ns", "us") | ("io/s", "k") | ("bytes/s", "kB/s" | "k") => 1e3,
        ("ns", "ms") | ("bytes/s", "MB/s" | "M") => 1e6,
        ("ns", "s") | ("bytes/s", "GB/s" | "G") => 1e9,
        ("ns", _) => return Err(format!("{text:?} needs a unit: ns, us, ms or s")),
        _ => return Err(format!("{given:?} is not a unit of {unit}")),
    };
    Ok(number * factor)
}

impl FromStr for Condition {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Condition> {
        Condition::parse(text).map_err(|why| {
            Failure::usage(
                format!("the condition {text:?}: {why}"),
                "for example 'read_queue_wait_p99 > 50ms for 3s' or 'iops > 100'",
            )
        })
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iosched_result::measured::snapshot::InFlight;

    fn second(reads: u64, ns: u64) -> Interval {
        let mut interval = Interval::nothing("sda");
        interval.end_ns = 1_000_000_000;
        let read = &mut interval.devices[0].ops[Op::Read as usize];
        read.ios = reads;
        for _ in 0..reads {
            read.q2d.record(ns);
        }
        interval
    }

    #[test]
    fn a_condition_holds_by_its_value() {
        let slow: Condition = "read_queue_wait_p99 > 50ms for 3s".parse().unwrap();
        assert_eq!(slow.lasting, Duration::from_secs(3));
        assert_eq!(slow.to_string(), "read_queue_wait_p99 > 50ms for 3s");
        assert!(slow.holds(&second(5, 60_000_000)).0);
        assert!(!slow.holds(&second(5, 40_000_000)).0);
        let busy: Condition = "iops>100".parse().unwrap();
        assert_eq!(busy.holds(&second(101, 1)), (true, Some(101.0)));
        assert!(!busy.holds(&second(100, 1)).0);
        let idle: Condition = "throughput < 1MB/s".parse().unwrap();
        assert!(idle.holds(&second(0, 1)).0);
    }

    /// A guard must not be blind to the burst that it watches for.
    #[test]
    fn requests_without_a_record_count_as_late() {
        let slow: Condition = "read_queue_wait_p99 > 50ms".parse().unwrap();
        let mut burst = second(1000, 1_000);
        burst.devices[0].quality.unrecorded = 5;
        assert!(!slow.holds(&burst).0, "0.5 % are not 1 %");
        burst.devices[0].quality.unrecorded = 50;
        assert_eq!(slow.holds(&burst), (true, None));
        let mut nothing_else = second(0, 0);
        nothing_else.devices[0].quality.unrecorded = 50;
        assert_eq!(slow.holds(&nothing_else), (true, None));
        let fast: Condition = "read_queue_wait_p99 < 50ms".parse().unwrap();
        assert!(!fast.holds(&burst).0);
        // Sums are exact.
        let mean: Condition = "read_queue_wait_mean > 50ms".parse().unwrap();
        let read = &mut burst.devices[0].ops[Op::Read as usize];
        (read.waits, read.q2d_sum_ns) = (1050, 1050 * 60_000_000);
        assert_eq!(mean.holds(&burst), (true, Some(6e7)));
    }

    #[test]
    fn what_never_completes_is_late() {
        let slow: Condition = "total_p50 > 1s".parse().unwrap();
        let mut stuck = second(0, 0);
        assert!(!slow.holds(&stuck).0);
        stuck.devices[0].in_flight = Some(InFlight {
            queued: 1,
            blocked: None,
            ..InFlight::default()
        });
        assert_eq!(slow.holds(&stuck), (true, None));
    }

    #[test]
    fn what_is_no_condition_is_refused() {
        for (text, says) in [
            ("total_p99", "neither > nor <"),
            ("total_p99 > 50", "needs a unit"),
            ("total_p99 > fast", "has no number"),
            ("iops > 5ms", "not a unit of io/s"),
            ("total_p98 > 5ms", "is unknown"),
            ("jain_bytes > 0.5", "cannot be checked every second"),
            ("iops > 5 for ever", "not a duration"),
        ] {
            let error = text.parse::<Condition>().unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
    }
}
