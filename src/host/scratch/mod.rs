//! A simulated block device with a known service time, on which schedulers differ: a loop device with few tags over a
//! file that this process serves from memory through FUSE. It puts nothing on the machine at risk, and the results that
//! a measurement must find are known in advance: its [`Truth`].
//!
//! Everything that is created is recorded in the journal first and removed when the [`Scratch`] is dropped.

mod backed; // loop devices, and what stands behind them
mod calibration;
mod completion;
mod disk;
pub mod file; // a file on a mounted disk, written instead of the raw node
mod fuse;
mod server;
mod thread;
mod volume;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::safety::journal::{Entry, Journal};
use crate::system::{fuse_mount, loop_device};
use backed::{Mounted, SEED};
pub use completion::Punctuality;
use iosched_files::output::{RUNTIME_DIRECTORY, make_private_directory};
use iosched_result::failure::Failure;
use iosched_result::types::scratch::model::Service;
use iosched_result::types::scratch::model::Timing;
use iosched_result::types::scratch::spec::DiskSpec;
use iosched_result::types::scratch::truth::Truth;
use volume::Volume;

const SMALLEST_BYTES: u64 = 1 << 20;

/// The device. Dropping it removes it; programs that still have it open get one second, then I/O errors.
pub struct Scratch {
    devices: Vec<String>,
    truth: Truth,
    fallback: Option<String>,
    /// Undone first, then the devices, then the mount that they use.
    volume: Option<Volume>,
    loop_entries: Vec<Entry>,
    mounted: Option<Mounted>,
}

impl Scratch {
    /// Creates a disk of `size_bytes`, rounded up to 4 KiB, with its file system if it has one. If FUSE is unusable, it
    /// is a plain loop device over memory, and [`Scratch::fallback`] says why.
    pub fn create(
        spec: impl Into<DiskSpec>,
        size_bytes: u64,
        journal: &Journal,
    ) -> Result<Scratch> {
        Self::create_at(spec, size_bytes, None, journal)
    }

    /// The same, with its file system mounted at `mount_point`, an empty directory.
    pub fn create_at(
        spec: impl Into<DiskSpec>,
        size_bytes: u64,
        mount_point: Option<&Path>,
        journal: &Journal,
    ) -> Result<Scratch> {
        let spec = spec.into();
        if !rustix::process::geteuid().is_root() {
            return Err(Failure::refused(
                "only root can create a scratch device",
                "run it with sudo",
            ));
        }
        let meminfo = fs::read_to_string("/proc/meminfo").context("reading /proc/meminfo")?;
        let size_bytes = checked_size(size_bytes, available_bytes(&meminfo))?;
        make_private_directory(Path::new(RUNTIME_DIRECTORY))?;
        let timing = Timing::of(spec.model);
        let (made, fallback) = match &timing {
            // FUSE costs far more than a memory access, so `ram` does without it.
            None => (backed::over_memory(spec.luns, size_bytes, journal)?, None),
            Some(timing) => match backed::over_fuse(spec.luns, timing, size_bytes, journal) {
                Ok(served) => (served, None),
                Err(error) => {
                    let why = format!("simulating {} failed: {error:#}", spec.model);
                    let plain = backed::over_memory(spec.luns, size_bytes, journal)?;
                    (plain, Some(why))
                }
            },
        };
        let truth = match (timing, &made.mounted) {
            (Some(timing), Some(mounted)) => Truth::timed(
                spec,
                size_bytes,
                loop_device::HARDWARE_DEPTH,
                timing,
                made.compensation_ns,
                mounted.server.is_realtime,
            ),
            _ => Truth::untimed(spec, size_bytes, loop_device::HARDWARE_DEPTH),
        };
        let mut scratch = Scratch {
            devices: made.devices,
            truth,
            fallback,
            volume: None,
            loop_entries: made.loop_entries,
            mounted: made.mounted,
        };
        if let Some(file_system) = spec.file_system {
            scratch.set_delays(false);
            let nodes = scratch.nodes();
            scratch.volume = Some(Volume::make(file_system, &nodes, mount_point, journal)?);
        }
        scratch.set_delays(true);
        Ok(scratch)
    }

    /// The name in `/sys/block`; of the first of several LUNs.
    pub fn device_name(&self) -> &str {
        &self.devices[0]
    }

    /// The names of all LUNs.
    pub fn device_names(&self) -> &[String] {
        &self.devices
    }

    pub fn nodes(&self) -> Vec<PathBuf> {
        let names = self.devices.iter();
        names.map(|name| Path::new("/dev").join(name)).collect()
    }

    /// Where its file system is mounted.
    pub fn mount_point(&self) -> Option<&Path> {
        self.volume.as_ref().map(Volume::mount_point)
    }

    pub fn truth(&self) -> &Truth {
        &self.truth
    }

    /// Why the device does not have the latency of its model, if so.
    pub fn fallback(&self) -> Option<&str> {
        self.fallback.as_deref()
    }

    /// False: the serving threads have ended, and every request to the device fails.
    pub fn is_healthy(&self) -> bool {
        self.mounted
            .as_ref()
            .is_none_or(|mounted| mounted.server.is_alive())
    }

    /// How punctual the device's replies were; None if its model has no times.
    pub fn punctuality(&self) -> Option<Punctuality> {
        self.mounted
            .as_ref()
            .map(|mounted| mounted.server.punctuality())
    }
}

impl Scratch {
    /// Without delays it is as fast as it can be, for the time before and after a measurement.
    fn set_delays(&self, delays: bool) {
        let Some(mounted) = &self.mounted else { return };
        let timing = self.truth.timing.clone().filter(|_| delays);
        let compensation_ns = timing.as_ref().map_or(0, |_| self.truth.compensation_ns);
        let timing = timing.unwrap_or_else(|| Timing::constant(0));
        let service = Service::new(timing, self.truth.size_bytes, SEED);
        mounted.server.clockwork.set(service, compensation_ns);
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        self.set_delays(false);
        drop(self.volume.take());
        self.loop_entries.clear();
    }
}

/// Unique since boot; also the source by which a mount is recognised as ours.
fn unique_name() -> String {
    let (pid, now_ns) = (std::process::id(), completion::now_ns());
    format!("{}{pid}-{now_ns:x}", fuse_mount::SOURCE_PREFIX)
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
                "a scratch device of {} MiB could exhaust this machine's memory",
                size_bytes >> 20
            ),
            format!(
                "use at most half of the available memory, {} MiB",
                most_bytes >> 20
            ),
        ));
    }
    Ok(size_bytes.next_multiple_of(4096))
}

#[cfg(test)]
mod tests {
    use super::*;
    use iosched_result::failure::{Kind, kind_of};

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
