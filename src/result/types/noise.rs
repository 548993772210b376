//! The smallest effect that a machine can show.

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Noise {
    /// Duration of a block, with its switches and ramps.
    pub block_s: f64,
    pub metrics: Vec<MetricNoise>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MetricNoise {
    pub metric: String,
    /// Standard deviation of the differences between the two halves of a block, on the metric's scale.
    pub sd: f64,
    /// Upper 75 % confidence limit of `sd`, on which `detectable` and `needed` are based; without a wash-out they also
    /// allow for what an arm may leave behind.
    pub sd_upper: Option<f64>,
    /// Standard deviation between the two rounds of a block, for this length of the rounds.
    pub round_sd: Option<f64>,
    /// Standard deviation between blocks; differences within blocks do not contain it.
    pub block_sd: Option<f64>,
    pub detectable: Vec<Detectable>,
    /// One entry for the metric's margin, one for two fifths of it.
    #[serde(default)]
    pub needed: Vec<Needed>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Detectable {
    pub blocks: usize,
    pub seconds: f64,
    /// Shown with 80 % power by a run of fixed length with this family; a fraction on the log scale.
    pub effect: f64,
}

/// Length of a run that shows an effect.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Needed {
    /// A fraction on the log scale, like the margin.
    pub effect: f64,
    /// The smallest number of blocks with which a run of fixed length with this family shows it with 80 % power; null
    /// above a thousand.
    pub blocks: Option<usize>,
    pub seconds: Option<f64>,
}
