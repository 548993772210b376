//! A lock on an open file that iosched processes hold for moments.

use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

const POLL: Duration = Duration::from_millis(20);
const MOMENTS: Duration = Duration::from_secs(10);

/// Locks a file that only root can open and that iosched processes hold for moments. Ignores signals, because restoring
/// uses it after one.
pub fn exclusively<F: AsFd>(file: F, name: &str) -> Result<F> {
    let deadline = Instant::now() + MOMENTS;
    loop {
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(file),
            Err(Errno::WOULDBLOCK | Errno::INTR) if Instant::now() < deadline => {
                std::thread::sleep(POLL);
            }
            Err(error) => return Err(error).with_context(|| format!("locking {name}")),
        }
    }
}
