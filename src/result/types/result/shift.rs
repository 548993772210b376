//! How an arm moves the deciles of the latencies against the reference.

use serde::{Deserialize, Serialize};

use crate::statistics::estimate::ConfidenceInterval;

/// The shift function of an arm against the reference in one distribution of latencies. The intervals of all its deciles
/// hold simultaneously with 95 % confidence; each shift function stands on its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ShiftFunction {
    pub arm: String,
    pub reference: String,
    /// Named as its metrics: `total`, `read_total`, `write_total`; `device` instead of `total` where the submitters of the
    /// two arms were stalled for different times, so that their totals do not compare.
    pub distribution: String,
    pub deciles: Vec<DecileShift>,
    /// Blocks used, censored ones included.
    pub blocks: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DecileShift {
    /// 0.1 to 0.9.
    pub p: f64,
    /// Hodges-Lehmann, of the differences of the logarithms within the blocks.
    pub estimate: Option<f64>,
    /// Signed-rank, at the joint level of the deciles.
    pub interval: Option<ConfidenceInterval>,
    pub ratio: Option<f64>,
    pub ratio_interval: Option<ConfidenceInterval>,
}
