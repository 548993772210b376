//! A record of `iosched stat` as a table. Pure.

use comfy_table::{CellAlignment, Table, presets};
use iosched::report::live::{Latency, LiveDevice, LiveProcess, LiveRecord};
use iosched::report::{escape, units};

use super::detail;
use crate::cli::Detail;

pub fn render(record: &LiveRecord, wanted: &[Detail]) -> String {
    let mut text = String::new();
    for device in &record.devices {
        text += &device_lines(device, record);
        text += &detail::device_lines(device, wanted);
        let rows: Vec<&LiveProcess> = record
            .processes
            .iter()
            .filter(|row| row.device == device.device)
            .collect();
        if !rows.is_empty() {
            text += &table(&rows);
            text += &detail::process_lines(&rows, wanted);
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
        "{}  {}  depth {depth}  {} IOPS  {}  merges {} back {} front {} rq  {}\n  \
         {wait} {}   device {}\n  \
         waiting {:.1}, at the device {:.1} on average; {} waited   {}\n",
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
        device.mean_waiting,
        device.mean_at_device,
        units::share(device.waited_share),
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
        ("straddlers", e.straddlers),
        ("scheduler changes", e.switches),
    ];
    let statuses = device
        .statuses
        .iter()
        .map(|status| (status.status.as_str(), status.count));
    let seen: Vec<String> = counts
        .into_iter()
        .chain(statuses)
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
        table.add_row([
            row.pid.map_or("-".to_owned(), |pid| pid.to_string()),
            escape::line(&row.comm),
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
            escape::line(row.cgroup.as_deref().unwrap_or("-")),
        ]);
    }
    for index in (0..12).filter(|index| *index != 1) {
        if let Some(column) = table.column_mut(index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    format!("{table}\n")
}
