//! Waits in fsync, in the throttle of writers and for writeback, as in the JSON of `iosched stat --detail syncs`. Pure.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::latency::LatencySummary;
use super::{Rows, Selection};
use crate::measured::syncs::{
    Pressure, Sum, SyncCause, SyncKey, SyncKind, SyncLosses, SyncNumbers, SyncRow,
};

/// Waits above the block layer. Each is counted when it ends, with all its time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LiveSyncs {
    /// Processes that called fsync, fdatasync, sync_file_range, syncfs, msync or sync; those that waited longest first.
    /// Neither writes with O_SYNC or O_DSYNC are among them nor the fsyncs of io_uring: these are in `writeback`.
    pub calls: Vec<LiveSync>,
    /// Processes that slept in `balance_dirty_pages`: they dirty pages faster than the disk writes them.
    pub throttled: Vec<LivePause>,
    /// Processes that slept until the writeback of a page ended, outside such a call.
    pub writeback: Vec<LivePause>,
    /// Waits of file systems on other disks, or on none: in no row.
    pub elsewhere: Sum,
    /// Waits of which the file system is not found, such as one of another mount namespace: in no row.
    pub unplaced: Sum,
    /// What these two are made of, by file system: the 16 with the longest waits, the longest first.
    #[serde(default)]
    pub elsewhere_by: Vec<LiveElsewhere>,
    /// Pressure stall information of the whole host in the interval, which the kernel counts by itself; null if it does
    /// not.
    pub pressure: Option<Pressure>,
    /// Waits that were not seen, or not as a whole.
    pub losses: SyncLosses,
}

/// Where a wait was.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SyncPlace {
    /// Mount point of the file system, or name of the device; null for a call that names no file (sync, msync), and
    /// for a file system that is not found.
    pub name: Option<String>,
    /// Kernel names of the disks below, if they are known.
    pub devices: Option<Vec<String>>,
    /// The type of the file system, such as ext4 or nfs4; null if it is none, or not known.
    #[serde(default)]
    pub filesystem: Option<String>,
    /// Kernel names of the devices that the file system (btrfs) stands on, if they are several: a wait is for all of them together.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<String>,
}

/// Waits of a file system that is on none of the watched disks, or on no disk.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LiveElsewhere {
    pub place: SyncPlace,
    /// Waits that ended in the interval, and calls that returned.
    pub count: u64,
    /// Their time, in ns.
    pub ns: u64,
}

/// Which process waited.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SyncWho {
    /// Null for the sum of a cgroup.
    pub pid: Option<u32>,
    /// Start of the process in milliseconds since boot (CLOCK_BOOTTIME); null where `pid` is.
    pub start_ms: Option<u64>,
    /// The command's name; for the sum of a cgroup the number of its processes.
    pub comm: String,
    /// The kernel's id of the cgroup, in the unified hierarchy.
    pub cgroup_id: u64,
    /// Path of the cgroup; null if unknown.
    pub cgroup: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LiveSync {
    #[serde(flatten)]
    pub who: SyncWho,
    pub place: SyncPlace,
    /// Time of the calls that returned in the interval, from the enter to the exit.
    pub latency: LatencySummary,
    /// Its sum over them, in ns.
    pub total_ns: u64,
    /// What they waited for, the longest first; adds up to `total_ns`.
    pub waits: Vec<SyncShare>,
    /// Calls that had not returned at the end of the interval.
    pub under_way: u64,
    /// Age of the oldest of them, in ns.
    pub oldest_ns: Option<u64>,
}

/// One cause of the waits of a process.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SyncShare {
    pub cause: SyncCause,
    /// How often the process slept for it; for `running` the number of calls.
    pub count: u64,
    /// Until it ran again, in ns.
    pub ns: u64,
    /// Its part of `total_ns`, from 0 to 1.
    pub share: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LivePause {
    #[serde(flatten)]
    pub who: SyncWho,
    pub place: SyncPlace,
    /// Number of sleeps that ended in the interval.
    pub count: u64,
    /// Their time, in ns, until the thread ran again.
    pub ns: u64,
    /// `ns` by the length of the interval, from 0 to the number of threads of the process.
    pub share: f64,
}

/// A place by its number in the kernel.
pub trait Places {
    /// As the process sees it.
    fn place(&self, place: u64, tgid: u32) -> SyncPlace;
}

/// The rows of file systems on these disks.
pub fn syncs(
    numbers: &SyncNumbers,
    disks: &[&str],
    selection: &dyn Selection,
    places: &dyn Places,
) -> LiveSyncs {
    let mut live = LiveSyncs {
        calls: Vec::new(),
        throttled: Vec::new(),
        writeback: Vec::new(),
        elsewhere: Sum::default(),
        unplaced: Sum::default(),
        elsewhere_by: Vec::new(),
        pressure: numbers.pressure,
        losses: numbers.losses,
    };
    let mut rows = Vec::new();
    let mut others: BTreeMap<SyncPlace, Sum> = BTreeMap::new();
    let asked = |row: &&SyncRow| selection.keeps_process(row.key.tgid, row.key.cgroup_id);
    for row in numbers.rows.iter().filter(asked) {
        let place = places.place(row.key.place, row.key.tgid);
        let is_here = |names: &Vec<String>| names.iter().any(|name| disks.contains(&&**name));
        let sum = match &place.devices {
            // It names no file: all file systems are meant.
            None if row.key.place == 0 => {
                rows.push((place, row));
                continue;
            }
            Some(names) if is_here(names) => {
                rows.push((place, row));
                continue;
            }
            None => &mut live.unplaced,
            Some(_) => &mut live.elsewhere,
        };
        sum.add(row.all);
        others.entry(place).or_default().add(row.all);
    }
    live.elsewhere_by = longest(others);
    let seconds = numbers.ns as f64 / 1e9;
    for (who, place, row) in by_rows(rows, selection) {
        match row.key.kind {
            SyncKind::Call => live.calls.push(call(who, place, &row)),
            SyncKind::Throttled => live.throttled.push(pause(who, place, &row, seconds)),
            SyncKind::Writeback => live.writeback.push(pause(who, place, &row, seconds)),
        }
    }
    live.calls.sort_by_key(|call| {
        (
            Reverse(call.total_ns),
            Reverse(call.oldest_ns),
            call.who.pid,
        )
    });
    for pauses in [&mut live.throttled, &mut live.writeback] {
        pauses.sort_by_key(|pause| (Reverse(pause.ns), pause.who.pid));
    }
    live
}

/// Those that are named, of all other places.
const MOST_ELSEWHERE: usize = 16;

fn longest(others: BTreeMap<SyncPlace, Sum>) -> Vec<LiveElsewhere> {
    let all = others.into_iter().filter(|(_, sum)| sum.count > 0);
    let mut all: Vec<LiveElsewhere> = all
        .map(|(place, sum)| LiveElsewhere {
            place,
            count: sum.count,
            ns: sum.ns,
        })
        .collect();
    all.sort_by_key(|of| Reverse(of.ns));
    all.truncate(MOST_ELSEWHERE);
    all
}

/// One row per process or per control group, at each place.
fn by_rows(
    rows: Vec<(SyncPlace, &SyncRow)>,
    selection: &dyn Selection,
) -> Vec<(SyncWho, SyncPlace, SyncRow)> {
    let who = |key: &SyncKey| SyncWho {
        pid: Some(key.tgid),
        start_ms: Some(key.start_ns / 1_000_000),
        comm: String::new(),
        cgroup_id: key.cgroup_id,
        cgroup: selection.cgroup_path(key.cgroup_id),
    };
    match selection.rows() {
        Rows::Nothing => Vec::new(),
        Rows::Processes => rows
            .into_iter()
            .map(|(place, row)| {
                let comm = row.comm.clone();
                (
                    SyncWho {
                        comm,
                        ..who(&row.key)
                    },
                    place,
                    row.clone(),
                )
            })
            .collect(),
        Rows::Cgroups => {
            let mut groups: BTreeMap<(u64, u8, SyncPlace), (SyncRow, Vec<u32>)> = BTreeMap::new();
            for (place, row) in rows {
                let kind = row.key.kind as u8;
                let group = groups.entry((row.key.cgroup_id, kind, place));
                group
                    .and_modify(|(sum, pids)| {
                        sum.add(row);
                        pids.push(row.key.tgid);
                    })
                    .or_insert_with(|| (row.clone(), vec![row.key.tgid]));
            }
            let group = |((_, _, place), (row, mut pids)): (_, (SyncRow, Vec<u32>))| {
                pids.sort_unstable();
                pids.dedup();
                let who = SyncWho {
                    pid: None,
                    start_ms: None,
                    comm: pids.len().to_string(),
                    ..who(&row.key)
                };
                (who, place, row)
            };
            groups.into_iter().map(group).collect()
        }
    }
}

fn call(who: SyncWho, place: SyncPlace, row: &SyncRow) -> LiveSync {
    let mean_ns = (row.all.count > 0).then(|| row.all.ns as f64 / row.all.count as f64);
    let max_ns = row.histogram.end_ns().map(|end| end as f64);
    let share = |(cause, sum): (&SyncCause, &Sum)| SyncShare {
        cause: *cause,
        count: sum.count,
        ns: sum.ns,
        share: sum.ns as f64 / row.all.ns.max(1) as f64,
    };
    let mut waits: Vec<SyncShare> = row.causes.iter().map(share).collect();
    waits.sort_by_key(|wait| Reverse(wait.ns));
    LiveSync {
        who,
        place,
        latency: LatencySummary::of(&row.histogram, mean_ns, max_ns),
        total_ns: row.all.ns,
        waits,
        under_way: row.under_way,
        oldest_ns: row.oldest_ns,
    }
}

fn pause(who: SyncWho, place: SyncPlace, row: &SyncRow, seconds: f64) -> LivePause {
    LivePause {
        who,
        place,
        count: row.all.count,
        ns: row.all.ns,
        share: row.all.ns as f64 / (seconds * 1e9),
    }
}

#[cfg(test)]
#[path = "syncs_tests.rs"]
mod tests;
