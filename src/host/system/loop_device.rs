//! Loop devices made by iosched. Each has an unused number, so that the settings of its tag set affect nothing else, is
//! bound to one file, and is removed only while it is bound to that file.
//!
//! Writes the queue settings of these devices itself: that is part of making the device, before any scheduler is
//! compared on it, and they vanish with the device.

mod ioctl; // ioctls of /dev/loop-control and of loop devices

use std::fs::{self, File, OpenOptions};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::fuse_mount;
use iosched_files::flock::exclusively;
use iosched_files::output::RUNTIME_DIRECTORY;
use iosched_result::failure::Failure;

/// The smallest depth that the kernel allows: the more requests the device accepts, the fewer the scheduler can
/// reorder.
pub const HARDWARE_DEPTH: u32 = 4;

const BLOCK_SIZE: u32 = 512;

/// Smaller numbers are left to programs that count from zero.
const FIRST_NUMBER: u32 = 64;

/// Processes that have the device open may need a moment to close it.
const CUT_AFTER: Duration = Duration::from_secs(1);
const DETACH_TIMEOUT: Duration = Duration::from_secs(3);

/// Held from the choice of a number until the device is bound, so that no other iosched process takes the number or
/// mistakes the device for a leftover. None before the first device was made.
pub fn lock() -> Result<Option<OwnedFd>> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    match rustix::fs::open(RUNTIME_DIRECTORY, flags, Mode::empty()) {
        Ok(directory) => exclusively(directory, RUNTIME_DIRECTORY).map(Some),
        Err(_) => Ok(None),
    }
}

/// A number that no loop device has. It stays unused only under [`lock`].
pub fn unused_number() -> Result<u32> {
    let mut numbers = FIRST_NUMBER..1 << 20;
    numbers
        .find(|number| !sysfs(&name(*number), "").exists())
        .context("no loop device number is free")
}

pub fn name(number: u32) -> String {
    format!("loop{number}")
}

/// Creates loop device `number` and binds it to a part of `backing`: its offset and length in bytes, 0 for all.
pub fn attach(
    number: u32,
    backing: BorrowedFd<'_>,
    part: (u64, u64),
    direct_io: bool,
) -> Result<()> {
    let device = name(number);
    let added = ioctl::add(&control()?, number);
    added.with_context(|| format!("creating {device}"))?;
    let node = open(&device, true)
        .with_context(|| format!("opening /dev/{device} (is /dev the kernel's devtmpfs?)"))?;
    ioctl::configure(&node, backing, part, BLOCK_SIZE, direct_io)
        .with_context(|| format!("binding {device} to its file (Linux 5.8 and later)"))?;
    if direct_io && read(&device, "loop/dio")? != "1" {
        return Err(Failure::runtime(
            format!("{device} does not use direct I/O on its file"),
            "without direct I/O the page cache would serve the requests instead of the device",
        ));
    }
    Ok(())
}

/// Sets the hardware depth, the largest transfer and the rotational flag.
pub fn shape(device: &str, largest_transfer_bytes: u32, rotational: bool) -> Result<()> {
    // Under `none` a write of `nr_requests` resizes the driver tags, and the size stays under every scheduler.
    write(device, "queue/scheduler", "none")?;
    write(device, "queue/nr_requests", &HARDWARE_DEPTH.to_string())?;
    let largest_kib = read(device, "queue/max_hw_sectors_kb")?.parse::<u32>();
    let largest_kib =
        largest_kib.with_context(|| format!("queue/max_hw_sectors_kb of {device}"))?;
    let largest_kib = largest_kib.min(largest_transfer_bytes >> 10);
    write(device, "queue/max_sectors_kb", &largest_kib.to_string())?;
    write(
        device,
        "queue/rotational",
        if rotational { "1" } else { "0" },
    )?;
    let depth = read(device, "queue/nr_requests")?;
    if depth != HARDWARE_DEPTH.to_string() {
        return Err(Failure::runtime(
            format!("{device} has a hardware depth of {depth}, not {HARDWARE_DEPTH}"),
            "loop devices support schedulers since Linux 6.1",
        ));
    }
    Ok(())
}

/// Unbinds and removes `device` if it is bound to `backing_file` or to nothing. Succeeds also if it is gone or belongs
/// to another program by now. Aborts its FUSE connection if the device stays in use.
pub fn detach(device: &str, backing_file: &str) -> Result<()> {
    let number = device
        .strip_prefix("loop")
        .and_then(|number| number.parse().ok());
    let number = number.with_context(|| format!("{device:?} is not a loop device"))?;
    let start = Instant::now();
    let mut is_cut = false;
    while !try_detach(number, device, backing_file)? {
        if start.elapsed() > CUT_AFTER && !is_cut {
            fuse_mount::cut_below(Path::new(backing_file));
            is_cut = true;
        }
        if start.elapsed() > DETACH_TIMEOUT {
            return match backing_of(device) {
                Some(bound) if bound == backing_file => Err(Failure::runtime(
                    format!("{device} is still in use"),
                    format!(
                        "stop the processes that use it (`fuser -vm /dev/{device}` lists them), then run `iosched restore`"
                    ),
                )),
                // Unbound and open: another program is about to use the number.
                _ => Ok(()),
            };
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}

/// One attempt. True: nothing of ours is left.
fn try_detach(number: u32, device: &str, backing_file: &str) -> Result<bool> {
    // An iosched process that is making this very device holds the lock until it is bound.
    let _lock = lock()?;
    if !sysfs(device, "").exists() {
        return Ok(true);
    }
    match backing_of(device) {
        Some(bound) if bound != backing_file => return Ok(true),
        Some(_) => {
            let cleared = open(device, false).map(|node| ioctl::clear(&node));
            let cleared = cleared.with_context(|| format!("opening /dev/{device}"))?;
            match cleared {
                Ok(()) | Err(Errno::NXIO | Errno::BUSY) => {}
                Err(error) => return Err(error).with_context(|| format!("unbinding {device}")),
            }
            if backing_of(device).is_some() {
                return Ok(false);
            }
        }
        None => {}
    }
    match ioctl::remove(&control()?, number) {
        Ok(()) | Err(Errno::NODEV) => Ok(true),
        Err(Errno::BUSY) => Ok(false),
        Err(error) => Err(error).with_context(|| format!("removing {device}")),
    }
}

/// A loop device that is bound to a file below `directory`.
pub fn bound_below(directory: &Path) -> Option<String> {
    let devices = fs::read_dir("/sys/block").ok()?;
    devices
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|device| device.starts_with("loop"))
        .find(|device| {
            backing_of(device).is_some_and(|file| Path::new(&file).starts_with(directory))
        })
}

/// The file that `device` is bound to, as sysfs prints it.
pub fn backing_of(device: &str) -> Option<String> {
    read(device, "loop/backing_file").ok()
}

fn open(device: &str, for_writing: bool) -> std::io::Result<File> {
    let path = Path::new("/dev").join(device);
    OpenOptions::new().read(true).write(for_writing).open(path)
}

fn control() -> Result<File> {
    let path = "/dev/loop-control";
    let opened = OpenOptions::new().read(true).write(true).open(path);
    opened.with_context(|| format!("opening {path} (it needs the loop driver: modprobe loop)"))
}

fn sysfs(device: &str, attribute: &str) -> PathBuf {
    Path::new("/sys/block").join(device).join(attribute)
}

fn read(device: &str, attribute: &str) -> Result<String> {
    let path = sysfs(device, attribute);
    let text = fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
    Ok(text.trim_end_matches('\n').to_owned())
}

fn write(device: &str, attribute: &str, value: &str) -> Result<()> {
    let path = sysfs(device, attribute);
    fs::write(&path, value).with_context(|| format!("writing {value} to {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_loop_devices_are_detached() {
        for device in ["vda", "loop", "loopx", "loop1p1", ""] {
            let error = detach(device, "/nowhere").unwrap_err();
            assert!(error.to_string().contains("not a loop device"), "{error}");
        }
    }

    #[test]
    fn what_is_gone_is_detached() {
        detach("loop1048575", "/nowhere").unwrap();
    }
}
