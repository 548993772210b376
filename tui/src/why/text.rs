//! What `iosched why` prints for people, in lines of 80 columns.

use std::fmt::Write as _;

use iosched_result::report::why::WhyRecord;
use iosched_result::report::{escape, units};
use iosched_result::why::{WhyBehind, WhyDevice, WhyOwner};

use crate::ui::view::fit;

const WIDTH: usize = 80;
/// Rows of a disk in the table.
const MOST_ROWS: usize = 12;

pub fn render(record: &WhyRecord) -> String {
    let mut text = String::new();
    if let Some(arm) = &record.arm {
        let rounds = record.devices.iter().find_map(|device| device.rounds);
        let of = rounds.map_or("its trace".to_owned(), |rounds| format!("{rounds} rounds"));
        let of = match record.covered_share.filter(|share| *share < 0.95) {
            Some(share) => format!("{of} (the first {:.0} % of their time)", share * 100.0),
            None => of,
        };
        let _ = writeln!(text, "Under {}, in {of}:\n", escape::line(arm));
    }
    for sentence in &record.sentences {
        for line in fit::wrap(&escape::line(&sentence.text), WIDTH) {
            text += &line;
            text.push('\n');
        }
        if let Some(command) = &sentence.command {
            let _ = writeln!(text, "    {}", escape::line(command));
        }
        text.push('\n');
    }
    for device in record.devices.iter().filter(|of| !of.owners.is_empty()) {
        text += &table(device);
    }
    text
}

fn table(device: &WhyDevice) -> String {
    let depth = device
        .hardware_depth
        .map_or("-".to_owned(), |depth| depth.to_string());
    let scheduler = device.scheduler.as_deref().unwrap_or("scheduler unknown");
    let missing = match device.missing {
        0 => String::new(),
        missing => format!("  {missing} requests missing"),
    };
    let mut text = format!(
        "{}  {}  {depth} at once{missing}\n{:<34} {:>9} {:>11} {:>11}\n",
        escape::line(&device.device),
        escape::line(scheduler),
        "  who",
        "I/Os",
        "mean wait",
        "device"
    );
    for owner in device.owners.iter().take(MOST_ROWS) {
        text += &row(owner);
    }
    let more = device.owners.len().saturating_sub(MOST_ROWS);
    if more > 0 {
        let _ = writeln!(text, "  {more} more: --json");
    }
    text
}

fn row(owner: &WhyOwner) -> String {
    let mean = |ns: u64, of: u64| (of > 0).then(|| ns as f64 / of as f64);
    let who = who(owner.label(), owner.pid, owner.does.name());
    let mut text = format!(
        "  {:<32} {:>9} {:>11} {:>11}\n",
        fit::middle(&escape::line(&who), 32),
        units::count(owner.ios as f64),
        units::time(mean(owner.wait_ns, owner.waits)),
        units::time(mean(owner.service_ns, owner.ios)),
    );
    let share = |ns: u64| ns as f64 / owner.wait_ns.max(1) as f64;
    let of_behind = |of: &WhyBehind| (share(of.ns), who_of(of));
    let mut parts: Vec<(f64, String)> = owner.behind.iter().map(of_behind).collect();
    parts.push((share(owner.device_idle_ns), "device idle".to_owned()));
    parts.sort_by(|a, b| b.0.total_cmp(&a.0));
    for (share, what) in parts.iter().filter(|(share, _)| *share >= 0.01).take(4) {
        let what = fit::middle(&escape::line(what), 60);
        let _ = writeln!(text, "      {:>7} {what}", units::share(Some(*share)));
    }
    text
}

fn who(name: &str, pid: u32, does: &str) -> String {
    match pid {
        0 => format!("{name} {does}"),
        pid => format!("{name} {pid} {does}"),
    }
}

fn who_of(of: &WhyBehind) -> String {
    format!("behind {}", who(of.label(), of.pid, of.does.name()))
}
