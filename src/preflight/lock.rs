//! One comparison on a disk at a time. The lock is the one that udev respects: while it is held, udev does not act on the
//! `change` events of the disk, and so no rule sets the scheduler back when a writer closes the raw node.

use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rustix::fs::{FlockOperation, Mode, OFlags, flock};
use rustix::io::Errno;

use crate::device::Device;
use crate::failure::Failure;
use crate::journal;

/// So long the guardian of a killed run may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// Held until the descriptor is closed. Opened for reading: closing it makes no event. Refused when another holds it, and
/// when a killed run has left its settings on the disk: they would be taken for those of its user.
pub fn lock(device: &Device) -> Result<OwnedFd> {
    let node = device.node();
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let file = rustix::fs::open(&node, flags, Mode::empty())
        .with_context(|| format!("opening {}", node.display()))?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => refuse_left_behind(device).map(|()| file),
        Err(Errno::WOULDBLOCK) => {
            let who = holder(&node.display().to_string()).unwrap_or_else(|| {
                "another iosched, udev, systemd-repart or a partitioning tool".to_owned()
            });
            Err(Failure::refused(
                format!("{} is locked by {who}", node.display()),
                "wait until that is done, then try again",
            ))
        }
        Err(error) => Err(error).with_context(|| format!("locking {}", node.display())),
    }
}

/// A killed run's lock is free before its guardian is done.
fn refuse_left_behind(device: &Device) -> Result<()> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let left_behind = journal::left_behind()?;
        let mut left = left_behind.iter().flatten();
        let Some(left) = left.find(|left| left.has_queue_of(device)) else {
            return Ok(());
        };
        if Instant::now() >= deadline {
            return Err(Failure::refused(
                format!(
                    "process {} was killed and left the settings of {} changed",
                    left.pid, device.name
                ),
                "put them back first: `iosched restore`",
            ));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The process behind the lock, as far as the kernel tells.
fn holder(node: &str) -> Option<String> {
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
    Some(
        format!("process {pid} {}", name.trim())
            .trim_end()
            .to_owned(),
    )
}

/// `1: FLOCK  ADVISORY  WRITE 812 00:05:123 0 EOF`: numbers of the file system in hexadecimal, then the inode.
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
