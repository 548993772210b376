//! Settings of a run on the existing load.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::types::between::Between;

/// Settings of a live run, decided before its first round.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LiveDesign {
    /// How long the load was observed before the first switch.
    pub watched_s: f64,
    /// The longest integral autocorrelation time of the load in that period.
    pub memory_s: Option<f64>,
    /// What was seen in that period, under the settings that were in force.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub watched: Option<Watched>,
    /// When this holds, the reference is restored at once and the arm is not run again.
    pub stop_if: Option<String>,
    /// A round begins only when this holds.
    pub only_when: Option<String>,
    /// The time after which no round begins.
    pub for_s: Option<f64>,
    /// The local times between which rounds begin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub between: Option<Between>,
    /// The verdicts are adjusted for the load before each block.
    #[serde(default)]
    pub adjust_load: bool,
}

/// The load before the first switch.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Watched {
    pub reads_per_s: f64,
    pub writes_per_s: f64,
    pub bytes_per_s: f64,
    /// Mean of the total time of reads and writes. Null without any.
    pub total_mean_ns: Option<f64>,
    /// Metrics of the application, with values between readings about one window apart.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub application: Vec<WatchedMetric>,
}

/// A metric of the application before the first switch.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WatchedMetric {
    pub name: String,
    /// What it is read from, as the user named it.
    pub source: String,
    pub unit: String,
    pub low: f64,
    pub median: f64,
    pub high: f64,
}

impl LiveDesign {
    pub fn is_over(&self, since: Duration) -> bool {
        self.for_s
            .is_some_and(|limit_s| since.as_secs_f64() >= limit_s)
    }
}
