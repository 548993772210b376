//! Metrics: one number per round, with its scale, its direction and the smallest difference that matters. Pure.

use serde::{Deserialize, Serialize};

use super::statistics::scale::{Direction, Scale};
use crate::failure::Failure;
use crate::measured::snapshot::{Op, Stage};
use crate::measured::stalls::Whose;
use crate::text::similar::near;

pub mod listed; // the table as help and as a page
pub mod offer; // what a run can measure
pub mod profile; // what a workload does, and its parts
pub mod reported; // what a command reports of itself
pub mod table; // all metrics

use reported::{Better, Reported, check_name};
use table::Role;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Metric {
    /// As `--metric` takes it, so that no two metrics of a result have one name: a reported metric that is called like one
    /// of iosched's own has `reported:` before its name.
    pub name: String,
    /// Who measured it, and with that where a round has its value: in `metrics` or in `reported`.
    #[serde(default)]
    pub origin: Origin,
    /// `ns`, `s`, `io/s`, `bytes`, `bytes/s`, `1` for counts, shares and indices, or the unit that a command reported.
    pub unit: String,
    pub scale: Scale,
    pub direction: Direction,
    /// The smallest difference that matters: a fraction on the log scale, otherwise in the metric's unit.
    pub margin: f64,
}

/// Who measured a metric.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// iosched: from the kernel's counters, or from the fio that it ran.
    #[default]
    Measured,
    /// The command, which reported it.
    Reported,
}

/// Before the name of a metric that a command reported: needed only where iosched has a metric of that name.
pub const REPORTED: &str = "reported:";

pub const STAGES: [(&str, Stage); 3] = [
    ("queue_wait", Stage::Q2d),
    ("device", Stage::D2c),
    ("total", Stage::Q2c),
];
/// Stages that start when the program asked for the I/O, where that is measured.
pub(super) const ASKED: [&str; 3] = ["submission", "asked_wait", "asked_total"];
/// The program's own latency, over all jobs of fio.
pub(super) const PROGRAM: &str = "program";
pub const SCOPES: [(&str, &[Op]); 4] = [
    ("", &Op::DATA),
    ("read_", &[Op::Read]),
    ("write_", &Op::WRITES),
    ("discard_", &[Op::Discard]),
];
/// Percentile, its probability and its default margin.
pub const QUANTILES: [(&str, f64, f64); 5] = [
    ("p50", 0.5, 0.05),
    ("p90", 0.9, 0.05),
    ("p95", 0.95, 0.10),
    ("p99", 0.99, 0.10),
    ("p99.9", 0.999, 0.20),
];

impl Metric {
    /// A metric of iosched's with the default margin; its name determines everything else.
    pub fn named(name: &str) -> Option<Metric> {
        let found = table::find(name).filter(|found| found.row.role != Role::Shown)?;
        Some(Metric {
            name: name.to_owned(),
            origin: Origin::Measured,
            unit: found.row.unit.to_owned(),
            scale: found.row.scale,
            direction: found.row.direction,
            margin: found.margin(),
        })
    }

    /// A metric that a command reported.
    pub fn reported(reported: &Reported) -> Metric {
        let (scale, margin) = match reported.unit.as_str() {
            // Shares, where 0 is legal.
            "%" => (Scale::Identity, 2.0),
            _ => (Scale::Log, 0.05),
        };
        let tail = QUANTILES.iter().find(|(name, ..)| {
            let rest = reported.name.strip_suffix(name);
            rest.is_some_and(|rest| rest.ends_with('_'))
        });
        Metric {
            name: full_name(&reported.name),
            origin: Origin::Reported,
            unit: reported.unit.clone(),
            scale,
            direction: match reported.better {
                Some(Better::Higher) => Direction::HigherIsBetter,
                Some(Better::Lower) => Direction::LowerIsBetter,
                None => Direction::Neutral,
            },
            margin: tail.map_or(margin, |(_, _, margin)| *margin),
        }
    }

    /// A metric of which only the name is known until a round reports it. No margin: its default one.
    fn open(name: &str) -> Metric {
        Metric {
            name: full_name(name),
            origin: Origin::Reported,
            unit: String::new(),
            scale: Scale::Log,
            direction: Direction::Neutral,
            margin: 0.0,
        }
    }

    pub fn is_open(&self) -> bool {
        self.unit.is_empty()
    }

    /// The name that the command gave it, or the name in iosched's own table.
    pub fn plain_name(&self) -> &str {
        match self.origin {
            Origin::Measured => &self.name,
            Origin::Reported => self.name.strip_prefix(REPORTED).unwrap_or(&self.name),
        }
    }

    /// Whether both have the same values, whatever their margins.
    pub fn is_same(&self, other: &Metric) -> bool {
        (self.origin, self.plain_name()) == (other.origin, other.plain_name())
    }

    /// A remark on a metric of iosched's if the command reports one of the same name.
    pub fn namesake_in(&self, reported: &[Reported]) -> Option<String> {
        let is_same = |it: &Reported| it.name == self.name;
        let has_other = self.origin == Origin::Measured && reported.iter().any(is_same);
        let name = &self.name;
        has_other.then(|| {
            format!(
                "{name} is what iosched measured; {REPORTED}{name} is what the command reported"
            )
        })
    }

    /// `[reported:]NAME[:MARGIN]`, the margin in per cent; for a share in percentage points. `may_report`: the workload may
    /// report metrics of its own.
    pub fn parse(text: &str, may_report: bool) -> anyhow::Result<Metric> {
        let explicit = after_prefix(text);
        let text = explicit.unwrap_or(text);
        let (name, margin) = match text.rsplit_once(':') {
            Some((name, margin)) => (name, Some(margin)),
            None => (text, None),
        };
        let metric = if explicit.is_some() {
            Self::of_report(name, may_report)?
        } else {
            Self::of_name(name, may_report)?
        };
        metric.with_margin(margin)
    }

    /// A metric that the user says the command reports.
    fn of_report(name: &str, may_report: bool) -> anyhow::Result<Metric> {
        if !may_report {
            return Err(Failure::usage(
                format!("{REPORTED}{name}: this workload reports no metrics of its own"),
                "a command does, and with --workload live the application, by --metric-cmd; name a metric that iosched measures",
            ));
        }
        match check_name(name) {
            Ok(()) => Ok(Metric::open(name)),
            Err(why) => Err(Failure::usage(format!("{REPORTED}{name}: {why}"), "")),
        }
    }

    fn of_name(name: &str, may_report: bool) -> anyhow::Result<Metric> {
        if let Some(metric) = Metric::named(name).filter(|_| decides(name)) {
            return Ok(metric);
        }
        if is_own(name) {
            return Err(Failure::usage(
                format!("{name} decides nothing: {}", why_not(name)),
                "the result contains it; choose another metric",
            ));
        }
        if may_report && check_name(name).is_ok() {
            return Ok(Metric::open(name));
        }
        let near = near(name, table::names().concat());
        let guess = if near.is_empty() {
            String::new()
        } else {
            format!("; did you mean {}?", near.join(" or "))
        };
        Err(Failure::usage(
            format!("unknown metric {name}{guess}"),
            "`iosched-ab metrics` lists all",
        ))
    }

    fn with_margin(mut self, margin: Option<&str>) -> anyhow::Result<Metric> {
        if let Some(margin) = margin {
            let name = &self.name;
            let percent: f64 = margin.trim_end_matches('%').parse().unwrap_or(f64::NAN);
            if !(percent > 0.0 && percent < 100.0) {
                return Err(Failure::usage(
                    format!(
                        "the margin {margin} of {name} must be a percentage above 0 and below 100"
                    ),
                    format!("for example {name}:5"),
                ));
            }
            self.margin = percent / 100.0;
        }
        Ok(self)
    }
}

/// Rest after the prefix of a reported metric. A number there is the margin of a metric that is called `reported`.
fn after_prefix(text: &str) -> Option<&str> {
    let rest = text.strip_prefix(REPORTED)?;
    let is_margin = rest.trim_end_matches('%').parse::<f64>().is_ok();
    (!is_margin).then_some(rest)
}

/// The name of a reported metric among all metrics of a result.
pub fn full_name(reported: &str) -> String {
    if is_own(reported) {
        format!("{REPORTED}{reported}")
    } else {
        reported.to_owned()
    }
}

/// The name that a result has for a metric which the user calls `name`: a prefix that is not needed is left out.
pub fn name_in_result(name: &str) -> String {
    name.strip_prefix(REPORTED)
        .map_or_else(|| name.to_owned(), full_name)
}

/// Whether iosched has a metric of that name.
fn is_own(name: &str) -> bool {
    table::find(name).is_some()
}

/// Whether a run can be decided on it.
fn decides(name: &str) -> bool {
    table::find(name).is_some_and(|found| found.row.role == Role::Decides)
}

fn why_not(name: &str) -> &'static str {
    match table::find(name).map(|found| found.row.role) {
        Some(Role::Control) => "it is a negative control, which no arm should change",
        Some(Role::Load) => "it is what the machine asked for, which no arm should change",
        _ => {
            "it is the value of a single I/O per round; a percentile can be compared, for example queue_wait_p99.9"
        }
    }
}

/// Reported for each round but never compared: the maximum of one round does not predict that of the next.
pub const LONGEST_WAIT: &str = "queue_wait_max";

/// Negative controls, see `machine/control.rs`: a fixed loop on a CPU, and reads of a disk that no arm touches.
pub const CONTROL_CPU: &str = "control_cpu";
pub const CONTROL_DISK: &str = "control_disk";
pub const CONTROLS: [&str; 2] = [CONTROL_CPU, CONTROL_DISK];

/// In a live run: I/Os per second that the machine asked for, merged ones included, counted when they completed.
pub const ARRIVALS: [&str; 2] = ["read_arrivals", "write_arrivals"];

/// Whether a metric's clock starts when the kernel first sees the I/O. Such metrics compare two arms only if their
/// submitters were blocked for a request for equally long: I/O that a blocked thread would have submitted is in no
/// queue wait.
pub fn starts_in_kernel(name: &str) -> bool {
    table::find(name).is_some_and(|found| found.row.starts_in_kernel)
}

/// The processes whose stalls bias the metric.
pub fn hides_stalls_of(name: &str) -> Whose {
    let name = table::find(name).map_or(name, |found| found.name);
    if name.starts_with("read_") {
        Whose::Readers
    } else if name.starts_with("write_") {
        Whose::Writers
    } else {
        Whose::All
    }
}

#[cfg(test)]
#[path = "metric_tests.rs"]
mod tests;
