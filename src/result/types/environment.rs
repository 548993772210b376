//! Everything except the scheduler that can change a result; every result file contains it.

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Environment {
    /// The machine's own name; in a container that of the container. Absent in files of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hostname: Option<String>,
    pub iosched_version: String,
    pub kernel_release: String,
    pub kernel_version: String,
    pub architecture: String,
    pub cpu_model: Option<String>,
    pub cpus: usize,
    pub memory_bytes: Option<u64>,
    /// Governor of the first CPU; absent without frequency scaling.
    pub cpu_governor: Option<String>,
    pub fio_version: Option<String>,
}

/// Load of the machine's CPUs during a round: too much of it hides an effect.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Load {
    /// Share of all CPU time that was neither idle nor waiting for I/O.
    pub busy_share: f64,
    /// Share of all CPU time that the hypervisor gave to other guests.
    pub steal_share: f64,
}
