//! The trace of an arm in the result.

use serde::{Deserialize, Serialize};

use crate::measured::trace::Trace;

/// Each request of a short time under one arm, recorded after the last round (`--trace`): it shows what the scheduler
/// does, and is in no value and no verdict.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ArmTrace {
    /// Label of the arm.
    pub arm: String,
    /// When the workload was started, RFC 3339.
    pub started: String,
    /// Why there is no trace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<Trace>,
}
