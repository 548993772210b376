//! The metric families that are exported, with their names, units and help: docs/exporter.md is made from it. Pure.

use iosched_result::measured::histogram::Histogram;
use iosched_result::measured::snapshot::{DeviceNumbers, DeviceOp, InFlight, Op};
use iosched_result::report::escape;

use super::owners::{Key, Owners};
use super::spread::Spread;

#[derive(Clone, Debug)]
pub struct Family {
    /// Without the unit and the suffix of the kind.
    pub name: &'static str,
    pub help: &'static str,
    pub unit: Option<&'static str>,
    pub kind: Kind,
    pub samples: Vec<(Labels, Value)>,
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
    all.extend(of_devices(view));
    all.extend(in_flight(view));
    all.extend(of_disks(view));
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

fn of_devices(view: &View<'_>) -> Vec<Family> {
    let count = |name, help, of: fn(&DeviceNumbers) -> u64| Family {
        samples: view
            .disks
            .iter()
            .map(|(device, _)| (labels(&device.name, None), Value::Count(of(device))))
            .collect(),
        ..counter(name, help, None)
    };
    vec![
        count("iosched_merged_bios", "Bios merged into a request.", |it| {
            it.merges.bios()
        }),
        count(
            "iosched_merged_requests",
            "Requests merged into another request.",
            |it| it.merges.rq,
        ),
        count("iosched_errors", "Requests that failed.", |it| {
            it.edges.errors
        }),
        count(
            "iosched_requeues",
            "How often the driver returned a request.",
            |it| it.edges.requeues,
        ),
        count(
            "iosched_scheduler_changes",
            "Changes of the scheduler, made by any process.",
            |it| it.edges.switches,
        ),
        count(
            "iosched_straddlers",
            "Requests started under one scheduler and completed under another: in no other count.",
            |it| it.edges.straddlers,
        ),
        count(
            "iosched_lost",
            "Requests that a histogram lacks because of the probe. Above 0.1 % of the I/Os, percentiles are doubtful.",
            |it| it.quality.lost_events(),
        ),
        count(
            "iosched_throttled_bios",
            "Bios that a limit of a control group (io.max) held back before they were queued.",
            |it| it.edges.throttled,
        ),
        Family {
            samples: view
                .disks
                .iter()
                .map(|(device, _)| {
                    let stalled = device.stalled_ns as f64 / 1e9;
                    (labels(&device.name, None), Value::Number(stalled))
                })
                .collect(),
            ..counter(
                "iosched_stalled",
                "Time that threads with other I/O in flight were blocked until they got a request for the next one, summed over threads.",
                Some("seconds"),
            )
        },
        waits(view),
    ]
}

fn in_flight(view: &View<'_>) -> Vec<Family> {
    let number = |name, help, unit, of: fn(InFlight) -> f64| Family {
        samples: view
            .disks
            .iter()
            .filter_map(|(device, _)| {
                let value = of(device.in_flight?);
                Some((labels(&device.name, None), Value::Number(value)))
            })
            .collect(),
        ..gauge(name, help, unit)
    };
    vec![
        number(
            "iosched_queued",
            "Requests that are started and not yet issued.",
            Some("requests"),
            |now| now.queued as f64,
        ),
        number(
            "iosched_issued",
            "Requests that are issued and not yet completed.",
            Some("requests"),
            |now| now.issued as f64,
        ),
        number(
            "iosched_oldest",
            "Age of the oldest request in flight; 0 without one.",
            Some("seconds"),
            |now| now.oldest_ns.unwrap_or(0) as f64 / 1e9,
        ),
    ]
}

/// Threads that slept until they got a request, by the pool whose tag they waited for.
fn waits(view: &View<'_>) -> Family {
    let mut samples = Vec::new();
    for (device, _) in &view.disks {
        let waits = &device.waits;
        let tags = [
            ("driver_tag", waits.driver_tag),
            ("scheduler_tag", waits.scheduler_tag),
            ("reserved_tag", waits.reserved_tag),
        ];
        let known: u64 = tags.iter().map(|(_, wait)| wait.ns).sum();
        let other = waits.slept.ns.saturating_sub(known);
        let all = tags.map(|(name, wait)| (name, wait.ns));
        for (name, ns) in all.into_iter().chain([("other", other)]) {
            let mut labels = labels(&device.name, None);
            labels.push(("for", name.to_owned()));
            samples.push((labels, Value::Number(ns as f64 / 1e9)));
        }
    }
    Family {
        samples,
        ..counter(
            "iosched_request_wait",
            "Time that requests' threads slept until they got them, by what for: a tag of the driver, of the scheduler (nr_requests), a reserved one, or something else (throttling, a change of the scheduler).",
            Some("seconds"),
        )
    }
}

fn of_disks(view: &View<'_>) -> Vec<Family> {
    let mut about = Vec::new();
    let mut schedulers = Vec::new();
    let mut settings = Vec::new();
    for (device, disk) in &view.disks {
        let known = [
            ("identity", &disk.identity),
            ("model", &disk.model),
            ("firmware", &disk.firmware),
        ];
        let mut own = labels(&device.name, None);
        own.extend(
            known
                .into_iter()
                .filter_map(|(name, value)| Some((name, label(value.as_ref()?)))),
        );
        about.push((own, Value::Count(1)));
        if let Some(scheduler) = &disk.scheduler {
            let mut own = labels(&device.name, None);
            own.push(("scheduler", label(scheduler)));
            schedulers.push((own, Value::Count(1)));
        }
        for (name, value) in &disk.settings {
            let mut own = labels(&device.name, None);
            own.push(("setting", label(name)));
            settings.push((own, Value::Number(*value)));
        }
    }
    vec![
        Family {
            samples: about,
            ..gauge(
                "iosched_disk",
                "1; its labels say which disk it is. The identity stays when the kernel calls it otherwise.",
                Some("info"),
            )
        },
        Family {
            samples: schedulers,
            ..gauge(
                "iosched_scheduler",
                "1; its label is the scheduler in force.",
                Some("info"),
            )
        },
        Family {
            samples: settings,
            ..gauge(
                "iosched_setting",
                "Numeric settings below queue/ of the disk, as in sysfs.",
                None,
            )
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
            ..counter("iosched_process_io", "Their bytes.", Some("bytes"))
        },
        Family {
            samples: of(|it| Value::Number(it.queue_wait_ns as f64 / 1e9)),
            ..counter(
                "iosched_process_queue_wait",
                "Their queue wait (Q2D), summed over requests.",
                Some("seconds"),
            )
        },
        Family {
            samples: of(|it| Value::Number(it.device_ns as f64 / 1e9)),
            ..counter(
                "iosched_process_device_time",
                "Their device time (D2C), summed over requests.",
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
            ..counter("process_cpu", "CPU time of the exporter.", Some("seconds"))
        },
        Family {
            samples: one(own.resident_bytes.map(Value::Count)),
            ..gauge(
                "process_resident_memory",
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

fn labels(device: &str, op: Option<Op>) -> Labels {
    let device = ("device", label(device));
    let op = op.map(|op| ("operation", op.name().to_owned()));
    [device].into_iter().chain(op).collect()
}

/// A process chooses its name.
fn label(text: &str) -> String {
    escape::line(text)
}

fn counter(name: &'static str, help: &'static str, unit: Option<&'static str>) -> Family {
    family(name, help, unit, Kind::Counter)
}

fn gauge(name: &'static str, help: &'static str, unit: Option<&'static str>) -> Family {
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
