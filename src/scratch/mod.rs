//! A block device of our own with a known service time, on which schedulers differ: a shallow loop device over
//! a file that this process serves through FUSE from memory. Nothing on the machine is at risk, and what a
//! measurement must find is known beforehand: that is its [`Truth`].
//!
//! Everything that is made is in the journal first, and is gone when the [`Scratch`] is dropped.

mod calibration;
mod completion;
mod disk;
mod fuse;
mod ioctl;
pub mod loop_device;
pub mod model;
pub mod mount;
mod server;
mod thread;
mod truth;

use std::fs::{self, OpenOptions};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::failure::Failure;
use crate::journal::{Entry, Journal, Undo};
use crate::output::{RUNTIME_DIRECTORY, make_private_directory, new_private_directory};
pub use completion::Punctuality;
use disk::Disk;
use model::Service;
pub use model::{Model, Timing};
use server::Server;
pub use truth::Truth;

/// The same places cost the same rotation in every run.
const SEED: u64 = 1;

const SMALLEST_BYTES: u64 = 1 << 20;

/// The device. Dropping it removes it; what still has it open is given a second, and then gets I/O errors.
pub struct Scratch {
    device: String,
    truth: Truth,
    fallback: Option<String>,
    /// Undone first: the mount is in use as long as the device is there.
    loop_entry: Option<Entry>,
    mounted: Option<Mounted>,
}

/// Unmounted, then removed, then the threads have ended: in the order of the fields.
struct Mounted {
    _mount: Entry,
    _directory: Entry,
    server: Server,
    file: PathBuf,
}

impl Scratch {
    /// Makes a device of `size_bytes`, rounded up to 4 KiB. Where FUSE cannot be used it is a plain loop device
    /// over memory instead, and [`Scratch::fallback`] says why.
    pub fn create(model: Model, size_bytes: u64, journal: &Journal) -> Result<Scratch> {
        if !rustix::process::geteuid().is_root() {
            return Err(Failure::refused(
                "only root can make a scratch device",
                "run it with sudo",
            ));
        }
        let meminfo = fs::read_to_string("/proc/meminfo").context("reading /proc/meminfo")?;
        let size_bytes = checked_size(size_bytes, available_bytes(&meminfo))?;
        make_private_directory(Path::new(RUNTIME_DIRECTORY))?;
        // The way through FUSE costs many times what memory does: ram goes without.
        let Some(timing) = Timing::of(model) else {
            return over_memory(model, size_bytes, journal, None);
        };
        over_fuse(model, &timing, size_bytes, journal).or_else(|error| {
            let why = format!("no {model} could be simulated: {error:#}");
            over_memory(model, size_bytes, journal, Some(why))
        })
    }

    /// As in `/sys/block`.
    pub fn device_name(&self) -> &str {
        &self.device
    }

    pub fn truth(&self) -> &Truth {
        &self.truth
    }

    /// Why the device does not have the times of its model, if so.
    pub fn fallback(&self) -> Option<&str> {
        self.fallback.as_deref()
    }

    /// False: nobody serves the device any more, and every request to it fails.
    pub fn is_healthy(&self) -> bool {
        self.mounted
            .as_ref()
            .is_none_or(|mounted| mounted.server.is_alive())
    }

    /// How well the device has kept its times since it was made; None where there are none to keep.
    pub fn punctuality(&self) -> Option<Punctuality> {
        self.mounted
            .as_ref()
            .map(|mounted| mounted.server.punctuality())
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Some(mounted) = &self.mounted {
            // What is still in flight or yet to be flushed need not keep its times.
            let at_once = Service::new(Timing::constant(0), self.truth.size_bytes, SEED);
            mounted.server.clockwork.set(at_once, 0);
        }
        drop(self.loop_entry.take());
    }
}

fn over_fuse(model: Model, timing: &Timing, size_bytes: u64, journal: &Journal) -> Result<Scratch> {
    let service = |timing| Service::new(timing, size_bytes, SEED);
    let constant = service(Timing::constant(calibration::SERVICE_NS));
    let mounted = mount_disk(size_bytes, constant, journal)?;
    let backing = OpenOptions::new()
        .read(true)
        .write(true)
        .open(&mounted.file)
        .with_context(|| format!("opening {}", mounted.file.display()))?;
    let path = mounted.file.display().to_string();
    let (device, loop_entry) = bind(backing.as_fd(), path, true, journal)?;
    loop_device::shape(&device, fuse::LARGEST_TRANSFER_BYTES, timing.seek.is_some())?;
    let compensation_ns = calibration::overhead_ns(&device, &mounted.server)?;
    mounted
        .server
        .clockwork
        .set(service(timing.clone()), compensation_ns);
    let truth = Truth::timed(
        model,
        size_bytes,
        loop_device::HARDWARE_DEPTH,
        timing.clone(),
        compensation_ns,
        mounted.server.is_realtime,
    );
    Ok(Scratch {
        device,
        truth,
        fallback: None,
        loop_entry: Some(loop_entry),
        mounted: Some(mounted),
    })
}

fn mount_disk(size_bytes: u64, service: Service, journal: &Journal) -> Result<Mounted> {
    let name = unique_name();
    let path = Path::new(RUNTIME_DIRECTORY).join(&name);
    let directory = journal.record(Undo::Directory { path: path.clone() })?;
    new_private_directory(&path).with_context(|| format!("creating {}", path.display()))?;
    let mount = journal.record(Undo::Mount {
        path: path.clone(),
        source: name.clone(),
    })?;
    let server = Server::start(&path, &name, size_bytes, service)?;
    Ok(Mounted {
        _mount: mount,
        _directory: directory,
        server,
        file: path.join(fuse::FILE_NAME),
    })
}

fn over_memory(
    model: Model,
    size_bytes: u64,
    journal: &Journal,
    fallback: Option<String>,
) -> Result<Scratch> {
    let name = unique_name();
    let disk = Disk::new(&name, size_bytes).context("making the memory of the device")?;
    let path = format!("/memfd:{name} (deleted)");
    let (device, loop_entry) = bind(disk.as_fd(), path, false, journal)?;
    loop_device::shape(&device, fuse::LARGEST_TRANSFER_BYTES, false)?;
    Ok(Scratch {
        device,
        truth: Truth::untimed(model, size_bytes, loop_device::HARDWARE_DEPTH),
        fallback,
        loop_entry: Some(loop_entry),
        mounted: None,
    })
}

/// A new loop device on `backing`, whose path is `backing_file`.
fn bind(
    backing: BorrowedFd<'_>,
    backing_file: String,
    direct_io: bool,
    journal: &Journal,
) -> Result<(String, Entry)> {
    let lock = loop_device::lock()?;
    let number = loop_device::unused_number()?;
    let device = loop_device::name(number);
    let entry = journal.record(Undo::Loop {
        device: device.clone(),
        backing_file,
    })?;
    let attached = loop_device::attach(number, backing, direct_io);
    // Before the entry, whose undoing takes the lock too.
    drop(lock);
    attached.map(|()| (device, entry))
}

/// Never used before on this boot: also the source by which a mount is known as ours.
fn unique_name() -> String {
    let (pid, now_ns) = (std::process::id(), completion::now_ns());
    format!("{}{pid}-{now_ns:x}", mount::SOURCE_PREFIX)
}

fn available_bytes(meminfo: &str) -> Option<u64> {
    let line = meminfo
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib = line.trim().strip_suffix(" kB")?.parse::<u64>().ok()?;
    Some(kib << 10)
}

fn checked_size(size_bytes: u64, available_bytes: Option<u64>) -> Result<u64> {
    if size_bytes < SMALLEST_BYTES {
        return Err(Failure::usage(
            format!("a scratch device of {size_bytes} bytes is too small"),
            "it needs at least 1 MiB",
        ));
    }
    let most_bytes = available_bytes.unwrap_or(u64::MAX) / 2;
    if size_bytes > most_bytes {
        return Err(Failure::refused(
            format!(
                "a scratch device of {} MiB could fill this machine's memory",
                size_bytes >> 20
            ),
            format!("half of what is available is {} MiB", most_bytes >> 20),
        ));
    }
    Ok(size_bytes.next_multiple_of(4096))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::{Kind, kind_of};

    #[test]
    fn sizes_are_whole_pages_that_fit_in_memory() {
        assert_eq!(
            checked_size(SMALLEST_BYTES + 1, None).unwrap(),
            SMALLEST_BYTES + 4096
        );
        let too_small = checked_size(SMALLEST_BYTES - 1, None).unwrap_err();
        assert_eq!(kind_of(&too_small), Kind::Usage);
        let too_large = checked_size(SMALLEST_BYTES, Some(2 * SMALLEST_BYTES - 2)).unwrap_err();
        assert_eq!(kind_of(&too_large), Kind::Refused);
        checked_size(SMALLEST_BYTES, Some(2 * SMALLEST_BYTES)).unwrap();
        let huge = checked_size(u64::MAX, None).unwrap_err();
        assert_eq!(kind_of(&huge), Kind::Refused);
    }

    #[test]
    fn available_memory_is_read() {
        let meminfo = "MemTotal:       24684 kB\nMemFree: 1 kB\nMemAvailable:   23735 kB\n";
        assert_eq!(available_bytes(meminfo), Some(23735 << 10));
        assert_eq!(available_bytes("MemTotal: 1 kB\n"), None);
    }
}
