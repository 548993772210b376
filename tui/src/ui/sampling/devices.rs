//! The devices to watch.

use anyhow::Result;
use iosched::failure::Failure;
use iosched::machine::device::{Device, Level};

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
