//! Where a workload has its files.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// A directory, and what is created in it for the duration of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ScratchPlace {
    pub directory: PathBuf,
    /// Type of its file system, by its kernel name.
    pub file_system: String,
    /// Size of the scratch file; absent if a command gets the empty directory.
    pub size_bytes: Option<u64>,
}

const MIB: u64 = 1 << 20;

/// Rounded down.
pub fn mib(bytes: u64) -> String {
    format!("{} MiB", bytes / MIB)
}

/// For messages: `a scratch file of 1024 MiB below /srv/data (ext4)`.
impl std::fmt::Display for ScratchPlace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.size_bytes {
            Some(bytes) => write!(f, "a scratch file of {}", mib(bytes))?,
            None => f.write_str("a scratch directory")?,
        }
        write!(
            f,
            " below {} ({})",
            self.directory.display(),
            self.file_system
        )
    }
}
