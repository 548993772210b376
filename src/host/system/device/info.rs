//! A result's description of its disks.

use super::{Device, Disks, identity};
use iosched_result::types::result::{DeviceInfo, GroupInfo};
use iosched_result::types::scratch::truth::Truth;

/// `scratch`: the known properties of a device that iosched made.
pub fn of(device: &Device, scratch: Option<Truth>) -> DeviceInfo {
    DeviceInfo {
        device: device.into(),
        identity: identity::of(&device.sysfs("")),
        model: device.model(),
        driver: device.driver(),
        firmware: device.firmware(),
        size_bytes: device.size_bytes().ok(),
        rotational: device.rotational().ok(),
        hardware_queues: device.hardware_queues(),
        scratch,
        group: None,
    }
}

/// The first of several disks, with all of them as its group.
pub fn of_all(disks: &Disks, scratch: Option<Truth>) -> DeviceInfo {
    let members = || disks.members.iter().map(|disk| of(disk, None));
    DeviceInfo {
        group: disks.layers().map(|layers| GroupInfo {
            named: disks.named.clone(),
            layers,
            members: members().collect(),
        }),
        ..of(&disks.members[0], scratch)
    }
}
