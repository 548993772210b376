//! Why a block has no ratio.

use serde::{Deserialize, Serialize};

/// Blocks in which the round of an arm has no value, or none that has a ratio to another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NoRatio {
    /// Label of the arm whose round it is.
    pub arm: String,
    pub why: WhyNoRatio,
    pub blocks: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum WhyNoRatio {
    /// The command ran longer than `--limit`.
    Overrun,
    /// A part of the workload completed no I/O for so long that the round was given up.
    Starved,
    /// The workload failed, or its output could not be read.
    Failed,
    /// The condition of `--stop-if` held.
    Stopped,
    /// It did not report the metric.
    Unreported,
    /// Too few I/Os for the percentile.
    TooFew,
    /// 0, to which nothing has a ratio.
    Zero,
    /// Below 0.
    Negative,
    /// The requests that the probe lost could change it.
    Lost,
}
