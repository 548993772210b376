//! What the user wants: one metric that should get better, and others that must not get worse, or stay within a limit.

pub mod asked; // from what the user names to metrics and goals

use serde::{Deserialize, Serialize};

use crate::metric::Metric;
use crate::statistics::scale::Direction;
use crate::text::unit;

/// A run without goals keeps every primary metric and prefers none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Goals {
    /// The name of the metric that decides; absent: none is preferred.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefer: Option<String>,
    /// Names of the metrics that must be shown to be no worse beyond their margins. Empty: all others that are primary.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keep: Vec<String>,
    /// Metrics that must be shown to stay within an absolute limit; how they compare with the reference does not count.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<Limit>,
}

/// The worst value that a metric may have.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Limit {
    /// Name of the metric.
    pub metric: String,
    pub side: Side,
    pub value: f64,
    /// As the user wrote it; of the kind of the metric's own unit.
    pub unit: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Side {
    AtMost,
    AtLeast,
}

impl Side {
    pub fn words(self) -> &'static str {
        match self {
            Side::AtMost => "at most",
            Side::AtLeast => "at least",
        }
    }
}

impl Limit {
    /// In the unit of the metric, which is known.
    pub fn bound(&self, metric: &Metric) -> Option<f64> {
        // A number alone is one of things, or of things per second.
        let is_rate = || self.unit == "1" && unit::factor(&metric.unit, "1/s").is_some();
        let factor = unit::factor(&self.unit, &metric.unit).or_else(|| is_rate().then_some(1.0));
        Some(self.value * factor?)
    }

    /// Why it is none for this metric, which is known.
    pub fn contradiction(&self, metric: &Metric) -> Option<String> {
        let own = match metric.direction {
            Direction::LowerIsBetter => Side::AtMost,
            Direction::HigherIsBetter => Side::AtLeast,
            Direction::Neutral => return Some("it has no better direction".to_owned()),
        };
        if own != self.side {
            return Some(format!("it is to be kept `{} VALUE`", own.words()));
        }
        if self.value <= 0.0 {
            return Some("a limit is above 0".to_owned());
        }
        let is_sound = self
            .bound(metric)
            .is_some_and(|it| it.is_finite() && it > 0.0);
        (!is_sound).then(|| format!("its values have the unit {}", metric.unit))
    }
}

impl Goals {
    pub fn is_preferred(&self, name: &str) -> bool {
        self.prefer.as_deref() == Some(name)
    }

    /// By comparison with the reference.
    pub fn is_kept(&self, name: &str) -> bool {
        let is_named = self.keep.iter().any(|kept| kept == name);
        let are_named = !self.keep.is_empty() || !self.limits.is_empty();
        is_named || (!are_named && !self.is_preferred(name))
    }

    pub fn limit(&self, name: &str) -> Option<&Limit> {
        self.limits.iter().find(|limit| limit.metric == name)
    }
}
