//! One change to undo. Each variant carries what is needed to recognise that it is still ours.

use std::fs;
use std::path::PathBuf;

use anyhow::Result;
use serde::{Deserialize, Serialize};

use super::files;
use crate::output::gone_is_fine;
use crate::scheduler::SavedQueue;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Undo {
    /// Scheduler and settings of a device, as they were.
    Queue(SavedQueue),
    /// A loop device of ours: detach it and remove its node.
    Loop {
        device: String,
        backing_file: String,
    },
    /// A FUSE mount of ours.
    Mount { path: PathBuf, source: String },
    /// An empty directory of ours.
    Directory { path: PathBuf },
    /// A control group of ours: end its processes, then remove it.
    Cgroup { path: PathBuf },
    /// A directory of ours with what a workload has written there.
    Files { path: PathBuf },
}

impl Undo {
    /// Puts the change back. Ok also when there is nothing left to do.
    pub fn perform(&self) -> Result<()> {
        match self {
            Undo::Queue(saved) => crate::scheduler::restore(saved),
            Undo::Loop {
                device,
                backing_file,
            } => crate::scratch::loop_device::detach(device, backing_file),
            Undo::Mount { path, source } => crate::scratch::mount::unmount(path, source),
            Undo::Directory { path } => gone_is_fine(fs::remove_dir(path), path),
            Undo::Files { path } => files::remove(path),
            Undo::Cgroup { path } => crate::workload::cgroup::end(path),
        }
    }

    /// One line for people.
    pub fn describe(&self) -> String {
        match self {
            Undo::Queue(saved) => format!("scheduler and settings of {}", saved.device),
            Undo::Loop { device, .. } => format!("scratch device {device}"),
            Undo::Mount { path, .. } => format!("mount {}", path.display()),
            Undo::Directory { path } => format!("directory {}", path.display()),
            Undo::Files { path } => format!("files in {}", path.display()),
            Undo::Cgroup { path } => format!("control group {}", path.display()),
        }
    }

    /// The kernel resets everything else when it boots.
    pub(super) fn outlives_a_boot(&self) -> bool {
        matches!(self, Undo::Directory { .. } | Undo::Files { .. })
    }
}
