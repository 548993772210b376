//! Processes that wait above the block layer: in fsync, in the throttle of writers, for writeback. Pure.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::causes::Told;
use super::sentences::Sentence;
use crate::measured::snapshot::{Interval, Op, OwnerKind};
use crate::measured::syncs::SyncCause;
use crate::report::units;
use crate::stat::{LivePause, LiveSync, LiveSyncs, SyncPlace, SyncShare, SyncWho};
use crate::why::DiskFacts;

/// A smaller part of a process's time is not told.
const LEAST_OF_TIME: f64 = 0.05;
/// A call is told as stuck if it has lasted for this part of the stretch, and for at least this many nanoseconds.
const STUCK: (f64, u64) = (0.3, 1_000_000_000);
/// Nor is a smaller part of its calls.
const LEAST_SHARE: f64 = 0.25;

/// What is worth a sentence; `time_s` is the length of the stretch.
pub fn told(syncs: &LiveSyncs, interval: &Interval, disks: &[DiskFacts], time_s: f64) -> Vec<Told> {
    let matters = |ns: u64| ns as f64 >= LEAST_OF_TIME * time_s * 1e9;
    let mut told = Vec::new();
    for call in &syncs.calls {
        let device = device(&call.place, disks);
        let its = |ns, text, command| of(&call.who, device, ns, text, command);
        let waits = call.waits.iter().filter(|wait| wait.share >= LEAST_SHARE);
        let named: Vec<&SyncShare> = waits.filter(|wait| cause(wait.cause).is_some()).collect();
        let ns = named.iter().map(|wait| wait.ns).sum();
        if !named.is_empty() && matters(ns) {
            let (text, command) = sentence(call, &named, device, interval);
            told.push(its(ns, text, command));
        }
        let is_long = |ns: &u64| *ns >= STUCK.1 && *ns as f64 >= STUCK.0 * time_s * 1e9;
        let oldest_ns = call.oldest_ns.filter(is_long);
        if let Some(oldest_ns) = oldest_ns {
            let text = format!(
                "{}: it has not come back from fsync{} for {}.",
                who(&call.who),
                at(&call.place),
                units::time(Some(oldest_ns as f64)),
            );
            let command = call.who.pid.map(|pid| format!("cat /proc/{pid}/stack"));
            told.push(its(oldest_ns, text, command));
        }
    }
    for pause in syncs.throttled.iter().filter(|pause| matters(pause.ns)) {
        let text = format!(
            "{}: the kernel makes it sleep when it writes{}, {} of the time (balance_dirty_pages): it dirties pages faster than they are written.",
            who(&pause.who),
            at(&pause.place),
            units::share(Some(pause.share)),
        );
        let command = "sysctl vm.dirty_bytes vm.dirty_ratio vm.dirty_background_bytes";
        told.push(of_pause(pause, disks, text, Some(command.to_owned())));
    }
    for pause in syncs.writeback.iter().filter(|pause| matters(pause.ns)) {
        let text = format!(
            "{}: it sleeps until pages are written back{}, {} of the time: its own, if it writes with O_SYNC or O_DSYNC.",
            who(&pause.who),
            at(&pause.place),
            units::share(Some(pause.share)),
        );
        told.push(of_pause(pause, disks, text, None));
    }
    told
}

fn of_pause(pause: &LivePause, disks: &[DiskFacts], text: String, command: Option<String>) -> Told {
    let device = device(&pause.place, disks);
    of(&pause.who, device, pause.ns, text, command)
}

fn of(who: &SyncWho, device: Option<&str>, ns: u64, text: String, command: Option<String>) -> Told {
    Told {
        ns,
        device: device.unwrap_or_default().to_owned(),
        pid: who.pid.unwrap_or(0),
        cgroup_id: who.cgroup_id,
        is_queue_wait: false,
        is_background: false,
        sentence: Sentence {
            command,
            ..Sentence::new(device, text)
        },
    }
}

fn who(who: &SyncWho) -> String {
    match who.pid {
        None => who.comm.clone(),
        Some(pid) => format!("{} ({pid})", who.comm),
    }
}

/// What waits for a file system with several devices waits for all of them.
fn at(place: &SyncPlace) -> String {
    let Some(name) = &place.name else {
        return String::new();
    };
    match place.members.as_slice() {
        [] => format!(" on {name}"),
        members => format!(" on {name} ({} together)", members.join(", ")),
    }
}

/// The watched disk below it.
fn device<'a>(place: &SyncPlace, disks: &'a [DiskFacts]) -> Option<&'a str> {
    let devices = place.devices.as_ref()?;
    let disk = disks.iter().find(|disk| devices.contains(&disk.name))?;
    Some(&disk.name)
}

/// None of what the disk's own sentences tell, or of what nobody can change.
fn cause(cause: SyncCause) -> Option<&'static str> {
    match cause {
        SyncCause::Journal => Some("the journal of the file system to commit"),
        SyncCause::Flush => Some("a flush of the disk's cache"),
        SyncCause::Data => Some("pages to be written back"),
        SyncCause::Read => Some("the file system to read its metadata"),
        SyncCause::Lock => {
            Some("a lock of the file or of the file system, which another call holds")
        }
        SyncCause::Throttle
        | SyncCause::Request
        | SyncCause::Other
        | SyncCause::Unknown
        | SyncCause::Running => None,
    }
}

/// What a process waits for in fsync, and a command that shows more.
fn sentence(
    call: &LiveSync,
    waits: &[&SyncShare],
    device: Option<&str>,
    interval: &Interval,
) -> (String, Option<String>) {
    let (who, at) = (who(&call.who), at(&call.place));
    let mean = units::time(call.latency.mean_ns);
    // A call that names no file is no fsync.
    let what = match call.place.devices {
        Some(_) => "fsync",
        None => "sync or msync call",
    };
    let mut text = match call.latency.count {
        1 => format!("{who}: its {what}{at} took {mean}."),
        n => format!(
            "{who}: its {} {what}s{at} take {mean} each.",
            units::count(n as f64)
        ),
    };
    for (place, wait) in waits.iter().enumerate() {
        let share = format!("{:.0} %", wait.share * 100.0);
        let cause = cause(wait.cause).unwrap_or_default();
        let _ = match place {
            0 => write!(text, " {share} of that it waits for {cause}"),
            _ => write!(text, "; {share} for {cause}"),
        };
    }
    text.push('.');
    let is_shared = |wait: &&SyncShare| matches!(wait.cause, SyncCause::Journal | SyncCause::Data);
    let device_of_others = device.filter(|_| waits.iter().any(is_shared));
    if let Some(device) = device_of_others
        && let Some((name, pid, bytes)) = writer(call, device, interval)
    {
        let _ = write!(
            text,
            " Most of what is written to {device} meanwhile, {}, is of {name} ({pid}); a commit holds the changes of all.",
            units::bytes(bytes as f64),
        );
    }
    let command = device.map(|device| format!("iosched stat {device} --by file --detail syncs"));
    (text, command)
}

/// The process that writes most of all to the disk, by itself or by writeback, and how many bytes; if it is another one.
fn writer<'a>(
    call: &LiveSync,
    device: &str,
    interval: &'a Interval,
) -> Option<(&'a str, u32, u64)> {
    let mut by_pid: BTreeMap<u32, (&str, u64)> = BTreeMap::new();
    let mut all = 0;
    for owner in interval
        .owners
        .iter()
        .filter(|owner| owner.key.device == device)
    {
        let bytes: u64 = Op::WRITES.iter().map(|op| owner.op(*op).bytes).sum();
        all += bytes;
        if matches!(owner.key.kind, OwnerKind::Process | OwnerKind::Writeback) {
            by_pid.entry(owner.key.tgid).or_insert((&owner.comm, 0)).1 += bytes;
        }
    }
    let (pid, (name, bytes)) = by_pid.into_iter().max_by_key(|(_, (_, bytes))| *bytes)?;
    (Some(pid) != call.who.pid && 2 * bytes > all).then_some((name, pid, bytes))
}

#[cfg(test)]
#[path = "syncs_tests.rs"]
mod tests;
