//! Which disk something was measured on.

use serde::{Deserialize, Serialize};

/// A whole disk. The kernel may give its name to another disk later; `diskseq` distinguishes the two.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DiskId {
    /// The name in sysfs: `nvme0n1`, `cciss!c0d0`.
    pub name: String,
    pub major: u32,
    pub minor: u32,
    /// Unique since boot; absent before Linux 5.15.
    pub diskseq: Option<u64>,
}
