//! Disks that are there already: those that the arms switch, and the control disk.

use anyhow::Result;
use iosched_host::system::device::{Device, Disks};
use iosched_result::failure::Failure;

use iosched_read::messages::note;

/// The disks below the named devices; notes say how they were found.
pub fn named(names: &[String]) -> Result<Disks> {
    let (disks, notes) = Disks::resolve(names)?;
    disks.ensure_have_nodes()?;
    let layers = disks.layers();
    notes.iter().chain(&layers).for_each(|text| note(text));
    Ok(disks)
}

/// A disk that no arm touches.
pub fn control(name: Option<&str>, disks: &Disks) -> Result<Option<Device>> {
    let Some(name) = name else { return Ok(None) };
    let device = Device::resolve(name)?.device;
    if disks
        .stack
        .iter()
        .chain(&disks.members)
        .any(|disk| disk.name == device.name)
    {
        return Err(Failure::usage(
            format!("the control disk {} is switched by the arms", device.name),
            "choose a disk that the experiment does not touch, or leave --control out",
        ));
    }
    Ok(Some(device))
}
