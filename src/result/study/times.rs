//! The times of a study, and what it had no time or no disk for.

use std::time::Duration;

use anyhow::Result;
use serde::{Deserialize, Serialize};

/// The times of a round, in seconds, and the number of blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Times {
    /// The time between the switch and the measurement.
    pub ramp_s: f64,
    /// The time of the measurement.
    pub round_s: f64,
    /// None: until every comparison has its verdict, at most 20.
    #[serde(default)]
    pub blocks: Option<usize>,
}

impl Times {
    pub fn ramp(&self) -> Duration {
        Duration::from_secs_f64(self.ramp_s)
    }

    pub fn round(&self) -> Duration {
        Duration::from_secs_f64(self.round_s)
    }

    pub fn check(&self, at: &dyn Fn(String) -> anyhow::Error, name: &str) -> Result<()> {
        let is_time = |s: f64, least: f64| s.is_finite() && (least..=86_400.0).contains(&s);
        if !is_time(self.ramp_s, 0.0) || !is_time(self.round_s, 0.1) {
            return Err(at(format!(
                "{name}: ramp_s is 0 to 86400 seconds, round_s 0.1 to 86400"
            )));
        }
        if self
            .blocks
            .is_some_and(|blocks| !(1..=1000).contains(&blocks))
        {
            return Err(at(format!("{name}: blocks is 1 to 1000")));
        }
        Ok(())
    }
}

/// How a study was fitted into a time, as its result has it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Budget {
    pub limit_s: f64,
    /// The part of it that the pilot rounds take. They are in no result.
    pub pilot_s: f64,
    pub pilot_blocks: usize,
    /// Differences that the chosen blocks can show; a metric that the pilot could not measure is missing.
    pub detectable: Vec<Detectable>,
    /// Cells that ended before their last block, because the time was over.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cut: Vec<Cut>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cut {
    pub cell: String,
    /// That it had, the spoiled ones included.
    pub blocks: usize,
}

/// The smallest difference that is shown with 80 % power, if rounds are as noisy as the pilot's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Detectable {
    pub cell: String,
    pub metric: String,
    /// A share on the log scale (0.1: 10 % more), else in the metric's own unit.
    pub effect: f64,
}

/// An optional arm that was not compared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LeftOut {
    /// Its label.
    pub arm: String,
    /// The features that the disks lack for it.
    pub why: String,
}
