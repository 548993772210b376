//! Why requests wait: who waits behind whom on each disk. Pure. What it says to people is in `report::why`.

pub mod blkparse; // requests from blkparse's text
mod passage; // requests of a stretch of time
mod request; // one of them
mod rounds; // the window of a round, and all rounds of an arm

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::measured::blame::{BATCHES, Behind, Charges, Waiting};
use crate::measured::snapshot::{Op, OwnerKind};
use crate::measured::trace::TracedOwner;
pub use passage::{FEW_PARTIES, MOST_PARTIES, Party, Silence, Stretch, Who};
pub use request::{Request, Requests};
pub use rounds::{ArmWhy, FEWEST_ROUNDS, RoundWhy, of_arm, of_round};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WhyDevice {
    /// Its kernel name.
    pub device: String,
    /// The active scheduler; null if it is not known, or was changed meanwhile.
    pub scheduler: Option<String>,
    /// Requests that it takes at once; null if unknown.
    pub hardware_depth: Option<u32>,
    /// Stretches from a request to the next moment without any, which have ended: the units of the errors.
    pub busy_periods: u64,
    /// Parts of the same length into which the time was cut: the units of the errors of owners of whose waiting few busy
    /// periods have most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batches: Option<u64>,
    /// Rounds whose numbers are added up here; they are the units of the errors then. Absent for one stretch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounds: Option<u64>,
    /// Whoever had requests, the longest waiting first; all but those with the most requests are `all others`.
    pub owners: Vec<WhyOwner>,
    /// Requests of all watched disks that are missing: their records came faster than they were read, their ends were not seen, or
    /// they were in service already when the stretch began.
    pub missing: u64,
}

/// A direction of the I/O of a process on a disk.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WhyOwner {
    /// The command; kernel threads are in brackets.
    pub name: String,
    /// 0 if it is not a single process.
    pub pid: u32,
    /// The part of the workload that it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<String>,
    /// What kind of process it is.
    pub kind: OwnerKind,
    /// The number of its control group.
    pub cgroup_id: u64,
    /// What its requests do.
    pub does: Does,
    /// Requests that were issued.
    pub ios: u64,
    /// From issue to the end of the data, summed, of those that ended.
    pub service_ns: u64,
    /// Requests that waited in the stretch; those that waited for a flush are not among them.
    pub waits: u64,
    /// How long they waited in all, from Q to the first issue, as far as it is in the stretch: the sum of `behind` and
    /// `device_idle_ns`, to the nanosecond.
    pub wait_ns: u64,
    /// The part while requests of these were in service, the largest first.
    pub behind: Vec<WhyBehind>,
    /// The part while nothing was in service.
    pub device_idle_ns: u64,
    /// Standard error of its share of `wait_ns`; null for fewer than 100 waits or 5 rounds, and where the
    /// share drifts over the time.
    pub device_idle_error: Option<f64>,
    /// The part while the device could have taken another request, of both; null if its depth is unknown.
    pub slot_free_ns: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WhyBehind {
    /// The command.
    pub name: String,
    /// 0 if it is not a single process.
    pub pid: u32,
    /// The part of the workload that it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<String>,
    /// What its requests do.
    pub does: Does,
    /// How much of the waiting, in ns.
    pub ns: u64,
    /// Standard error of its share of `wait_ns`; null for fewer than 100 waits or 5 rounds, and where the
    /// share drifts over the time.
    pub error: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Does {
    Reads,
    Writes,
    /// The command that the kernel sends for the flushes of one or more processes.
    Flushes,
    /// Discards, zone commands and others.
    Others,
}

/// Larger numbers are wrong, and sums of them too large.
const LARGEST: u64 = 1 << 53;

impl WhyDevice {
    /// Whether it is what is kept of a stretch, as far as screens and reports rely on it. Err: what is wrong.
    pub fn check(&self) -> Result<(), String> {
        let count = self.owners.len();
        if count > FEW_PARTIES {
            return Err(format!("{count} owners are too many"));
        }
        for owner in &self.owners {
            let parts = owner.behind.iter().map(|of| of.ns);
            let sum = parts.fold(owner.device_idle_ns, u64::saturating_add);
            let name = &owner.name;
            if sum != owner.wait_ns {
                return Err(format!(
                    "the parts of the waiting of {name:?} do not add up to it"
                ));
            }
            let numbers = [owner.ios, owner.waits, owner.service_ns, owner.wait_ns];
            if numbers.iter().any(|number| *number > LARGEST) {
                return Err(format!("{name:?} has too large a number"));
            }
        }
        Ok(())
    }
}

impl WhyOwner {
    /// Its part of the workload if it has one, else its command.
    pub fn label(&self) -> &str {
        self.part.as_deref().unwrap_or(&self.name)
    }
}

impl WhyBehind {
    /// Its part of the workload if it has one, else its command.
    pub fn label(&self) -> &str {
        self.part.as_deref().unwrap_or(&self.name)
    }
}

impl Does {
    pub fn of(op: Op) -> Does {
        match op {
            Op::Read => Does::Reads,
            Op::WriteSync | Op::WriteAsync => Does::Writes,
            Op::Flush => Does::Flushes,
            _ => Does::Others,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Does::Reads => "reads",
            Does::Writes => "writes",
            Does::Flushes => "flushes",
            Does::Others => "other requests",
        }
    }
}

/// The name of everybody for whom there is no room.
pub const REST: &str = "all others";

/// Facts about a disk that complement its requests.
#[derive(Clone, Debug, Default)]
pub struct DiskFacts {
    pub name: String,
    pub scheduler: Option<String>,
    /// The other schedulers that the kernel offers for it.
    pub others: Vec<String>,
    pub hardware_depth: Option<u32>,
    pub nr_requests: Option<u32>,
    /// Target of writeback throttling in us; 0: it is off, None: the disk has none.
    pub wbt_lat_us: Option<u64>,
}

/// The numbers of a stretch. `disks` stand in the order in which requests number them; `owner` names the owner of a row; so many
/// parties are kept apart.
pub fn devices(
    stretch: &Stretch,
    disks: &[DiskFacts],
    owner: &dyn Fn(u32) -> TracedOwner,
    most_parties: usize,
) -> Vec<WhyDevice> {
    let devices = disks.iter().enumerate();
    devices
        .map(|(place, facts)| device(stretch, place, facts, owner, most_parties))
        .collect()
}

fn device(
    stretch: &Stretch,
    place: usize,
    facts: &DiskFacts,
    owner: &dyn Fn(u32) -> TracedOwner,
    most_parties: usize,
) -> WhyDevice {
    let parties = stretch.parties(place, most_parties);
    let time_ns = stretch.begin_ns..stretch.end_ns;
    let mut charges = Charges::new(facts.hardware_depth).within(time_ns);
    for event in stretch.events(place, &parties) {
        charges.add(event);
    }
    let busy_periods = charges.busy_periods();
    let waiting: HashMap<u32, Waiting> = charges
        .waiting(stretch.end_ns)
        .into_iter()
        .map(|waiting| (waiting.owner, waiting))
        .collect();
    let has_batches = waiting.values().any(|waiting| waiting.is_by_batches);
    let batches = has_batches.then_some(BATCHES);
    let services = &parties.services;
    let named: Vec<(TracedOwner, Does)> = services
        .iter()
        .map(|(party, _)| named(*party, owner))
        .collect();
    let nobody = Waiting::default();
    let mut owners: Vec<WhyOwner> = (0..)
        .zip(services)
        .zip(&named)
        .map(|((number, (_, service)), (who, does))| {
            let waiting = waiting.get(&number).unwrap_or(&nobody);
            let who = who.clone();
            WhyOwner {
                name: who.name,
                pid: who.pid,
                part: who.part,
                kind: who.kind,
                cgroup_id: who.cgroup_id,
                does: *does,
                ios: service.ios,
                service_ns: service.ns,
                waits: waiting.waits,
                wait_ns: waiting.wait_ns,
                behind: waiting.behind.iter().map(|of| behind(of, &named)).collect(),
                device_idle_ns: waiting.device_idle_ns,
                device_idle_error: waiting.device_idle_error,
                slot_free_ns: facts
                    .hardware_depth
                    .map(|_| waiting.slot_free_ns.unwrap_or(0)),
            }
        })
        .collect();
    // Whoever had requests only before or after the stretch.
    owners.retain(|owner| owner.ios > 0 || owner.waits > 0);
    owners.sort_by_key(|owner| (std::cmp::Reverse(owner.wait_ns), owner.pid, owner.does));
    WhyDevice {
        device: facts.name.clone(),
        scheduler: facts.scheduler.clone(),
        hardware_depth: facts.hardware_depth,
        busy_periods,
        batches,
        rounds: None,
        owners,
        missing: stretch.missing,
    }
}

fn named(party: Party, owner: &dyn Fn(u32) -> TracedOwner) -> (TracedOwner, Does) {
    let nobody = |name: &str| TracedOwner {
        name: name.to_owned(),
        kind: OwnerKind::Other,
        pid: 0,
        cgroup_id: 0,
        part: None,
    };
    let who = match party.who {
        Who::Row(row) => owner(row),
        Who::Flush => nobody("[flush]"),
        Who::Rest => nobody(REST),
    };
    (who, party.does)
}

fn behind(of: &Behind, named: &[(TracedOwner, Does)]) -> WhyBehind {
    let (who, does) = &named[of.owner as usize];
    WhyBehind {
        name: who.name.clone(),
        pid: who.pid,
        part: who.part.clone(),
        does: *does,
        ns: of.ns,
        error: of.error,
    }
}
