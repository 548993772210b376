//! Renders a record of `iosched stat` as CSV rows. Pure.

use iosched_result::report::escape;
use iosched_result::stat::{LatencySummary, LiveFile, LiveRecord};

pub const HEADER: [&str; 26] = [
    "time",
    "interval_s",
    "device",
    "scheduler",
    "pid",
    "comm",
    "cgroup",
    "reads",
    "writes",
    "async_writes",
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
    "file",
];

#[allow(clippy::too_many_lines)] // a table: one line per column
pub fn rows(record: &LiveRecord) -> Vec<Vec<String>> {
    let number = |value: Option<f64>| value.map_or(String::new(), |v| format!("{v:.0}"));
    let latencies = |wait: &LatencySummary, device: &LatencySummary| {
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
        let ios = |wanted: &[&str]| {
            let found = device
                .ops
                .iter()
                .filter(|op| wanted.contains(&op.op.name()));
            found.map(|op| op.ios).sum::<u64>().to_string()
        };
        let mut row = start(&device.device, device.scheduler.as_deref());
        row.extend([String::new(), String::new(), String::new()]);
        row.push(ios(&["read"]));
        row.push(ios(&["write_sync", "write_async"]));
        row.extend(
            [
                &["write_async"][..],
                &["flush"],
                &["discard"],
                &["zone", "other"],
            ]
            .map(ios),
        );
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
        row.push(String::new());
        rows.push(row);
    }
    for process in &record.processes {
        let mut row = start(&process.device, None);
        let pid = process.pid.map_or(String::new(), |pid| pid.to_string());
        row.extend([
            pid,
            escape::cell(&process.comm),
            escape::cell(process.cgroup.as_deref().unwrap_or_default()),
        ]);
        row.extend(
            [
                process.reads,
                process.writes,
                process.async_writes,
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
        let file = process.file.as_ref().map(LiveFile::label);
        row.extend([
            String::new(),
            String::new(),
            escape::cell(&file.unwrap_or_default()),
        ]);
        rows.push(row);
    }
    rows
}
