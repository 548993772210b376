//! What holds I/Os back before other requests do: limits, tags that are few, throttles, flushes, a device that answers nothing.
//! Pure.

use serde::{Deserialize, Serialize};

use super::sentences::Sentence;
use crate::measured::snapshot::{Cause, CauseShare, Interval, Op, OwnerKind, OwnerNumbers};
use crate::report::units;
use crate::stat::LiveSyncs;
use crate::why::{DiskFacts, Silence, WhyDevice, WhyOwner};

/// A smaller part of the time of a process's I/Os is not told.
const LEAST_SHARE: f64 = 0.25;
/// Nor is it with fewer I/Os held back on average.
const FEWEST_HELD: f64 = 0.01;
/// From this part of the waiting on, the device could have taken more.
const FREE: f64 = 0.5;
/// A device that has requests and answers none for this part of the time hangs; and for this long.
const SILENT: (f64, u64) = (0.3, 1_000_000_000);

/// What the I/Os of a process on a disk waited for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WhyWaits {
    /// The disk's kernel name.
    pub device: String,
    /// The command; kernel threads are in brackets.
    pub name: String,
    /// 0 if it is not a single process.
    pub pid: u32,
    /// The number of its control group.
    pub cgroup_id: u64,
    /// Path of the control group; null if unknown.
    pub cgroup: Option<String>,
    /// Completed requests.
    pub ios: u64,
    /// The writes among them.
    pub writes: u64,
    /// Those of them for which nobody waits: writeback, whoever issues it.
    pub async_writes: u64,
    /// The longest first.
    pub causes: Vec<CauseShare>,
}

/// The counts of the same time as the requests.
pub struct Counted<'a> {
    pub interval: &'a Interval,
    pub syncs: Option<&'a LiveSyncs>,
    pub cgroup_path: &'a dyn Fn(u64) -> Option<String>,
}

/// A sentence about so much waiting.
pub struct Told {
    pub ns: u64,
    pub device: String,
    pub pid: u32,
    pub cgroup_id: u64,
    /// Whether that time is a part of the queue wait.
    pub is_queue_wait: bool,
    /// Nobody waits for it, unless in fsync or in the throttle of writers, which have their own sentences.
    pub is_background: bool,
    pub sentence: Sentence,
}

/// What the I/Os of each process waited for that `keeps` accepts.
pub fn waits(counted: &Counted<'_>, keeps: &dyn Fn(&OwnerNumbers) -> bool) -> Vec<WhyWaits> {
    let owners = counted.interval.owners.iter();
    let kept = owners.filter(|owner| !owner.key.device.is_empty() && keeps(owner));
    let of = |owner: &OwnerNumbers| WhyWaits {
        device: owner.key.device.clone(),
        name: owner.label(),
        pid: owner.key.tgid,
        cgroup_id: owner.key.cgroup_id,
        cgroup: (counted.cgroup_path)(owner.key.cgroup_id),
        ios: owner.ios(),
        writes: Op::WRITES.iter().map(|op| owner.op(*op).ios).sum(),
        async_writes: owner.op(Op::WriteAsync).ios,
        causes: owner.causes(),
    };
    let mut waits: Vec<WhyWaits> = kept.map(of).filter(|of| !of.causes.is_empty()).collect();
    waits.sort_by_key(|of| std::cmp::Reverse(of.all_ns()));
    waits
}

impl WhyWaits {
    fn all_ns(&self) -> u64 {
        self.causes
            .iter()
            .fold(0, |all, cause| all.saturating_add(cause.ns))
    }

    fn who(&self) -> String {
        match self.pid {
            0 => self.name.clone(),
            pid => format!("{} ({pid})", self.name),
        }
    }

    /// `95 ms of 96 ms per I/O`
    fn each(&self, ns: u64) -> String {
        let time = |ns: u64| units::time(Some(ns as f64 / self.ios.max(1) as f64));
        if self.ios == 0 {
            return format!("{} in all, in which none came through", time(ns));
        }
        format!("{} of {} per I/O", time(ns), time(self.all_ns()))
    }
}

/// Whether it is the kernel's writeback of what processes have written.
pub fn is_background(kind: OwnerKind, name: &str) -> bool {
    kind == OwnerKind::Writeback || kind == OwnerKind::Workqueue && name.starts_with("[flush-")
}

/// What is worth a sentence; `time_s` is the length of the stretch.
pub fn told(
    waits: &[WhyWaits],
    devices: &[WhyDevice],
    disks: &[DiskFacts],
    time_s: f64,
) -> Vec<Told> {
    let mut told = Vec::new();
    for of in waits {
        let (Some(device), Some(disk)) = (
            devices.iter().find(|device| device.device == of.device),
            disks.iter().find(|disk| disk.name == of.device),
        ) else {
            continue;
        };
        let matters = |cause: &&CauseShare| {
            let at_once = cause.ns as f64 / (time_s * 1e9);
            // What a thread that sleeps has not submitted yet waits, too, and is in no sum.
            let stalls =
                !matches!(cause.cause, Cause::Flush | Cause::Requeue) && at_once >= LEAST_SHARE;
            stalls || cause.share >= LEAST_SHARE && at_once >= FEWEST_HELD
        };
        for cause in of.causes.iter().filter(matters) {
            let sentence = sentence(of, cause, disk, has_room(of, device));
            told.extend(sentence.map(|sentence| Told {
                ns: cause.ns,
                device: of.device.clone(),
                pid: of.pid,
                cgroup_id: of.cgroup_id,
                is_queue_wait: !matches!(cause.cause, Cause::Limit | Cause::Flush | Cause::Requeue),
                is_background: of.ios > 0 && of.async_writes == of.ios,
                sentence,
            }));
        }
    }
    told
}

/// Whether the device could have taken more for most of the process's waiting. False where its waiting is not known.
fn has_room(of: &WhyWaits, device: &WhyDevice) -> bool {
    let is_its = |owner: &&WhyOwner| (owner.pid, owner.cgroup_id) == (of.pid, of.cgroup_id);
    let its = || device.owners.iter().filter(is_its);
    let wait_ns: u64 = its()
        .map(|owner| owner.wait_ns)
        .fold(0, u64::saturating_add);
    let free_ns = its().try_fold(0_u64, |all, owner| {
        Some(all.saturating_add(owner.slot_free_ns?))
    });
    wait_ns > 0 && free_ns.is_some_and(|free_ns| free_ns as f64 >= FREE * wait_ns as f64)
}

fn sentence(
    of: &WhyWaits,
    cause: &CauseShare,
    disk: &DiskFacts,
    has_room: bool,
) -> Option<Sentence> {
    let (who, each, name) = (of.who(), of.each(cause.ns), &disk.name);
    let scheduler = disk.scheduler.as_deref().unwrap_or("the scheduler");
    let requests = disk
        .nr_requests
        .map_or(String::new(), |count| format!("{count} "));
    // Writeback throttling holds no reads back.
    let throttles = match disk.wbt_lat_us.filter(|_| of.writes > 0 || of.ios == 0) {
        None => "io.latency or io.cost".to_owned(),
        Some(us) if us > 0 => {
            format!("writeback throttling (wbt_lat_usec is {us}), io.latency or io.cost")
        }
        _ => "io.latency or io.cost (writeback throttling is off)".to_owned(),
    };
    let (text, command) = match cause.cause {
        Cause::Limit => (
            format!(
                "{who}: a limit of its control group (io.max) holds its I/Os on {name} back, {each}, before the disk gets to know of them."
            ),
            of.cgroup.as_ref().and_then(|path| limits_of(path)),
        ),
        Cause::SchedulerTag if has_room => (
            format!(
                "{who}: its threads sleep until one of the {requests}requests of {scheduler} on {name} is free (nr_requests), {each}, while the disk could take more."
            ),
            more_requests(disk),
        ),
        Cause::InferredSchedulerTag if has_room => (
            format!(
                "{who}: its threads sleep until one of the {requests}requests of {scheduler} on {name} is free (nr_requests), or until a throttle lets them pass, {each}, while the disk could take more. This kernel does not say which of the two; throttles would be {throttles}."
            ),
            more_requests(disk),
        ),
        Cause::Throttle => (
            format!(
                "{who}: a throttle holds its threads back on {name}, {each}, though no tag is lacking: {throttles}."
            ),
            without_throttle(disk),
        ),
        Cause::InferredDriverTag if has_room => (
            format!(
                "{who}: its threads sleep on {name}, {each}, while the disk could take more. So it is a throttle, which this kernel does not say: {throttles}."
            ),
            without_throttle(disk),
        ),
        Cause::Flush => (
            format!(
                "{who}: its writes wait for flushes of the cache of {name}, {each}: fsync, O_DSYNC and journals ask for them."
            ),
            None,
        ),
        Cause::Requeue => (
            format!(
                "{who}: the driver of {name} gives requests back and takes them later, {each}: it is busy, or in trouble."
            ),
            Some("dmesg --level=err,warn | tail".to_owned()),
        ),
        _ => return None,
    };
    Some(Sentence {
        command,
        ..Sentence::new(Some(name), text)
    })
}

/// Any user may name a control group of his own, and root may paste this.
fn limits_of(cgroup: &str) -> Option<String> {
    let file = format!("/sys/fs/cgroup{cgroup}/io.max");
    let quoted = shlex::try_quote(&file).ok()?;
    Some(format!("cat {quoted}"))
}

fn experiment(disk: &DiskFacts, setting: &str) -> Option<String> {
    let scheduler = disk.scheduler.as_ref()?;
    Some(format!(
        "iosched-ab run {} --allow-mounted --workload live --arm present --arm {scheduler},{setting}",
        disk.name
    ))
}

fn more_requests(disk: &DiskFacts) -> Option<String> {
    let more = disk.nr_requests?.saturating_mul(2).max(256);
    experiment(disk, &format!("nr_requests={more}"))
}

fn without_throttle(disk: &DiskFacts) -> Option<String> {
    let is_on = disk.wbt_lat_us.is_some_and(|us| us > 0);
    experiment(disk, "wbt_lat_usec=0").filter(|_| is_on)
}

/// A disk that has requests and has answered none for long.
pub fn hangs(silence: &Silence, name: &str, time_s: f64) -> Option<Sentence> {
    let (share, least_ns) = SILENT;
    let is_long = silence.ns >= least_ns && silence.ns as f64 >= share * time_s * 1e9;
    if silence.in_service == 0 || !is_long {
        return None;
    }
    let time = |ns: u64| units::time(Some(ns as f64));
    let (requests, are) = match silence.in_service {
        1 => ("1 request".to_owned(), "is"),
        many => (format!("{many} requests"), "are"),
    };
    let text = format!(
        "{name} has ended no request for {}: {requests} {are} at it, the oldest for {}. It, or its driver, hangs.",
        time(silence.ns),
        time(silence.oldest_ns),
    );
    Some(Sentence {
        command: Some("dmesg --level=err,warn | tail".to_owned()),
        ..Sentence::new(Some(name), text)
    })
}

#[cfg(test)]
#[path = "causes_tests.rs"]
mod tests;
