//! How a disk is recognised after a boot. Pure.

use super::support::{Refusal, members, refusal};
use super::{Disk, quote};
use crate::types::result::DeviceInfo;

/// Err: the serial is none.
pub fn disk(device: &DeviceInfo, serial: Option<&str>) -> Result<Disk, Refusal> {
    match named(device, serial) {
        // Some formats take it all the same.
        Err(unnamed) if serial.is_none() => Ok(Disk::Unnamed(unnamed)),
        found => found,
    }
}

fn named(device: &DeviceInfo, serial: Option<&str>) -> Result<Disk, Refusal> {
    const HINT: &str =
        "give --serial SERIAL: the ID_SERIAL of `udevadm info --query=property /dev/DISK`";
    if let Some(serial) = serial {
        if !quote::is_telling(serial) {
            return Err(refusal(
                format!("the serial {serial:?} could be that of any disk"),
                HINT,
            ));
        }
        return Ok(Disk::Serial(serial.to_owned()));
    }
    // udev leaves out blanks at the end.
    let models = members(device)
        .into_iter()
        .map(|disk| disk.model.as_deref().map(str::trim_end));
    let mut models: Vec<Option<&str>> = models.collect();
    models.dedup();
    match models[..] {
        [Some(model)] if quote::is_telling(model) => Ok(Disk::Model(model.to_owned())),
        [_] => Err(refusal(
            "the disk has no model by which it can be recognised",
            HINT,
        )),
        _ => Err(refusal(
            "the disks have different models, which one rule does not match",
            "give --serial SERIAL for each of them",
        )),
    }
}
