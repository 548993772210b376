//! Processes that ran before and whose I/O belongs to the workload.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::measured::snapshot::OwnerKey;

/// How the user names a participant. The result contains the text form, for `--resume`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Named {
    /// Path of a control group, absolute or below the root of its hierarchy.
    Cgroup(String),
    /// Name of a systemd unit.
    Unit(String),
    Pid(u32),
}

/// A participant of a round, with those of its processes and groups that did I/O.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Participant {
    /// Prefix of its metrics.
    pub label: String,
    pub cgroup_ids: BTreeSet<u64>,
    /// PID and start time in ticks of 10 ms since boot.
    pub processes: BTreeSet<(u32, u64)>,
}

/// Ticks of `/proc/PID/stat`: USER_HZ is 100 on all architectures.
const TICK_MS: u64 = 10;

impl Participant {
    /// These processes.
    pub fn of_owners<'a>(label: &str, keys: impl Iterator<Item = &'a OwnerKey>) -> Participant {
        Participant {
            label: label.to_owned(),
            cgroup_ids: BTreeSet::new(),
            processes: keys.map(|key| (key.tgid, key.start_ms / TICK_MS)).collect(),
        }
    }

    pub fn owns(&self, key: &OwnerKey) -> bool {
        let process = (key.tgid, key.start_ms / TICK_MS);
        self.cgroup_ids.contains(&key.cgroup_id)
            || (key.tgid != 0 && self.processes.contains(&process))
    }

    /// Keeps only owners with I/O, to keep results small.
    #[must_use]
    pub fn among(self, keys: &[&OwnerKey]) -> Participant {
        let own = || keys.iter().filter(|key| self.owns(key));
        Participant {
            label: self.label.clone(),
            cgroup_ids: own()
                .map(|key| key.cgroup_id)
                .filter(|id| self.cgroup_ids.contains(id))
                .collect(),
            processes: own()
                .map(|key| (key.tgid, key.start_ms / TICK_MS))
                .filter(|process| self.processes.contains(process))
                .collect(),
        }
    }
}

/// The prefix of its metrics, in which only letters, digits, hyphens and underscores are.
pub fn label(name: &Named) -> String {
    let text = match name {
        Named::Pid(pid) => return format!("pid{pid}"),
        Named::Unit(unit) => unit.strip_suffix(".service").unwrap_or(unit),
        Named::Cgroup(path) => {
            let last = path
                .trim_end_matches('/')
                .rsplit('/')
                .next()
                .unwrap_or(path);
            last.strip_suffix(".service").unwrap_or(last)
        }
    };
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() || c == '-' {
            c
        } else {
            '_'
        }
    };
    text.chars().map(plain).take(40).collect()
}
