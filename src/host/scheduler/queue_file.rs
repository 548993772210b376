//! The only code that writes sysfs, and only files below a disk's `queue/`.
//!
//! The path is walked from the queue's own directory without following links, so that no attribute name from a command
//! line, a result file or a journal leads elsewhere. A child process makes the write: if the kernel hangs in it
//! (docs/kernels.md names one way), it blocks that child and not this program.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::fd::OwnedFd;
use std::sync::Mutex;
use std::time::Duration;

use anyhow::{Context, Result};
use rustix::fs::{Mode, OFlags};

use crate::system::device::Device;
use crate::system::writer::{self, Written};
use iosched_result::failure::Failure;
use iosched_result::types::arm;

/// The queue is frozen until the requests in flight have completed: seconds on a slow disk.
const WRITE_TIMEOUT: Duration = Duration::from_secs(15);
/// The driver is changing its queues, which takes only a moment.
const BUSY_ATTEMPTS: u32 = 5;
const BUSY_PAUSE: Duration = Duration::from_millis(20);
/// The file system type that `statfs` reports for sysfs.
const SYSFS_MAGIC: u64 = 0x6265_6572;

/// Disks with a write that has not returned, and the PID of its child: another write would block behind it.
static STUCK: Mutex<Vec<(Device, u32)>> = Mutex::new(Vec::new());

/// Writes `value` to the attribute `name` below `queue/` and returns how long the kernel took.
pub(super) fn write(device: &Device, name: &str, value: &str) -> Result<Duration> {
    refuse_stuck(device)?;
    let at = || format!("writing {value:?} to {}", shown(device, name));
    let mut attempts_left = BUSY_ATTEMPTS;
    loop {
        let file = open(device, name).with_context(at)?;
        match writer::write(&file, value.as_bytes(), WRITE_TIMEOUT).with_context(at)? {
            Written::Done(took) => return Ok(took),
            Written::Failed(error)
                if error.kind() == ErrorKind::ResourceBusy && attempts_left > 0 =>
            {
                attempts_left -= 1;
                std::thread::sleep(BUSY_PAUSE);
            }
            Written::Failed(error) => return Err(error).with_context(at),
            Written::Stuck { pid, stack } => {
                stuck().push((device.clone(), pid));
                return Err(stuck_failure(device, name, pid, &stack));
            }
        }
    }
}

fn stuck() -> std::sync::MutexGuard<'static, Vec<(Device, u32)>> {
    STUCK
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// The sysfs values of such a disk are unreliable: the pending write will overwrite them.
pub(super) fn refuse_stuck(device: &Device) -> Result<()> {
    let mut stuck = stuck();
    stuck.retain(|(_, pid)| !writer::has_ended(*pid));
    if stuck.iter().any(|(other, _)| other == device) {
        return Err(Failure::runtime(
            format!(
                "{}: an earlier write to its queue has not returned",
                device.name
            ),
            "iosched writes nothing more to that queue",
        ));
    }
    Ok(())
}

fn stuck_failure(device: &Device, name: &str, pid: u32, stack: &str) -> anyhow::Error {
    Failure::runtime(
        format!(
            "{}: the kernel has not returned from a write to {} for {} s; process {pid} waits in\n{stack}",
            device.name,
            shown(device, name),
            WRITE_TIMEOUT.as_secs()
        ),
        format!(
            "if a request to the disk hangs, the write returns when that request completes, and the settings are restored then; if \
             `dmesg` shows an oops of this kernel, the disk cannot be switched until the machine is \
             restarted, which also resets its settings. Until then process {pid} keeps the lock of {}",
            device.name
        ),
    )
}

fn shown(device: &Device, name: &str) -> String {
    device.sysfs("queue").join(name).display().to_string()
}

/// Never creates a file, never follows a link, never leaves the queue's directory.
fn open(device: &Device, name: &str) -> io::Result<File> {
    if let Some(why) = arm::leaves_the_queue(name) {
        return Err(io::Error::new(
            ErrorKind::InvalidInput,
            format!("{name:?} is refused: it {why}"),
        ));
    }
    let directory = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut below: OwnedFd = rustix::fs::open(device.sysfs("queue"), directory, Mode::empty())?;
    let (directories, file) = name.rsplit_once('/').unwrap_or(("", name));
    for part in directories.split('/').filter(|part| !part.is_empty()) {
        below = rustix::fs::openat(&below, part, directory | OFlags::NOFOLLOW, Mode::empty())?;
    }
    let flags = OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = rustix::fs::openat(&below, file, flags, Mode::empty())?;
    if rustix::fs::fstatfs(&file)?.f_type as u64 != SYSFS_MAGIC {
        return Err(io::Error::new(
            ErrorKind::InvalidInput,
            "it is not a file of sysfs",
        ));
    }
    Ok(file.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_but_a_file_below_the_queue_is_opened() {
        let Some(device) = Device::all().expect("sysfs").into_iter().next() else {
            return println!("skipped: no disk here");
        };
        for name in [
            "/etc/passwd",
            "../size",
            "iosched/../../size",
            "./scheduler",
            "iosched//x",
            "",
            "no-such-attribute",
            "iosched",
            // `queue/` has no links today; a disk's directory has `bdi` and `subsystem`.
            "../bdi/read_ahead_kb",
        ] {
            assert!(open(&device, name).is_err(), "{name:?}");
            assert!(write(&device, name, "1").is_err(), "{name:?}");
        }
    }
}
