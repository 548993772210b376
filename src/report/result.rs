//! The result of an A/B: these types are the JSON. Nothing is in a report that is not in here.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ab::diagnostics::Diagnostics;
use crate::ab::metric::Metric;
use crate::ab::noise::Noise;
use crate::ab::plan::Plan;
use crate::ab::stopping::Stopping;
use crate::ab::verdict::Comparison;
use crate::arm::Arm;
use crate::environment::{Environment, Load};
use crate::scheduler::{Applied, State};
use crate::scratch_file::Place;
use crate::snapshot::{DeviceNumbers, OwnerNumbers};
use crate::workload::{CgroupRef, Fixed, Outcome};

pub use super::device::{DeviceInfo, GroupInfo};

/// Raised when a field changes its meaning or goes. Readers leave alone what they do not know.
pub const SCHEMA_VERSION: u32 = 1;
/// In `docs/`.
pub const SCHEMA: &str = "ab-result-1.schema.json";

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Not all planned rounds are there yet.
    Running,
    Complete,
    /// Ended by a signal.
    Interrupted,
    /// Ended by an error, see `error`.
    Failed,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ResultFile {
    #[serde(rename = "$schema")]
    pub schema: String,
    pub schema_version: u32,
    pub status: Status,
    pub error: Option<String>,
    /// RFC 3339.
    pub started: String,
    pub finished: Option<String>,
    /// When the run went on after it had been interrupted.
    pub resumed: Vec<Resumed>,
    pub environment: Environment,
    pub device: DeviceInfo,
    pub workload: WorkloadInfo,
    pub design: Design,
    /// Drawn and written down before the first round.
    pub plan: Plan,
    pub probe: ProbeInfo,
    /// What the numbers in `rounds` are, those that were compared.
    pub metrics: Vec<Metric>,
    pub rounds: Vec<Round>,
    /// Blocks that were run and do not count; each was run again if too many were not.
    pub excluded: Vec<ExcludedBlock>,
    pub comparisons: Vec<ArmComparison>,
    /// Per arm, in the order of `design.arms`: did requests wait at all?
    pub waiting: Vec<ArmWaiting>,
    /// Of each primary metric: what rounds have to do with each other.
    pub diagnostics: Vec<Diagnostics>,
    /// Of an arm against itself: what this machine can show.
    pub noise: Option<Noise>,
    pub notes: Vec<String>,
}

/// The order inside the blocks was drawn by lot before the first round: a gap favours no arm.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Resumed {
    /// RFC 3339.
    pub at: String,
    pub after_rounds: usize,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkloadInfo {
    pub name: String,
    pub fixed: Fixed,
    /// Exactly what is run.
    pub description: serde_json::Value,
    /// Where it ran, if not on the device itself.
    pub scratch_file: Option<Place>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Design {
    pub arms: Vec<Arm>,
    /// Index into `arms`.
    pub reference: usize,
    /// When the run ends; the plan holds the blocks that were drawn for it.
    pub stopping: Stopping,
    pub ramp_s: f64,
    pub round_time_s: f64,
    /// Declared before the first round; its intervals hold together at 95 %.
    pub primary: Vec<Metric>,
    pub alpha: f64,
    /// Both arms are the same: whatever differs is noise.
    pub is_placebo: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProbeInfo {
    /// False: the queue wait is G2D alone on this kernel.
    pub measures_q2g: bool,
    /// Kernel memory of the probe's arrays.
    pub memory_bytes: u64,
    pub notes: Vec<String>,
}

/// One execution of the workload under one arm: a flat row, but for `evidence`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Round {
    /// Running number over all rounds, those that were run again included.
    pub index: usize,
    pub block: usize,
    /// 0, or how often the whole block had to be run again before this round.
    pub attempt: usize,
    pub position: usize,
    /// The label.
    pub arm: String,
    pub scheduler: String,
    pub workload_seed: u64,
    /// RFC 3339, when the workload was started.
    pub started: String,
    /// The time over which the device's and the owners' numbers were taken.
    pub window_s: f64,
    /// Of the bytes on the device, those of processes outside the workload; absent where that cannot be told.
    pub foreign_share: Option<f64>,
    /// Requests that the probe lost, whole or in part: `quality` has them by cause.
    pub lost_events: u64,
    /// Of all CPU time, not idle and not waiting for I/O.
    pub busy_share: Option<f64>,
    /// Of all CPU time, taken by the hypervisor for others.
    pub steal_share: Option<f64>,
    /// Why the round, and with it its block, does not count.
    pub exclusion: Option<Exclusion>,
    /// The same in words.
    pub problem: Option<String>,
    /// By metric, see the list `metrics` of the file; one that was not measured in this round is absent.
    #[serde(flatten)]
    pub metrics: BTreeMap<String, f64>,
    pub evidence: Evidence,
}

/// Reasons to leave a block out, all known before anybody looks at a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Exclusion {
    /// It failed, or did not do what it was asked to do.
    Workload,
    /// The probe saw no I/O, or the workload ended before its window.
    NothingMeasured,
    /// Settings of the queue were not what they had been.
    DriftedSettings,
    /// Others moved more than 1 % of the bytes.
    ForeignIo,
    /// The probe lost more than 0.1 % of the requests.
    LostEvents,
    /// The machine was suspended, or iosched itself was stopped.
    Paused,
}

/// What the numbers of a round were made from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Evidence {
    /// What was in force, read back after it was applied. Of several disks that of the first.
    pub applied: Applied,
    /// Of several disks that of each; empty for one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<Member>,
    /// Attributes that changed during the round, or since the first round of this arm.
    pub drifted: Vec<String>,
    pub device: DeviceNumbers,
    pub owners: Vec<OwnerNumbers>,
    pub cgroups: Vec<CgroupRef>,
    pub outcome: Outcome,
    pub foreign: Option<Foreign>,
    pub load: Option<Load>,
    /// What the kernel told of the disks meanwhile.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub uevents: Vec<String>,
    /// Percentiles left out because too few I/Os lie beyond them.
    pub insufficient_tail: Vec<String>,
    /// Percentiles that stand at a cliff of the distribution.
    pub fragile_percentile: Vec<String>,
}

/// One of several disks in a round.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Member {
    /// Its name.
    pub device: String,
    pub applied: Applied,
}

/// A block, or one of its repetitions, that does not count because a round of it does not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExcludedBlock {
    pub block: usize,
    pub attempt: usize,
    /// Of its first round that does not count.
    pub exclusion: Exclusion,
    pub arm: String,
    pub problem: String,
}

/// I/O on the device during the window that was not the workload's, as the probe saw it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Foreign {
    /// Of processes outside the workload's control groups.
    pub ios: u64,
    pub bytes: u64,
    pub share_of_bytes: f64,
    /// Of kernel threads in the root group (journals, metadata) and of owners that found no room in the probe's
    /// table: nobody can tell for whom. They exclude nothing.
    pub unattributed_bytes: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ArmComparison {
    pub metric: Metric,
    pub primary: bool,
    pub arm: String,
    pub reference: String,
    /// Medians over the rounds that count, for orientation; the comparison is made within blocks.
    pub arm_median: Option<f64>,
    pub reference_median: Option<f64>,
    /// Over all primary comparisons.
    pub p_holm: Option<f64>,
    /// The same by flipping the signs of blocks, where the comparisons have blocks in common.
    pub p_max_t: Option<f64>,
    /// Over all others: the false discovery rate.
    pub q_benjamini_hochberg: Option<f64>,
    #[serde(flatten)]
    pub comparison: Comparison,
}

/// A request waited if its queue wait was longer than the threshold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ArmWaiting {
    pub arm: String,
    /// Of several disks together.
    pub hardware_depth: Option<u32>,
    pub requests: u64,
    /// 50 us, or a tenth of the median device time of the fastest arm if that is longer.
    pub threshold_ns: u64,
    pub share: Option<f64>,
    /// The longest queue wait of the workload in any round; a fact of this run, not an estimate.
    pub longest_ns: Option<f64>,
    /// How long threads with I/O under way stood still for a request of the next, over the time of the rounds; above 1
    /// where several did.
    #[serde(default)]
    pub stalled_share: Option<f64>,
}

impl Evidence {
    /// What was in force, disk by disk; a single one has no name here.
    pub fn states(&self) -> Vec<&State> {
        if self.members.is_empty() {
            return vec![&self.applied.effective];
        }
        let members = self.members.iter();
        members.map(|member| &member.applied.effective).collect()
    }

    /// Requests that all disks together take at a time, where that is known of each.
    pub fn hardware_depth(&self) -> Option<u32> {
        self.states().into_iter().try_fold(0u32, |sum, state| {
            Some(sum.saturating_add(state.hardware_depth?.depth))
        })
    }
}

impl ResultFile {
    pub fn arm_index(&self, label: &str) -> Option<usize> {
        self.design.arms.iter().position(|arm| arm.label == label)
    }

    pub fn blocks_begun(&self) -> usize {
        let blocks = self.rounds.iter().map(|round| round.block + 1);
        blocks.max().unwrap_or(0)
    }

    /// Below this share of waiting requests in every arm the workload says nothing about schedulers.
    pub const TELLING_SHARE: f64 = 0.01;

    /// Whether requests waited often enough under some arm for a scheduler to make a difference.
    pub fn can_tell_schedulers_apart(&self) -> Option<bool> {
        let shares: Vec<f64> = self.waiting.iter().filter_map(|arm| arm.share).collect();
        (!shares.is_empty()).then(|| shares.iter().any(|&share| share >= Self::TELLING_SHARE))
    }
}
