//! `iosched why`: who waits behind whom.

use std::cell::RefCell;
use std::fmt::Write as _;
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant, SystemTime};

use anyhow::Result;
use iosched_files::{interrupt, stdout};
use iosched_host::safety::privileges;
use iosched_host::scheduler;
use iosched_host::system::cgroup::names::Names;
use iosched_host::system::device::Device;
use iosched_measure::probe::{Detail, Probe};
use iosched_result::report::{escape, units};
use iosched_result::why::{self, DiskFacts, WhyBehind, WhyDevice, WhyOwner, WhyRecord};

use crate::cli::Why;
use crate::stat::{devices, group, is_below, say};
use crate::ui::view::fit;

const WIDTH: usize = 80;
/// Whether there is still room is asked so often.
const LOOK: Duration = Duration::from_millis(200);
/// Rows of a disk in the table.
const MOST_ROWS: usize = 12;

pub fn run(arguments: &Why) -> Result<()> {
    let cgroup = group(&arguments.whose)?;
    let devices = devices(&arguments.devices)?;
    let mut probe = Probe::attach(&devices, 0, Detail::default())?;
    say(&probe.notes());
    privileges::keep_those_of_a_watch()?;
    let mut err = std::io::stderr();
    if err.is_terminal() {
        let time = units::duration(arguments.time.as_secs_f64());
        let _ = writeln!(err, "looking for {time}; Ctrl-C ends it earlier");
    }
    let mut facts: Vec<DiskFacts> = devices.iter().map(facts).collect();
    // What was in service at the attach has mostly ended then; what has not is counted as missing.
    interrupt::sleep_until(Instant::now() + LOOK)?;
    probe.begin_stretch();
    let end = Instant::now() + arguments.time;
    // After Ctrl-C the report is about the time until then.
    let mut is_interrupted = Ok(());
    while is_interrupted.is_ok() && Instant::now() < end && !probe.is_stretch_full() {
        is_interrupted = interrupt::sleep_until(end.min(Instant::now() + LOOK));
    }
    let stretch = probe.end_stretch()?;
    if is_interrupted.is_ok() && stretch.time_s() < arguments.time.as_secs_f64() {
        let (requests, time) = (
            stretch.requests.len(),
            units::time(Some(stretch.time_s() * 1e9)),
        );
        say(&[format!(
            "there was room for {requests} requests, which came in {time}: what follows is about that time"
        )]);
    }
    for (facts, device) in facts.iter_mut().zip(&devices) {
        note_change(facts, device);
    }
    let names = RefCell::new(Names::default());
    let keeps = |owner: &WhyOwner| {
        let path = || names.borrow_mut().path(owner.cgroup_id).unwrap_or_default();
        arguments.whose.pid.is_none_or(|pid| pid == owner.pid)
            && cgroup
                .as_ref()
                .is_none_or(|wanted| is_below(&path(), wanted))
    };
    let time = humantime::format_rfc3339_millis(SystemTime::now()).to_string();
    let owner = |row| probe.owner(row);
    let record = why::why(&stretch, &facts, time, &owner, &keeps);
    let mut out = stdout::lines();
    if arguments.json {
        let line = escape::json(&serde_json::to_string(&record)?);
        writeln!(out, "{line}")?;
    } else {
        out.write_all(render(&record).as_bytes())?;
    }
    drop(out);
    is_interrupted
}

fn facts(device: &Device) -> DiskFacts {
    let choice = scheduler::choice(device).ok();
    let active = choice.as_ref().map(|choice| choice.active.clone());
    let others = choice.map(|choice| choice.available).unwrap_or_default();
    DiskFacts {
        name: device.name.clone(),
        others: others
            .into_iter()
            .filter(|name| Some(name) != active.as_ref())
            .collect(),
        scheduler: active,
        hardware_depth: depth(device),
    }
}

/// Requests that the device takes at once, in all of its hardware queues; None where that is in doubt.
fn depth(device: &Device) -> Option<u32> {
    let of_each = device.hardware_depth()?.depth;
    let queues = device.hardware_queues().max(1) as u32;
    // A SCSI disk has a limit of its own, and its hardware queues may share their tags.
    let text = device.optional_attribute("device/queue_depth");
    let limit: Option<u32> = text.and_then(|text| text.parse().ok());
    match limit {
        Some(limit) if queues == 1 => Some(limit.min(of_each)),
        Some(limit) => Some(limit),
        None => Some(of_each.saturating_mul(queues)),
    }
}

/// The numbers of two schedulers together are those of none.
fn note_change(facts: &mut DiskFacts, device: &Device) {
    let now = scheduler::choice(device).ok().map(|choice| choice.active);
    if now != facts.scheduler {
        let name = |scheduler: &Option<String>| scheduler.clone().unwrap_or("(gone)".to_owned());
        let (was, is) = (name(&facts.scheduler), name(&now));
        let device = &device.name;
        say(&[format!(
            "the scheduler of {device} was changed meanwhile, from {was} to {is}"
        )]);
        facts.scheduler = None;
    }
}

fn render(record: &WhyRecord) -> String {
    let mut text = String::new();
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
    let scheduler = device.scheduler.as_deref().unwrap_or("scheduler changed");
    let missing = match device.missing {
        0 => String::new(),
        missing => format!("  {missing} requests missing"),
    };
    let mut text = format!(
        "{}  {}  {depth} at once{missing}\n{:<34} {:>9} {:>11} {:>11}\n",
        device.device,
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
    let who = who(&owner.name, owner.pid, owner.does.name());
    let mut text = format!(
        "  {:<32} {:>9} {:>11} {:>11}\n",
        fit::clip(&escape::line(&who), 32),
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
        let what = fit::clip(&escape::line(what), 60);
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
    format!("behind {}", who(&of.name, of.pid, of.does.name()))
}
