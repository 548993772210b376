//! Files of control groups that arms set: where they are on this machine, and what it lacks for one.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;

use super::mounts::Mounts;
use super::setting::SavedGroup;
use crate::system::device::{Device, mounts};
use iosched_result::failure::Failure;
use iosched_result::types::arm::group_file::{self, Form, GroupFile};

/// A file in a group of this machine.
pub struct Group {
    directory: PathBuf,
    file: &'static GroupFile,
}

impl Group {
    /// Fails if this machine does not have it.
    pub fn named(path: &str, file: &'static GroupFile) -> Result<Group> {
        match missing(path, file)? {
            Some(lack) => Err(Failure::usage(lack.what, lack.hint)),
            None => Ok(Group {
                directory: directory(path, file)?.unwrap_or_default(),
                file,
            }),
        }
    }

    /// `name`: as the arms have it.
    pub fn save(&self, name: &str, disks: &[Device]) -> Result<Vec<SavedGroup>> {
        let disks: Vec<Option<&Device>> = match self.file.form {
            Form::Word(_) => vec![None],
            Form::Keys { .. } | Form::Number { .. } => disks.iter().map(Some).collect(),
        };
        let save = |disk| SavedGroup::take(name, &self.directory, self.file, disk);
        disks.into_iter().map(save).collect()
    }
}

/// Values for this disk that the kernel forgets when the scheduler is switched away.
pub fn of_scheduler(disk: &Device, scheduler: &str) -> Result<Vec<SavedGroup>> {
    let mut found = Vec::new();
    let files = group_file::ALL.iter();
    for file in files.filter(|file| file.scheduler == Some(scheduler)) {
        let Some(root) = directory("/", file)? else {
            continue;
        };
        let mut left = vec![root.clone()];
        while let Some(directory) = left.pop() {
            let entries = fs::read_dir(&directory).into_iter().flatten().flatten();
            let below = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
            left.extend(below.map(|entry| entry.path()));
            let path = directory.strip_prefix(&root).unwrap_or(Path::new(""));
            let name = format!("cgroup:/{}/{}", path.display(), file.name);
            let group = Group { directory, file };
            // A group may be removed meanwhile, and some have no such file.
            let saved = group
                .save(&name, std::slice::from_ref(disk))
                .unwrap_or_default();
            found.extend(saved.into_iter().filter(|saved| !saved.is_absent(file)));
        }
    }
    Ok(found)
}

/// What a machine lacks for a setting, and what to do.
pub struct Lack {
    pub what: String,
    pub hint: String,
}

/// Whether this machine has the file.
pub fn missing(path: &str, file: &GroupFile) -> Result<Option<Lack>> {
    let lack = |what: String, hint: String| Ok(Some(Lack { what, hint }));
    let Some(directory) = directory(path, file)? else {
        let hierarchy = if file.is_unified() {
            "the unified hierarchy of control groups (cgroup2) is not mounted"
        } else {
            "the controller blkio has no hierarchy of its own (cgroup version 1)"
        };
        return lack(format!("{}: {hierarchy}", file.name), other_hierarchy(file));
    };
    if !directory.is_dir() {
        return lack(
            format!("there is no control group {}", directory.display()),
            "`systemd-cgls` lists them; the path begins at the root of the hierarchy".to_owned(),
        );
    }
    if directory.join(file.name).is_file() {
        return Ok(None);
    }
    let what = format!(
        "the control group {} has no {}",
        directory.display(),
        file.name
    );
    let listed = fs::read_to_string(directory.join("cgroup.controllers")).unwrap_or_default();
    let has_controller = !file.is_unified() || listed.split_whitespace().any(|word| word == "io");
    if path == "/" && !file.is_of_the_root {
        return lack(
            what,
            "the root has only io.cost.qos and io.cost.model".to_owned(),
        );
    }
    if !has_controller {
        return lack(
            what,
            format!(
                "the controller io is not on there: {}, or where it is not offered either, it belongs to the older hierarchy (cgroup version 1)",
                "`echo +io > .../cgroup.subtree_control` in each group above it, or IOAccounting=yes of its systemd unit"
            ),
        );
    }
    let module = file.scheduler.map_or_else(String::new, |name| {
        format!(", and its module {name} must be loaded")
    });
    lack(
        what,
        format!("this kernel needs {}{module}", file.kernel_option),
    )
}

fn other_hierarchy(file: &GroupFile) -> String {
    if file.is_unified() {
        "mount it, or where the controller blkio has the older hierarchy, set blkio.throttle.*_device".to_owned()
    } else {
        "use io.max".to_owned()
    }
}

/// None: its hierarchy is not mounted.
fn directory(path: &str, file: &GroupFile) -> Result<Option<PathBuf>> {
    let mounts = Mounts::among(&mounts::read()?);
    let root = if file.is_unified() {
        mounts.unified
    } else {
        mounts.blkio
    };
    Ok(root.map(|root| root.join(path.trim_start_matches('/'))))
}
