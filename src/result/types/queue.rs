//! The state of a disk's request queue.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The state of a queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct State {
    pub active: String,
    /// Schedulers in the kernel's order.
    pub available: Vec<String>,
    /// Every readable and writable attribute, by its path below `queue/`; and what an arm of the run sets elsewhere, named as in
    /// the arms.
    pub settings: BTreeMap<String, String>,
    /// Absent without a request queue.
    pub hardware_depth: Option<HardwareDepth>,
}

/// The state of a device after an arm was applied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Applied {
    pub effective: State,
    /// Duration of the write of the scheduler's name, during which the queue is frozen and submitters block. Absent if
    /// the device has only one scheduler, so that nothing could be switched.
    pub switch_ns: Option<u64>,
    /// Other changes that came with it.
    pub notes: Vec<String>,
}

/// Requests that the driver can hold at once, not counting its reserved tags.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HardwareDepth {
    pub depth: u32,
    pub source: DepthSource,
}

/// How reliable the number is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum DepthSource {
    /// The depth currently in force.
    Debugfs,
    /// The depth that the driver requested when the disk appeared; later resizes are not visible in it.
    NrTags,
}
