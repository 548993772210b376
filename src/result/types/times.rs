//! The times of rounds: how they were chosen, and what they were spent on.

use serde::{Deserialize, Serialize};

/// Seconds of a round that are not its window. The rest of a run's time passes between the rounds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RoundTimes {
    /// Wash-out: the reference before the round.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub washout_s: f64,
    /// Until the arm was in force, the disks were idle, and the random pause before the round had passed.
    pub switch_s: f64,
    /// From then until each part of the workload had done I/O.
    pub start_s: f64,
    pub ramp_s: f64,
    /// From the end of the window until the workload had ended.
    pub end_s: f64,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde's signature
fn is_zero(seconds: &f64) -> bool {
    *seconds == 0.0
}

/// Times that a pilot chooses: the user named none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AutoTimes {
    pub ramp: bool,
    pub round_time: bool,
}

impl AutoTimes {
    pub fn any(self) -> bool {
        self.ramp || self.round_time
    }
}

/// One execution of the workload under an arm before the first round, which counts nowhere.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PilotRound {
    pub arm: String,
    /// Length of a bin; the first begins when each part of the workload has done I/O.
    pub bin_s: f64,
    /// Time of the round that was neither in a bin nor a pause.
    pub around_s: f64,
    /// The metrics that stand for those that decide, or the same.
    pub series: Vec<PilotSeries>,
}

/// One metric of iosched's own in each bin.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PilotSeries {
    pub metric: String,
    /// Null where it is not known, or nothing happened.
    pub values: Vec<Option<f64>>,
    /// For a mean, the I/Os per second that it describes. Empty for a rate.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub weights: Vec<f64>,
}

impl PilotRound {
    /// The time of the round; a pause before it is left out.
    fn took_s(&self) -> f64 {
        let bins = self.series.iter().map(|series| series.values.len()).max();
        self.around_s + self.bin_s * bins.unwrap_or(0) as f64
    }
}

/// The time of all rounds of a pilot.
pub fn took_s(pilot: &[PilotRound]) -> f64 {
    pilot.iter().map(PilotRound::took_s).sum()
}

/// The mean time of a pilot's round outside of its bins.
pub fn mean_around_s(pilot: &[PilotRound]) -> f64 {
    pilot.iter().map(|round| round.around_s).sum::<f64>() / pilot.len().max(1) as f64
}

/// The smallest difference that is shown with 80 % power, if the rounds are as noisy as the pilot.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DetectableEffect {
    pub metric: String,
    /// A share on the log scale (0.1: 10 % more), else in the metric's own unit.
    pub effect: f64,
}

/// What the pilot showed, and what followed from it: the variances, never the differences between arms.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChosenTimes {
    pub ramp_s: f64,
    pub round_time_s: f64,
    /// Why, in words.
    pub ramp_because: String,
    pub round_time_because: String,
    /// How many blocks are needed to show a difference as large as the margin with 80 % power, by the noise within the pilot's rounds.
    /// Null: more than a thousand, or unknown.
    pub blocks_needed: Option<usize>,
    /// The blocks that fit into the time of `--budget`. Absent: the run has no limit of time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocks_in_budget: Option<usize>,
    /// The window without that limit, if it is longer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unlimited_round_time_s: Option<f64>,
    /// Percentiles that have too few I/Os in the window under an arm, by what the pilot has seen.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub too_short_for: Vec<String>,
    /// What these blocks can show of each metric whose noise the pilot has seen.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub detectable: Vec<DetectableEffect>,
    pub pilot: Vec<PilotRound>,
}
