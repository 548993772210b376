//! What a persistent setting is based on, as one line of JSON in a comment, so that `iosched doctor` can check it. Pure.

use serde::{Deserialize, Serialize};

use super::Disk;
use crate::ab::result::ResultFile;

/// The comment that the line begins with.
pub const MARK: &str = "# iosched-evidence: ";

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// When the measurement began, RFC 3339. With the seed it identifies the result.
    pub measured: String,
    pub seed: u64,
    /// `uname -r`.
    pub kernel: String,
    pub model: Option<String>,
    pub firmware: Option<String>,
    /// `ID_SERIAL`, if the setting is for one disk only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub serial: Option<String>,
    pub workload: String,
    pub scheduler: String,
    pub iosched_version: String,
}

impl Evidence {
    pub fn new(result: &ResultFile, disk: &Disk, scheduler: &str) -> Evidence {
        Evidence {
            measured: result.started.clone(),
            seed: result.plan.seed,
            kernel: result.environment.kernel_release.clone(),
            model: result.device.model.clone(),
            firmware: result.device.firmware.clone(),
            serial: match disk {
                Disk::Serial(serial) => Some(serial.clone()),
                Disk::Model(_) => None,
            },
            workload: result.workload.name.clone(),
            scheduler: scheduler.to_owned(),
            iosched_version: result.environment.iosched_version.clone(),
        }
    }

    /// Every line of a text that is such a comment, wherever it is indented.
    pub fn all_in(text: &str) -> Vec<Evidence> {
        let lines = text
            .lines()
            .filter_map(|line| line.trim().strip_prefix(MARK));
        lines
            .filter_map(|json| serde_json::from_str(json).ok())
            .collect()
    }
}
