//! The disks of one experiment, switched together and measured as one. Usually a single disk; several if a btrfs or an
//! array is built on them, or if several were named.

use std::path::PathBuf;

use anyhow::Result;

use super::resolve::{self, stops_at, whole_disk};
use super::{Device, Resolved};
use crate::failure::Failure;

/// The named devices and the disks below them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disks {
    /// The names to use for the same disks again: kernel names, or the path of a file system on several devices.
    pub named: Vec<String>,
    /// The devices that a workload gets: the named ones, or those of the named file system.
    pub targets: Vec<Device>,
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
            targets: vec![device.clone()],
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
            let mut below = Vec::new();
            for name in &place.names {
                let Resolved {
                    device,
                    notes: more,
                } = whole_disk(name, Vec::new())?;
                notes.extend(more);
                push_new(&mut below, device);
            }
            if let Some(point) = place.mounted_on {
                let on = listed(&below);
                notes.push(format!("{} is mounted from {on}", point.display()));
                if several {
                    push_new(&mut named, point.display().to_string());
                }
                mounted_on = Some(point).filter(|_| words.len() == 1);
            }
            for device in below {
                if !several {
                    push_new(&mut named, device.name.clone());
                }
                push_new(&mut targets, device);
            }
        }
        let disks = Disks {
            mounted_on,
            ..Self::below(named, targets)?
        };
        Ok((disks, notes))
    }

    /// The members of a device with this kernel name; empty if it is gone.
    pub(crate) fn members_of(name: &str) -> Vec<Device> {
        let disk = whole_disk(name, Vec::new());
        disk.and_then(|disk| Self::below(Vec::new(), vec![disk.device]))
            .map_or_else(|_| Vec::new(), |disks| disks.members)
    }

    fn below(named: Vec<String>, targets: Vec<Device>) -> Result<Disks> {
        let (mut stack, mut members) = (Vec::new(), Vec::new());
        let mut open: Vec<Device> = targets.iter().rev().cloned().collect();
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

    /// `sda`, `md0`, `/mnt/raid`; `sda,sdb` for several disks.
    pub fn name(&self) -> String {
        self.named.join(",")
    }

    pub fn nodes(&self) -> Vec<PathBuf> {
        self.targets.iter().map(Device::node).collect()
    }

    /// The targets that only pass their I/O to other devices.
    pub fn above(&self) -> Vec<&Device> {
        let is_above = |device: &&Device| !self.members.contains(device);
        self.targets.iter().filter(is_above).collect()
    }

    /// True if the workload uses one disk, and that disk itself is switched and measured.
    pub fn is_single(&self) -> bool {
        self.members.len() == 1 && self.targets == self.members
    }

    /// Which layer is switched and measured, and which gets the raw I/O. None if both are the same single disk.
    pub fn layers(&self) -> Option<String> {
        if self.is_single() {
            return None;
        }
        let what = match self.members.len() {
            1 => "is switched and measured",
            _ => "are switched together and measured as one",
        };
        let above = match self.above().as_slice() {
            [] => String::new(),
            above => format!(
                "{} has no requests to schedule: ",
                listed(above.iter().copied())
            ),
        };
        let (members, targets) = (listed(&self.members), listed(&self.targets));
        Some(format!(
            "{above}{members} {what}; raw I/O goes to {targets}"
        ))
    }

    /// The members that were removed or replaced.
    pub fn gone(&self) -> Vec<&Device> {
        let gone = |device: &&Device| !device.is_present();
        self.members.iter().filter(gone).collect()
    }
}

fn listed<'a>(devices: impl IntoIterator<Item = &'a Device>) -> String {
    let names: Vec<&str> = devices.into_iter().map(|d| d.name.as_str()).collect();
    names.join(", ")
}

fn push_new<T: PartialEq>(list: &mut Vec<T>, item: T) {
    if !list.contains(&item) {
        list.push(item);
    }
}

#[cfg(test)]
mod tests {
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
        disks.targets.push(sdb);
        disks.named.push("sdb".into());
        assert_eq!(disks.name(), "sda,sdb");
        let says = "sda, sdb are switched together and measured as one; raw I/O goes to sda, sdb";
        assert_eq!(disks.layers().as_deref(), Some(says));
        disks.targets = vec![md0];
        let says = "md0 has no requests to schedule: sda, sdb are switched together and measured as one; raw I/O \
                    goes to md0";
        assert_eq!(disks.layers().as_deref(), Some(says));
        disks.members = vec![sda];
        let says =
            "md0 has no requests to schedule: sda is switched and measured; raw I/O goes to md0";
        assert_eq!(disks.layers().as_deref(), Some(says));
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
