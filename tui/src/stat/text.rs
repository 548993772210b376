//! A record of `iosched stat` as a table and as rows of CSV. Pure.

use comfy_table::{CellAlignment, Table, presets};
use iosched::report::live::{Latency, LiveDevice, LiveProcess, LiveRecord};
use iosched::report::units;

pub fn render(record: &LiveRecord) -> String {
    let mut text = String::new();
    for device in &record.devices {
        text += &device_lines(device, record);
        let rows: Vec<&LiveProcess> = record
            .processes
            .iter()
            .filter(|row| row.device == device.device)
            .collect();
        if !rows.is_empty() {
            text += &table(&rows);
        }
    }
    let others: Vec<&LiveProcess> = record
        .processes
        .iter()
        .filter(|row| row.device.is_empty())
        .collect();
    if !others.is_empty() {
        text += "all devices\n";
        text += &table(&others);
    }
    text
}

fn device_lines(device: &LiveDevice, record: &LiveRecord) -> String {
    let depth = device
        .hardware_depth
        .map_or("-".to_owned(), |depth| depth.to_string());
    let wait = if record.queue_wait_is_g2d {
        "queue wait (G2D)"
    } else {
        "queue wait"
    };
    format!(
        "{}  {}  depth {depth}  {} IOPS  {}  merges {} back {} front {} rq  {}\n  {wait} {}   device {}\n  {}\n",
        device.device,
        device.scheduler.as_deref().unwrap_or("(gone)"),
        units::count(device.iops),
        units::throughput(device.bytes_per_s),
        device.merges.back,
        device.merges.front,
        device.merges.rq,
        record.time,
        spread(&device.queue_wait),
        spread(&device.device_time),
        lost(device),
    )
}

fn spread(latency: &Latency) -> String {
    format!(
        "p50 {} p99 {} max {}",
        units::time(latency.p50_ns),
        units::time(latency.p99_ns),
        units::time(latency.max_ns)
    )
}

/// The counters of loss: always there, so that their absence says something.
fn lost(device: &LiveDevice) -> String {
    let (q, e) = (&device.quality, &device.edges);
    let counts = [
        ("lost", q.lost),
        ("evicted", q.evicted),
        ("negative", q.negative),
        ("started late", q.started_late),
        ("unseen", q.unseen),
        ("unissued", q.unissued),
        ("owner overflow", q.owner_overflow),
        ("skipped by the kernel", q.skipped),
        ("errors", e.errors),
        ("requeues", e.requeues),
        ("partial", e.partial_completions),
        ("passthrough", e.passthrough),
    ];
    let seen: Vec<String> = counts
        .iter()
        .filter(|(_, n)| *n > 0)
        .map(|(name, n)| format!("{name} {n}"))
        .collect();
    if seen.is_empty() {
        "nothing lost".to_owned()
    } else {
        seen.join(", ")
    }
}

fn table(rows: &[&LiveProcess]) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header([
        "PID", "COMM", "READ/s", "WRITE/s", "BYTES/s", "WAIT p50", "p99", "max", "DEV p50", "p99",
        "max", "MERGES", "CGROUP",
    ]);
    let seconds = |row: &LiveProcess, n: u64| {
        if row.ios == 0 {
            0.0
        } else {
            row.iops * n as f64 / row.ios as f64
        }
    };
    for row in rows {
        let name = if row.is_kernel_thread {
            format!("[{}]", row.comm)
        } else {
            row.comm.clone()
        };
        table.add_row([
            row.pid.map_or("-".to_owned(), |pid| pid.to_string()),
            printable(&name),
            units::count(seconds(row, row.reads)),
            units::count(seconds(row, row.writes)),
            units::throughput(row.bytes_per_s),
            units::time(row.queue_wait.p50_ns),
            units::time(row.queue_wait.p99_ns),
            units::time(row.queue_wait.max_ns),
            units::time(row.device_time.p50_ns),
            units::time(row.device_time.p99_ns),
            units::time(row.device_time.max_ns),
            (row.merges.back + row.merges.front + row.merges.rq).to_string(),
            printable(row.cgroup.as_deref().unwrap_or("-")),
        ]);
    }
    for index in (0..12).filter(|index| *index != 1) {
        if let Some(column) = table.column_mut(index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    format!("{table}\n")
}

/// Names come from outside; control characters must not reach the terminal.
fn printable(name: &str) -> String {
    name.chars()
        .map(|c| if c.is_control() { '?' } else { c })
        .collect()
}

pub const CSV_HEADER: [&str; 24] = [
    "time",
    "interval_s",
    "device",
    "scheduler",
    "pid",
    "comm",
    "cgroup",
    "reads",
    "writes",
    "flushes",
    "discards",
    "others",
    "bytes",
    "queue_wait_p50_ns",
    "queue_wait_p99_ns",
    "queue_wait_max_ns",
    "device_p50_ns",
    "device_p99_ns",
    "device_max_ns",
    "back_merges",
    "front_merges",
    "rq_merges",
    "lost_events",
    "unseen",
];

pub fn csv_rows(record: &LiveRecord) -> Vec<Vec<String>> {
    let number = |value: Option<f64>| value.map_or(String::new(), |v| format!("{v:.0}"));
    let latencies = |wait: &Latency, device: &Latency| {
        [
            wait.p50_ns,
            wait.p99_ns,
            wait.max_ns,
            device.p50_ns,
            device.p99_ns,
            device.max_ns,
        ]
        .map(number)
    };
    let start = |device: &str, scheduler: Option<&str>| {
        vec![
            record.time.clone(),
            format!("{:.6}", record.interval_s),
            device.to_owned(),
            scheduler.unwrap_or_default().to_owned(),
        ]
    };
    let mut rows = Vec::new();
    for device in &record.devices {
        let ios = |wanted: &str| {
            let found = device.ops.iter().find(|op| op.op.name() == wanted);
            found.map_or(0, |op| op.ios).to_string()
        };
        let mut row = start(&device.device, device.scheduler.as_deref());
        row.extend([String::new(), String::new(), String::new()]);
        row.extend(["read", "write", "flush", "discard", "other"].map(ios));
        row.push(
            device
                .ops
                .iter()
                .map(|op| op.bytes)
                .sum::<u64>()
                .to_string(),
        );
        row.extend(latencies(&device.queue_wait, &device.device_time));
        row.extend(
            [device.merges.back, device.merges.front, device.merges.rq].map(|n| n.to_string()),
        );
        row.extend([device.quality.lost_events(), device.quality.unseen].map(|n| n.to_string()));
        rows.push(row);
    }
    for process in &record.processes {
        let mut row = start(&process.device, None);
        let pid = process.pid.map_or(String::new(), |pid| pid.to_string());
        row.extend([
            pid,
            process.comm.clone(),
            process.cgroup.clone().unwrap_or_default(),
        ]);
        row.extend(
            [
                process.reads,
                process.writes,
                process.flushes,
                process.discards,
                process.others,
                process.bytes,
            ]
            .map(|n| n.to_string()),
        );
        row.extend(latencies(&process.queue_wait, &process.device_time));
        row.extend(
            [process.merges.back, process.merges.front, process.merges.rq].map(|n| n.to_string()),
        );
        row.extend([String::new(), String::new()]);
        rows.push(row);
    }
    rows
}
