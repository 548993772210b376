//! Who waited behind whom in a round, as far as the reports rely on it. Pure.

use super::{LONGEST_S, require};
use crate::types::result::ResultFile;
use crate::why::RoundWhy;

pub(super) fn check(result: &ResultFile, round: &RoundWhy) -> Result<(), String> {
    require((0.0..=LONGEST_S).contains(&round.time_s), || {
        "evidence.why.time_s is out of range".to_owned()
    })?;
    let disks = result.device.disks();
    require(round.devices.len() <= disks.len(), || {
        "evidence.why has more devices than the result".to_owned()
    })?;
    let mut devices = round.devices.iter();
    devices.try_for_each(|device| {
        device
            .check()
            .map_err(|what| format!("evidence.why: {what}"))
    })
}
