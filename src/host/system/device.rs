//! A block device and its sysfs attributes. Read only: `scheduler` does all writing.
//! A `Device` is always a whole disk, which has a request queue. Partitions and mount points are resolved to one; the
//! raw I/O of a workload goes to a `RawTarget`, which stays the partition.

mod backing;
mod disks;
pub(crate) mod hardware_depth;
mod identity;
pub mod info;
pub(crate) mod io_stat;
mod level;
pub mod mounts;
mod multipath;
mod natural;
mod partition;
mod place;
mod resolve;
pub mod uevents;

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use iosched_result::failure::Failure;
use iosched_result::types::disk_id::DiskId;
use serde::{Deserialize, Serialize};

pub(crate) use backing::{Backing, backing};
pub use disks::Disks;
pub use io_stat::IoStat;
use iosched_result::types::queue::HardwareDepth;
pub use partition::{Partition, RawTarget, disk_number};
pub use place::{place_of, place_of_bdi};
pub use resolve::{Resolved, stands_on};
pub(crate) use resolve::{btrfs_members, devices_of, is_within, name_of};

/// A whole disk. The kernel may give its name to another disk later; `diskseq` distinguishes the two.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Device {
    /// The name in sysfs: `nvme0n1`, `cciss!c0d0`.
    pub name: String,
    pub major: u32,
    pub minor: u32,
    /// Unique since boot; absent before Linux 5.15.
    pub diskseq: Option<u64>,
}

const SECTOR_BYTES: u64 = 512;

/// Devices chosen so that each I/O is counted once, with one line for each decision.
#[derive(Clone, Debug, Default)]
pub struct Level {
    pub devices: Vec<Device>,
    pub notes: Vec<String>,
}

impl From<&Device> for DiskId {
    fn from(device: &Device) -> DiskId {
        DiskId {
            name: device.name.clone(),
            major: device.major,
            minor: device.minor,
            diskseq: device.diskseq,
        }
    }
}

impl Device {
    /// The disk with this kernel name, or None if there is none.
    pub fn by_name(name: &str) -> Result<Option<Device>> {
        if name.is_empty() || name.starts_with('.') || name.contains('/') {
            return Ok(None);
        }
        let directory = Path::new("/sys/block").join(name);
        let (major, minor) = match read_optional(&directory.join("dev"))? {
            Some(dev) => parse_dev(&dev)
                .with_context(|| format!("{}/dev holds {dev:?}", directory.display()))?,
            None => match multipath::hidden_number(name) {
                Some(number) => number,
                None => return Ok(None),
            },
        };
        let diskseq = read_optional(&directory.join("diskseq"))?.and_then(|text| text.parse().ok());
        Ok(Some(Device {
            name: name.to_owned(),
            major,
            minor,
            diskseq,
        }))
    }

    /// Resolves a kernel name, a path, a partition or a mount point to its disk, with one line for each decision.
    pub fn resolve(spec: &str) -> Result<Resolved> {
        resolve::resolve(spec)
    }

    /// All disks with requests to schedule, by name. Skips disks without a medium, such as unbound loop devices.
    pub fn all() -> Result<Vec<Device>> {
        let mut devices = Vec::new();
        for name in names_in(Path::new("/sys/block"))? {
            // A disk may disappear during the scan.
            let Some(device) = Device::by_name(&name)? else {
                continue;
            };
            if device.has_requests() && device.size_bytes().unwrap_or(0) > 0 {
                devices.push(device);
            }
        }
        Ok(devices)
    }

    /// The disks of [`Device::all`] on which each I/O is counted once, with notes on those that are left out.
    pub fn lowest() -> Result<Level> {
        let mut level = level::choose(Self::all()?);
        let hidden = names_in(Path::new("/sys/block"))?;
        let unknown = hidden
            .iter()
            .filter_map(|name| multipath::unknown_number(name));
        level.notes.extend(unknown);
        Ok(level)
    }

    /// Where the I/O of `spec` can be measured: on the disk itself or, if it has no requests of its own (md, most of
    /// device mapper), on the disks below it.
    pub fn measured(spec: &str) -> Result<Level> {
        let (disks, mut notes) = Disks::resolve(&[spec.to_owned()])?;
        let name = disks.name();
        for target in &disks.targets {
            if let Some(partition) = &target.partition {
                let (partition, disk) = (&partition.name, &target.disk.name);
                notes.push(format!(
                    "{partition} is a partition: its disk {disk} is measured as a whole"
                ));
            }
        }
        let is_above = !disks.above().is_empty();
        let mut devices = disks.members;
        devices.retain(Device::has_requests);
        if devices.is_empty() {
            return Err(Failure::usage(
                format!("{name}: neither this device nor any device below it has requests"),
                "name a disk; `lsblk` lists them",
            ));
        }
        if is_above {
            let below: Vec<&str> = devices.iter().map(|device| device.name.as_str()).collect();
            let below = below.join(", ");
            notes.push(format!(
                "{name} has no requests of its own: measuring {below}"
            ));
        }
        Ok(Level { devices, notes })
    }

    /// Device mapper with requests of its own (multipath): those below are clones, which pass by the scheduler there.
    fn clones_requests(&self) -> bool {
        self.sysfs("dm").exists() && self.has_requests()
    }

    pub fn has_requests(&self) -> bool {
        self.optional_attribute("queue/scheduler").is_some() && self.hardware_queues() > 0
    }

    /// Whether the name still belongs to this very disk.
    pub fn is_present(&self) -> bool {
        matches!(Device::by_name(&self.name), Ok(Some(now)) if now == *self)
    }

    /// The device node. Where the node is in a subdirectory, sysfs has `!` instead of `/`.
    pub fn node(&self) -> PathBuf {
        Path::new("/dev").join(self.name.replace('!', "/"))
    }

    /// A path below the device's directory in sysfs.
    pub fn sysfs(&self, relative: &str) -> PathBuf {
        Path::new("/sys/block").join(&self.name).join(relative)
    }

    /// The trimmed text of a sysfs attribute.
    pub fn attribute(&self, relative: &str) -> Result<String> {
        let path = self.sysfs(relative);
        let text =
            fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
        Ok(text.trim().to_owned())
    }

    /// The same for an attribute that the kernel or the driver may not provide.
    pub fn optional_attribute(&self, relative: &str) -> Option<String> {
        self.attribute(relative).ok()
    }

    fn number(&self, relative: &str) -> Result<u64> {
        let text = self.attribute(relative)?;
        text.parse()
            .with_context(|| format!("{} holds {text:?}", self.sysfs(relative).display()))
    }

    /// The kernel's cumulative counters.
    pub fn io_stat(&self) -> Result<IoStat> {
        let text = self.attribute("stat")?;
        io_stat::parse(&text)
            .with_context(|| format!("{} holds {text:?}", self.sysfs("stat").display()))
    }

    /// How many requests the driver accepts at once, or None without a request queue.
    pub fn hardware_depth(&self) -> Option<HardwareDepth> {
        hardware_depth::read(self)
    }

    /// Requests that it takes at once, in all of its hardware queues; None where that is in doubt.
    pub fn slots(&self) -> Option<u32> {
        let of_each = self.hardware_depth()?.depth;
        let queues = self.hardware_queues().max(1) as u32;
        // A SCSI disk has a limit of its own, and its hardware queues may share their tags.
        let text = self.optional_attribute("device/queue_depth");
        let limit: Option<u32> = text.and_then(|text| text.parse().ok());
        match limit {
            Some(limit) if queues == 1 => Some(limit.min(of_each)),
            Some(limit) => Some(limit),
            None => Some(of_each.saturating_mul(queues)),
        }
    }

    /// Tags reserved for the driver's own requests; `nr_requests` under `none` includes them.
    pub fn reserved_tags(&self) -> u32 {
        self.optional_attribute("mq/0/nr_reserved_tags")
            .and_then(|text| text.parse().ok())
            .unwrap_or(0)
    }

    /// Number of hardware queues; 0 for a bio-based device (device mapper, md, zram).
    pub fn hardware_queues(&self) -> usize {
        names_in(&self.sysfs("mq")).map_or(0, |names| names.len())
    }

    pub fn model(&self) -> Option<String> {
        self.optional_attribute("device/model")
            .filter(|text| !text.is_empty())
    }

    /// Loop devices and those of device mapper have none.
    pub fn driver(&self) -> Option<String> {
        let driver = fs::read_link(self.sysfs("device/driver")).ok()?;
        Some(driver.file_name()?.to_str()?.to_owned())
    }

    /// Firmware revision of NVMe and SCSI disks.
    pub fn firmware(&self) -> Option<String> {
        ["device/firmware_rev", "device/rev"]
            .iter()
            .find_map(|name| self.optional_attribute(name))
            .filter(|text| !text.is_empty())
    }

    pub fn serial(&self) -> Option<String> {
        ["device/serial", "serial", "device/wwid", "wwid"]
            .into_iter()
            .filter_map(|name| self.optional_attribute(name))
            .chain(self.usb_serial())
            .find(|text| !text.is_empty())
    }

    /// Disks behind usb-storage are not asked for theirs: the stick or enclosure has one.
    fn usb_serial(&self) -> Option<String> {
        let place = fs::canonicalize(self.sysfs("device")).ok()?;
        let mut above = place.ancestors();
        let usb = above.find(|directory| directory.join("idVendor").exists())?;
        read_optional(&usb.join("serial")).ok()?
    }

    pub fn size_bytes(&self) -> Result<u64> {
        let sectors = self.number("size")?;
        sectors
            .checked_mul(SECTOR_BYTES)
            .with_context(|| format!("{} holds {sectors}", self.sysfs("size").display()))
    }

    pub fn rotational(&self) -> Result<bool> {
        Ok(self.number("queue/rotational")? != 0)
    }

    /// Devices built on the whole disk: device mapper, md, bcache.
    pub fn holders(&self) -> Vec<String> {
        names_in(&self.sysfs("holders")).unwrap_or_default()
    }

    /// Disks or partitions that this device is built on, and the paths of a multipath NVMe disk, by name.
    pub fn slaves(&self) -> Vec<String> {
        resolve::slaves_of(&self.name)
    }

    /// A path of this multipath NVMe disk: it has requests and a scheduler, and no device node.
    pub fn head(&self) -> Option<String> {
        multipath::head(&self.name)
    }

    /// A file by which processes lock the disk: its node, as udev does, or the directory of a path without one.
    pub fn lock_file(&self) -> PathBuf {
        match self.head() {
            Some(_) => self.sysfs(""),
            None => self.node(),
        }
    }
}

/// The names in a directory, sorted; empty if it does not exist.
pub(crate) fn names_in(directory: &Path) -> Result<Vec<String>> {
    let entries = match fs::read_dir(directory) {
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        other => other.with_context(|| format!("reading {}", directory.display()))?,
    };
    let mut names: Vec<String> = entries
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .collect();
    names.sort_by_cached_key(|name| natural::natural(name));
    Ok(names)
}

fn read_optional(path: &Path) -> Result<Option<String>> {
    match fs::read_to_string(path) {
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
        // ENODEV: the disk disappeared between open and read.
        Err(e) if e.raw_os_error() == Some(rustix::io::Errno::NODEV.raw_os_error()) => Ok(None),
        other => {
            let text = other.with_context(|| format!("reading {}", path.display()))?;
            Ok(Some(text.trim().to_owned()))
        }
    }
}

/// `MAJOR:MINOR`.
pub(crate) fn parse_dev(text: &str) -> Option<(u32, u32)> {
    let (major, minor) = text.trim().split_once(':')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_node_of_a_name_with_a_directory() {
        let device = Device {
            name: "cciss!c0d0".into(),
            major: 104,
            minor: 0,
            diskseq: None,
        };
        assert_eq!(device.node(), Path::new("/dev/cciss/c0d0"));
        assert_eq!(
            device.sysfs("queue/scheduler"),
            Path::new("/sys/block/cciss!c0d0/queue/scheduler")
        );
    }

    #[test]
    fn a_device_number_is_two_numbers() {
        assert_eq!(parse_dev("259:7\n"), Some((259, 7)));
        assert_eq!(parse_dev("259"), None);
        assert_eq!(parse_dev(""), None);
    }

    #[test]
    fn no_name_leads_out_of_sys_block() {
        for name in ["", ".", "..", "../class", "/dev/sda", "no-such-disk"] {
            assert_eq!(Device::by_name(name).expect(name), None, "{name}");
        }
    }

    #[test]
    fn every_listed_disk_has_counters_and_queues() {
        for device in Device::all().expect("sysfs") {
            assert!(device.hardware_queues() > 0, "{}", device.name);
            assert!(device.io_stat().is_ok(), "{}", device.name);
            assert!(device.is_present(), "{}", device.name);
        }
    }
}
