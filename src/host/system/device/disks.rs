//! The disks of one experiment, switched together and measured as one. Usually a single disk; several if a btrfs or an
//! array is built on them, or if several were named.

use std::path::PathBuf;

use anyhow::Result;

use super::resolve::{self, stops_at, whole_disk};
use super::{Device, RawTarget};
use iosched_result::failure::Failure;

/// The named devices and the disks below them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disks {
    /// The names to use for the same disks again: kernel names, or the path of a file system on several devices.
    pub named: Vec<String>,
    /// Targets of a workload: the named disks and partitions, or those of the named file system.
    pub targets: Vec<RawTarget>,
    /// The devices that schedule requests: the targets themselves or the devices they pass their I/O to. Sorted by
    /// device number, never empty.
    pub members: Vec<Device>,
    /// The targets, the members, and every device between them.
    pub stack: Vec<Device>,
    /// Mount point of the file system, if the disks were named by it.
    pub mounted_on: Option<PathBuf>,
}

impl From<Device> for Disks {
    /// Takes the device as it is, regardless of what it is built on.
    fn from(device: Device) -> Self {
        Disks {
            named: vec![device.name.clone()],
            targets: vec![device.clone().into()],
            members: vec![device.clone()],
            stack: vec![device],
            mounted_on: None,
        }
    }
}

impl Disks {
    /// Resolves the words of a command line, with one line for each decision.
    pub fn resolve(words: &[String]) -> Result<(Disks, Vec<String>)> {
        let (mut named, mut targets, mut notes) = (Vec::new(), Vec::new(), Vec::new());
        let mut mounted_on = None;
        for word in words {
            let place = resolve::locate(word)?;
            let several = place.names.len() > 1;
            let names = place.names.iter();
            let below = names
                .map(|name| RawTarget::by_name(name))
                .collect::<Result<Vec<_>>>()?;
            if let Some(point) = place.mounted_on {
                let on = listed(below.iter().map(RawTarget::name));
                notes.push(format!("{} is mounted from {on}", point.display()));
                if several {
                    push_new(&mut named, point.display().to_string());
                }
                mounted_on = Some(point).filter(|_| words.len() == 1);
            }
            for target in below {
                if !several {
                    push_new(&mut named, target.name().to_owned());
                }
                push_new(&mut targets, target);
            }
        }
        let disks = Disks {
            mounted_on,
            ..Self::below(named, targets)?
        };
        Ok((disks, notes))
    }

    fn below(named: Vec<String>, targets: Vec<RawTarget>) -> Result<Disks> {
        let (mut stack, mut members) = (Vec::new(), Vec::new());
        let mut open: Vec<Device> = targets.iter().rev().map(|it| it.disk.clone()).collect();
        while let Some(device) = open.pop() {
            if stack.contains(&device) {
                continue;
            }
            let slaves = device.slaves();
            if stops_at(&device, &slaves) {
                members.push(device.clone());
            } else {
                for slave in slaves.iter().rev() {
                    open.push(whole_disk(slave, Vec::new())?.device);
                }
            }
            stack.push(device);
        }
        if members.is_empty() {
            return Err(Failure::usage(
                "no disk found",
                "name a disk; `lsblk` lists them",
            ));
        }
        members.sort_by_key(|device| (device.major, device.minor));
        Ok(Disks {
            named,
            targets,
            members,
            stack,
            mounted_on: None,
        })
    }

    /// A path of a multipath NVMe disk cannot be opened: a workload needs the disk.
    pub fn ensure_have_nodes(&self) -> Result<()> {
        for target in &self.targets {
            if let Some(head) = target.disk.head() {
                return Err(Failure::usage(
                    format!(
                        "{} is a path of {head} and has no device node",
                        target.name()
                    ),
                    format!("name {head}: its paths are switched and measured together"),
                ));
            }
        }
        Ok(())
    }

    /// `sda`, `md0`, `/mnt/raid`; `sda,sdb` for several disks.
    pub fn name(&self) -> String {
        self.named.join(",")
    }

    pub fn member_names(&self) -> Vec<&str> {
        self.members.iter().map(|disk| disk.name.as_str()).collect()
    }

    pub fn nodes(&self) -> Vec<PathBuf> {
        self.targets.iter().map(RawTarget::node).collect()
    }

    /// The targets that only pass their I/O to other devices.
    pub fn above(&self) -> Vec<&RawTarget> {
        let is_above = |target: &&RawTarget| !self.members.contains(&target.disk);
        self.targets.iter().filter(is_above).collect()
    }

    /// The targets that are a part of a member.
    fn parts(&self) -> Vec<&RawTarget> {
        let is_part =
            |target: &&RawTarget| !target.is_whole_disk() && self.members.contains(&target.disk);
        self.targets.iter().filter(is_part).collect()
    }

    /// True if the workload uses one whole disk, and that disk itself is switched and measured.
    pub fn is_single(&self) -> bool {
        let is_it =
            |target: &RawTarget| target.is_whole_disk() && self.members == [target.disk.clone()];
        matches!(self.targets.as_slice(), [target] if is_it(target))
    }

    /// Which layer is switched and measured, and which gets the raw I/O. None if both are the same single disk.
    pub fn layers(&self) -> Option<String> {
        if self.is_single() {
            return None;
        }
        let parts = self.parts();
        let what = match (self.members.len(), parts.len()) {
            (1, 0) => "is switched and measured",
            (1, _) => "is switched and measured as a whole",
            _ => "are switched together and measured as one",
        };
        let above = match self.above().as_slice() {
            [] => String::new(),
            above => format!(
                "{} has no requests to schedule: ",
                listed(above.iter().map(|target| target.name()))
            ),
        };
        let part = match parts.as_slice() {
            [] => String::new(),
            [part] => format!("{} is a partition: ", part.name()),
            parts => format!(
                "{} are partitions: ",
                listed(parts.iter().map(|target| target.name()))
            ),
        };
        let members = listed(self.members.iter().map(|device| device.name.as_str()));
        let targets = listed(self.targets.iter().map(RawTarget::name));
        Some(format!(
            "{above}{part}{members} {what}; raw I/O goes to {targets}"
        ))
    }

    /// A bcache above the members: it keeps on one of them what was read from the other.
    pub fn cached(&self) -> Option<&Device> {
        let is_above = |device: &&Device| !self.members.contains(device);
        let mut above = self.stack.iter().filter(is_above);
        above.find(|device| device.sysfs("bcache/cache").exists())
    }

    /// The members that were removed or replaced.
    pub fn gone(&self) -> Vec<&Device> {
        let gone = |device: &&Device| !device.is_present();
        self.members.iter().filter(gone).collect()
    }
}

fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.collect::<Vec<&str>>().join(", ")
}

fn push_new<T: PartialEq>(list: &mut Vec<T>, item: T) {
    if !list.contains(&item) {
        list.push(item);
    }
}

#[cfg(test)]
mod tests {
    use super::super::Partition;
    use super::*;

    fn disk(name: &str, minor: u32) -> Device {
        Device {
            name: name.into(),
            major: 8,
            minor,
            diskseq: None,
        }
    }

    #[test]
    fn it_is_said_which_layer_is_which() {
        let (md0, sda, sdb) = (disk("md0", 0), disk("sda", 1), disk("sdb", 2));
        let mut disks = Disks::from(sda.clone());
        assert!(disks.is_single());
        assert_eq!(disks.layers(), None);
        disks.members.push(sdb.clone());
        disks.targets.push(sdb.into());
        disks.named.push("sdb".into());
        assert_eq!(disks.name(), "sda,sdb");
        let says = "sda, sdb are switched together and measured as one; raw I/O goes to sda, sdb";
        assert_eq!(disks.layers().as_deref(), Some(says));
        disks.targets = vec![md0.into()];
        let says = "md0 has no requests to schedule: sda, sdb are switched together and measured as one; raw I/O \
                    goes to md0";
        assert_eq!(disks.layers().as_deref(), Some(says));
        disks.members = vec![sda];
        let says =
            "md0 has no requests to schedule: sda is switched and measured; raw I/O goes to md0";
        assert_eq!(disks.layers().as_deref(), Some(says));
    }

    #[test]
    fn a_partition_is_not_its_disk() {
        let sda = disk("sda", 0);
        let mut disks = Disks::from(sda.clone());
        disks.targets[0].partition = Some(Partition {
            name: "sda1".into(),
            major: 8,
            minor: 1,
            start_sectors: 2048,
            size_sectors: 8,
        });
        assert!(!disks.is_single());
        let says =
            "sda1 is a partition: sda is switched and measured as a whole; raw I/O goes to sda1";
        assert_eq!(disks.layers().as_deref(), Some(says));
        assert_eq!(disks.nodes(), [PathBuf::from("/dev/sda1")]);
        assert!(disks.above().is_empty());
    }

    #[test]
    fn a_disk_named_twice_is_one_disk() {
        for device in Device::all().expect("sysfs") {
            let words = [device.name.clone(), device.name.clone()];
            let (disks, notes) = Disks::resolve(&words).expect("a disk");
            assert_eq!(disks, Disks::from(device));
            assert_eq!(notes, [""; 0]);
        }
    }
}
