//! One comparison on a disk at a time, and none on a disk that a killed run has left changed.

use std::time::{Duration, Instant};

use anyhow::Result;

use crate::device::Device;
use crate::failure::Failure;
use crate::interrupt;
use crate::journal::{self, Found};
use crate::lock::{self, Lock, Outcome};

/// So long the guardian of a killed run may take.
const PATIENCE: Duration = Duration::from_secs(5);
const POLL: Duration = Duration::from_millis(20);

/// Refused when another holds it, and when a killed run has left its settings on the disk: they would be taken for those of
/// its user. A killed run's lock is free before its guardian is done; the guardian needs the lock for that, so it is not
/// held while this waits.
pub fn lock(device: &Device) -> Result<Lock> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let lock = match lock::try_take(device)? {
            Outcome::Taken(lock) => lock,
            Outcome::Busy(holder) => {
                let who = holder.map_or_else(
                    || "another iosched, udev, systemd-repart or a partitioning tool".to_owned(),
                    |holder| holder.to_string(),
                );
                return Err(Failure::refused(
                    format!("{} is locked by {}", device.node().display(), who),
                    "wait until that is done, then try again",
                ));
            }
        };
        let Some(left) = left_of(device)? else {
            return Ok(lock);
        };
        drop(lock);
        if Instant::now() >= deadline {
            return Err(refusal(device, &left));
        }
        interrupt::check()?;
        std::thread::sleep(POLL);
    }
}

/// What another process has noted of this disk. Whoever holds the disk's lock is the only one that may change it: a journal
/// with its settings is of a process that has ended, or is just ending.
fn left_of(device: &Device) -> Result<Option<Found>> {
    let found = journal::of_others()?;
    Ok(found.into_iter().find(|found| match found {
        Found::LeftBehind(left) => left.has_queue_of(device),
        Found::Suspect(suspect) => suspect.may_concern(device),
    }))
}

fn refusal(device: &Device, left: &Found) -> anyhow::Error {
    match left {
        Found::LeftBehind(left) => Failure::refused(
            format!(
                "process {} was killed and left the settings of {} changed",
                left.pid, device.name
            ),
            "put them back first: `iosched restore`",
        ),
        Found::Suspect(suspect) => Failure::refused(
            format!(
                "{} may still have the settings of a killed run, and they would be taken for yours: {suspect}",
                device.name
            ),
            suspect.way_out(),
        ),
    }
}
