//! Drift, order and carry-over of a run.

use serde::{Deserialize, Serialize};

/// On the metric's scale: logarithms, or the metric's unit for shares.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Diagnostics {
    pub metric: String,
    /// Change per block, due to the device or other load on the machine.
    pub drift_per_block: Option<EffectEstimate>,
    /// Effect of one position later in the block.
    pub position: Option<EffectEstimate>,
    /// Effect of the preceding round, by its arm, compared with the reference.
    pub carry_over: Vec<LeftBehind>,
    /// Autocorrelation of each arm's differences to the reference from block to block.
    pub autocorrelation: Vec<Autocorrelation>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EffectEstimate {
    pub estimate: f64,
    /// The p-value from least squares and Student's t.
    pub p: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LeftBehind {
    /// The arm of the preceding round.
    pub after: String,
    pub effect: EffectEstimate,
    /// For about how many rounds it lasts, 1 to 3: the shape of decay that explains the rounds best. 0: not known.
    #[serde(default)]
    pub lasts_rounds: usize,
    /// Significant, and at least half a margin: the ramp is too short.
    pub is_warning: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Autocorrelation {
    pub arm: String,
    pub lag_1: f64,
}
