//! The comparison of means by Student's t. Pure.

use serde::{Deserialize, Serialize};

use super::estimate::{self, ConfidenceInterval};
use super::verdict::Question;

/// The same comparison of means, for readers who expect a t-interval.
#[derive(Clone, Default, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Student {
    pub estimate: Option<f64>,
    pub interval: Option<ConfidenceInterval>,
    pub ratio: Option<f64>,
    pub ratio_interval: Option<ConfidenceInterval>,
    pub p: Option<f64>,
}

impl Student {
    pub fn of(d: &[f64], question: Question) -> Student {
        let estimate = estimate::mean(d);
        let interval = estimate::student_interval(d, question.alpha)
            .filter(|i| i.lower.is_finite() && i.upper.is_finite());
        Student {
            estimate,
            interval,
            ratio: question.scale.ratio(estimate),
            ratio_interval: question.scale.ratio_interval(interval),
            p: estimate::student_p(d),
        }
    }
}
