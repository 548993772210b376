//! Allows one comparison per disk at a time, and none on a disk whose settings a killed run left changed.

use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rustix::fs::{FlockOperation, Mode, OFlags, flock};
use rustix::io::Errno;

use crate::safety::journal::{self, Found};
use crate::safety::lock::{self, Lock, LockOutcome};
use crate::system::device::Device;
use iosched_files::interrupt;
use iosched_files::output::{RUNTIME_DIRECTORY, make_private_directory};
use iosched_result::failure::Failure;

/// Time within which the guardian of a killed run should be done.
const GUARDIAN_TIMEOUT: Duration = Duration::from_secs(5);
const POLL: Duration = Duration::from_millis(20);

/// Fails if another process holds the lock, or if a killed run left its settings on the disk: they would be taken for
/// the user's settings. The lock of a killed run is free before its guardian has finished, and the guardian needs the
/// lock to restore the settings, so the lock is not held while this waits.
pub fn lock(device: &Device) -> Result<Lock> {
    let deadline = Instant::now() + GUARDIAN_TIMEOUT;
    loop {
        let lock = match lock::try_take(device)? {
            LockOutcome::Taken(lock) => lock,
            LockOutcome::Busy(holder) => {
                let who = holder.map_or_else(
                    || "another iosched, udev, systemd-repart or a partitioning tool".to_owned(),
                    |holder| holder.to_string(),
                );
                return Err(Failure::refused(
                    format!("{} is locked by {}", device.lock_file().display(), who),
                    "wait until it has finished, then try again",
                ));
            }
        };
        let Some(left) = left_of(device)? else {
            return Ok(lock);
        };
        drop(lock);
        if Instant::now() >= deadline {
            return Err(refusal(&device.name, &left));
        }
        interrupt::check()?;
        std::thread::sleep(POLL);
    }
}

/// The same for settings of control groups and of the system, of which all runs share one lock.
pub fn lock_elsewhere() -> Result<OwnedFd> {
    let deadline = Instant::now() + GUARDIAN_TIMEOUT;
    loop {
        let Some(lock) = try_lock_elsewhere()? else {
            return Err(Failure::refused(
                "another iosched sets settings of control groups or of the system",
                "wait until it has finished, then try again",
            ));
        };
        let found = journal::of_others()?;
        let left = found.into_iter().find(|found| match found {
            Found::LeftBehind(left) => left.has_settings_elsewhere(),
            Found::Suspect(suspect) => suspect.may_concern_elsewhere(),
        });
        let Some(left) = left else {
            return Ok(lock);
        };
        drop(lock);
        if Instant::now() >= deadline {
            return Err(refusal("control groups or of the system", &left));
        }
        interrupt::check()?;
        std::thread::sleep(POLL);
    }
}

/// None: another process holds it.
fn try_lock_elsewhere() -> Result<Option<OwnedFd>> {
    make_private_directory(Path::new(RUNTIME_DIRECTORY))?;
    let path = Path::new(RUNTIME_DIRECTORY).join("settings.lock");
    let at = || format!("locking {}", path.display());
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let file = rustix::fs::open(&path, flags, Mode::RUSR | Mode::WUSR).with_context(at)?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Some(file)),
        Err(Errno::WOULDBLOCK) => Ok(None),
        Err(error) => Err(error).with_context(at),
    }
}

/// Another process's journal entry for this disk. Only the holder of the disk's lock may change the disk, so such a
/// journal belongs to a process that has ended or is just ending.
fn left_of(device: &Device) -> Result<Option<Found>> {
    let found = journal::of_others()?;
    Ok(found.into_iter().find(|found| match found {
        Found::LeftBehind(left) => left.has_queue_of(device),
        Found::Suspect(suspect) => suspect.may_concern(device),
    }))
}

fn refusal(of: &str, left: &Found) -> anyhow::Error {
    match left {
        Found::LeftBehind(left) => Failure::refused(
            format!(
                "process {} was killed and left the settings of {of} changed",
                left.pid
            ),
            "restore them first with `iosched restore`",
        ),
        Found::Suspect(suspect) => Failure::refused(
            format!(
                "the settings of {of} may still be those of a killed run, which would be taken for yours: {suspect}"
            ),
            suspect.remedy(),
        ),
    }
}
