//! Who waited behind whom in the window of a round, and in all rounds of an arm. Processes come and go with the rounds: so those of
//! the same name, or of the same part of the workload, are one. Pure.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::{DiskFacts, Does, FEW_PARTIES, REST, Stretch, WhyBehind, WhyDevice, WhyOwner, devices};
use crate::measured::blame::Spread;
use crate::measured::trace::TracedOwner;

/// Fewer rounds, in which the owner waited, say nothing of an error.
pub const FEWEST_ROUNDS: u64 = 5;

/// Who waited behind whom in the window of a round, with `--why`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RoundWhy {
    /// The time that it is about; shorter than the window if there was no room for more requests.
    pub time_s: f64,
    /// Each disk of the round.
    pub devices: Vec<WhyDevice>,
}

/// The numbers of a round's window.
pub fn of_round(
    mut stretch: Stretch,
    disks: &[DiskFacts],
    owner: &dyn Fn(u32) -> TracedOwner,
) -> RoundWhy {
    let mut owners: Vec<TracedOwner> = Vec::new();
    let mut places: HashMap<(bool, String), usize> = HashMap::new();
    let mut by_row: HashMap<u32, u32> = HashMap::new();
    stretch.renumber(|row| {
        *by_row.entry(row).or_insert_with(|| {
            let who = owner(row);
            let key = match &who.part {
                Some(part) => (true, part.clone()),
                None => (false, who.name.clone()),
            };
            let place = *places.entry(key).or_insert(owners.len());
            match owners.get_mut(place) {
                None => owners.push(who),
                Some(same) => join(&mut same.pid, who.pid, &mut same.cgroup_id, who.cgroup_id),
            }
            place as u32
        })
    });
    let named = |place: u32| owners[place as usize].clone();
    RoundWhy {
        time_s: stretch.time_s(),
        devices: devices(&stretch, disks, &named, FEW_PARTIES),
    }
}

/// Several processes or control groups as one have no number.
fn join(pid: &mut u32, other_pid: u32, cgroup_id: &mut u64, other_cgroup_id: u64) {
    if *pid != other_pid {
        *pid = 0;
    }
    if *cgroup_id != other_cgroup_id {
        *cgroup_id = 0;
    }
}

/// All rounds of an arm together.
#[derive(Clone, Debug, PartialEq)]
pub struct ArmWhy {
    pub time_s: f64,
    pub devices: Vec<WhyDevice>,
}

/// The sums over rounds; errors are those between them. None without any.
pub fn of_arm(rounds: &[&RoundWhy]) -> Option<ArmWhy> {
    let mut names: Vec<&str> = Vec::new();
    for device in rounds.iter().flat_map(|round| &round.devices) {
        if !names.contains(&device.device.as_str()) {
            names.push(&device.device);
        }
    }
    (!rounds.is_empty()).then(|| ArmWhy {
        time_s: rounds.iter().map(|round| round.time_s).sum(),
        devices: names
            .into_iter()
            .map(|name| {
                let all = rounds.iter().flat_map(|round| &round.devices);
                together(&all.filter(|of| of.device == name).collect::<Vec<_>>())
            })
            .collect(),
    })
}

/// Whoever is the same in all rounds.
type Key<'a> = (bool, &'a str, Does);

/// Who is apart in every round in which not everybody is: a sum that lacks some rounds would not be that owner's.
struct Apart<'a> {
    /// By owner: in how many of the rounds with others.
    rounds: HashMap<Key<'a>, usize>,
    with_others: usize,
}

impl<'a> Apart<'a> {
    fn of(rounds: &[&'a WhyDevice]) -> Apart<'a> {
        let has_others = |device: &&&WhyDevice| device.owners.iter().any(|of| of.name == REST);
        let with_others: Vec<&&WhyDevice> = rounds.iter().filter(has_others).collect();
        let mut apart = HashMap::new();
        for owner in with_others.iter().flat_map(|device| &device.owners) {
            let key = (owner.part.is_some(), owner.label(), owner.does);
            *apart.entry(key).or_insert(0) += 1;
        }
        Apart {
            rounds: apart,
            with_others: with_others.len(),
        }
    }

    /// Himself, or everybody who is not apart.
    fn key<'b>(&self, part: Option<&'b str>, name: &'b str, does: Does) -> Key<'b>
    where
        'a: 'b,
    {
        let key = (part.is_some(), part.unwrap_or(name), does);
        let is_apart = self.rounds.get(&key).copied().unwrap_or(0) == self.with_others;
        if is_apart { key } else { (false, REST, does) }
    }
}

/// An owner in all rounds, and those whom it waited behind.
struct Sum<'a> {
    owner: WhyOwner,
    places: HashMap<Key<'a>, usize>,
    spread: Spread,
}

/// One device in at least one round.
fn together(rounds: &[&WhyDevice]) -> WhyDevice {
    let apart = Apart::of(rounds);
    let mut places: HashMap<Key, usize> = HashMap::new();
    let mut sums: Vec<Sum> = Vec::new();
    for owner in rounds.iter().flat_map(|device| &device.owners) {
        let next = sums.len();
        let key = apart.key(owner.part.as_deref(), &owner.name, owner.does);
        let place = *places.entry(key).or_insert(next);
        if place == next {
            sums.push(Sum::of(owner, key));
        }
        sums[place].add(owner, &apart);
    }
    let mut owners: Vec<WhyOwner> = sums.into_iter().map(Sum::whole).collect();
    owners.sort_by_key(|owner| std::cmp::Reverse(owner.wait_ns));
    let sum = |count: fn(&WhyDevice) -> u64| {
        let counts = rounds.iter().map(|device| count(device));
        counts.fold(0, u64::saturating_add)
    };
    let (first, rest) = (rounds[0], &rounds[1..]);
    let same = |is: &dyn Fn(&WhyDevice) -> bool| rest.iter().all(|device| is(device));
    WhyDevice {
        device: first.device.clone(),
        scheduler: first
            .scheduler
            .clone()
            .filter(|_| same(&|of| of.scheduler == first.scheduler)),
        hardware_depth: first
            .hardware_depth
            .filter(|_| same(&|of| of.hardware_depth == first.hardware_depth)),
        busy_periods: sum(|of| of.busy_periods),
        batches: None,
        rounds: Some(rounds.len() as u64),
        owners,
        missing: sum(|of| of.missing),
    }
}

impl<'a> Sum<'a> {
    /// Nothing yet.
    fn of(owner: &WhyOwner, key: Key) -> Sum<'a> {
        let (has_part, label, does) = key;
        Sum {
            owner: WhyOwner {
                name: if has_part {
                    owner.name.clone()
                } else {
                    label.to_owned()
                },
                part: has_part.then(|| label.to_owned()),
                does,
                ios: 0,
                service_ns: 0,
                waits: 0,
                wait_ns: 0,
                behind: Vec::new(),
                device_idle_ns: 0,
                slot_free_ns: Some(0),
                ..owner.clone()
            },
            places: HashMap::new(),
            spread: Spread::default(),
        }
    }

    /// Adds what it did in a round.
    fn add(&mut self, of: &'a WhyOwner, apart: &Apart<'a>) {
        let add = |sum: &mut u64, more: u64| *sum = sum.saturating_add(more);
        let own = &mut self.owner;
        join(&mut own.pid, of.pid, &mut own.cgroup_id, of.cgroup_id);
        add(&mut own.ios, of.ios);
        add(&mut own.service_ns, of.service_ns);
        add(&mut own.waits, of.waits);
        add(&mut own.wait_ns, of.wait_ns);
        add(&mut own.device_idle_ns, of.device_idle_ns);
        let both = own.slot_free_ns.zip(of.slot_free_ns);
        own.slot_free_ns = both.map(|(sum, more)| sum.saturating_add(more));
        for behind in &of.behind {
            let next = own.behind.len();
            let key = apart.key(behind.part.as_deref(), &behind.name, behind.does);
            let place = *self.places.entry(key).or_insert(next);
            if place == next {
                let (has_part, label, does) = key;
                own.behind.push(WhyBehind {
                    name: if has_part {
                        behind.name.clone()
                    } else {
                        label.to_owned()
                    },
                    pid: behind.pid,
                    part: has_part.then(|| label.to_owned()),
                    does,
                    ns: 0,
                    error: None,
                });
            }
            let sum = &mut own.behind[place];
            if sum.pid != behind.pid {
                sum.pid = 0;
            }
            add(&mut sum.ns, behind.ns);
        }
        let parts = own.behind.iter().map(|behind| behind.ns as f64);
        let idle = own.device_idle_ns as f64;
        self.spread.add_unit(own.wait_ns as f64, idle, parts);
    }

    fn whole(self) -> WhyOwner {
        let Sum {
            mut owner, spread, ..
        } = self;
        let waits = owner.waits;
        owner.device_idle_error = spread.error(FEWEST_ROUNDS, waits, None);
        for (place, behind) in owner.behind.iter_mut().enumerate() {
            behind.error = spread.error(FEWEST_ROUNDS, waits, Some(place));
        }
        // Several owners of a round are no units.
        if owner.name == REST {
            owner.device_idle_error = None;
            for behind in &mut owner.behind {
                behind.error = None;
            }
        }
        owner
            .behind
            .sort_by_key(|behind| std::cmp::Reverse(behind.ns));
        owner
    }
}

#[cfg(test)]
#[path = "rounds_tests.rs"]
mod tests;
