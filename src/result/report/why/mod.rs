//! Who waits behind whom, for people: the record of `iosched why`, and what it says in sentences. Pure.

pub mod arms; // each arm of a result
mod causes; // limits, tags, throttles
pub mod records; // of a result
mod sentences;
mod syncs; // fsync, the throttle of writers, writeback

use serde::{Deserialize, Serialize};

use crate::measured::snapshot::OwnerNumbers;
use crate::measured::trace::TracedOwner;
use crate::stat::LiveSyncs;
use crate::why::{DiskFacts, MOST_PARTIES, Stretch, WhyDevice, WhyOwner, devices};
pub use causes::{Counted, WhyWaits};
pub use sentences::{MOST_SENTENCES, Sentence};

pub const SCHEMA_VERSION: u32 = 1;
/// File name of the schema in `docs/`.
pub const SCHEMA: &str = "why-1.schema.json";

/// Who waited behind whom in a stretch of time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WhyRecord {
    /// Version of this format; raised when a field is removed or changes its meaning.
    pub schema_version: u32,
    /// The arm of the result that this is about; absent for what was measured live, and for blkparse's text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arm: Option<String>,
    /// How much of the time of the arm's windows it is about, from 0 to 1: less if more requests came than are kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub covered_share: Option<f64>,
    /// End of the stretch, RFC 3339.
    pub time: String,
    /// Length of the stretch in seconds.
    pub time_s: f64,
    /// The watched disks, with or without I/O.
    pub devices: Vec<WhyDevice>,
    /// What the I/Os of each process waited for, the longest first; only if measured live.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waits: Vec<WhyWaits>,
    /// Waits in fsync and its like, of throttled writers and for writeback; only if measured live, where the kernel lets
    /// it be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub syncs: Option<LiveSyncs>,
    /// The worst first, at most eight.
    pub sentences: Vec<Sentence>,
}

/// Which processes are told; the others are waited for, and no more.
pub struct Keeps<'a> {
    pub rows: &'a dyn Fn(&WhyOwner) -> bool,
    pub owners: &'a dyn Fn(&OwnerNumbers) -> bool,
}

impl Keeps<'_> {
    pub const ALL: Keeps<'static> = Keeps {
        rows: &|_| true,
        owners: &|_| true,
    };
}

/// The numbers and sentences of a stretch. `disks` stand in the order in which requests number them; `owner` names the owner of a
/// row; `counted` is of the same time, if it was measured live.
pub fn why(
    stretch: &Stretch,
    disks: &[DiskFacts],
    time: String,
    owner: &dyn Fn(u32) -> TracedOwner,
    keeps: &Keeps<'_>,
    counted: Option<&Counted<'_>>,
) -> WhyRecord {
    let devices = devices(stretch, disks, owner, MOST_PARTIES);
    let time_s = stretch.time_s();
    let waits = counted.map_or_else(Vec::new, |counted| causes::waits(counted, keeps.owners));
    let mut told = causes::told(&waits, &devices, disks, time_s);
    let syncs = counted.and_then(|counted| Some((counted.interval, counted.syncs?)));
    if let Some((interval, syncs)) = syncs {
        told.extend(syncs::told(syncs, interval, disks, time_s));
    }
    let hangs = disks.iter().enumerate().filter_map(|(place, disk)| {
        let silence = stretch.silence(place);
        causes::hangs(&silence, &disk.name, time_s).filter(|_| counted.is_some())
    });
    let found = sentences::Found {
        hangs: hangs.collect(),
        told,
    };
    WhyRecord {
        waits,
        syncs: syncs.map(|(_, syncs)| syncs.clone()),
        ..record_with(devices, disks, time, time_s, keeps.rows, found)
    }
}

/// The record of these numbers.
pub fn record(
    devices: Vec<WhyDevice>,
    disks: &[DiskFacts],
    time: String,
    time_s: f64,
    keeps: &dyn Fn(&WhyOwner) -> bool,
) -> WhyRecord {
    let nothing = sentences::Found::default();
    record_with(devices, disks, time, time_s, keeps, nothing)
}

fn record_with(
    mut devices: Vec<WhyDevice>,
    disks: &[DiskFacts],
    time: String,
    time_s: f64,
    keeps: &dyn Fn(&WhyOwner) -> bool,
    found: sentences::Found,
) -> WhyRecord {
    let sentences = sentences::of(&devices, disks, time_s, keeps, found);
    for device in &mut devices {
        device.owners.retain(|owner| keeps(owner));
    }
    WhyRecord {
        schema_version: SCHEMA_VERSION,
        arm: None,
        covered_share: None,
        time,
        time_s,
        devices,
        waits: Vec::new(),
        syncs: None,
        sentences,
    }
}

#[cfg(test)]
mod tests;
