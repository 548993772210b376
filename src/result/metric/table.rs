//! The table of all metrics that iosched measures: everything that is known of one stands in its row. What a command line
//! accepts, its help, `iosched-ab metrics`, docs/metrics.md and the units of reports are made from it. Pure.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use super::{QUANTILES, REPORTED};
use crate::statistics::scale::{Direction, Scale};
use crate::text::glob::spelled_out;

/// Metrics that differ in an operation or a statistic share a row.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// Their names, without a label: `{a|b}` is one of these, `[a|b]` one of these or nothing.
    pub names: &'static str,
    pub of: Of,
    pub unit: &'static str,
    pub scale: Scale,
    pub direction: Direction,
    pub margin: Margin,
    pub needs: Needs,
    pub role: Role,
    /// Its clock starts when the kernel first sees the I/O, or before.
    pub starts_in_kernel: bool,
    /// One line.
    pub says: &'static str,
}

/// Whose I/O a metric describes. The name of a metric begins with the label of its part and a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// All I/O of the disks, or all of the workload.
    Whole,
    /// A job of fio, a control group of the workload, or a participant.
    Part,
    /// A job of fio, from fio's own report.
    Job,
    /// A control group of the workload: one for each process of a built-in workload, `fio` for a job file, `command`.
    Group,
    /// A participant that `--cgroup`, `--unit` or `--pid` names.
    Participant,
}

/// The smallest difference that matters, if the user names none.
#[derive(Clone, Copy, Debug)]
pub enum Margin {
    Of(f64),
    /// By the statistic at the end of the name.
    OfStatistic,
}

/// When a round has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    Nothing,
    FixedWork,
    /// fio measures the latency of every job.
    Program,
    /// Jobs that submit without waiting.
    Asynchronous,
    DetailOrder,
    DetailFairness,
    /// Several parts of the workload, or several processes in its only control group.
    Sharing,
    OwnGroups,
    ControlDisk,
    Live,
}

/// Purpose of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A run may be decided on it.
    Decides,
    /// No arm should change it.
    Control,
    /// The I/O that the machine asks for.
    Load,
    /// Describes a single I/O. The result shows it, and no verdict uses it.
    Shown,
}

const fn row(names: &'static str, unit: &'static str, says: &'static str) -> Row {
    Row {
        names,
        of: Of::Whole,
        unit,
        scale: Scale::Log,
        direction: Direction::LowerIsBetter,
        margin: Margin::Of(0.05),
        needs: Needs::Nothing,
        role: Role::Decides,
        starts_in_kernel: false,
        says,
    }
}

const fn latency(names: &'static str, says: &'static str) -> Row {
    Row {
        margin: Margin::OfStatistic,
        ..row(names, "ns", says)
    }
}

const fn share(names: &'static str, direction: Direction, says: &'static str) -> Row {
    Row {
        scale: Scale::Identity,
        margin: Margin::Of(0.02),
        direction,
        ..row(names, "1", says)
    }
}

impl Row {
    const fn of(self, of: Of) -> Row {
        Row { of, ..self }
    }

    const fn higher(self) -> Row {
        let direction = Direction::HigherIsBetter;
        Row { direction, ..self }
    }

    const fn neutral(self) -> Row {
        let direction = Direction::Neutral;
        Row { direction, ..self }
    }

    const fn margin(self, margin: f64) -> Row {
        Row {
            margin: Margin::Of(margin),
            ..self
        }
    }

    const fn needs(self, needs: Needs) -> Row {
        Row { needs, ..self }
    }

    const fn role(self, role: Role) -> Row {
        Row { role, ..self }
    }

    const fn in_kernel(self) -> Row {
        Row {
            starts_in_kernel: true,
            ..self
        }
    }

    /// All names, without a label.
    pub fn all(&self) -> Vec<String> {
        spelled_out(self.names)
    }
}

macro_rules! by_statistic {
    ($base:literal) => {
        concat!($base, "_{mean|sd|p50|p90|p95|p99|p99.9|spread}")
    };
}
macro_rules! by_statistic_of_fio {
    ($base:literal) => {
        concat!($base, "_{mean|sd|p50|p90|p95|p99|p99.9}")
    };
}

pub const ROWS: &[Row] = &[
    row("[read_|write_|discard_]iops", "io/s", "completed reads and writes, one of them, or discards, per second").higher(),
    row("[read_|write_|discard_]throughput", "bytes/s", "their bytes per second").higher(),
    row("elapsed", "s", "run time of a command").needs(Needs::FixedWork),
    latency(
        by_statistic!("[read_|write_|discard_]queue_wait"),
        "Q2D: the wait for a request and in the scheduler",
    )
    .in_kernel(),
    latency(by_statistic!("[read_|write_|discard_]device"), "D2C: the driver and the device"),
    latency(by_statistic!("[read_|write_|discard_]total"), "Q2C: from queued to completed").in_kernel(),
    latency(
        "[read_|write_|discard_]program_{mean|p50|p90|p95|p99|p99.9}",
        "fio's own latency from submission to completion, all jobs together",
    )
    .needs(Needs::Program),
    latency(by_statistic!("[read_|write_]submission"), "A2Q: from the program's call to queued")
        .needs(Needs::Asynchronous)
        .in_kernel(),
    latency(by_statistic!("[read_|write_]asked_wait"), "A2D: from the program's call to the first issue")
        .needs(Needs::Asynchronous)
        .in_kernel(),
    latency(by_statistic!("[read_|write_]asked_total"), "A2C: from the program's call to completed")
        .needs(Needs::Asynchronous)
        .in_kernel(),
    row("ios", "1", "completed reads and writes").neutral(),
    row("merges", "1", "bios and requests that were merged").neutral(),
    share("merge_ratio", Direction::HigherIsBetter, "bios that joined a request, divided by all bios of reads and writes"),
    row("request_size", "bytes", "bytes per read or write request").higher().margin(0.10),
    row("seeks", "bytes", "mean distance from the end of one issued request to the start of the next")
        .margin(0.10)
        .needs(Needs::DetailOrder),
    share("reordered", Direction::Neutral, "requests issued before one that had started earlier")
        .needs(Needs::DetailOrder),
    share(
        "jain_bytes",
        Direction::HigherIsBetter,
        "Jain's index of the bytes of the participants, else of the control groups, else of the processes of the only one",
    )
    .needs(Needs::Sharing),
    share("jain_device_time", Direction::HigherIsBetter, "the same of their device times")
        .needs(Needs::DetailFairness),
    row("cpu_per_1000_ios", "ns", "CPU time of the workload's processes, without interrupts and kernel threads, per 1000 of their I/Os")
        .margin(0.10)
        .needs(Needs::OwnGroups),
    row("{user|system}_cpu", "ns", "the same, of all I/Os together").neutral().needs(Needs::OwnGroups),
    row(
        "[discard_]iops",
        "io/s",
        "its completed reads and writes, or discards, per second",
    )
    .higher()
    .of(Of::Part),
    row("[discard_]throughput", "bytes/s", "their bytes per second")
        .higher()
        .of(Of::Part),
    row("ios", "1", "its completed reads and writes").neutral().of(Of::Group),
    latency(
        by_statistic!("[read_|write_]queue_wait"),
        "queue wait, from the histograms of its processes",
    )
    .in_kernel()
    .of(Of::Participant),
    latency(by_statistic!("[read_|write_]device"), "device time, from the same").of(Of::Participant),
    latency(
        by_statistic_of_fio!("{read|write|trim}_clat"),
        "fio's completion latency, without the time inside the submission",
    )
    .of(Of::Job),
    latency(by_statistic_of_fio!("sync_lat"), "each fsync or fdatasync, by fio").of(Of::Job),
    row("control_cpu", "ns", "negative control, the mean of before and after each round: a fixed loop on a CPU").margin(0.10).role(Role::Control),
    row("control_disk", "ns", "negative control: the median of 64 reads of a disk that no arm touches")
        .margin(0.10)
        .needs(Needs::ControlDisk)
        .role(Role::Control),
    row("{read|write}_arrivals", "io/s", "bios per second that the machine asked for, counted when they complete")
        .neutral()
        .needs(Needs::Live)
        .role(Role::Load),
    row("queue_wait_max", "ns", "longest queue wait of the workload").role(Role::Shown),
];

/// A metric's place in the table.
#[derive(Clone, Copy, Debug)]
pub struct Found<'a> {
    pub row: &'static Row,
    /// `JOB` in `JOB.iops`.
    pub label: Option<&'a str>,
    /// The name without the label.
    pub name: &'a str,
}

impl Found<'_> {
    pub fn margin(&self) -> f64 {
        match self.row.margin {
            Margin::Of(margin) => margin,
            Margin::OfStatistic => margin_of(self.name.rsplit('_').next().unwrap_or_default()),
        }
    }
}

fn margin_of(statistic: &str) -> f64 {
    let quantile = QUANTILES.iter().find(|(name, ..)| *name == statistic);
    match (statistic, quantile) {
        (_, Some((.., margin))) => *margin,
        ("sd" | "spread", _) => 0.20,
        _ => 0.05,
    }
}

/// Rows by name, those without a label first.
static INDEX: LazyLock<[BTreeMap<String, &'static Row>; 2]> = LazyLock::new(|| {
    let mut index = [BTreeMap::new(), BTreeMap::new()];
    for row in ROWS {
        let names = row.all().into_iter().map(|name| (name, row));
        index[usize::from(row.of != Of::Whole)].extend(names);
    }
    index
});

/// None for a name that a command may only report.
pub fn find(name: &str) -> Option<Found<'_>> {
    if name.starts_with(REPORTED) {
        return None;
    }
    let [whole, parts] = &*INDEX;
    if let Some(row) = whole.get(name) {
        return Some(Found {
            row,
            label: None,
            name,
        });
    }
    // A label may have points, as has `p99.9`.
    let mut points = name.match_indices('.').map(|(at, _)| name.split_at(at));
    points.find_map(|(label, rest)| {
        let rest = &rest[1..];
        let row = parts.get(rest).filter(|_| !label.is_empty())?;
        Some(Found {
            row,
            label: Some(label),
            name: rest,
        })
    })
}

/// All names on which a run can be decided: without a label, and those that come after one.
pub fn names() -> [Vec<&'static str>; 2] {
    let decides = |(_, row): &(&String, &&Row)| row.role == Role::Decides;
    [0, 1].map(|part| {
        let names = INDEX[part].iter().filter(decides);
        names.map(|(name, _)| name.as_str()).collect()
    })
}

#[cfg(test)]
#[path = "table_tests.rs"]
mod tests;
