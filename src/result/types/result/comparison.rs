//! An arm against the reference in a metric.

use serde::{Deserialize, Serialize};

use crate::metric::Metric;
use crate::statistics::carry_over::Contrast;
use crate::statistics::verdict::{Comparison, Verdict};
use crate::types::controls::Sight;

use super::no_ratio::NoRatio;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ArmComparison {
    pub metric: Metric,
    pub primary: bool,
    /// A negative control: no arm should change it.
    #[serde(default)]
    pub control: bool,
    /// Whether a negative control could have shown a difference; absent for all other metrics.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sight: Option<Sight>,
    /// The row compares what the machine asked for in a live run. These rows are a family of their own.
    #[serde(default)]
    pub arrivals: bool,
    pub arm: String,
    pub reference: String,
    /// Median over the rounds that count, of complete blocks if there are any, for orientation only: the comparison itself
    /// is made within blocks.
    pub arm_median: Option<f64>,
    pub reference_median: Option<f64>,
    /// `p` adjusted for all primary comparisons at this look, by turning the residuals of whole blocks over; not for
    /// earlier looks.
    pub p_adjusted: Option<f64>,
    /// Over all others: the false discovery rate.
    pub q_benjamini_hochberg: Option<f64>,
    /// How rounds differ by their position in the block, if they do: by position, against the mean position, on the metric's scale.
    /// The differences were adjusted for it.
    pub position_effect: Option<Vec<f64>>,
    /// The bias of the estimate by what ran before the rounds of both arms, on the metric's scale.
    pub carry_over_bias: Option<Contrast>,
    /// Only in a run with `--rounds open`: the number of blocks of the plan after which it first had a verdict, which stays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided_after_blocks: Option<usize>,
    /// Why blocks have no ratio, if some have none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub no_ratio: Vec<NoRatio>,
    #[serde(flatten)]
    pub comparison: Comparison,
    /// Primary rows of a live run: the same comparison with the adjustment for the load before each block if the verdict
    /// is without it, and without it if the verdict has it (`--adjust load`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other_adjustment: Option<Comparison>,
    /// By what the adjusted one of the two was adjusted: how the metric follows the logarithm of the load before the block,
    /// by position, compared with the first. Absent: too few blocks to know, so neither was adjusted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load_slopes: Option<Vec<f64>>,
}

/// Why a metric is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Declared before the first round: these decide.
    Primary,
    /// A negative control: no arm should change it.
    Control,
    /// The I/O that the machine asks for in a live run.
    Arrivals,
    /// All others.
    Exploratory,
}

impl ArmComparison {
    pub fn class(&self) -> Class {
        match self {
            row if row.primary => Class::Primary,
            row if row.control => Class::Control,
            row if row.arrivals => Class::Arrivals,
            _ => Class::Exploratory,
        }
    }

    /// A control that differs by its margin or more: then something other than the scheduler differs. A smaller
    /// difference raises no alarm, because each control errs in 5 % of the runs; nor does the estimate of a blind one.
    pub fn is_alarming(&self) -> bool {
        let found = &self.comparison;
        let differs = matches!(found.verdict, Verdict::Better | Verdict::Worse);
        let is_large = || {
            let margins = self.metric.scale.margins(self.metric.margin);
            let estimate = found.estimate.unwrap_or(0.0);
            estimate >= margins.up || estimate <= -margins.down
        };
        let sees = self.sight.is_some_and(|sight| !sight.is_blind);
        self.control && differs && (found.beyond_margin || sees && is_large())
    }
}
