//! Allows one comparison per disk at a time, and none on a disk whose settings a killed run left changed.

use std::fs::File;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::safety::journal::{self, Found};
use crate::safety::lock::{self, Lock, LockOutcome};
use crate::system::device::Device;
use iosched_files::interrupt;
use iosched_files::output::lock_file;
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
pub fn lock_elsewhere() -> Result<File> {
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
fn try_lock_elsewhere() -> Result<Option<File>> {
    let file = lock_file("settings.lock")?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Some(file)),
        Err(Errno::WOULDBLOCK) => Ok(None),
        Err(error) => Err(error).context("locking settings.lock"),
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
