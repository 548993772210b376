//! Whether the disks kept one level: of throughput and of device time, within the rounds and over the run.

use serde::{Deserialize, Serialize};

use crate::measured::snapshot::{Interval, Op, Stage};
use crate::statistics::trend::Trend;

/// One of the equal parts of a round's window, all disks together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WindowPart {
    pub seconds: f64,
    /// I/Os that ended in it.
    pub ios: u64,
    /// Mean device time (D2C) of its reads and writes; absent if none ended in it.
    pub device_mean_ns: Option<f64>,
}

/// Trends in natural logarithms of the value at the end as a multiple of the value at the beginning: 0 is a level.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Levels {
    /// In the order of `design.arms`.
    pub arms: Vec<ArmLevel>,
    /// I/Os per second from the first to the last of the blocks in which each arm has a value, over all arms.
    pub run_iops: Option<Trend>,
    /// The same of the mean device time.
    pub run_device_time: Option<Trend>,
    /// Blocks in which each arm has a round that counts.
    pub blocks: usize,
}

/// From the beginning of a round's window to its end, over all rounds of the arm that count.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ArmLevel {
    pub arm: String,
    /// I/Os per second.
    pub iops: Option<Trend>,
    /// Mean device time (D2C) of reads and writes.
    pub device_time: Option<Trend>,
    /// Its rounds that count; a trend is of fewer where a part of a window had too few I/Os.
    pub rounds: usize,
}

/// `--precondition`: the workload under the reference before the first round, which counts nowhere.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Precondition {
    /// I/Os per second of each execution, in what would be the window of a round.
    pub iops: Vec<f64>,
    /// Whether the last five differ by at most 20 % of their mean, and their slope over the five by at most 10 %.
    pub is_level: bool,
    pub seconds: f64,
    /// Why it ended early, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

impl WindowPart {
    pub fn of(part: &Interval) -> WindowPart {
        let whole = part.clone().together("all");
        let device = &whole.devices[0];
        WindowPart {
            seconds: part.duration_s(),
            ios: device.ops.iter().map(|op| op.ios).sum(),
            device_mean_ns: device.stage(Stage::D2c, &Op::DATA).mean_ns(),
        }
    }

    pub fn iops(&self) -> f64 {
        self.ios as f64 / self.seconds
    }

    /// In logarithms; of no I/O at all that of half an I/O, which is a large fall and no infinite one.
    pub fn ln_iops(&self) -> f64 {
        ((self.ios as f64).max(0.5) / self.seconds).ln()
    }
}
