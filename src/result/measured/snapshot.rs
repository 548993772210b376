//! The kernel's counts. A [`Snapshot`] is cumulative since the probe was attached; an [`Interval`] is the difference of
//! two, and the only source of rates and percentiles. Pure.

mod cause; // names for what I/Os wait for
mod causes; // how long for each
mod counters; // counters of a device
mod device;
mod file; // the file that an I/O belongs to
mod lines;
mod longest;
mod merging;
mod op; // operation classes, and the numbers of one class on a device
mod order;
mod owner;
mod together; // adds up several disks
mod totals;
mod waits; // what requests waited for

use std::collections::HashMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub use cause::Cause;
pub use causes::CauseShare;
pub use counters::{Edges, Flushes, Merges, Quality};
pub use device::{DeviceNumbers, InFlight, StatusCount};
pub use file::{FileKey, FileKind};
pub use lines::{LINE_CELLS, Line, OwnerLatency, Place};
pub use longest::Longest;
pub use merging::Merging;
pub use op::{Asked, DeviceOp, MergedBios, Op, Stage};
pub use order::{LOG2_CELLS, Log2Histogram, Order};
pub use owner::{
    OwnerAsked, OwnerFairness, OwnerKey, OwnerKind, OwnerNumbers, OwnerOp, OwnerStages, by_cgroup,
};
pub use totals::{FairnessTotals, OpTotals, OwnerId, OwnerRow, OwnerTotals, comm};
pub use waits::{Pool, Wait, Waits};

use longest::Span;

/// Everything counted since the probe was attached.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// CLOCK_MONOTONIC.
    pub time_ns: u64,
    /// Running number among the probe's snapshots.
    pub number: u64,
    /// Number of the snapshot that began the window; 0 if none has begun.
    pub window: u64,
    pub devices: Vec<DeviceNumbers>,
    pub owners: Vec<OwnerTotals>,
    /// Cache lines of the owners' histograms.
    pub lines: Arc<Vec<Line>>,
    pub skipped: u64,
}

/// The difference of two snapshots.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Interval {
    pub start_ns: u64,
    pub end_ns: u64,
    pub devices: Vec<DeviceNumbers>,
    /// Owners with at least one I/O or merge, or with a request in flight at the end.
    pub owners: Vec<OwnerNumbers>,
}

impl Interval {
    pub fn duration_s(&self) -> f64 {
        (self.end_ns - self.start_ns) as f64 / 1e9
    }

    /// An interval of length 0, for a round that was not measured.
    pub fn nothing(device: &str) -> Interval {
        Interval {
            start_ns: 0,
            end_ns: 0,
            devices: vec![DeviceNumbers::new(device)],
            owners: Vec::new(),
        }
    }

    /// Adds up the numbers of its disks under one name. The owners' rows stay separate by disk.
    #[must_use]
    pub fn together(mut self, name: &str) -> Interval {
        self.devices = vec![together::sum(name, &self.devices)];
        self
    }

    /// The two as one: `later` begins where this one ends.
    pub fn extend(&mut self, later: &Interval) {
        self.end_ns = later.end_ns;
        for (device, later) in self.devices.iter_mut().zip(&later.devices) {
            together::add(device, later);
            device.in_flight = later.in_flight;
            match (&mut device.order, &later.order) {
                (Some(order), Some(later)) => order.add(later),
                (order, _) => *order = None,
            }
        }
        // Whoever is not in the later interval has nothing in flight at its end.
        self.owners.iter_mut().for_each(OwnerNumbers::come_to_rest);
        let (mut places, mut next, mut new) = (None, 0, Vec::new());
        for later in &later.owners {
            // Most owners come in the same order in both.
            let is_next = self
                .owners
                .get(next)
                .is_some_and(|owner| owner.key == later.key);
            let place = if is_next {
                Some(next)
            } else {
                let places = places.get_or_insert_with(|| places_of(&self.owners));
                places.get(&later.key).copied()
            };
            match place {
                Some(place) => {
                    self.owners[place].extend(later);
                    next = place + 1;
                }
                None => new.push(later.clone()),
            }
        }
        self.owners.extend(new);
    }

    pub fn between(earlier: &Snapshot, later: &Snapshot) -> anyhow::Result<Interval> {
        let skipped = later.skipped - earlier.skipped;
        let devices = later
            .devices
            .iter()
            .zip(&earlier.devices)
            .map(|(later, earlier)| later.since(earlier, skipped))
            .collect::<anyhow::Result<_>>()?;
        Ok(Interval {
            start_ns: earlier.time_ns,
            end_ns: later.time_ns,
            devices,
            owners: owners(earlier, later)?,
        })
    }
}

/// The owners that did something in the interval.
fn owners(earlier: &Snapshot, later: &Snapshot) -> anyhow::Result<Vec<OwnerNumbers>> {
    let mut owners = Vec::new();
    let mut by_id = None;
    let span = if later.number == earlier.number + 1 {
        Span::Step
    } else if later.window == earlier.number {
        Span::Window
    } else {
        Span::Other
    };
    let devices = later.devices.iter().zip(&earlier.devices);
    let wholes: Vec<bool> = devices
        .map(|(later, earlier)| later.is_whole_since(earlier))
        .collect();
    for (place, now) in later.owners.iter().enumerate() {
        // Most owners keep their place; only those after one that was removed move.
        let same_place = earlier.owners.get(place);
        let known = same_place
            .filter(|owner| owner.id == now.id)
            .or_else(|| {
                let by_id = by_id.get_or_insert_with(|| by_id_of(&earlier.owners));
                by_id.get(&now.id).copied()
            })
            .filter(|owner| owner.row == now.row);
        let nothing;
        let past = if let Some(past) = known {
            past
        } else {
            nothing = OwnerTotals::new(now.id);
            &nothing
        };
        if now.is_idle_since(past) {
            continue;
        }
        let device = now.id.device.and_then(|slot| later.devices.get(slot));
        let key = now.id.key(device.map_or("", |device| &device.name));
        let latencies = now.latencies_since(&later.lines, past, &earlier.lines);
        let mut numbers = now.since(past, span, key, latencies)?;
        // Its share depends on the requests of all others.
        let is_whole = match now.id.device {
            Some(slot) => wholes.get(slot) != Some(&false),
            None => wholes.iter().all(|is_whole| *is_whole),
        };
        numbers.fairness = numbers.fairness.filter(|_| is_whole);
        owners.push(numbers);
    }
    Ok(owners)
}

fn places_of(owners: &[OwnerNumbers]) -> HashMap<OwnerKey, usize> {
    let owners = owners.iter().enumerate();
    owners
        .map(|(place, owner)| (owner.key.clone(), place))
        .collect()
}

fn by_id_of(owners: &[OwnerTotals]) -> HashMap<OwnerId, &OwnerTotals> {
    owners.iter().map(|owner| (owner.id, owner)).collect()
}

#[cfg(test)]
mod tests;
