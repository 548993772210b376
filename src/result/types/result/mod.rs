//! The result of an A/B comparison: these types are the JSON file. Reports show nothing that is not in it.

mod comparison; // an arm against the reference in a metric
mod design; // what the run was to do
mod devices; // the disks of a result
mod no_ratio; // why a block has no ratio
mod round; // one round and the evidence for its numbers
mod shift; // the deciles of the latencies
mod trace; // each request of a short time under an arm

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::measured::snapshot::Cause;
use crate::metric::Metric;
use crate::statistics::stopping::Stopping;
use crate::types::controls::Sight;
use crate::types::diagnostics::Diagnostics;
use crate::types::environment::Environment;
use crate::types::level::{Levels, Precondition};
use crate::types::limit::ArmLimit;
use crate::types::noise::Noise;
use crate::types::outcome::Fixed;
use crate::types::participant::Named;
use crate::types::plan::Plan;
use crate::types::processes::ProcessSummary;
use crate::types::scratch_place::ScratchPlace;
use crate::types::times::ChosenTimes;
use crate::types::washout::Pilot;

pub use super::decided::Decided;
pub use comparison::{ArmComparison, Class};
pub use design::Design;
pub use devices::{DeviceInfo, GroupInfo};
pub use no_ratio::{NoRatio, WhyNoRatio};
pub use round::{Censored, Evidence, Exclusion, Foreign, ForeignProcess, Member, Round, Spoilt};
pub use shift::{DecileShift, ShiftFunction};
pub use trace::ArmTrace;

/// Raised when a field changes its meaning or is removed. Readers ignore unknown fields.
pub const SCHEMA_VERSION: u32 = 3;
/// File name of the schema in `docs/`.
pub const SCHEMA: &str = "ab-result-3.schema.json";

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Planned rounds are still missing. A run that was killed keeps this status.
    Running,
    Complete,
    /// A signal ended the run.
    Interrupted,
    /// An error ended the run, see `error`.
    Failed,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ResultFile {
    #[serde(rename = "$schema")]
    pub schema: String,
    pub schema_version: u32,
    pub status: Status,
    pub error: Option<String>,
    /// When the run began, RFC 3339.
    pub started: String,
    pub finished: Option<String>,
    /// One entry for each time that the run was resumed after an interruption.
    pub resumed: Vec<Resumed>,
    /// The command line that began the run. Absent in files of earlier versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    pub environment: Environment,
    pub device: DeviceInfo,
    pub workload: WorkloadInfo,
    pub design: Design,
    /// The schedule, drawn at random and stored before the first round.
    pub plan: Plan,
    pub probe: ProbeInfo,
    /// Every metric that was compared, with its unit and margin.
    pub metrics: Vec<Metric>,
    pub rounds: Vec<Round>,
    /// Wall-clock time of all rounds, also of those that do not count: from the beginning of each until its result was saved. Absent in
    /// files of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounds_took_s: Option<f64>,
    /// The times of the rounds, if a pilot chose them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<ChosenTimes>,
    /// Findings from the first blocks of a run with `--washout auto`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pilot: Option<Pilot>,
    /// Blocks that ran but do not count. Before each look at the results, excluded blocks are run again, up to a limit.
    pub excluded: Vec<ExcludedBlock>,
    pub comparisons: Vec<ArmComparison>,
    /// Only of a run with `--rounds open`: the verdicts so far, each with the block that brought it. They stay.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub decided: Vec<Decided>,
    /// For each limit of `design.goals`, whether each arm stays within it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<ArmLimit>,
    /// The effect of each arm on the deciles of the latencies of reads, of writes, and of both.
    #[serde(default)]
    pub shifts: Vec<ShiftFunction>,
    /// Per arm, in the order of `design.arms`: whether its requests waited at all.
    pub waiting: Vec<ArmWaiting>,
    /// Per arm and name of a process, over all rounds that count; at most 30 names of each arm.
    #[serde(default)]
    pub processes: Vec<ProcessSummary>,
    /// Per primary metric: drift over the run, position effects, carry-over and autocorrelation.
    pub diagnostics: Vec<Diagnostics>,
    /// Whether the disks kept their level of throughput and device time; absent if no round has parts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub levels: Option<Levels>,
    /// One for each time that the run was started, with `--precondition`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub preconditions: Vec<Precondition>,
    /// `--trace` records one for each arm.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub traces: Vec<ArmTrace>,
    /// Only for a comparison of an arm with itself: how small an effect this machine can show.
    pub noise: Option<Noise>,
    pub notes: Vec<String>,
}

/// A resumption. The order inside the blocks was drawn before the first round, so the gap favours no arm.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Resumed {
    /// When the run was resumed, RFC 3339.
    pub at: String,
    pub after_rounds: usize,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WorkloadInfo {
    pub name: String,
    pub fixed: Fixed,
    /// The exact program and parameters that were run.
    pub description: serde_json::Value,
    /// The directory in which the workload ran, if it did not run on the device itself.
    pub scratch_file: Option<ScratchPlace>,
    /// Processes that ran before and belong to the workload, as the user named them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub participants: Vec<Named>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProbeInfo {
    /// False: on this kernel the queue wait is G2D alone, without the wait for a request (Q2G).
    pub measures_q2g: bool,
    /// Kernel memory that the probe's maps take.
    pub memory_bytes: u64,
    pub notes: Vec<String>,
}

/// The machine, disks and probe that a comparison runs on.
#[derive(Clone, Debug)]
pub struct Subject {
    pub environment: Environment,
    pub device: DeviceInfo,
    pub probe: ProbeInfo,
}

/// A block, or one repetition of it, that does not count because one of its rounds does not count.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ExcludedBlock {
    pub block: usize,
    pub attempt: usize,
    /// Why its first invalid round does not count.
    pub exclusion: Exclusion,
    pub arm: String,
    pub problem: String,
}

/// How many requests of one arm waited: those with a queue wait above the threshold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ArmWaiting {
    pub arm: String,
    /// Summed over all disks.
    pub hardware_depth: Option<u32>,
    pub requests: u64,
    /// 50 us, or a tenth of the median device time of the fastest arm if that is longer.
    pub threshold_ns: u64,
    pub share: Option<f64>,
    /// The longest queue wait of the workload in any round: an observation of this run, not an estimate.
    pub longest_ns: Option<f64>,
    /// Time that threads with other I/O in flight were blocked until they got a request for the next one, divided by
    /// the duration of the rounds; above 1 if several threads were blocked at once.
    #[serde(default)]
    pub stalled_share: Option<f64>,
    /// The same for threads of processes that read; the queue waits of reads are comparable only if these stalls are
    /// alike.
    #[serde(default)]
    pub readers_stalled_share: Option<f64>,
    /// The same for threads of processes that write.
    #[serde(default)]
    pub writers_stalled_share: Option<f64>,
    /// For what threads slept until they got a request, stalled or not; empty where none slept, and in older results.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub slept: Vec<ArmSleep>,
}

/// One thing for which threads slept before their I/Os had a request.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ArmSleep {
    pub cause: Cause,
    /// Their time, divided by the duration of the rounds; above 1 if several threads slept at once.
    pub share: f64,
}

impl ResultFile {
    /// A result as it is stored before the first round.
    pub fn new(
        started: String,
        subject: Subject,
        workload: WorkloadInfo,
        design: Design,
        plan: Plan,
    ) -> ResultFile {
        ResultFile {
            schema: SCHEMA.to_owned(),
            schema_version: SCHEMA_VERSION,
            status: Status::Running,
            error: None,
            started,
            finished: None,
            resumed: Vec::new(),
            command: Vec::new(),
            environment: subject.environment,
            device: subject.device,
            workload,
            design,
            plan,
            probe: subject.probe,
            metrics: Vec::new(),
            rounds: Vec::new(),
            rounds_took_s: None,
            times: None,
            pilot: None,
            excluded: Vec::new(),
            comparisons: Vec::new(),
            decided: Vec::new(),
            limits: Vec::new(),
            shifts: Vec::new(),
            waiting: Vec::new(),
            processes: Vec::new(),
            diagnostics: Vec::new(),
            levels: None,
            preconditions: Vec::new(),
            traces: Vec::new(),
            noise: None,
            notes: Vec::new(),
        }
    }

    /// Whether it ran to its end: an open run ends by hand, and its intervals hold at any time.
    pub fn has_ended(&self) -> bool {
        match self.status {
            Status::Complete => true,
            Status::Interrupted => {
                self.design.stopping == Stopping::Open && !self.rounds.is_empty()
            }
            Status::Running | Status::Failed => false,
        }
    }

    /// The comparisons that were declared before the first round.
    pub fn primary(&self) -> impl Iterator<Item = &ArmComparison> {
        self.comparisons.iter().filter(|row| row.primary)
    }

    /// Negative controls that differ between the arms.
    pub fn alarming_controls(&self) -> impl Iterator<Item = &ArmComparison> {
        self.comparisons.iter().filter(|row| row.is_alarming())
    }

    /// Negative controls that could not have shown a difference as large as their margin, by metric.
    pub fn blind_controls(&self) -> BTreeMap<&str, Sight> {
        let rows = self.comparisons.iter();
        let blind = rows.filter_map(|row| {
            let sight = row.sight.filter(|sight| sight.is_blind)?;
            Some((&*row.metric.name, sight))
        });
        blind.collect()
    }

    /// The metric that the workload reported by that name.
    pub fn reported_metric(&self, name: &str) -> Option<Metric> {
        let rounds = self.rounds.iter();
        let mut reported = rounds.flat_map(|round| &round.evidence.outcome.reported);
        reported.find(|it| it.name == name).map(Metric::reported)
    }

    pub fn arm_index(&self, label: &str) -> Option<usize> {
        self.design.arms.iter().position(|arm| arm.label == label)
    }

    /// Arms that `--stop-if` ended: they are not run again.
    pub fn stopped_arms(&self) -> BTreeSet<usize> {
        let stopped = self
            .rounds
            .iter()
            .filter(|round| round.censored == Some(Censored::Stopped));
        stopped
            .filter_map(|round| self.arm_index(&round.arm))
            .collect()
    }

    /// Whether `--stop-if` ended the arm of this label.
    pub fn is_stopped(&self, label: &str) -> bool {
        let stopped = self.stopped_arms();
        self.arm_index(label)
            .is_some_and(|arm| stopped.contains(&arm))
    }

    pub fn blocks_begun(&self) -> usize {
        let blocks = self.rounds.iter().map(|round| round.block + 1);
        blocks.max().unwrap_or(0)
    }

    /// If fewer requests than this share waited in every arm, the workload cannot show a difference between schedulers.
    pub const TELLING_SHARE: f64 = 0.01;

    /// Whether requests waited often enough under some arm for a scheduler to make a difference.
    pub fn can_tell_schedulers_apart(&self) -> Option<bool> {
        let shares: Vec<f64> = self.waiting.iter().filter_map(|arm| arm.share).collect();
        (!shares.is_empty()).then(|| shares.iter().any(|&share| share >= Self::TELLING_SHARE))
    }
}
