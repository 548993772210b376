//! Renders a record of `iosched stat` as a table. Pure.

use comfy_table::{CellAlignment, Table, presets};
use iosched_result::measured::snapshot::{Edges, InFlight, Quality, StatusCount};
use iosched_result::report::{escape, units};
use iosched_result::stat::{LatencySummary, LiveDevice, LiveFile, LiveProcess, LiveRecord};

use super::{detail, syncs, throttled};
use crate::cli::DetailChoice;

pub fn render(record: &LiveRecord, wanted: &[DetailChoice]) -> String {
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
    if let Some(syncs) = &record.syncs {
        text += &syncs::render(syncs, record.interval_s);
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
        "{}  {}  depth {depth}  {} IOPS  {}  {}\n  \
         {wait} {}   device {}\n  \
         waiting {:.1}, at the device {:.1} on average; now {}\n  \
         {} waited, submitters stalled {}{}   merges {} back {} front {} rq   {}\n{}",
        device.device,
        device.scheduler.as_deref().unwrap_or("(gone)"),
        units::count(device.iops),
        units::throughput(device.bytes_per_s),
        record.time,
        spread(&device.queue_wait),
        spread(&device.device_time),
        device.mean_waiting,
        device.mean_at_device,
        now(device.in_flight),
        units::share(device.waited_share),
        units::share(Some(device.stalled_share)),
        blocked(device.in_flight).map_or_else(String::new, |blocked| format!(", {blocked}")),
        device.merges.back,
        device.merges.front,
        device.merges.rq,
        lost(
            &device.quality,
            &device.edges,
            device.without_queue_wait,
            &device.statuses
        ),
        throttled::line(device, record),
    )
}

fn oldest(in_flight: Option<InFlight>) -> String {
    units::time(in_flight.and_then(|now| now.oldest_ns).map(|ns| ns as f64))
}

/// Threads that wait for a request, if there are any.
fn blocked(in_flight: Option<InFlight>) -> Option<String> {
    let threads = in_flight?.blocked.filter(|threads| *threads > 0)?;
    Some(format!("{threads} blocked"))
}

/// Requests waiting + at the device, at the end of the interval.
fn now(in_flight: Option<InFlight>) -> String {
    let Some(now) = in_flight else {
        return "-".to_owned();
    };
    match now.queued + now.issued {
        0 => "0 + 0".to_owned(),
        _ => format!(
            "{} + {}, oldest {}",
            now.queued,
            now.issued,
            oldest(in_flight)
        ),
    }
}

/// Marked with `~` if few I/Os determine it.
pub(super) fn p50(latency: &LatencySummary) -> String {
    units::quantile(latency.p50_ns, latency.p50_is_of_few)
}

pub(super) fn p99(latency: &LatencySummary) -> String {
    units::quantile(latency.p99_ns, latency.p99_is_of_few)
}

fn spread(latency: &LatencySummary) -> String {
    format!(
        "p50 {} p99 {} max {}",
        p50(latency),
        p99(latency),
        units::time(latency.max_ns)
    )
}

/// The loss counters. Printed even if all are zero, to show that nothing was lost.
fn lost(q: &Quality, e: &Edges, without_queue_wait: u64, statuses: &[StatusCount]) -> String {
    let counts = [
        ("lost (tags outside the table)", q.lost),
        ("evicted", q.evicted),
        ("negative", q.negative),
        ("started late", q.started_late),
        ("unseen", q.unseen),
        ("unissued", q.unissued),
        ("owner overflow", q.owner_overflow),
        ("unrecorded", q.unrecorded),
        ("skipped by the kernel", q.skipped),
        ("errors", e.errors),
        ("requeues", e.requeues),
        ("partial", e.partial_completions),
        ("passthrough", e.passthrough),
        ("straddlers", e.straddlers),
        ("scheduler changes", e.switches),
        ("nowait retries", e.nowait_retries),
        ("failed over", e.failed_over),
        ("without queue wait", without_queue_wait),
    ];
    those_seen(&counts, statuses)
}

/// The counts that are not 0.
pub(super) fn those_seen(counts: &[(&str, u64)], statuses: &[StatusCount]) -> String {
    let statuses = statuses
        .iter()
        .map(|status| (status.status.as_str(), status.count));
    let seen: Vec<String> = counts
        .iter()
        .copied()
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
    let is_by_file = rows.iter().any(|row| row.file.is_some());
    let last = if is_by_file { "FILE" } else { "CGROUP" };
    table.set_header([
        "PID", "COMM", "READ/s", "WRITE/s", "BYTES/s", "WAIT p50", "p99", "max", "STALL",
        "DEV p50", "p99", "max", "MERGES", "NOW", "OLDEST", last,
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
            p50(&row.queue_wait),
            p99(&row.queue_wait),
            units::time(row.queue_wait.max_ns),
            units::share(Some(row.stalled_share)),
            p50(&row.device_time),
            p99(&row.device_time),
            units::time(row.device_time.max_ns),
            (row.merges.back + row.merges.front + row.merges.rq).to_string(),
            row.in_flight.map_or("-".to_owned(), |now| {
                let requests = format!("{} + {}", now.queued, now.issued);
                match blocked(row.in_flight) {
                    Some(blocked) => format!("{blocked}, {requests}"),
                    None => requests,
                }
            }),
            oldest(row.in_flight),
            where_it_belongs(row, is_by_file),
        ]);
    }
    for index in (0..15).filter(|index| *index != 1) {
        if let Some(column) = table.column_mut(index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    format!("{table}\n")
}

/// Its file or its control group.
fn where_it_belongs(row: &LiveProcess, is_by_file: bool) -> String {
    let file = row.file.as_ref().map(LiveFile::label);
    let name = file.or_else(|| row.cgroup.clone().filter(|_| !is_by_file));
    escape::line(&name.unwrap_or("-".to_owned()))
}

#[cfg(test)]
#[path = "text_tests.rs"]
mod tests;
