//! Whether an arm stays within a limit that the user gave.

use serde::{Deserialize, Serialize};

use super::goals::Side;
use crate::metric::Metric;
use crate::statistics::estimate::ConfidenceInterval;
use crate::statistics::verdict::Comparison;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ArmLimit {
    pub metric: Metric,
    pub arm: String,
    pub side: Side,
    /// In the metric's unit.
    pub limit: f64,
    /// The typical block, in the metric's unit.
    pub value: Option<f64>,
    /// Contains the typical block; all intervals of the limits of a result hold together, at 95 %.
    pub interval: Option<ConfidenceInterval>,
    /// How many blocks are beyond the limit, or have no value because of the arm.
    #[serde(default)]
    pub blocks_beyond: usize,
    /// Shown to be within, or beyond; null: neither.
    pub holds: Option<bool>,
    /// The arm against the limit, as if that were the reference's value in each block.
    pub comparison: Comparison,
}
