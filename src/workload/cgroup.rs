//! A control group for each process group of a workload: it tells whose I/O a bio is, how much CPU it took,
//! and it is the one sure way to end processes, whatever they forked.
//!
//! The io controller decides where: version 2 if the unified hierarchy has it, else version 1's `blkio`, else
//! version 2 without it (then bios carry the root's id). On hybrid machines a second group in the unified
//! hierarchy gives `cpu.stat` and `cgroup.kill`. Groups are made at the top of each hierarchy: a group below
//! our own would be refused by version 2 as long as we are in it.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use super::CgroupRef;
use super::cgroup_mounts::Mounts;
use crate::device::mounts;
use crate::failure::Failure;
use crate::journal::{Entry, Journal, Undo};
use crate::lock;
use crate::output::{RUNTIME_DIRECTORY, make_private_directory};

/// Every group of ours begins with this; nothing else is ever ended.
const PREFIX: &str = "iosched-";
/// Processes in an uninterruptible wait end only when their I/O does.
const PATIENCE: Duration = Duration::from_secs(10);

static NEXT: AtomicU64 = AtomicU64::new(0);

/// One or two directories that hold the same processes. Dropping it ends them and removes it.
pub struct Group {
    label: String,
    /// The first is the one that bios carry.
    members: Vec<Member>,
    id: u64,
    on_bios: bool,
}

struct Member {
    path: PathBuf,
    entry: Entry,
}

impl Group {
    pub fn create(journal: &Journal, label: &str) -> Result<Self> {
        let mounts = mounts::read().context("looking for the control groups")?;
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
        match (&mounts.unified, &mounts.blkio) {
            (Some(unified), _) if unified_io => {
                let (member, enabled) = create_with_controller(journal, unified, &name, "io")?;
                members.push(member);
                on_bios = enabled;
            }
            (unified, Some(blkio)) => {
                members.push(create_directory(journal, blkio, &name)?);
                if let Some(second) = unified.as_ref().or(mounts.cpuacct.as_ref())
                    && second != blkio
                {
                    members.push(create_directory(journal, second, &name)?);
                }
            }
            (Some(unified), None) => {
                members.push(create_directory(journal, unified, &name)?);
                on_bios = false;
            }
            (None, None) => {
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
        })
    }

    /// A process joins by writing its number to each of these.
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

    /// User and system CPU time of all that ran in it, in nanoseconds.
    pub fn cpu_ns(&self) -> Option<(u64, u64)> {
        self.members.iter().find_map(|member| {
            if let Ok(text) = fs::read_to_string(member.path.join("cpu.stat")) {
                return cpu_stat(&text);
            }
            let read = |name| {
                let text = fs::read_to_string(member.path.join(name)).ok()?;
                text.trim().parse::<u64>().ok()
            };
            Some((read("cpuacct.usage_user")?, read("cpuacct.usage_sys")?))
        })
    }

    /// Ends its processes and removes it; what could not be removed stays in the journal.
    pub fn end(mut self) -> Result<()> {
        let results: Vec<Result<()>> = self.members.drain(..).map(|m| m.entry.undo()).collect();
        results.into_iter().collect()
    }
}

/// `cpu.stat` of version 2, which needs no controller.
pub(crate) fn cpu_stat(text: &str) -> Option<(u64, u64)> {
    let value = |key| {
        text.lines()
            .find_map(|line| line.strip_prefix(key)?.trim().parse::<u64>().ok())
    };
    let ns = |key| value(key)?.checked_mul(1000);
    Some((ns("user_usec ")?, ns("system_usec ")?))
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

fn create_directory(journal: &Journal, parent: &Path, name: &str) -> Result<Member> {
    let path = parent.join(name);
    ensure!(!path.exists(), "{} exists already", path.display());
    let entry = journal.record(Undo::Cgroup { path: path.clone() })?;
    // Whoever may write in it could make groups of his own there, which would keep it from being removed.
    let made = fs::DirBuilder::new().mode(0o755).create(&path);
    made.map_err(|e| {
        Failure::runtime(
            format!("cannot create the control group {}: {e}", path.display()),
            "run as root, outside of containers that may not create control groups",
        )
    })?;
    Ok(Member { path, entry })
}

/// Like [`create_directory`], with `controller` in force. If it was off for the hierarchy's children it is
/// switched on, and the group's name says so (`...+io`): whoever ends the last such group, be it the guardian
/// after a crash, switches it off again.
fn create_with_controller(
    journal: &Journal,
    parent: &Path,
    name: &str,
    controller: &str,
) -> Result<(Member, bool)> {
    let _lock = lock()?;
    let control = parent.join("cgroup.subtree_control");
    let mark = format!("+{controller}");
    let was_on = lists(&control, controller);
    let by_us = !was_on || marked_groups(parent, &mark)?;
    let name = format!("{name}{}", if by_us { mark.as_str() } else { "" });
    let member = create_directory(journal, parent, &name)?;
    if !was_on {
        // Not allowed in a container: the group still serves, only bios do not carry its id.
        let _ = write_control(&control, &mark);
    }
    let enabled = lists(&member.path.join("cgroup.controllers"), controller);
    Ok((member, enabled))
}

/// Switches `controller` off again after the last group that carries the mark.
fn put_back_controller(parent: &Path, controller: &str) -> Result<()> {
    let _lock = lock()?;
    let control = parent.join("cgroup.subtree_control");
    if marked_groups(parent, &format!("+{controller}"))? || !lists(&control, controller) {
        return Ok(());
    }
    write_control(&control, &format!("-{controller}"))
        .with_context(|| format!("switching {controller} off again in {}", control.display()))
}

/// Two of us must not switch the same controller at once.
/// A file that only root can open: everybody may lock the hierarchy's own directory, for ever.
fn lock() -> Result<File> {
    make_private_directory(Path::new(RUNTIME_DIRECTORY))?;
    let path = Path::new(RUNTIME_DIRECTORY).join("cgroup.lock");
    let at = || format!("locking {}", path.display());
    let file = fs::OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(&path)
        .with_context(at)?;
    lock::exclusively(file, &path.display().to_string())
}

fn marked_groups(parent: &Path, mark: &str) -> Result<bool> {
    let names = fs::read_dir(parent).with_context(|| format!("reading {}", parent.display()))?;
    Ok(names.filter_map(Result::ok).any(|entry| {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        name.starts_with(PREFIX) && name.ends_with(mark)
    }))
}

fn lists(file: &Path, word: &str) -> bool {
    fs::read_to_string(file).is_ok_and(|text| text.split_whitespace().any(|other| other == word))
}

/// Control files take one write and must not be created.
fn write_control(file: &Path, text: &str) -> std::io::Result<()> {
    fs::OpenOptions::new()
        .write(true)
        .open(file)?
        .write_all(text.as_bytes())
}

/// Ends every process of the group at `path` and of those below it, then removes them. Gone already is fine.
pub fn end(path: &Path) -> Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    ensure!(
        name.starts_with(PREFIX),
        "{} is not a control group of iosched",
        path.display()
    );
    kill_and_remove(path, Instant::now() + PATIENCE)?;
    match (path.parent(), name.rsplit_once('+')) {
        (Some(parent), Some((_, controller))) if parent.exists() => {
            put_back_controller(parent, controller)
        }
        _ => Ok(()),
    }
}

fn kill_and_remove(path: &Path, deadline: Instant) -> Result<()> {
    let children = match fs::read_dir(path) {
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(()),
        other => other.with_context(|| format!("reading {}", path.display()))?,
    };
    for child in children.filter_map(Result::ok) {
        if child.file_type().is_ok_and(|kind| kind.is_dir()) {
            kill_and_remove(&child.path(), deadline)?;
        }
    }
    loop {
        // Since 5.14 version 2 ends a group in one step, which no fork can outrun.
        if write_control(&path.join("cgroup.kill"), "1").is_err() {
            kill_each(path)?;
        }
        match fs::remove_dir(path) {
            Ok(()) => return Ok(()),
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(()),
            Err(e) if Instant::now() >= deadline => {
                let left = pids(path).unwrap_or_default();
                return Err(Failure::runtime(
                    format!(
                        "control group {} did not end within {} s ({e}); processes left: {left:?}",
                        path.display(),
                        PATIENCE.as_secs()
                    ),
                    "they wait for I/O of a device that does not answer; then: iosched restore",
                ));
            }
            Err(_) => std::thread::sleep(Duration::from_millis(2)),
        }
    }
}

fn pids(path: &Path) -> Result<BTreeSet<i32>> {
    let text = match fs::read_to_string(path.join("cgroup.procs")) {
        // Removed between two looks.
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(BTreeSet::new()),
        other => other.with_context(|| format!("reading the processes of {}", path.display()))?,
    };
    Ok(text.lines().filter_map(|line| line.parse().ok()).collect())
}

/// A number may pass to another process between reading and signalling; a descriptor may not. So: take the
/// descriptor, look whether the number is still listed, then signal through the descriptor.
fn kill_each(path: &Path) -> Result<()> {
    let held: Vec<_> = pids(path)?
        .into_iter()
        .filter_map(|pid| {
            let handle = pidfd_open(Pid::from_raw(pid)?, PidfdFlags::empty()).ok()?;
            Some((pid, handle))
        })
        .collect();
    let listed = pids(path)?;
    for (_, handle) in held.iter().filter(|(pid, _)| listed.contains(pid)) {
        match pidfd_send_signal(handle, Signal::KILL) {
            Ok(()) | Err(rustix::io::Errno::SRCH) => {}
            Err(e) => return Err(e).context(format!("ending a process of {}", path.display())),
        }
    }
    Ok(())
}

#[cfg(test)]
#[path = "cgroup_tests.rs"]
mod tests;
