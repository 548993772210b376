//! Loop devices of ours: numbers that nobody had before, so that the settings of their tag set are ours alone,
//! bound to one file, and removed only while that file is still what they are bound to.
//!
//! Writes the queue settings of these devices itself: they are the making of the device, before any scheduler
//! is compared on it, and they vanish with it.

use std::fs::{self, File, OpenOptions};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::{ioctl, mount};
use crate::failure::Failure;
use crate::lock::exclusively;
use crate::output::RUNTIME_DIRECTORY;

/// The kernel's least. A deep device hides its scheduler.
pub const HARDWARE_DEPTH: u32 = 4;

const BLOCK_SIZE: u32 = 512;

/// Numbers below are left to those who count from zero.
const FIRST_NUMBER: u32 = 64;

/// What has the device open may need a moment to let it go.
const PATIENCE: Duration = Duration::from_secs(1);
const PATIENCE_AFTER_CUT: Duration = Duration::from_secs(3);

/// Held from the choice of a number to the binding of the device, so that no other process of ours takes the
/// number, or takes the device for one left behind. None before the first device was made.
pub fn lock() -> Result<Option<OwnedFd>> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    match rustix::fs::open(RUNTIME_DIRECTORY, flags, Mode::empty()) {
        Ok(directory) => exclusively(directory, RUNTIME_DIRECTORY).map(Some),
        Err(_) => Ok(None),
    }
}

/// A number that no loop device has. Stable only under [`lock`].
pub fn unused_number() -> Result<u32> {
    let mut numbers = FIRST_NUMBER..1 << 20;
    numbers
        .find(|number| !sysfs(&name(*number), "").exists())
        .context("no loop device number is free")
}

pub fn name(number: u32) -> String {
    format!("loop{number}")
}

/// Makes loop device `number` and binds it to `backing`.
pub fn attach(number: u32, backing: BorrowedFd<'_>, direct_io: bool) -> Result<()> {
    let device = name(number);
    let added = ioctl::add(&control()?, number);
    added.with_context(|| format!("making {device}"))?;
    let node = open(&device, true)
        .with_context(|| format!("opening /dev/{device} (is /dev the kernel's devtmpfs?)"))?;
    ioctl::configure(&node, backing, BLOCK_SIZE, direct_io)
        .with_context(|| format!("binding {device} to its file (Linux 5.8 and later)"))?;
    if direct_io && read(&device, "loop/dio")? != "1" {
        return Err(Failure::runtime(
            format!("{device} does not use direct I/O on its file"),
            "without it the page cache would answer instead of the device",
        ));
    }
    Ok(())
}

/// Makes the device shallow, and as large in its transfers and as rotational as is asked.
pub fn shape(device: &str, largest_transfer_bytes: u32, rotational: bool) -> Result<()> {
    // Under `none` nr_requests is the depth of the hardware's tags, and stays so under every scheduler.
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
            "loop devices have schedulers from Linux 6.1 on",
        ));
    }
    Ok(())
}

/// Unbinds and removes `device` if it is bound to `backing_file`, or to nothing. Ok also when it is gone, or
/// when it is someone else's by now. Cuts its FUSE connection when the device stays in use.
pub fn detach(device: &str, backing_file: &str) -> Result<()> {
    let number = device
        .strip_prefix("loop")
        .and_then(|number| number.parse().ok());
    let number = number.with_context(|| format!("{device:?} is not a loop device"))?;
    let start = Instant::now();
    let mut is_cut = false;
    while !try_detach(number, device, backing_file)? {
        if start.elapsed() > PATIENCE && !is_cut {
            mount::cut_below(Path::new(backing_file));
            is_cut = true;
        }
        if start.elapsed() > PATIENCE_AFTER_CUT {
            return match backing_of(device) {
                Some(bound) if bound == backing_file => Err(Failure::runtime(
                    format!("{device} is still in use"),
                    format!(
                        "end what uses /dev/{device} (fuser -vm /dev/{device}), then run: iosched restore"
                    ),
                )),
                // Unbound and open: someone else is about to use the number.
                _ => Ok(()),
            };
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}

/// One step. True: there is nothing of ours any more.
fn try_detach(number: u32, device: &str, backing_file: &str) -> Result<bool> {
    // A process of ours that is making this very device holds the lock until it is bound.
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
    opened.with_context(|| format!("opening {path} (a kernel with loop devices: modprobe loop)"))
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
