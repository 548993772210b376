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
    /// Of the typical block; all limits of a result share the error rate.
    pub interval: Option<ConfidenceInterval>,
    /// Shown to be within, or beyond; null: neither.
    pub holds: Option<bool>,
    /// The arm against the limit, as if that were the reference's value in each block.
    pub comparison: Comparison,
}
