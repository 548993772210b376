//! What came of an arm: its settings as they read back, and what else changed with them.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::Result;
use rustix::time::{ClockId, clock_getres};

use super::WBT_LAT_USEC;
use super::saved::SavedQueue;
use super::value::{self, Acceptance};
use crate::system::device::Device;
use iosched_result::failure::Failure;
use iosched_result::types::arm::Arm;
use iosched_result::types::queue::State;

/// An error if the arm is not in force; a value that may differ is noted.
pub(super) fn verify(
    device: &Device,
    arm: &Arm,
    effective: &State,
    notes: &mut Vec<String>,
) -> Result<()> {
    if effective.active != arm.scheduler {
        return Err(Failure::runtime(
            format!(
                "{}: {} immediately replaced {}",
                device.name, effective.active, arm.scheduler
            ),
            "another program sets the scheduler: look for udev rules and TuneD profiles",
        ));
    }
    for (attribute, wanted) in arm.queue_settings() {
        let Some(found) = effective.settings.get(attribute) else {
            notes.push(format!(
                "{attribute}={wanted} was written and cannot be read back"
            ));
            continue;
        };
        if attribute == WBT_LAT_USEC && wanted.trim() == "-1" {
            notes.push(format!(
                "{attribute}=-1 selects the kernel's default: {found}"
            ));
            continue;
        }
        match value::acceptance(attribute, wanted, found, jiffy_ns()) {
            Acceptance::AsWritten => {}
            Acceptance::Rounded => notes.push(format!(
                "{attribute}={wanted} was rounded to whole jiffies: {found}"
            )),
            Acceptance::Not => {
                return Err(Failure::usage(
                    format!(
                        "{}: {attribute}={wanted} reads back as {found} under {}",
                        device.name, arm.scheduler
                    ),
                    "use a value that the kernel accepts unchanged",
                ));
            }
        }
    }
    Ok(())
}

/// Whether the attribute, which has this value now, was set to `wanted`: as written, or as the kernel rounds it. The kernel's own
/// default may be any value.
pub fn is_in_force(attribute: &str, wanted: &str, found: &str) -> bool {
    let is_own_default = attribute == WBT_LAT_USEC && wanted.trim() == "-1";
    is_own_default || value::acceptance(attribute, wanted, found, jiffy_ns()) != Acceptance::Not
}

pub(super) fn note_side_effects(
    arm: &Arm,
    before: &SavedQueue,
    effective: &State,
    notes: &mut Vec<String>,
) {
    if arm.setting(WBT_LAT_USEC).is_some() {
        notes.push(format!(
            "{WBT_LAT_USEC} was written: until the disk is removed or the machine restarts, the kernel no longer adapts it to the scheduler"
        ));
    }
    if arm.scheduler != before.active {
        for group in &before.of_groups {
            notes.push(format!(
                "the kernel forgets {} under {}",
                group.describe(),
                arm.scheduler
            ));
        }
    }
    let asked: BTreeSet<&str> = arm.queue_settings().map(|(name, _)| name).collect();
    for (attribute, old) in &before.settings {
        match effective.settings.get(attribute) {
            Some(new) if new != old && !asked.contains(attribute.as_str()) => {
                notes.push(format!("{attribute} changed with it: {old} -> {new}"));
            }
            _ => {}
        }
    }
    if let (Some(old), Some(new)) = (before.hardware_depth, effective.hardware_depth)
        && old.depth != new.depth
    {
        notes.push(format!(
            "the hardware depth changed with it: {} -> {}; a switch of the scheduler does not undo this",
            old.depth, new.depth
        ));
    }
}

/// The coarse clock advances once per jiffy, which yields its length.
pub(super) fn jiffy_ns() -> u64 {
    let resolution = clock_getres(ClockId::MonotonicCoarse);
    Duration::try_from(resolution).map_or(1_000_000, |jiffy| jiffy.as_nanos() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_jiffy_is_between_one_and_ten_milliseconds() {
        assert!(
            (1_000_000..=10_000_000).contains(&jiffy_ns()),
            "{}",
            jiffy_ns()
        );
    }
}
