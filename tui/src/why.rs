//! `iosched why`: who waits behind whom.

mod file; // of a result, or of blkparse's text
mod text;

use std::cell::RefCell;
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant, SystemTime};

use anyhow::Result;
use iosched_files::{interrupt, stdout};
use iosched_host::safety::privileges;
use iosched_host::scheduler;
use iosched_host::system::cgroup::names::Names;
use iosched_host::system::device::Device;
use iosched_measure::probe::{Detail, Probe};
use iosched_result::measured::snapshot::Interval;
use iosched_result::report::why::{self, Counted, Keeps, WhyRecord};
use iosched_result::report::{escape, units};
use iosched_result::stat::Selection;
use iosched_result::why::{DiskFacts, Stretch};

use crate::cli::{Why, WhyBy};
use crate::stat::{devices, group, is_below, say};
use crate::syncs::Syncs;

/// Whether there is still room is asked so often.
const LOOK: Duration = Duration::from_millis(200);
/// How long to look, if nothing else is asked for.
const TIME: Duration = Duration::from_secs(10);

pub fn run(arguments: &Why) -> Result<()> {
    if let Some(file) = file::named(&arguments.devices) {
        return print(&file::records(file, arguments)?, arguments.json);
    }
    let asked = arguments.time.unwrap_or(TIME);
    let cgroup = group(&arguments.whose)?;
    let devices = devices(&arguments.devices)?;
    let detail = Detail {
        files: arguments.by == WhyBy::File,
        ..Detail::default()
    };
    let with_dirtiers = Detail {
        writeback: true,
        ..detail
    };
    // A kernel that is locked down does not tell who dirtied the pages.
    let mut probe = Probe::attach(&devices, 0, with_dirtiers)
        .or_else(|_| Probe::attach(&devices, 0, detail))?;
    say(&probe.notes());
    let mut syncs = attach_syncs();
    privileges::keep_those_of_a_watch()?;
    let mut err = std::io::stderr();
    if err.is_terminal() {
        let time = units::duration(asked.as_secs_f64());
        let _ = writeln!(err, "looking for {time}; Ctrl-C ends it earlier");
    }
    let mut facts: Vec<DiskFacts> = devices.iter().map(facts).collect();
    // What was in service at the attach has mostly ended then; what has not is counted as missing.
    interrupt::sleep_until(Instant::now() + LOOK)?;
    let earlier = probe.snapshot_of_counters()?;
    if let Some(syncs) = &mut syncs {
        syncs.begin()?;
    }
    probe.begin_stretch();
    let end = Instant::now() + asked;
    // After Ctrl-C the report is about the time until then.
    let mut is_interrupted = Ok(());
    while is_interrupted.is_ok() && Instant::now() < end && !probe.is_stretch_full() {
        is_interrupted = interrupt::sleep_until(end.min(Instant::now() + LOOK));
    }
    let stretch = probe.end_stretch()?;
    let later = probe.snapshot_of_counters()?;
    let interval = Interval::between(&earlier, &later)?;
    if is_interrupted.is_ok() {
        say_if_full(&stretch, asked);
    }
    for (facts, device) in facts.iter_mut().zip(&devices) {
        note_change(facts, device);
    }
    let names = RefCell::new(Names::default());
    let path = |id| names.borrow_mut().path(id);
    let is_asked_for = |pid: u32, cgroup_id: u64| {
        arguments.whose.pid.is_none_or(|wanted| wanted == pid)
            && cgroup.as_ref().is_none_or(|wanted| {
                let path = path(cgroup_id).unwrap_or_default();
                is_below(&path, wanted)
            })
    };
    let keeps = Keeps {
        rows: &|owner| is_asked_for(owner.pid, owner.cgroup_id),
        owners: &|owner| is_asked_for(owner.key.tgid, owner.key.cgroup_id),
    };
    let asked_for = AskedFor(&is_asked_for);
    let syncs = syncs.as_mut().map(|syncs| syncs.next(&devices, &asked_for));
    let syncs = syncs.transpose()?;
    let counted = Counted {
        interval: &interval,
        syncs: syncs.as_ref(),
        cgroup_path: &path,
    };
    let time = humantime::format_rfc3339_millis(SystemTime::now()).to_string();
    let owner = |row| probe.owner(row);
    let record = why::why(&stretch, &facts, time, &owner, &keeps, Some(&counted));
    print(&[record], arguments.json)?;
    is_interrupted
}

fn say_if_full(stretch: &Stretch, asked: Duration) {
    if stretch.time_s() >= asked.as_secs_f64() {
        return;
    }
    let (requests, time) = (
        stretch.requests().len(),
        units::time(Some(stretch.time_s() * 1e9)),
    );
    say(&[format!(
        "there was room for {requests} requests, which came in {time}: what follows is about that time"
    )]);
}

/// If the kernel refuses these programs, the report does without them, and a note says so.
fn attach_syncs() -> Option<Syncs> {
    match Syncs::attach() {
        Ok(syncs) => {
            say(&syncs.notes());
            Some(syncs)
        }
        Err(error) => {
            say(&[format!("waits in fsync are not told: {error:#}")]);
            None
        }
    }
}

/// Selects the processes that the user asked for.
struct AskedFor<'a>(&'a dyn Fn(u32, u64) -> bool);

impl Selection for AskedFor<'_> {
    fn keeps_process(&self, pid: u32, cgroup_id: u64) -> bool {
        self.0(pid, cgroup_id)
    }
}

/// As JSON one line each.
fn print(records: &[WhyRecord], is_json: bool) -> Result<()> {
    let mut out = stdout::lines();
    for (place, record) in records.iter().enumerate() {
        if place > 0 && !is_json {
            writeln!(out)?;
        }
        if is_json {
            let line = escape::json(&serde_json::to_string(record)?);
            writeln!(out, "{line}")?;
        } else {
            out.write_all(text::render(record).as_bytes())?;
        }
    }
    Ok(())
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
        hardware_depth: device.slots(),
        nr_requests: number(device, "queue/nr_requests"),
        wbt_lat_us: number(device, "queue/wbt_lat_usec"),
    }
}

fn number<T: std::str::FromStr>(device: &Device, attribute: &str) -> Option<T> {
    device.attribute(attribute).ok()?.trim().parse().ok()
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
