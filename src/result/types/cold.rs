//! Which caches are dropped before each round.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Caches that are dropped before each round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Cold {
    /// The pages of what the workload runs on: the scratch file, or the devices.
    File,
    /// All caches of this machine.
    All,
}

impl Cold {
    /// The dropped caches, as a sentence names them.
    pub fn in_words(self, is_file: bool) -> &'static str {
        match (self, is_file) {
            (Cold::All, _) => "all caches of this machine",
            (Cold::File, true) => "the cached pages of the scratch file",
            (Cold::File, false) => "the cached pages of the device",
        }
    }
}

impl fmt::Display for Cold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Cold::File => "FILE",
            Cold::All => "ALL",
        })
    }
}
