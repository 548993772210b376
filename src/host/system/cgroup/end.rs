//! Ends one of our control groups: kills every process in it, including forked ones, then removes the group.

use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use super::PREFIX;
use super::controller::{put_back_controller, write_control};
use iosched_result::failure::Failure;

/// A process in uninterruptible sleep ends only after its I/O has completed.
const END_TIMEOUT: Duration = Duration::from_secs(10);

/// Kills every process in the group at `path` and in its subgroups, then removes them. A missing group is fine.
pub fn end(path: &Path) -> Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    ensure!(
        name.starts_with(PREFIX),
        "{} is not a control group of iosched",
        path.display()
    );
    kill_and_remove(path, Instant::now() + END_TIMEOUT)?;
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
        // Linux 5.14: cgroup v2 kills a group in one step, which no fork can escape.
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
                        "control group {} did not end within {} s ({e}); processes left: {}",
                        path.display(),
                        END_TIMEOUT.as_secs(),
                        listed(&left)
                    ),
                    "they wait for I/O on a device that does not respond; once it responds, run `iosched restore`",
                ));
            }
            Err(_) => std::thread::sleep(Duration::from_millis(2)),
        }
    }
}

fn listed(pids: &BTreeSet<i32>) -> String {
    let pids: Vec<String> = pids.iter().map(i32::to_string).collect();
    pids.join(", ")
}

pub fn pids(path: &Path) -> Result<BTreeSet<i32>> {
    let text = match fs::read_to_string(path.join("cgroup.procs")) {
        // The group was removed in the meantime.
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(BTreeSet::new()),
        other => other.with_context(|| format!("reading the processes of {}", path.display()))?,
    };
    Ok(text.lines().filter_map(|line| line.parse().ok()).collect())
}

/// A PID may be reused between reading and signalling; a pidfd cannot. So: open the pidfd, check that the PID is still
/// listed, then signal through the pidfd.
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
            Err(e) => return Err(e).context(format!("killing a process of {}", path.display())),
        }
    }
    Ok(())
}
