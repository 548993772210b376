//! Renders a record of `iosched stat` as a table. Pure.

use iosched_result::measured::snapshot::{Edges, InFlight, OwnerKind, Quality, StatusCount};
use iosched_result::report::page::{Column, Page};
use iosched_result::report::{escape, units};
use iosched_result::stat::{LatencySummary, LiveDevice, LiveFile, LiveProcess, LiveRecord};

use super::{detail, syncs, throttled};
use crate::cli::DetailChoice;

/// `width`: of the terminal; without one, everything is there.
pub fn render(record: &LiveRecord, wanted: &[DetailChoice], width: Option<usize>) -> Page {
    let mut page = Page::new(width);
    for device in &record.devices {
        page.lines(&device_lines(device, record));
        detail::device_lines(&mut page, device, wanted);
        let rows: Vec<&LiveProcess> = record
            .processes
            .iter()
            .filter(|row| row.device == device.device)
            .collect();
        table(&mut page, &rows);
        detail::process_lines(&mut page, &rows, wanted);
    }
    let others: Vec<&LiveProcess> = record
        .processes
        .iter()
        .filter(|row| row.device.is_empty())
        .collect();
    if !others.is_empty() {
        page.lines("all devices");
        table(&mut page, &others);
    }
    if let Some(syncs) = &record.syncs {
        syncs::render(&mut page, syncs, record.interval_s);
    }
    page
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
        ("under way at the attach", q.started_before),
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

/// The columns; the last one has what a row belongs to, and without that some rows are only numbers.
fn columns(rows: &[&LiveProcess]) -> [Column; 16] {
    let is_by_file = rows.iter().any(|row| row.file.is_some());
    let has_groups = rows
        .iter()
        .any(|row| row.pid.is_none() && row.kind == OwnerKind::Process);
    let last = match (is_by_file, has_groups) {
        (true, _) => Column::name("FILE", 0),
        (false, true) => Column::name("CGROUP", 0),
        (false, false) => Column::name("CGROUP", 3),
    };
    [
        Column::count("PID", 0),
        Column::name("COMM", 0),
        Column::count("READ/s", 0),
        Column::count("WRITE/s", 0),
        Column::quantity("BYTES/s", 1),
        Column::quantity("WAIT p50", 2),
        Column::quantity("WAIT p99", 0),
        Column::quantity("WAIT max", 8),
        Column::count("STALL", 4),
        Column::quantity("DEV p50", 5),
        Column::quantity("DEV p99", 0),
        Column::quantity("DEV max", 9),
        Column::count("MERGES", 10),
        Column::quantity("NOW", 6),
        Column::quantity("OLDEST", 7),
        last,
    ]
}

fn table(page: &mut Page, rows: &[&LiveProcess]) {
    let columns = columns(rows);
    let is_by_file = rows.iter().any(|row| row.file.is_some());
    let rows: Vec<Vec<String>> = rows.iter().map(|row| cells(row, is_by_file)).collect();
    page.table(&columns, &rows);
}

fn cells(row: &LiveProcess, is_by_file: bool) -> Vec<String> {
    let per_second = |n: u64| match row.ios {
        0 => 0.0,
        ios => row.iops * n as f64 / ios as f64,
    };
    let now = row.in_flight.map_or("-".to_owned(), |now| {
        let requests = format!("{} + {}", now.queued, now.issued);
        match blocked(row.in_flight) {
            Some(blocked) => format!("{blocked}, {requests}"),
            None => requests,
        }
    });
    vec![
        row.pid.map_or("-".to_owned(), |pid| pid.to_string()),
        escape::line(&row.comm),
        units::count(per_second(row.reads)),
        units::count(per_second(row.writes)),
        units::throughput(row.bytes_per_s),
        p50(&row.queue_wait),
        p99(&row.queue_wait),
        units::time(row.queue_wait.max_ns),
        units::share(Some(row.stalled_share)),
        p50(&row.device_time),
        p99(&row.device_time),
        units::time(row.device_time.max_ns),
        (row.merges.back + row.merges.front + row.merges.rq).to_string(),
        now,
        oldest(row.in_flight),
        where_it_belongs(row, is_by_file),
    ]
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
