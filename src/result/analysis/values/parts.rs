//! I/O of the parts of a workload: its control groups, their processes, and participants. Pure.

use std::collections::BTreeMap;

use crate::measured::snapshot::{Interval, Op, OwnerNumbers};
use crate::types::outcome::CgroupRef;
use crate::types::participant::Participant;

/// I/Os and bytes over some operations.
pub(super) fn sum_of(ops: &[Op], of: impl Fn(usize) -> (u64, u64)) -> (u64, u64) {
    let each = ops.iter().map(|op| of(*op as usize));
    each.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
}

/// The work of a part of the workload: I/Os and bytes.
#[derive(Clone, Copy, Default)]
pub(super) struct Rates {
    pub data: (u64, u64),
    pub discards: (u64, u64),
}

impl Rates {
    pub fn add(&mut self, owner: &OwnerNumbers) {
        let of = |op: usize| owner.ops.get(op).map_or((0, 0), |op| (op.ios, op.bytes));
        for (sum, ops) in [
            (&mut self.data, &Op::DATA[..]),
            (&mut self.discards, &[Op::Discard]),
        ] {
            let (ios, bytes) = sum_of(ops, of);
            *sum = (sum.0 + ios, sum.1 + bytes);
        }
    }
}

/// Device time of each participant, else of each control group, else of each process of the only one. None where it was
/// not measured.
pub(super) fn device_times(
    cgroups: &[CgroupRef],
    participants: &[Participant],
    window: &Interval,
) -> Option<Vec<f64>> {
    let owners = || window.owners.iter().filter(|owner| owner.ios() > 0);
    let time = |owner: &OwnerNumbers| Some(owner.fairness.as_ref()?.device_time_ns as f64);
    let sum = |owns: &dyn Fn(&OwnerNumbers) -> bool| -> Option<f64> {
        owners().filter(|owner| owns(owner)).map(time).sum()
    };
    let groups: Vec<&CgroupRef> = cgroups.iter().filter(|group| group.on_bios).collect();
    match groups.as_slice() {
        _ if participants.len() > 1 => {
            let each = participants.iter();
            each.map(|it| sum(&|owner| it.owns(&owner.key))).collect()
        }
        [one] => {
            let mut by_process: BTreeMap<(u32, u64), f64> = BTreeMap::new();
            for owner in owners().filter(|owner| owner.key.cgroup_id == one.id) {
                let process = (owner.key.tgid, owner.key.start_ms);
                *by_process.entry(process).or_default() += time(owner)?;
            }
            Some(by_process.into_values().collect())
        }
        many => {
            let each = many.iter();
            each.map(|group| sum(&|owner| owner.key.cgroup_id == group.id))
                .collect()
        }
    }
}

/// Bytes of each participant.
pub(super) fn shares_of(participants: &[Participant], window: &Interval) -> Vec<f64> {
    let bytes = |participant: &Participant| {
        let own = window
            .owners
            .iter()
            .filter(|owner| participant.owns(&owner.key));
        own.map(|owner| owner.bytes() as f64).sum()
    };
    participants.iter().map(bytes).collect()
}

/// I/O of one control group of the workload in an interval.
pub(super) struct GroupNumbers<'a> {
    pub label: &'a str,
    pub bytes: u64,
    pub rates: Rates,
    pub bytes_by_process: BTreeMap<(u32, u64), u64>,
    pub longest_wait_ns: Option<u64>,
}

impl<'a> GroupNumbers<'a> {
    pub fn ios(&self) -> u64 {
        self.rates.data.0
    }

    pub fn of(cgroup: &'a CgroupRef, interval: &Interval) -> Self {
        let mut group = GroupNumbers {
            label: &cgroup.label,
            bytes: 0,
            rates: Rates::default(),
            bytes_by_process: BTreeMap::new(),
            longest_wait_ns: None,
        };
        let owners = interval.owners.iter();
        let is_of_group = |owner: &&OwnerNumbers| owner.key.cgroup_id == cgroup.id;
        for owner in owners.filter(is_of_group).filter(|owner| owner.ios() > 0) {
            group.bytes += owner.bytes();
            group.rates.add(owner);
            let process = (owner.key.tgid, owner.key.start_ms);
            *group.bytes_by_process.entry(process).or_default() += owner.bytes();
            let longest = owner.ops.iter().filter_map(|op| op.q2d_max_ns).max();
            group.longest_wait_ns = group.longest_wait_ns.max(longest);
        }
        group
    }
}
