//! Files of control groups that arms set: where they are on this machine, and what it lacks for one.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::mounts::Mounts;
use super::setting::SavedGroup;
use super::weights::each_group;
use crate::system::device::{Device, mounts};
use iosched_files::interrupt;
use iosched_result::failure::Failure;
use iosched_result::types::arm::Arm;
use iosched_result::types::arm::group_file::{self, Form, GroupFile};
use iosched_result::types::arm::place::Place;

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
    let files = group_file::ALL.iter();
    let files: Vec<_> = files
        .filter(|file| file.scheduler == Some(scheduler))
        .collect();
    let mut found = Vec::new();
    if files.is_empty() {
        return Ok(found);
    }
    each_group(&Mounts::among(&mounts::read()?), &mut |of, directory| {
        for file in &files {
            let name = format!("cgroup:{}/{}", of.trim_end_matches('/'), file.name);
            // Most groups have one of the files or none, and a group may be removed meanwhile.
            if let Ok(saved) = SavedGroup::take(&name, directory, file, Some(disk)) {
                found.extend((!saved.is_absent(file)).then_some(saved));
            }
        }
    });
    // A signal ends the walk.
    interrupt::check()?;
    Ok(found)
}

/// Sets a file of a group that this program has made for a process of a workload; it ends with the group. Read back.
/// `directories`: the group in each hierarchy.
pub fn set_own(
    directories: &[&Path],
    file: &'static GroupFile,
    value: &str,
    disks: &[Device],
) -> Result<()> {
    let find = |file: &GroupFile| directories.iter().find(|it| it.join(file.name).is_file());
    let mut written = vec![(file, value.to_owned())];
    if find(file).is_none() {
        written = file.older(value);
    }
    if written.is_empty() || written.iter().any(|(file, _)| find(file).is_none()) {
        return Err(Failure::lacking(
            format!("the control groups of this machine have no {}", file.name),
            if file.is_unified() && file.older(value).is_empty() {
                format!("{}, and control groups of version 2", kernel_hint(file))
            } else {
                kernel_hint(file)
            },
        ));
    }
    for (file, value) in written {
        let directory = find(file).context("the file was there")?.to_path_buf();
        let saved = Group { directory, file }.save(file.name, disks)?;
        saved.iter().try_for_each(|one| one.apply(Some(&value)))?;
    }
    Ok(())
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
    lack(what, kernel_hint(file))
}

fn kernel_hint(file: &GroupFile) -> String {
    let module = file.scheduler.map_or_else(String::new, |name| {
        format!(", and its module {name} must be loaded")
    });
    format!("this kernel needs {}{module}", file.kernel_option)
}

/// What this machine lacks for the settings of an arm in control groups that are there already.
pub fn lacks(arm: &Arm) -> Result<Option<Lack>> {
    for (place, ..) in arm.placed() {
        if let Place::Group { path, file } = place
            && let Some(lack) = missing(path, file)?
        {
            return Ok(Some(lack));
        }
    }
    Ok(None)
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
