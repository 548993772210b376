//! Allows one writer of a disk's scheduler at a time: two that switch it at the same moment can crash the kernel (Linux
//! 6.16 and later, see docs/kernels.md).
//!
//! This is the lock that udev respects: while it is held, udev ignores the disk's `change` events, so that no rule
//! resets the scheduler when a writer closes the raw node. A run, the terminal UI and `set` hold it from before their
//! first write until after their last; the guardian and `restore` hold it around each queue that they restore.

use std::fmt;
use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rustix::fs::{FlockOperation, Mode, OFlags, flock};
use rustix::io::Errno;

use crate::system::device::Device;
use iosched_files::interrupt;

const POLL: Duration = Duration::from_millis(20);

/// Held until it is dropped, or until the last process that inherited it ends.
#[derive(Debug)]
pub struct Lock(#[expect(dead_code, reason = "held for its lock alone")] OwnedFd);

/// The process that holds a disk's lock, as far as the kernel discloses it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    pub pid: u32,
    pub name: String,
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.pid, &*self.name) {
            (0, _) => f.write_str("a process of another PID namespace"),
            (pid, "") => write!(f, "process {pid} (which has ended) or a child of it"),
            (pid, name) => write!(f, "process {pid} {name}"),
        }
    }
}

pub enum LockOutcome {
    Taken(Lock),
    Busy(Option<Holder>),
}

/// Does not wait. Opens the node read-only: closing it then causes no uevent.
pub fn try_take(device: &Device) -> Result<LockOutcome> {
    let node = device.lock_file();
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let file = rustix::fs::open(&node, flags, Mode::empty())
        .with_context(|| format!("opening {}", node.display()))?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(LockOutcome::Taken(Lock(file))),
        Err(Errno::WOULDBLOCK) => Ok(LockOutcome::Busy(holder(&node.display().to_string()))),
        Err(error) => Err(error).with_context(|| format!("locking {}", node.display())),
    }
}

/// Waits at most this long, or until a signal asks this process to end.
pub fn take_within(device: &Device, patience: Duration) -> Result<LockOutcome> {
    let deadline = Instant::now() + patience;
    loop {
        match try_take(device)? {
            LockOutcome::Busy(_) if Instant::now() < deadline => {
                interrupt::check()?;
                std::thread::sleep(POLL);
            }
            outcome => return Ok(outcome),
        }
    }
}

fn holder(node: &str) -> Option<Holder> {
    let metadata = fs::metadata(node).ok()?;
    let table = fs::read_to_string("/proc/locks").ok()?;
    let dev = metadata.dev();
    let pid = holder_pid(
        &table,
        rustix::fs::major(dev),
        rustix::fs::minor(dev),
        metadata.ino(),
    )?;
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    Some(Holder {
        pid,
        name: name.trim().to_owned(),
    })
}

/// Parses `1: FLOCK  ADVISORY  WRITE 812 00:05:123 0 EOF`: the file system's number in hexadecimal, then the inode.
fn holder_pid(table: &str, major: u32, minor: u32, inode: u64) -> Option<u32> {
    let file = format!("{major:02x}:{minor:02x}:{inode}");
    table.lines().find_map(|line| {
        let mut fields = line.split_whitespace().skip(1);
        let kind = fields.next()?;
        let pid = fields.nth(2)?;
        (kind == "FLOCK" && fields.next()? == file).then(|| pid.parse().ok())?
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_holder_is_found_by_file() {
        let table = "1: POSIX  ADVISORY  WRITE 11 00:06:345 0 EOF\n\
            2: FLOCK  ADVISORY  WRITE 12 00:1f:345 0 EOF\n\
            2: -> FLOCK  ADVISORY  WRITE 99 00:06:345 0 EOF\n\
            3: FLOCK  ADVISORY  WRITE 13 00:06:345 0 EOF\n";
        assert_eq!(holder_pid(table, 0, 6, 345), Some(13));
        assert_eq!(holder_pid(table, 0, 31, 345), Some(12));
        assert_eq!(holder_pid(table, 0, 6, 346), None);
    }
}
