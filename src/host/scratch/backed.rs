//! The loop devices of a simulated disk, and what stands behind them: a file that this process serves through FUSE, or plain
//! memory.

use std::fs::OpenOptions;
use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::calibration;
use super::disk::MemoryDisk;
use super::fuse;
use super::server::Server;
use super::unique_name;
use crate::safety::journal::{Entry, Journal, Undo};
use crate::system::loop_device;
use iosched_files::output::{RUNTIME_DIRECTORY, new_private_directory};
use iosched_result::types::scratch::model::{Service, Timing};

/// Fixed, so that the same positions have the same rotational delay in every run.
pub(super) const SEED: u64 = 1;

/// Loop devices, one for each LUN.
pub(super) struct Backed {
    pub devices: Vec<String>,
    pub loop_entries: Vec<Entry>,
    /// None over plain memory.
    pub mounted: Option<Mounted>,
    /// Latency of the way through the loop driver and FUSE.
    pub compensation_ns: u64,
}

/// In field order: unmounted, removed, then the threads are joined.
pub(super) struct Mounted {
    _mount: Entry,
    _directory: Entry,
    pub server: Server,
    file: PathBuf,
}

pub(super) fn over_fuse(
    luns: usize,
    timing: &Timing,
    size_bytes: u64,
    journal: &Journal,
) -> Result<Backed> {
    let constant = Service::new(Timing::constant(calibration::SERVICE_NS), size_bytes, SEED);
    let mounted = mount_disk(size_bytes, constant, journal)?;
    let backing = OpenOptions::new()
        .read(true)
        .write(true)
        .open(&mounted.file)
        .with_context(|| format!("opening {}", mounted.file.display()))?;
    let path = mounted.file.display().to_string();
    let (devices, loop_entries) =
        bind_all(luns, size_bytes, (backing.as_fd(), &path, true), journal)?;
    for device in &devices {
        loop_device::shape(device, fuse::LARGEST_TRANSFER_BYTES, timing.seek.is_some())?;
    }
    Ok(Backed {
        compensation_ns: calibration::overhead_ns(&devices[0], &mounted.server)?,
        devices,
        loop_entries,
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

pub(super) fn over_memory(luns: usize, size_bytes: u64, journal: &Journal) -> Result<Backed> {
    let name = unique_name();
    let disk = MemoryDisk::new(&name, size_bytes).context("creating the memory of the device")?;
    let path = format!("/memfd:{name} (deleted)");
    let (devices, loop_entries) =
        bind_all(luns, size_bytes, (disk.as_fd(), &path, false), journal)?;
    for device in &devices {
        loop_device::shape(device, fuse::LARGEST_TRANSFER_BYTES, false)?;
    }
    Ok(Backed {
        devices,
        loop_entries,
        mounted: None,
        compensation_ns: 0,
    })
}

/// One device for each LUN, on equal parts of the disk.
fn bind_all(
    luns: usize,
    size_bytes: u64,
    backing: (BorrowedFd<'_>, &str, bool),
    journal: &Journal,
) -> Result<(Vec<String>, Vec<Entry>)> {
    let bytes = size_bytes / luns as u64 / 4096 * 4096;
    let parts = (0..luns as u64).map(|lun| lun * bytes..(lun + 1) * bytes);
    parts.map(|part| bind(part, backing, journal)).collect()
}

/// Binds a new loop device to a part of a file, which has a path and may support direct I/O.
fn bind(
    part: Range<u64>,
    (backing, path, direct_io): (BorrowedFd<'_>, &str, bool),
    journal: &Journal,
) -> Result<(String, Entry)> {
    let lock = loop_device::lock()?;
    let number = loop_device::unused_number()?;
    let device = loop_device::name(number);
    let entry = journal.record(Undo::Loop {
        device: device.clone(),
        backing_file: path.to_owned(),
    })?;
    let part = (part.start, part.end - part.start);
    let attached = loop_device::attach(number, backing, part, direct_io);
    // Release the lock before the entry is dropped: undoing it takes the lock too.
    drop(lock);
    attached.map(|()| (device, entry))
}
