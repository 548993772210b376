//! Whether what was measured can be written down as a setting of disks. Pure.

use super::quote;
use super::support::{Refusal, members, refusal};
use crate::types::arm::Arm;
use crate::types::result::DeviceInfo;

pub fn ensure_writable(arm: &Arm) -> Result<(), Refusal> {
    if let Some(name) = arm.setting_elsewhere() {
        return Err(refusal(
            format!(
                "{} sets {name}, which is not a setting of the disk",
                arm.label
            ),
            "make that last by other means (systemd's IOReadBandwidthMax= and the like, sysctl.d), and persist an arm without it",
        ));
    }
    for (attribute, value) in &arm.settings {
        if !quote::is_plain_value(value) || !quote::is_plain_value(attribute) {
            return Err(refusal(
                format!("{attribute}={value} has characters that not every format can hold"),
                "write the rule by hand",
            ));
        }
    }
    Ok(())
}

pub fn ensure_are_disks(device: &DeviceInfo) -> Result<(), Refusal> {
    let names = members(device).into_iter().map(|disk| &disk.device.name);
    if let Some(name) = names.into_iter().find(|name| !quote::is_device(name)) {
        return Err(refusal(
            format!("{name:?} is not the name of a disk"),
            "use the file exactly as `iosched-ab run` wrote it",
        ));
    }
    Ok(())
}
