//! What is to be looked at.

use anyhow::Result;
use iosched::device::{Device, Level};
use iosched::failure::Failure;

/// The disks that the names mean, or all; and what was decided on the way.
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
            "there is no disk to look at",
            "name one; `lsblk` lists them. `iosched --demo` makes one of its own",
        ));
    }
    Ok((all.devices, all.notes))
}
