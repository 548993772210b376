//! Where raw I/O goes: to a whole disk, or to one partition of it and nothing beside it. A scheduler is always the whole
//! disk's.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::resolve::disk_of_partition;
use super::{Device, SECTOR_BYTES, parse_dev};
use iosched_result::failure::Failure;

/// It has a device number of its own but no request queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition {
    pub name: String,
    pub major: u32,
    pub minor: u32,
    pub start_sectors: u64,
    pub size_sectors: u64,
}

impl Partition {
    /// Partition tables may have partitions that share sectors.
    pub fn overlaps(&self, other: &Partition) -> bool {
        let end = |it: &Partition| it.start_sectors.saturating_add(it.size_sectors);
        self.start_sectors < end(other) && other.start_sectors < end(self)
    }
}

/// A disk as it was named: all of it, or one partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawTarget {
    pub disk: Device,
    /// None: the whole disk.
    pub partition: Option<Partition>,
}

impl From<Device> for RawTarget {
    fn from(disk: Device) -> Self {
        RawTarget {
            disk,
            partition: None,
        }
    }
}

impl RawTarget {
    /// The disk or partition with this kernel name.
    pub(super) fn by_name(name: &str) -> Result<RawTarget> {
        let gone = |name: &str| {
            Failure::usage(
                format!("{name}: no such disk"),
                "name a disk or a partition; `lsblk` lists them",
            )
        };
        let disk_name = disk_of_partition(name);
        let disk =
            Device::by_name(disk_name.as_deref().unwrap_or(name))?.ok_or_else(|| gone(name))?;
        if disk_name.is_none() {
            return Ok(disk.into());
        }
        let partition = disk.partition(name).ok_or_else(|| gone(name))?;
        Ok(RawTarget {
            disk,
            partition: Some(partition),
        })
    }

    /// The partitions of a whole disk.
    pub fn inside(&self) -> Vec<Partition> {
        match self.partition {
            Some(_) => Vec::new(),
            None => self.disk.partitions(),
        }
    }

    pub fn is_whole_disk(&self) -> bool {
        self.partition.is_none()
    }

    pub fn name(&self) -> &str {
        match &self.partition {
            Some(partition) => &partition.name,
            None => &self.disk.name,
        }
    }

    /// The device number.
    pub fn number(&self) -> u64 {
        let (major, minor) = match &self.partition {
            Some(partition) => (partition.major, partition.minor),
            None => (self.disk.major, self.disk.minor),
        };
        rustix::fs::makedev(major, minor)
    }

    pub fn node(&self) -> PathBuf {
        Path::new("/dev").join(self.name().replace('!', "/"))
    }

    /// In sysfs.
    fn attribute(&self, name: &str) -> Result<String> {
        match &self.partition {
            Some(partition) => self.disk.attribute(&format!("{}/{name}", partition.name)),
            None => self.disk.attribute(name),
        }
    }

    pub fn size_bytes(&self) -> Result<u64> {
        let sectors: Option<u64> = self.attribute("size")?.parse().ok();
        sectors
            .and_then(|sectors| sectors.checked_mul(SECTOR_BYTES))
            .with_context(|| format!("reading the size of {}", self.name()))
    }

    pub fn is_read_only(&self) -> bool {
        self.attribute("ro").is_ok_and(|text| text == "1")
    }

    /// Whether the name still belongs to this very disk, and to the partition that begins there.
    pub fn is_present(&self) -> bool {
        let same = |then: &Partition| {
            let now = self.disk.partition(&then.name);
            now.is_some_and(|now| {
                (now.major, now.minor, now.start_sectors)
                    == (then.major, then.minor, then.start_sectors)
            })
        };
        self.disk.is_present() && self.partition.as_ref().is_none_or(same)
    }
}

impl Device {
    pub fn partitions(&self) -> Vec<Partition> {
        let names = super::names_in(&self.sysfs("")).unwrap_or_default();
        let partitions = names.iter().filter_map(|name| self.partition(name));
        partitions.collect()
    }

    fn partition(&self, name: &str) -> Option<Partition> {
        let attribute = |attribute: &str| self.optional_attribute(&format!("{name}/{attribute}"));
        attribute("partition")?;
        let (major, minor) = parse_dev(&attribute("dev")?)?;
        Some(Partition {
            name: name.to_owned(),
            major,
            minor,
            start_sectors: attribute("start")?.parse().ok()?,
            size_sectors: attribute("size")?.parse().ok()?,
        })
    }
}

/// The number of the disk that a device belongs to, its own if it is one: control groups take limits of whole disks only.
pub fn disk_number(device: u64) -> u64 {
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    let directory = PathBuf::from(format!("/sys/dev/block/{major}:{minor}"));
    if !directory.join("partition").exists() {
        return device;
    }
    let text = fs::read_to_string(directory.join("../dev")).unwrap_or_default();
    parse_dev(&text).map_or(device, |(major, minor)| rustix::fs::makedev(major, minor))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn partition(start_sectors: u64, size_sectors: u64) -> Partition {
        Partition {
            name: "sda1".into(),
            major: 8,
            minor: 1,
            start_sectors,
            size_sectors,
        }
    }

    #[test]
    fn partitions_share_sectors_or_not() {
        let middle = partition(100, 50);
        for (start, size, expected) in [
            (0, 100, false),
            (0, 101, true),
            (149, 1, true),
            (150, 10, false),
            (110, 5, true),
            (0, u64::MAX, true),
        ] {
            let other = partition(start, size);
            assert_eq!(middle.overlaps(&other), expected, "{start} {size}");
            assert_eq!(other.overlaps(&middle), expected, "{start} {size}");
        }
    }
}
