//! One round in the result: its numbers and the evidence for them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::measured::snapshot::{DeviceNumbers, OwnerNumbers};
use crate::metric::{Metric, Origin};
use crate::types::arm::Arm;
use crate::types::environment::Load;
use crate::types::level::WindowPart;
use crate::types::outcome::{CgroupRef, Outcome};
use crate::types::participant::Participant;
use crate::types::plan::Turn;
use crate::types::queue::{Applied, State};
use crate::types::times::RoundTimes;
use crate::why::RoundWhy;

/// One execution of the workload under one arm.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Round {
    /// Running number over all rounds, repeated ones included.
    pub index: usize,
    pub block: usize,
    /// How often the whole block was repeated before this round; 0 in the first attempt.
    pub attempt: usize,
    pub position: usize,
    /// Label of the arm.
    pub arm: String,
    pub scheduler: String,
    pub workload_seed: u64,
    /// When the workload was started, RFC 3339.
    pub started: String,
    /// Length of the window over which device and owners were measured.
    pub window_s: f64,
    /// Share of the device's bytes that processes outside the workload moved; absent where it cannot be determined.
    pub foreign_share: Option<f64>,
    /// Requests that the probe lost completely or in part; `quality` has them by cause.
    pub lost_events: u64,
    /// Share of all CPU time that was neither idle nor waiting for I/O.
    pub busy_share: Option<f64>,
    /// Share of all CPU time that the hypervisor gave to other guests.
    pub steal_share: Option<f64>,
    /// Why this round, and with it its block, does not count.
    pub exclusion: Option<Exclusion>,
    /// Why the round has no values though it counts: its arm did too little. It counts as worse than every other.
    pub censored: Option<Censored>,
    /// The exclusion or the censoring in words.
    pub problem: Option<String>,
    /// Values that iosched measures, by the metric's name; what is not measured in this round is absent,
    /// and all of them if the round is censored.
    pub metrics: BTreeMap<String, f64>,
    /// Values that the command reports, by the name that it gives them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub reported: BTreeMap<String, f64>,
    pub evidence: Evidence,
}

/// Reasons to exclude a block; each is decided without looking at a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Exclusion {
    /// The workload failed, or did not do what it was told to do.
    Workload,
    /// The probe saw no I/O, or the workload ended before its measurement window.
    NothingMeasured,
    /// Settings of the queue changed.
    DriftedSettings,
    /// The device ended requests with an error: its times are those of a device in trouble, under whichever arm.
    DeviceErrors,
    /// Processes outside the workload moved more than 1 % of the bytes.
    ForeignIo,
    /// The probe lost so many requests that these could change a metric that decides.
    LostEvents,
    /// The machine was suspended, or iosched itself was stopped.
    Paused,
}

/// The reason why an arm leaves its round without values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Censored {
    /// The command ran longer than `--limit`, and was ended.
    Overrun,
    /// A part of the workload completed no I/O for so long that the round was given up.
    Starved,
    /// The workload failed: it ended with an error, or its output could not be read.
    Failed,
    /// The condition of `--stop-if` held: the reference was put back at once, and the arm is not run again.
    Stopped,
}

/// Why a round has no values, or none that count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spoilt {
    Excluded(Exclusion),
    Censored(Censored),
}

/// The evidence that the numbers of a round are made from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Evidence {
    /// The state in force, read back after it was applied; with several disks that of the first.
    pub applied: Applied,
    /// One entry per disk; empty when there is a single disk.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<Member>,
    /// Attributes that changed during the round, or since the first round of this arm.
    pub drifted: Vec<String>,
    pub device: DeviceNumbers,
    pub owners: Vec<OwnerNumbers>,
    pub cgroups: Vec<CgroupRef>,
    /// Processes that ran before and belong to the workload, see `--unit`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub participants: Vec<Participant>,
    pub outcome: Outcome,
    pub foreign: Option<Foreign>,
    pub load: Option<Load>,
    /// Only in a live run: I/Os per second in the window of the round before. The arms of a block cannot have
    /// caused the one of its first round.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iops_before: Option<f64>,
    /// Kernel events (uevents) about the disks during the round.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub uevents: Vec<String>,
    /// With `--cold`: what the page cache held of the scratch file or the devices when the workload was started. Absent
    /// before Linux 6.5.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_bytes: Option<u64>,
    /// The equal parts of the window, in their order; none for a command, a live run or a time below a second.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<WindowPart>,
    /// What the rest of the round's time was spent on; absent in files of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<RoundTimes>,
    /// With `--why`: who waited behind whom in the window. Absent if there is no window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<RoundWhy>,
    /// Percentiles left out because fewer than 100 I/Os lie beyond them.
    pub insufficient_tail: Vec<String>,
    /// Percentiles at a cliff of the distribution: a slightly different rank gives a very different value.
    pub fragile_percentile: Vec<String>,
    /// Metrics left out because the requests that the probe lost, or a process without histograms, could change them by more
    /// than 1 %.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub doubtful: Vec<String>,
}

/// One of several disks in a round.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Member {
    /// Kernel name of the disk.
    pub device: String,
    pub applied: Applied,
}

/// I/O on the device during the window that did not belong to the workload, as the probe saw it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Foreign {
    /// I/Os of processes that do not belong to the workload.
    pub ios: u64,
    pub bytes: u64,
    pub share_of_bytes: f64,
    /// Bytes of kernel threads in the root group (journals, metadata) and of owners that did not fit into the probe's
    /// table. The process that caused them is unknown, so they exclude no round.
    pub unattributed_bytes: u64,
    /// The three that moved the most bytes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub largest: Vec<ForeignProcess>,
}

/// A process that shared the device with the workload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ForeignProcess {
    /// 0 if it is not a single process.
    pub pid: u32,
    pub name: String,
    pub bytes: u64,
}

impl Evidence {
    /// Whether its I/O is the workload's.
    pub fn is_of_workload(&self, owner: &OwnerNumbers) -> bool {
        self.part_of(owner).is_some()
    }

    /// The part of the workload, or the participant, that this I/O belongs to.
    pub fn part_of(&self, owner: &OwnerNumbers) -> Option<&str> {
        let is_group = |group: &&CgroupRef| group.on_bios && group.id == owner.key.cgroup_id;
        let group = self.cgroups.iter().find(is_group).map(|group| &group.label);
        let mut participants = self.participants.iter();
        let participant = || {
            participants
                .find(|it| it.owns(&owner.key))
                .map(|it| &it.label)
        };
        group.or_else(participant).map(String::as_str)
    }

    /// The state in force on each disk, without names.
    pub fn states(&self) -> Vec<&State> {
        if self.members.is_empty() {
            return vec![&self.applied.effective];
        }
        let members = self.members.iter();
        members.map(|member| &member.applied.effective).collect()
    }

    /// Sum of the hardware depths of all disks, if each is known.
    pub fn hardware_depth(&self) -> Option<u32> {
        self.states().into_iter().try_fold(0u32, |sum, state| {
            Some(sum.saturating_add(state.hardware_depth?.depth))
        })
    }
}

impl Round {
    /// A round; what follows from the evidence is taken from there. `spoilt`: why it has no values, or none that count.
    pub fn new(
        turn: &Turn,
        arm: &Arm,
        started: String,
        window_s: f64,
        spoilt: Option<(Spoilt, String)>,
        metrics: BTreeMap<String, f64>,
        evidence: Evidence,
    ) -> Round {
        let (spoilt, problem) = spoilt.unzip();
        let (exclusion, censored) = match spoilt {
            Some(Spoilt::Excluded(exclusion)) => (Some(exclusion), None),
            Some(Spoilt::Censored(censored)) => (None, Some(censored)),
            None => (None, None),
        };
        Round {
            index: turn.planned.index,
            block: turn.planned.block,
            attempt: turn.attempt,
            position: turn.planned.position,
            arm: arm.label.clone(),
            scheduler: arm.scheduler.clone(),
            workload_seed: turn.planned.workload_seed,
            started,
            window_s,
            foreign_share: evidence
                .foreign
                .as_ref()
                .map(|foreign| foreign.share_of_bytes),
            lost_events: evidence.device.quality.lost_events(),
            busy_share: evidence.load.map(|load| load.busy_share),
            steal_share: evidence.load.map(|load| load.steal_share),
            exclusion,
            censored,
            problem,
            metrics: if censored.is_some() {
                BTreeMap::new()
            } else {
                metrics
            },
            reported: if censored.is_some() {
                BTreeMap::new()
            } else {
                evidence.outcome.reported_values()
            },
            evidence,
        }
    }

    /// The value of a metric, if the round has one.
    pub fn value(&self, metric: &Metric) -> Option<f64> {
        let values = match metric.origin {
            Origin::Measured => &self.metrics,
            Origin::Reported => &self.reported,
        };
        values.get(metric.plain_name()).copied()
    }
}
