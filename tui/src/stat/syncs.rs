//! Renders waits in fsync, in the throttle of writers and for writeback. Pure.

use std::fmt::Write;

use iosched_result::report::{escape, units};
use iosched_result::stat::{LivePause, LiveSync, LiveSyncs, SyncPlace, SyncShare, SyncWho};

use super::detail::plain;
use super::text::{p50, p99};
use super::waits::HEADER;

pub const WHERE: &str = "WHERE";
/// A cause with less is not worth a word.
const LEAST_SHARE: f64 = 0.005;

pub fn render(syncs: &LiveSyncs, seconds: f64) -> String {
    let mut text = headline(syncs, seconds);
    if !syncs.calls.is_empty() {
        let _ = writeln!(text, "{}", calls(&syncs.calls));
    }
    for (rows, what) in [
        (&syncs.throttled, "THROTTLED"),
        (&syncs.writeback, "WRITEBACK"),
    ] {
        if !rows.is_empty() {
            let _ = writeln!(text, "{}", pauses(rows, what));
        }
    }
    text
}

fn headline(syncs: &LiveSyncs, seconds: f64) -> String {
    let of_interval = |ns: u64| units::share(Some(ns as f64 / (seconds * 1e9)));
    let mut text = "fsync and its like".to_owned();
    if let Some(pressure) = syncs.pressure {
        let _ = write!(
            text,
            "   pressure of I/O on this host: some {}, full {}",
            of_interval(pressure.some_ns),
            of_interval(pressure.full_ns)
        );
    }
    for (sum, place) in [
        (syncs.elsewhere, "on other disks"),
        (syncs.unplaced, "on file systems that are not found"),
    ] {
        if sum.count > 0 {
            let time = units::time(Some(sum.ns as f64));
            let _ = write!(text, "   {} waits of {time} {place}", sum.count);
        }
    }
    let losses = &syncs.losses;
    for (count, what) in [
        (losses.rows, "without room for their process"),
        (losses.threads, "not followed"),
        (losses.stacks, "for an unknown cause"),
        (losses.compat, "of 32-bit programs not looked at"),
    ] {
        if count > 0 {
            let _ = write!(text, "   {count} {what}");
        }
    }
    text + "\n"
}

fn named(who: &SyncWho, place: &SyncPlace) -> [String; 3] {
    let group = who.cgroup.as_ref().filter(|_| who.pid.is_none());
    let place = place.name.as_deref().map_or("-".to_owned(), escape::line);
    [
        units::optional(who.pid),
        escape::line(group.unwrap_or(&who.comm)),
        place,
    ]
}

fn calls(rows: &[LiveSync]) -> comfy_table::Table {
    let mut table = plain([
        "PID", "COMM", WHERE, "SYNCS", "MEAN", "p50", "p99", "OPEN", "OLDEST", HEADER,
    ]);
    for row in rows {
        let [pid, name, place] = named(&row.who, &row.place);
        table.add_row([
            pid,
            name,
            place,
            row.latency.count.to_string(),
            units::time(row.latency.mean_ns),
            p50(&row.latency),
            p99(&row.latency),
            row.under_way.to_string(),
            units::time(row.oldest_ns.map(|ns| ns as f64)),
            causes(&row.waits),
        ]);
    }
    table
}

fn causes(waits: &[SyncShare]) -> String {
    let said = waits.iter().filter(|wait| wait.share >= LEAST_SHARE);
    let said = said.map(|wait| format!("{:.0} % {}", wait.share * 100.0, wait.cause.name()));
    let said: Vec<String> = said.collect();
    if said.is_empty() {
        return "-".to_owned();
    }
    said.join(", ")
}

fn pauses(rows: &[LivePause], what: &str) -> comfy_table::Table {
    let mut table = plain(["PID", "COMM", WHERE, what, "MEAN", "OF THE TIME"]);
    for row in rows {
        let [pid, name, place] = named(&row.who, &row.place);
        let mean = (row.count > 0).then(|| row.ns as f64 / row.count as f64);
        table.add_row([
            pid,
            name,
            place,
            row.count.to_string(),
            units::time(mean),
            units::share(Some(row.share)),
        ]);
    }
    table
}
