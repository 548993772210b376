//! Renders waits in fsync, in the throttle of writers and for writeback. Pure.

use std::fmt::Write;

use iosched_result::report::page::{Column, Page};
use iosched_result::report::{escape, units};
use iosched_result::stat::{
    LiveElsewhere, LivePause, LiveSync, LiveSyncs, SyncPlace, SyncShare, SyncWho,
};

use super::text::{p50, p99};
use super::waits::HEADER;

/// A cause with less is not worth a word.
const LEAST_SHARE: f64 = 0.005;

pub fn render(page: &mut Page, syncs: &LiveSyncs, seconds: f64) {
    page.lines(&headline(syncs, seconds));
    calls(page, &syncs.calls);
    for (rows, what) in [
        (&syncs.throttled, "THROTTLED"),
        (&syncs.writeback, "WRITEBACK"),
    ] {
        pauses(page, rows, what);
    }
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
    for (sum, place, has_disks) in [
        (syncs.elsewhere, "on other disks or on none", true),
        (syncs.unplaced, "on file systems that are not found", false),
    ] {
        if sum.count > 0 {
            let time = units::time(Some(sum.ns as f64));
            let names = elsewhere(&syncs.elsewhere_by, has_disks);
            let _ = write!(text, "   {} waits of {time} {place}{names}", sum.count);
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
    text
}

/// The names of those with the longest waits.
fn elsewhere(all: &[LiveElsewhere], has_disks: bool) -> String {
    const NAMED: usize = 3;
    let its = all
        .iter()
        .filter(|of| of.place.devices.is_some() == has_disks);
    let names = its.filter_map(|of| {
        let name = escape::line(of.place.name.as_deref()?);
        let filesystem = of.place.filesystem.as_deref();
        Some(filesystem.map_or(name.clone(), |it| format!("{name} ({})", escape::line(it))))
    });
    let names: Vec<String> = names.take(NAMED).collect();
    if names.is_empty() {
        return String::new();
    }
    format!(": {}", names.join(", "))
}

fn named(who: &SyncWho, place: &SyncPlace) -> [String; 3] {
    let group = who.cgroup.as_ref().filter(|_| who.pid.is_none());
    let name = place.name.as_deref().map_or("-".to_owned(), escape::line);
    let place = match place.members.len() {
        0 => name,
        devices => format!("{name}, {devices} devices"),
    };
    [
        units::optional(who.pid),
        escape::line(group.unwrap_or(&who.comm)),
        place,
    ]
}

fn calls(page: &mut Page, rows: &[LiveSync]) {
    let columns = [
        Column::count("PID", 0),
        Column::name("COMM", 0),
        Column::name("WHERE", 2),
        Column::count("SYNCS", 0),
        Column::quantity("MEAN", 0),
        Column::quantity("p50", 5),
        Column::quantity("p99", 1),
        Column::count("OPEN", 3),
        Column::quantity("OLDEST", 4),
        Column::list(HEADER, 0),
    ];
    let cells = rows.iter().map(|row| {
        let [pid, name, place] = named(&row.who, &row.place);
        vec![
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
        ]
    });
    page.table(&columns, &cells.collect::<Vec<_>>());
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

fn pauses(page: &mut Page, rows: &[LivePause], what: &'static str) {
    let columns = [
        Column::count("PID", 0),
        Column::name("COMM", 0),
        Column::name("WHERE", 0),
        Column::count(what, 0),
        Column::quantity("MEAN", 0),
        Column::count("OF THE TIME", 0),
    ];
    let cells = rows.iter().map(|row| {
        let [pid, name, place] = named(&row.who, &row.place);
        let mean = (row.count > 0).then(|| row.ns as f64 / row.count as f64);
        vec![
            pid,
            name,
            place,
            row.count.to_string(),
            units::time(mean),
            units::share(Some(row.share)),
        ]
    });
    page.table(&columns, &cells.collect::<Vec<_>>());
}
