//! A loop device on a file in memory; removed when dropped.

use std::fs::{self, Permissions};
use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use iosched_host::system::loop_device;
use rustix::fs::FallocateFlags;
use tempfile::NamedTempFile;

const DIRECTORY: &str = "/dev/shm";
const BYTES: u64 = 128 << 20;

pub struct Disk {
    pub name: String,
    file: NamedTempFile,
}

impl Disk {
    pub fn create() -> Result<Disk> {
        Disk::of(BYTES)
    }

    pub fn of(bytes: u64) -> Result<Disk> {
        let file = tempfile::Builder::new()
            .prefix("iosched-overhead-")
            .permissions(Permissions::from_mode(0o600))
            .tempfile_in(DIRECTORY)
            .with_context(|| format!("making a file in {DIRECTORY}"))?;
        // Holes would be read faster than data.
        rustix::fs::fallocate(file.as_file(), FallocateFlags::empty(), 0, bytes)
            .with_context(|| format!("reserving {bytes} bytes in {DIRECTORY}"))?;
        let _lock = loop_device::lock();
        let number = loop_device::unused_number()?;
        let disk = Disk {
            name: loop_device::name(number),
            file,
        };
        loop_device::attach(number, disk.file.as_file().as_fd(), (0, 0), false)?;
        Ok(disk)
    }

    pub fn node(&self) -> PathBuf {
        PathBuf::from("/dev").join(&self.name)
    }

    /// The device is new, so nothing has to be restored.
    pub fn switch(&self, scheduler: &str) -> Result<()> {
        let path = format!("/sys/block/{}/queue/scheduler", self.name);
        fs::write(&path, scheduler).with_context(|| format!("writing {scheduler} to {path}"))?;
        let offered = fs::read_to_string(&path).with_context(|| format!("reading {path}"))?;
        ensure!(
            offered.contains(&format!("[{scheduler}]")),
            "{path} is {} after {scheduler} was written",
            offered.trim_end()
        );
        Ok(())
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let file = self.file.path().to_string_lossy();
        if let Err(error) = loop_device::detach(&self.name, &file) {
            eprintln!("overhead: {error:#}");
        }
    }
}
