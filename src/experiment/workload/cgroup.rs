//! A control group for each process group of a workload: it identifies the workload's bios, measures its CPU time, and
//! reliably ends all of its processes, including forked ones.
//!
//! Placement depends on the io controller: cgroup v2 if the unified hierarchy has it, otherwise `blkio` of v1,
//! otherwise v2 without it (bios then carry the root's id). On hybrid machines a second group in the unified hierarchy
//! provides `cpu.stat` and `cgroup.kill`. Groups are created at the top of each hierarchy; if a limit holds where this
//! process was started, in a place where it holds for them too (`twin`).

mod twin; // a group with the limits of the caller's

use std::fs;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context, Result, ensure};

use super::group_settings::GroupSettings;
use iosched_host::safety::journal::{Entry, Journal, Undo};
use iosched_host::system::cgroup::caller::Caller;
use iosched_host::system::cgroup::controller::{lists, lock, marked_groups, write_control};
use iosched_host::system::cgroup::end::pids;
use iosched_host::system::cgroup::mounts::Mounts;
use iosched_host::system::cgroup::{PREFIX, cpu_stat, group_file};
use iosched_host::system::device::{Device, mounts};
use iosched_result::failure::Failure;
use iosched_result::types::arm::Arm;
use iosched_result::types::arm::group_file::{self as files, GroupFile};
use iosched_result::types::outcome::{CgroupRef, DiskBytes};
use twin::Twin;

/// By version of the hierarchy.
const BFQ_WEIGHTS: [&str; 2] = ["io.bfq.weight", "blkio.bfq.weight"];

static NEXT: AtomicU64 = AtomicU64::new(0);

/// One or two directories with the same processes. Dropping it kills the processes and removes the directories.
pub struct Group {
    label: String,
    /// The first member is the group that bios carry.
    members: Vec<GroupMember>,
    id: u64,
    on_bios: bool,
    /// A note on the limits of the caller's group, if there are any.
    limits: Option<String>,
    /// Last: the groups in it are removed first.
    _twin: Option<Arc<Twin>>,
}

struct GroupMember {
    path: PathBuf,
    entry: Entry,
}

impl Group {
    pub fn create(journal: &Journal, label: &str) -> Result<Self> {
        let mounts = mounts::read().context("finding the control group hierarchies")?;
        Self::create_in(&Mounts::among(&mounts), journal, label)
    }

    fn create_in(mounts: &Mounts, journal: &Journal, label: &str) -> Result<Self> {
        let name = name(label);
        let unified_io = mounts
            .unified
            .as_deref()
            .is_some_and(|root| lists(&root.join("cgroup.controllers"), "io"));
        let mut members = Vec::new();
        let mut on_bios = true;
        let limits;
        let mut twin = None;
        match (&mounts.unified, &mounts.blkio) {
            (Some(unified), blkio) if unified_io || blkio.is_none() => {
                (twin, limits) = beside_caller(journal, unified);
                let (member, enabled) = match &twin {
                    Some(twin) => {
                        let member = create_directory(journal, twin.path(), &name)?;
                        let enabled = lists(&member.path.join("cgroup.controllers"), "io");
                        (member, enabled)
                    }
                    None if unified_io => create_with_controller(journal, unified, &name, "io")?,
                    None => (create_directory(journal, unified, &name)?, false),
                };
                members.push(member);
                on_bios = enabled;
            }
            (unified, Some(blkio)) => {
                let (member, said) = below_caller(journal, blkio, &name)?;
                members.push(member);
                limits = said;
                if let Some(second) = unified.as_ref().or(mounts.cpuacct.as_ref())
                    && second != blkio
                {
                    members.push(create_directory(journal, second, &name)?);
                }
            }
            (_, None) => {
                return Err(Failure::runtime(
                    "no control group hierarchy for block I/O is mounted",
                    "mount one: mount -t cgroup2 none /sys/fs/cgroup",
                ));
            }
        }
        let id = fs::metadata(&members[0].path)
            .with_context(|| format!("reading {}", members[0].path.display()))?
            .ino();
        Ok(Group {
            label: label.to_owned(),
            members,
            id,
            on_bios,
            limits,
            _twin: twin,
        })
    }

    /// A process joins by writing its PID to each of these files.
    pub fn procs_files(&self) -> Vec<PathBuf> {
        let files = self.members.iter();
        files.map(|m| m.path.join("cgroup.procs")).collect()
    }

    pub fn reference(&self) -> CgroupRef {
        CgroupRef {
            label: self.label.clone(),
            path: self.members[0].path.clone(),
            id: self.id,
            on_bios: self.on_bios,
        }
    }

    pub fn processes(&self) -> usize {
        pids(&self.members[0].path).map_or(0, |pids| pids.len())
    }

    /// User and system CPU time in ns of every process that ran in it.
    pub fn cpu_ns(&self) -> Option<(u64, u64)> {
        self.members.iter().find_map(|member| {
            if let Ok(text) = fs::read_to_string(member.path.join("cpu.stat")) {
                return cpu_stat::parse(&text);
            }
            let read = |name| {
                let text = fs::read_to_string(member.path.join(name)).ok()?;
                text.trim().parse::<u64>().ok()
            };
            Some((read("cpuacct.usage_user")?, read("cpuacct.usage_sys")?))
        })
    }

    /// Bytes that it read and wrote, by disk; empty without an io controller.
    pub fn disks(&self) -> Vec<DiskBytes> {
        let texts = self
            .members
            .iter()
            .map(|member| fs::read_to_string(member.path.join("io.stat")));
        let mut texts = texts.flatten();
        let text = texts.next().unwrap_or_default();
        let name = |number: &str| {
            let link = fs::read_link(format!("/sys/dev/block/{number}")).ok()?;
            Some(link.file_name()?.to_str()?.to_owned())
        };
        io_stat(&text)
            .map(|(number, disk)| DiskBytes {
                device: name(number).unwrap_or_else(|| number.to_owned()),
                ..disk
            })
            .collect()
    }

    /// Ends with the group, so there is nothing to restore.
    pub fn set(&self, settings: &GroupSettings, disks: &[Device]) -> Result<()> {
        if let Some(weight) = settings.weight {
            self.set_weight(weight)?;
        }
        settings.check().map_err(anyhow::Error::msg)?;
        let target = settings.io_latency_us.map(|us| format!("target={us}"));
        let files = [("io.max", &settings.io_max), ("io.latency", &target)];
        files.into_iter().try_for_each(|(name, value)| {
            let file = files::of(name).context("a file that arms may set")?;
            let value = value.as_deref();
            value.map_or(Ok(()), |value| self.set_file(file, value, disks))
        })
    }

    fn set_file(&self, file: &'static GroupFile, value: &str, disks: &[Device]) -> Result<()> {
        let directories: Vec<&Path> = self.members.iter().map(|it| it.path.as_path()).collect();
        group_file::set_own(&directories, file, value, disks)
    }

    /// What the arm sets in the group of this process.
    pub fn set_as(&self, process: &str, arm: Option<&Arm>, disks: &[Device]) -> Result<()> {
        let own = arm.into_iter().flat_map(Arm::of_own_groups);
        let mut own = own.filter(|(of, ..)| *of == process);
        own.try_for_each(|(_, file, value)| self.set_file(file, value, disks))
    }

    /// The share of the device that bfq gives it, relative to the usual 100.
    fn set_weight(&self, weight: u16) -> Result<()> {
        self.write(&BFQ_WEIGHTS.map(|name| (name, weight.to_string())))
    }

    /// To the first of these files that this kernel has.
    fn write(&self, files: &[(&str, String)]) -> Result<()> {
        let places = self.members.iter().flat_map(|member| {
            files
                .iter()
                .map(|(name, value)| (member.path.join(name), value))
        });
        let found = places.into_iter().find(|(file, _)| file.exists());
        let names: Vec<&str> = files.iter().map(|(name, _)| *name).collect();
        let (file, value) = found.ok_or_else(|| {
            Failure::lacking(
                format!(
                    "the control groups of this machine have no {}",
                    names.join(" or ")
                ),
                "its module may be missing (`modprobe bfq`), the kernel may be built without it, or the io controller may \
                 be in the other version of control groups",
            )
        })?;
        fs::write(&file, value).with_context(|| format!("writing {value} to {}", file.display()))
    }

    /// Kills its processes and removes it; anything that could not be removed stays in the journal.
    pub fn end(mut self) -> Result<()> {
        let results: Vec<Result<()>> = self.members.drain(..).map(|m| m.entry.undo()).collect();
        results.into_iter().collect()
    }
}

/// Parses `io.stat`: `8:0 rbytes=1 wbytes=2 rios=3 ...`. The device is left empty.
pub(crate) fn io_stat(text: &str) -> impl Iterator<Item = (&str, DiskBytes)> {
    text.lines().filter_map(|line| {
        let (number, rest) = line.split_once(' ')?;
        let value = |key: &str| {
            let mut words = rest.split_ascii_whitespace();
            words.find_map(|word| word.strip_prefix(key)?.parse().ok())
        };
        let disk = DiskBytes {
            device: String::new(),
            read_bytes: value("rbytes=")?,
            write_bytes: value("wbytes=")?,
        };
        Some((number, disk))
    })
}

fn name(label: &str) -> String {
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let label: String = label
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
        .take(40)
        .collect();
    let separator = if label.is_empty() { "" } else { "-" };
    format!("{PREFIX}{}-{number}{separator}{label}", std::process::id())
}

/// A note on the limits under which this process was started, for those who read the result; None: there are none.
pub fn note_on_limits(journal: &Journal) -> Result<Option<String>> {
    let group = Group::create(journal, "limits")?;
    let note = group.limits.clone();
    group.end()?;
    Ok(note)
}

/// A group that has the limits of the caller's, and what is to be said of them.
fn beside_caller(journal: &Journal, unified: &Path) -> (Option<Arc<Twin>>, Option<String>) {
    let Some(caller) = Caller::in_unified(unified) else {
        return (None, None);
    };
    match Twin::shared(journal, &caller) {
        Ok(twin) => (Some(twin), Some(they_hold(&caller))),
        Err(error) => (None, Some(they_do_not_hold(&caller, &error))),
    }
}

/// In the older hierarchy a group may be below one with processes, but its limits do not hold there: they are copied.
fn below_caller(
    journal: &Journal,
    blkio: &Path,
    name: &str,
) -> Result<(GroupMember, Option<String>)> {
    let Some(caller) = Caller::in_blkio(blkio) else {
        return Ok((create_directory(journal, blkio, name)?, None));
    };
    let member = create_directory(journal, &caller.path, name)?;
    match twin::copy(&caller.limits, &member.path) {
        Ok(()) => Ok((member, Some(they_hold(&caller)))),
        Err(error) => Ok((member, Some(they_do_not_hold(&caller, &error)))),
    }
}

fn they_hold(caller: &Caller) -> String {
    format!(
        "the limits of the control group {} hold for the workload, in a group of its own: {}",
        caller.name,
        caller.shown()
    )
}

fn they_do_not_hold(caller: &Caller, error: &anyhow::Error) -> String {
    format!(
        "these limits of the control group {} do not hold for the workload, which is in a group of its own ({error:#}): {}",
        caller.name,
        caller.shown()
    )
}

fn create_directory(journal: &Journal, parent: &Path, name: &str) -> Result<GroupMember> {
    let path = parent.join(name);
    ensure!(!path.exists(), "{} exists already", path.display());
    let entry = journal.record(Undo::Cgroup { path: path.clone() })?;
    // Others must not write in it: they could create groups in it, which would prevent its removal.
    let made = fs::DirBuilder::new().mode(0o755).create(&path);
    made.map_err(|e| {
        Failure::runtime(
            format!("cannot create the control group {}: {e}", path.display()),
            "run as root, and not in a container without the right to create control groups",
        )
    })?;
    Ok(GroupMember { path, entry })
}

/// Like [`create_directory`], with `controller` enabled. If it was disabled for the hierarchy's children, it is
/// enabled, and the group's name records that (`...+io`): the process that removes the last such group, even the
/// guardian after a crash, disables it again.
fn create_with_controller(
    journal: &Journal,
    parent: &Path,
    name: &str,
    controller: &str,
) -> Result<(GroupMember, bool)> {
    let _lock = lock()?;
    let control = parent.join("cgroup.subtree_control");
    let mark = format!("+{controller}");
    let was_on = lists(&control, controller);
    let by_us = !was_on || marked_groups(parent, &mark)?;
    let name = format!("{name}{}", if by_us { mark.as_str() } else { "" });
    let member = create_directory(journal, parent, &name)?;
    if !was_on {
        // In a container this may be forbidden: the group is still useful, but bios do not carry its id.
        let _ = write_control(&control, &mark);
    }
    let enabled = lists(&member.path.join("cgroup.controllers"), controller);
    Ok((member, enabled))
}

#[cfg(test)]
#[path = "cgroup_tests.rs"]
mod tests;
