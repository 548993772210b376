//! The devices to watch, and what is known of each.

use anyhow::Result;
use iosched_host::scheduler;
use iosched_host::system::device::{Device, Level};
use iosched_measure::probe::{Detail, Probe};
use iosched_result::failure::Failure;
use iosched_result::types::arm::{self, Arm};

use super::sample::Disk;

/// The disks behind the names, or all disks; with notes on how they were chosen.
pub fn named(names: &[String]) -> Result<(Vec<Device>, Vec<String>)> {
    let mut all = Level::default();
    for name in names {
        let level = Device::measured(name)?;
        all.notes.extend(level.notes);
        for device in level.devices {
            if !all.devices.contains(&device) {
                all.devices.push(device);
            }
        }
    }
    if names.is_empty() {
        all = Device::lowest()?;
    }
    if all.devices.is_empty() {
        return Err(Failure::usage(
            "no disk was found",
            "name one; `lsblk` lists them. `iosched --demo` makes a simulated one",
        ));
    }
    Ok((all.devices, all.notes))
}

/// All arms that may be applied to a device: those of `--arm`, or else its schedulers without settings.
pub fn arms(device: &Device, named: &[String]) -> Result<Vec<Arm>> {
    let labels = if named.is_empty() {
        scheduler::choice(device)
            .map(|choice| choice.available)
            .unwrap_or_default()
    } else {
        named.to_vec()
    };
    let all: Vec<Arm> = labels
        .iter()
        .map(|text| text.parse())
        .collect::<Result<_>>()?;
    arm::refuse_duplicate_labels(&all)?;
    Ok(all)
}

pub fn disk(device: &Device) -> Disk {
    Disk {
        name: device.name.clone(),
        model: device.model(),
        path_of: device.head(),
        size_bytes: device.size_bytes().ok(),
        rotational: device.rotational().ok(),
        hardware_queues: device.hardware_queues(),
    }
}

/// Puts what belongs to a disk at its place: after all others, or over that of a disk of the same name, which is gone.
pub fn put<T>(all: &mut Vec<T>, place: usize, of_disk: T) {
    match all.get_mut(place) {
        Some(known) => *known = of_disk,
        None => all.push(of_disk),
    }
}

/// Attaches to these disks, with room for others unless the user named them.
pub fn attach(devices: &[Device], were_named: bool, deepest: u32, detail: Detail) -> Result<Probe> {
    if were_named {
        Probe::attach(devices, deepest, detail)
    } else {
        Probe::attach_with_room(devices, deepest, detail)
    }
}
