//! What the kernel has counted. A [`Snapshot`] is cumulative since the probe was attached; an [`Interval`] is the
//! difference of two, and the only thing that rates and percentiles are made from. Pure.

mod device;
mod order;
mod owner;
mod together; // several disks as one

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use device::{
    DeviceNumbers, DeviceOp, Edges, Flushes, InFlight, MergedBios, Merges, Op, Quality, Stage,
    StatusCount,
};
pub use order::{LOG2_CELLS, Log2Histogram, Order};
pub use owner::{OwnerFairness, OwnerKey, OwnerKind, OwnerNumbers, OwnerOp, by_cgroup};

/// Everything counted since the probe was attached.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// CLOCK_MONOTONIC.
    pub time_ns: u64,
    pub devices: Vec<DeviceNumbers>,
    pub owners: Vec<OwnerNumbers>,
    pub skipped: u64,
}

/// What was counted between two snapshots.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Interval {
    pub start_ns: u64,
    pub end_ns: u64,
    pub devices: Vec<DeviceNumbers>,
    /// Owners with at least one I/O or merge; where fairness is measured those, too, that wait for their first.
    pub owners: Vec<OwnerNumbers>,
}

impl Interval {
    pub fn duration_s(&self) -> f64 {
        (self.end_ns - self.start_ns) as f64 / 1e9
    }

    /// An interval without length, for a round that was not measured.
    pub fn nothing(device: &str) -> Interval {
        Interval {
            start_ns: 0,
            end_ns: 0,
            devices: vec![DeviceNumbers::new(device)],
            owners: Vec::new(),
        }
    }

    /// The same with its disks' numbers added up, under one name. The owners' rows stay by disk.
    #[must_use]
    pub fn together(mut self, name: &str) -> Interval {
        self.devices = vec![together::sum(name, &self.devices)];
        self
    }

    pub fn between(earlier: &Snapshot, later: &Snapshot) -> anyhow::Result<Interval> {
        let skipped = later.skipped - earlier.skipped;
        let devices = later
            .devices
            .iter()
            .zip(&earlier.devices)
            .map(|(later, earlier)| later.since(earlier, skipped))
            .collect::<anyhow::Result<_>>()?;
        let mut owners = Vec::new();
        let before: HashMap<&OwnerKey, &OwnerNumbers> = earlier
            .owners
            .iter()
            .map(|owner| (&owner.key, owner))
            .collect();
        for later in &later.owners {
            let numbers = match before.get(&later.key) {
                Some(earlier) => later.since(earlier)?,
                None => later.clone(),
            };
            if !numbers.is_idle() {
                owners.push(numbers);
            }
        }
        Ok(Interval {
            start_ns: earlier.time_ns,
            end_ns: later.time_ns,
            devices,
            owners,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner(waits: &[u64]) -> OwnerNumbers {
        let key = OwnerKey {
            device: "sda".into(),
            kind: OwnerKind::Process,
            tgid: 7,
            start_ms: 1,
            cgroup_id: 1,
        };
        let mut owner = OwnerNumbers::new(key, "dd");
        for &wait in waits {
            owner.q2d[0].record(wait);
        }
        owner.ops[0].ios = waits.len() as u64;
        owner.ops[0].waits = waits.len() as u64;
        owner.ops[0].q2d_sum_ns = waits.iter().sum();
        owner.ops[0].q2d_max_ns = waits.iter().copied().max();
        owner
    }

    fn snapshot(time_ns: u64, owners: Vec<OwnerNumbers>) -> Snapshot {
        Snapshot {
            time_ns,
            devices: vec![DeviceNumbers::new("sda")],
            owners,
            skipped: time_ns / 10,
        }
    }

    #[test]
    fn an_interval_holds_only_what_happened_in_it() {
        let earlier = snapshot(100, vec![owner(&[1_000, 9_000_000])]);
        let later = snapshot(250, vec![owner(&[1_000, 9_000_000, 5_000])]);
        let interval = Interval::between(&earlier, &later).unwrap();
        let op = &interval.owners[0].ops[0];
        assert_eq!((op.ios, op.q2d_sum_ns), (1, 5_000));
        let max = op.q2d_max_ns.unwrap();
        assert!(
            (5_000..5_000 * 17 / 16).contains(&max),
            "{max}: not the 9 ms of before"
        );
        assert_eq!(interval.devices[0].quality.skipped, 15);
        assert_eq!(interval.end_ns - interval.start_ns, 150);
    }

    #[test]
    fn a_new_longest_wait_is_exact() {
        let earlier = snapshot(1, vec![owner(&[1_000])]);
        let later = snapshot(2, vec![owner(&[1_000, 77_777])]);
        let interval = Interval::between(&earlier, &later).unwrap();
        assert_eq!(interval.owners[0].ops[0].q2d_max_ns, Some(77_777));
        assert_eq!(
            interval.owners[0].ops[1].q2d_max_ns, None,
            "no write: N/A, not 0"
        );
    }

    #[test]
    fn processes_of_a_cgroup_add_up() {
        let mut second = owner(&[3_000, 50_000]);
        second.key.tgid = 8;
        let mut elsewhere = owner(&[1]);
        elsewhere.key.cgroup_id = 2;
        let groups = by_cgroup(&[owner(&[1_000]), second, elsewhere]);
        assert_eq!(groups.len(), 2);
        assert_eq!((groups[0].ios(), groups[0].q2d[0].count()), (3, 3));
        assert_eq!(groups[0].ops[0].q2d_max_ns, Some(50_000));
        assert_eq!(groups[0].comm, "2 processes");
    }

    #[test]
    fn idle_owners_are_left_out_and_new_ones_are_whole() {
        let idle = snapshot(1, vec![owner(&[10])]);
        assert!(Interval::between(&idle, &idle).unwrap().owners.is_empty());
        let mut other = owner(&[20]);
        other.key.tgid = 8;
        let later = snapshot(2, vec![owner(&[10]), other]);
        let interval = Interval::between(&idle, &later).unwrap();
        assert_eq!(interval.owners.len(), 1);
        assert_eq!(
            (interval.owners[0].key.tgid, interval.owners[0].ios()),
            (8, 1)
        );
    }
}
