//! Summaries of processes under each arm.

use serde::{Deserialize, Serialize};

use crate::measured::snapshot::OwnerKind;

/// Processes of one name under one arm; a name stands for all processes that had it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProcessSummary {
    pub arm: String,
    /// The command's name, in brackets for kernel threads.
    pub name: String,
    pub kind: OwnerKind,
    /// Whether its I/O is the workload's.
    pub is_of_workload: bool,
    /// Rounds in which it did I/O.
    pub rounds: usize,
    pub read: SideSummary,
    pub write: SideSummary,
    /// The longest time in which a request of it waited and none was issued; only with `--detail fairness`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub starvation_max_ns: Option<u64>,
    /// Its share of the device time of the rounds; only with `--detail fairness`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_time_share: Option<f64>,
}

/// Reads or writes. Percentiles are null with fewer than 100 I/Os beyond them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SideSummary {
    pub ios: u64,
    pub bytes: u64,
    pub queue_wait_p50_ns: Option<f64>,
    pub queue_wait_p99_ns: Option<f64>,
    /// The longest queue wait in any round; null without I/O.
    pub queue_wait_max_ns: Option<u64>,
    pub device_p50_ns: Option<f64>,
    pub device_p99_ns: Option<f64>,
}
