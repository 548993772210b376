//! The metric families that are exported, with their names, units and help: docs/exporter.md is made from it. Pure.

use iosched_result::measured::histogram::Histogram;
use iosched_result::measured::snapshot::{DeviceNumbers, DeviceOp, Op};
use iosched_result::report::escape;

use super::owners::{Key, Owners};
use super::spread::Spread;
use super::{about, devices};

#[derive(Clone, Debug)]
pub struct Family {
    /// Without the unit and the suffix of the kind.
    pub name: &'static str,
    pub help: &'static str,
    pub unit: Option<&'static str>,
    pub kind: Kind,
    pub samples: Vec<(Labels, Value)>,
}

impl Family {
    /// As in an exposition.
    pub fn whole_name(&self) -> String {
        let unit = self.unit.map(|unit| format!("_{unit}"));
        let end = match self.kind {
            Kind::Counter => "_total",
            Kind::Gauge | Kind::Histogram => "",
        };
        format!("{}{}{end}", self.name, unit.unwrap_or_default())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Counter,
    Gauge,
    Histogram,
}

pub type Labels = Vec<(&'static str, String)>;

#[derive(Clone, Debug)]
pub enum Value {
    Count(u64),
    Number(f64),
    Spread(Spread),
}

/// What is known of a disk beside its counts.
#[derive(Clone, Debug, Default)]
pub struct Disk {
    pub identity: Option<String>,
    pub model: Option<String>,
    pub firmware: Option<String>,
    pub scheduler: Option<String>,
    /// Numeric settings of the queue and of the scheduler.
    pub settings: Vec<(String, f64)>,
}

/// The exporter's own cost.
#[derive(Clone, Copy, Debug, Default)]
pub struct Own {
    pub cpu_s: Option<f64>,
    pub resident_bytes: Option<u64>,
    /// Run time of its BPF programs; None while the kernel does not count it (kernel.bpf_stats_enabled).
    pub bpf_s: Option<f64>,
    pub probe_bytes: u64,
}

/// What one exposition says.
pub struct View<'a> {
    pub version: &'a str,
    pub kernel: &'a str,
    pub disks: Vec<(&'a DeviceNumbers, &'a Disk)>,
    pub owners: &'a Owners,
    pub own: Own,
}

pub fn families(view: &View<'_>) -> Vec<Family> {
    let mut all = vec![Family {
        samples: vec![(
            vec![
                ("version", view.version.to_owned()),
                ("kernel", label(view.kernel)),
            ],
            Value::Count(1),
        )],
        ..gauge(
            "iosched_build",
            "1; its labels say what measures.",
            Some("info"),
        )
    }];
    all.extend(of_ops(view));
    all.extend(devices::counts(view));
    all.extend(devices::in_flight(view));
    all.extend(about::families(view));
    all.extend(of_owners(view.owners));
    all.extend(of_itself(view.own));
    // What is nowhere is left out: an absent series is not 0.
    all.retain(|family| !family.samples.is_empty());
    all
}

fn of_ops(view: &View<'_>) -> Vec<Family> {
    let each = |of: &dyn Fn(&DeviceOp) -> Option<Value>| {
        let mut samples = Vec::new();
        for (device, _) in &view.disks {
            for op in &device.ops {
                // An operation appears when the disk has done it once.
                let was_seen = op.ios > 0 || !op.d2c.is_empty();
                if let Some(value) = was_seen.then(|| of(op)).flatten() {
                    samples.push((labels(&device.name, Some(op.op)), value));
                }
            }
        }
        samples
    };
    let spread = |of: fn(&DeviceOp) -> (&Histogram, u64)| {
        each(&move |op| {
            let (histogram, sum_ns) = of(op);
            (!histogram.is_empty()).then(|| Value::Spread(Spread::of(histogram, sum_ns)))
        })
    };
    vec![
        Family {
            samples: each(&|op| Some(Value::Count(op.ios))),
            ..counter("iosched_ios", "Completed requests.", None)
        },
        Family {
            samples: each(&|op| Some(Value::Count(op.bytes))),
            ..counter("iosched_io", "Bytes of completed requests.", Some("bytes"))
        },
        Family {
            samples: spread(|op| (&op.q2d, op.q2d_sum_ns)),
            ..seconds(
                "iosched_queue_wait",
                "From queued to first issued to the driver (Q2D): what the scheduler and the queue cost. For flushes: how long writes waited for the flush before their data.",
            )
        },
        Family {
            samples: spread(|op| (&op.d2c, op.d2c_sum_ns)),
            ..seconds(
                "iosched_device_time",
                "From first issued to completed (D2C): the device and its driver.",
            )
        },
        Family {
            samples: spread(|op| (&op.q2c, op.q2c_sum_ns)),
            ..seconds("iosched_total_time", "From queued to completed (Q2C).")
        },
    ]
}

fn of_owners(owners: &Owners) -> Vec<Family> {
    let all = owners.all();
    let of = |value: fn(&super::owners::Counts) -> Value| -> Vec<(Labels, Value)> {
        let each = all.iter().flat_map(|(key, counts)| {
            let directions = ["read", "write"].into_iter().zip(counts);
            directions.map(|(direction, counts)| {
                let mut own = of_key(key);
                own.push(("direction", direction.to_owned()));
                (own, value(counts))
            })
        });
        each.collect()
    };
    vec![
        Family {
            samples: of(|it| Value::Count(it.ios)),
            ..counter(
                "iosched_process_ios",
                "Completed requests of the busiest commands in their control groups, over all disks; all others together are (others).",
                None,
            )
        },
        Family {
            samples: of(|it| Value::Count(it.bytes)),
            ..counter(
                "iosched_process_io",
                "Bytes of the completed requests of these commands.",
                Some("bytes"),
            )
        },
        Family {
            samples: of(|it| Value::Number(it.queue_wait_ns as f64 / 1e9)),
            ..counter(
                "iosched_process_queue_wait",
                "Queue wait (Q2D) of these commands, summed over requests.",
                Some("seconds"),
            )
        },
        Family {
            samples: of(|it| Value::Number(it.device_ns as f64 / 1e9)),
            ..counter(
                "iosched_process_device_time",
                "Device time (D2C) of these commands, summed over requests.",
                Some("seconds"),
            )
        },
        Family {
            samples: vec![(Labels::new(), Value::Count(owners.replaced))],
            ..counter(
                "iosched_process_series_replaced",
                "Commands that lost their series to busier ones.",
                None,
            )
        },
    ]
}

fn of_itself(own: Own) -> Vec<Family> {
    let one = |value: Option<Value>| -> Vec<(Labels, Value)> {
        value
            .map(|value| (Labels::new(), value))
            .into_iter()
            .collect()
    };
    vec![
        Family {
            samples: one(own.cpu_s.map(Value::Number)),
            ..counter(
                "iosched_exporter_cpu",
                "CPU time of the exporter itself.",
                Some("seconds"),
            )
        },
        Family {
            samples: one(own.resident_bytes.map(Value::Count)),
            ..gauge(
                "iosched_exporter_resident_memory",
                "Memory of the exporter that is resident.",
                Some("bytes"),
            )
        },
        Family {
            samples: one(own.bpf_s.map(Value::Number)),
            ..counter(
                "iosched_bpf_run_time",
                "Run time of its BPF programs, which is not CPU time of the exporter. Only where the kernel counts it: kernel.bpf_stats_enabled.",
                Some("seconds"),
            )
        },
        Family {
            samples: one(Some(Value::Count(own.probe_bytes))),
            ..gauge(
                "iosched_probe_memory",
                "Memory of the kernel's side.",
                Some("bytes"),
            )
        },
    ]
}

fn of_key(key: &Key) -> Labels {
    vec![
        ("process", label(&key.process)),
        ("cgroup", label(&key.cgroup)),
    ]
}

pub(super) fn labels(device: &str, op: Option<Op>) -> Labels {
    let device = ("device", label(device));
    let op = op.map(|op| ("operation", op.name().to_owned()));
    [device].into_iter().chain(op).collect()
}

/// A process chooses its name.
pub(super) fn label(text: &str) -> String {
    escape::line(text)
}

pub(super) fn counter(
    name: &'static str,
    help: &'static str,
    unit: Option<&'static str>,
) -> Family {
    family(name, help, unit, Kind::Counter)
}

pub(super) fn gauge(name: &'static str, help: &'static str, unit: Option<&'static str>) -> Family {
    family(name, help, unit, Kind::Gauge)
}

fn seconds(name: &'static str, help: &'static str) -> Family {
    family(name, help, Some("seconds"), Kind::Histogram)
}

fn family(
    name: &'static str,
    help: &'static str,
    unit: Option<&'static str>,
    kind: Kind,
) -> Family {
    Family {
        name,
        help,
        unit,
        kind,
        samples: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use iosched_result::measured::snapshot::InFlight;

    use super::*;

    #[test]
    fn the_page_has_a_row_for_each_metric() {
        let mut device = DeviceNumbers::new("sda");
        let read = &mut device.ops[0];
        (read.ios, read.bytes) = (1, 4096);
        for histogram in [&mut read.q2d, &mut read.d2c, &mut read.q2c] {
            histogram.record(1000);
        }
        device.in_flight = Some(InFlight::default());
        let disk = Disk {
            scheduler: Some("none".to_owned()),
            settings: vec![("nr_requests".to_owned(), 64.0)],
            ..Disk::default()
        };
        let all = families(&View {
            version: "1",
            kernel: "6.12",
            disks: vec![(&device, &disk)],
            owners: &Owners::new(1),
            own: Own {
                cpu_s: Some(1.0),
                resident_bytes: Some(1),
                bpf_s: Some(1.0),
                probe_bytes: 1,
            },
        });
        let names: BTreeSet<String> = all.iter().map(Family::whole_name).collect();
        assert_eq!(names.len(), all.len(), "no name twice");
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/exporter.md");
        let page = std::fs::read_to_string(page).expect("the page");
        let rows = page
            .lines()
            .filter_map(|line| line.strip_prefix("| `iosched_"));
        let rows = rows.filter_map(|row| Some(format!("iosched_{}", row.split('`').next()?)));
        assert_eq!(rows.collect::<BTreeSet<String>>(), names);
    }
}
