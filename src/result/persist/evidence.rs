//! The basis of a persistent setting, as one line of JSON in a comment, so that `iosched doctor` can check it. Pure.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Disk, quote};
use crate::types::arm::Arm;
use crate::types::result::ResultFile;

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
    /// The driver and the size of a disk without a model, and whether it is rotational, if the setting is for all that are like it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size_bytes: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rotational: Option<bool>,
    pub workload: String,
    pub scheduler: String,
    /// Attributes below `queue/` and their values, which are set with it. Absent in files of versions that did not say so.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, String>,
    pub iosched_version: String,
}

impl Evidence {
    /// Names are written as [`quote::comment`] leaves them.
    pub fn new(result: &ResultFile, workload: &str, disk: &Disk, arm: &Arm) -> Evidence {
        let (environment, device) = (&result.environment, &result.device);
        let optional = |text: &Option<String>| text.as_deref().map(quote::comment);
        let alike = match disk {
            Disk::Alike(alike) => Some(alike),
            Disk::Model(_) | Disk::Serial(_) | Disk::Unnamed(_) => None,
        };
        Evidence {
            measured: quote::comment(&result.started),
            seed: result.plan.seed,
            kernel: quote::comment(&environment.kernel_release),
            model: match disk {
                Disk::Model(model) => Some(quote::comment(model)),
                _ => optional(&device.model),
            },
            firmware: optional(&device.firmware),
            serial: match disk {
                Disk::Serial(serial) => Some(quote::comment(serial)),
                Disk::Model(_) | Disk::Alike(_) | Disk::Unnamed(_) => None,
            },
            driver: alike.map(|alike| quote::comment(&alike.driver)),
            size_bytes: alike.map(|alike| alike.size_bytes),
            rotational: alike.map(|alike| alike.is_rotational),
            workload: quote::comment(workload),
            scheduler: arm.scheduler.clone(),
            settings: arm
                .queue_settings()
                .map(|(name, value)| (name.to_owned(), quote::comment(value)))
                .collect(),
            iosched_version: quote::comment(&environment.iosched_version),
        }
    }

    /// Whether this is the model, firmware or serial of a disk.
    pub fn is_same(kept: &Option<String>, found: &Option<String>) -> bool {
        kept.as_deref() == found.as_deref().map(quote::comment).as_deref()
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
