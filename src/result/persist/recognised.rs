//! How a disk is recognised after a boot. Pure.

use super::support::{Refusal, members, refusal};
use super::{Alike, Disk, Wanted, quote};
use crate::types::result::DeviceInfo;

/// Err: the serial is none.
pub fn disk(device: &DeviceInfo, wanted: Wanted<'_>) -> Result<Disk, Refusal> {
    match named(device, wanted) {
        // Some formats take it all the same.
        Err(unnamed) if wanted.serial.is_none() && !wanted.alike => Ok(Disk::Unnamed(unnamed)),
        found => found,
    }
}

const HINT: &str = "give --serial SERIAL: the ID_SERIAL of `udevadm info --query=property /dev/DISK`; or --alike for all disks that are like it";

fn named(device: &DeviceInfo, wanted: Wanted<'_>) -> Result<Disk, Refusal> {
    if let Some(serial) = wanted.serial {
        if !quote::is_telling(serial) {
            return Err(refusal(
                format!("the serial {serial:?} could be that of any disk"),
                HINT,
            ));
        }
        return Ok(Disk::Serial(serial.to_owned()));
    }
    let models = members(device).into_iter();
    let models = models.map(|disk| disk.model.as_deref().unwrap_or_default().to_owned());
    let found = of_models(&models.collect::<Vec<_>>());
    match (found, &members(device)[..]) {
        (Err(_), [disk]) if wanted.alike => alike(disk).map(Disk::Alike),
        (Err(_), _) if wanted.alike => Err(refusal(
            "several disks were measured together, and --alike is for one",
            "measure one of them",
        )),
        (Ok(_), _) if wanted.alike => Err(refusal(
            "the disk has a model, by which it is known better",
            "leave out --alike",
        )),
        (found, _) => found,
    }
}

/// The models of all its disks.
pub fn of_models(models: &[String]) -> Result<Disk, Refusal> {
    // udev leaves out blanks at the end, and sysfs has none at the beginning.
    let mut models: Vec<&str> = models.iter().map(|model| model.trim()).collect();
    models.dedup();
    match models[..] {
        [model] if quote::is_telling(model) => Ok(Disk::Model(model.to_owned())),
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

/// Drivers whose disks have models: a rule by their driver would hold for all of those, too.
const HAVE_MODELS: [&str; 2] = ["sd", "nvme"];

fn alike(disk: &DeviceInfo) -> Result<Alike, Refusal> {
    let unknown = |what: &str| {
        refusal(
            format!(
                "the result does not say the {what} of the disk, so nothing tells which disks are like it"
            ),
            "give --serial SERIAL, or measure again with this version",
        )
    };
    let driver = disk.driver.clone().ok_or_else(|| unknown("driver"))?;
    if HAVE_MODELS.contains(&driver.as_str()) || !quote::is_device(&driver) {
        return Err(refusal(
            format!("the driver {driver} has disks of many kinds"),
            "give --serial SERIAL",
        ));
    }
    let size_bytes = disk.size_bytes.ok_or_else(|| unknown("size"))?;
    if size_bytes == 0 {
        return Err(refusal(
            "the disk has no medium, so its size says nothing",
            "give --serial SERIAL",
        ));
    }
    Ok(Alike {
        driver,
        is_rotational: disk.rotational.ok_or_else(|| unknown("kind"))?,
        size_bytes,
    })
}
