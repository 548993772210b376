//! One change to undo. Each variant contains what is needed to check that it is still ours.

use std::fs;
use std::path::PathBuf;

use anyhow::Result;
use serde::{Deserialize, Serialize};

use super::files;
use super::record::Origin;
use crate::places::{Saved, hook};
use crate::scheduler::SavedQueue;
use crate::system::device::Device;
use iosched_files::output::gone_is_fine;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Undo {
    /// Scheduler and settings of a device before the change.
    Queue(SavedQueue),
    /// A setting of a control group or of the system before the change.
    Setting(Saved),
    /// What a command did that an arm asks for: run this one.
    Hook(hook::Command),
    /// A loop device made by iosched: unbind and remove it.
    Loop {
        device: String,
        backing_file: String,
    },
    /// A FUSE mount made by iosched.
    Mount { path: PathBuf, source: String },
    /// A file system mounted by iosched from one of these sources.
    FileSystem { path: PathBuf, sources: Vec<String> },
    /// An empty directory made by iosched.
    Directory { path: PathBuf },
    /// A control group made by iosched: kill its processes, then remove it.
    Cgroup { path: PathBuf },
    /// A directory made by iosched, with the files that a workload has written there.
    Files { path: PathBuf },
}

impl Undo {
    /// Undoes the change. Succeeds also if nothing is left to undo.
    pub fn perform(&self) -> Result<()> {
        match self {
            Undo::Queue(saved) => crate::scheduler::restore(saved),
            Undo::Setting(saved) => saved.restore(),
            Undo::Hook(command) => command.run(),
            Undo::Loop {
                device,
                backing_file,
            } => crate::system::loop_device::detach(device, backing_file),
            Undo::Mount { path, source } => crate::system::fuse_mount::unmount(path, source),
            Undo::FileSystem { path, sources } => {
                crate::system::file_system::unmount(path, sources)
            }
            Undo::Directory { path } => gone_is_fine(fs::remove_dir(path), path),
            Undo::Files { path } => files::remove(path),
            Undo::Cgroup { path } => crate::system::cgroup::end::end(path),
        }
    }

    /// One line for people.
    pub fn describe(&self) -> String {
        match self {
            Undo::Queue(saved) => format!("scheduler and settings of {}", saved.device),
            Undo::Setting(saved) => format!("setting {}", saved.describe()),
            Undo::Hook(command) => format!("state before the arm's command, with `{command}`"),
            Undo::Loop { device, .. } => format!("scratch device {device}"),
            Undo::Mount { path, .. } | Undo::FileSystem { path, .. } => {
                format!("mount {}", path.display())
            }
            Undo::Directory { path } => format!("directory {}", path.display()),
            Undo::Files { path } => format!("files in {}", path.display()),
            Undo::Cgroup { path } => format!("control group {}", path.display()),
        }
    }

    /// Why there is nothing to restore, if so. `origin`: of the journal.
    pub(super) fn fate(&self, origin: Origin) -> Option<&'static str> {
        match (self, origin) {
            (_, Origin::AnotherMachine) => Some("it belongs to another machine and is left alone"),
            (undo, Origin::EarlierBoot) if !undo.outlives_a_boot() => {
                Some("the reboot has reset it")
            }
            (Undo::Queue(saved), Origin::ThisBoot) => match Device::by_name(&saved.device) {
                Ok(None) => Some("the disk was removed, and its settings with it"),
                Ok(Some(device)) if !saved.is_of(&device) => {
                    Some("another disk has this name now; it is left alone")
                }
                _ => None,
            },
            (Undo::Setting(saved), Origin::ThisBoot) => saved.fate(),
            _ => None,
        }
    }

    /// A boot resets everything else.
    pub(super) fn outlives_a_boot(&self) -> bool {
        matches!(self, Undo::Directory { .. } | Undo::Files { .. })
    }
}
