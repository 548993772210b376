//! What the time of a round was spent on.

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
