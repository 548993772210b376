//! One interval of `iosched stat`, as in its JSON Lines, from which every other output is made. Pure.

mod asked; // stages since programs asked
mod device; // one device
mod latency; // the times of one stage
mod light; // devices only
mod order; // dispatch order
mod process; // one process
mod syncs; // waits in fsync, in the throttle of writers, for writeback

use serde::{Deserialize, Serialize};

use crate::measured::fairness::{Fairness, Flow, fairness, weight_of_ioprio};
use crate::measured::snapshot::{FileKey, Interval, OwnerNumbers, by_cgroup};

pub use asked::LiveAsked;
pub use device::{LiveDevice, LiveOp};
pub use latency::LatencySummary;
pub use light::{
    LIGHT_SCHEMA, LIGHT_SCHEMA_VERSION, LightDevice, LightLosses, LightOp, LightRecord, light,
};
pub use order::{Burst, HardwareQueue, LiveOrder};
pub use process::{LiveFairness, LiveFile, LiveProcess, LiveStages};

pub use syncs::{
    LiveElsewhere, LivePause, LiveSync, LiveSyncs, Places, SyncPlace, SyncShare, SyncWho, syncs,
};

use device::device;
use process::{process, wholes};

pub const SCHEMA_VERSION: u32 = 2;
/// File name of the schema in `docs/`.
pub const SCHEMA: &str = "stat-2.schema.json";

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LiveRecord {
    /// Version of this format; raised when a field is removed or changes its meaning.
    pub schema_version: u32,
    /// End of the interval, RFC 3339.
    pub time: String,
    /// Length of the interval in seconds.
    pub interval_s: f64,
    /// True if this kernel does not show when a bio was queued: queue waits are then G2D alone.
    pub queue_wait_is_g2d: bool,
    /// The watched devices, with or without I/O.
    pub devices: Vec<LiveDevice>,
    /// Processes with I/O in the interval or in flight, the busiest first.
    pub processes: Vec<LiveProcess>,
    /// Only with `--detail syncs`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub syncs: Option<LiveSyncs>,
}

/// Facts about a device that complement its counts.
#[derive(Clone, Debug, Default)]
pub struct DeviceState {
    pub scheduler: Option<String>,
    pub hardware_depth: Option<u32>,
    /// The last successive issues; None unless order is measured.
    pub burst: Option<Burst>,
}

/// The unit of a record's rows. Shares and fairness compare control groups if these are the rows, otherwise processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rows {
    Processes,
    Cgroups,
    Nothing,
}

/// Which processes to list, and facts about their control groups.
pub trait Selection {
    fn rows(&self) -> Rows {
        Rows::Processes
    }

    fn keeps(&self, _: &OwnerNumbers) -> bool {
        true
    }
    /// Whether the waits of this process are listed.
    fn keeps_process(&self, _pid: u32, _cgroup_id: u64) -> bool {
        true
    }
    fn cgroup_path(&self, _id: u64) -> Option<String> {
        None
    }
    /// The path of a regular file.
    fn file_path(&self, _: &FileKey) -> Option<String> {
        None
    }
    /// The cgroup's weight on the device, 100 by default.
    fn cgroup_weight(&self, _id: u64, _device: &str) -> f64 {
        100.0
    }
}

/// Lists all processes and knows nothing about their control groups.
impl Selection for () {}

pub fn record(
    interval: &Interval,
    time: String,
    queue_wait_is_g2d: bool,
    states: &[DeviceState],
    selection: &dyn Selection,
) -> LiveRecord {
    let seconds = interval.duration_s();
    let kept = interval
        .owners
        .iter()
        .filter(|owner| selection.keeps(owner));
    let (all_groups, groups);
    let (flows, rows): (&[OwnerNumbers], Vec<&OwnerNumbers>) = match selection.rows() {
        Rows::Processes => (&interval.owners, kept.collect()),
        Rows::Cgroups => {
            (all_groups, groups) = (by_cgroup(&interval.owners), by_cgroup(kept));
            (&all_groups, groups.iter().collect())
        }
        Rows::Nothing => (&interval.owners, Vec::new()),
    };
    let devices = interval
        .devices
        .iter()
        .zip(states)
        .map(|(numbers, state)| {
            let owners: Vec<&OwnerNumbers> = flows
                .iter()
                .filter(|owner| owner.key.device == numbers.name)
                .collect();
            LiveDevice {
                fairness: fairness_of(&owners, seconds, selection),
                ..device(numbers, state, seconds, queue_wait_is_g2d)
            }
        })
        .collect();
    let wholes = wholes(&interval.owners);
    let mut processes: Vec<LiveProcess> = rows
        .into_iter()
        .map(|owner| process(owner, wholes[&*owner.key.device], seconds, selection))
        .collect();
    processes.sort_by_cached_key(|process| (std::cmp::Reverse(process.ios), process.pid));
    LiveRecord {
        schema_version: SCHEMA_VERSION,
        time,
        interval_s: seconds,
        queue_wait_is_g2d,
        devices,
        processes,
        syncs: None,
    }
}

/// Fairness among the processes in an interval of one device, only if it was measured.
pub fn fairness_in(interval: &Interval, selection: &dyn Selection) -> Option<Fairness> {
    let owners: Vec<&OwnerNumbers> = interval.owners.iter().collect();
    fairness_of(&owners, interval.duration_s(), selection)
}

/// Fairness among one device's owners, only if it was measured.
fn fairness_of(
    owners: &[&OwnerNumbers],
    seconds: f64,
    selection: &dyn Selection,
) -> Option<Fairness> {
    let flows: Option<Vec<Flow>> = owners
        .iter()
        .map(|owner| {
            let measured = owner.fairness.as_ref()?;
            let key = &owner.key;
            let cgroup = selection.cgroup_weight(key.cgroup_id, &key.device) / 100.0;
            Some(Flow {
                bytes: owner.bytes() as f64,
                ios: owner.ios() as f64,
                device_time_ns: measured.device_time_ns as f64,
                backlogged: measured.backlogged_ns as f64 / (seconds * 1e9),
                weight: weight_of_ioprio(owner.ioprio).map(|weight| weight * cgroup),
            })
        })
        .collect();
    flows
        .filter(|flows| !flows.is_empty())
        .map(|flows| fairness(&flows))
}

#[cfg(test)]
mod tests;
