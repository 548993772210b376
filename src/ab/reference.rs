//! The arm that the others are compared with.

use std::collections::BTreeSet;

use anyhow::Result;
use iosched_host::scheduler;
use iosched_host::system::device::Disks;
use iosched_result::failure::Failure;
use iosched_result::types::arm::Arm;

pub fn named_reference(wanted: Option<&str>, arms: &[Arm]) -> Result<Option<usize>> {
    let Some(label) = wanted else {
        return Ok(None);
    };
    let found = arms.iter().position(|arm| arm.label == label);
    found.map(Some).ok_or_else(|| {
        let labels: Vec<&str> = arms.iter().map(|arm| arm.label.as_str()).collect();
        Failure::usage(
            format!("the reference {label} is not one of the arms"),
            format!("choose one of: {}", labels.join(", ")),
        )
    })
}

/// The active scheduler, if it is an arm without settings; else the first arm.
pub fn default_reference(arms: &[Arm], disks: &Disks) -> Result<usize> {
    let active = active_scheduler(disks)?;
    let is_active = |arm: &Arm| Some(&arm.scheduler) == active.as_ref() && arm.settings.is_empty();
    Ok(arms.iter().position(is_active).unwrap_or(0))
}

/// None if the disks have different schedulers.
pub fn active_scheduler(disks: &Disks) -> Result<Option<String>> {
    let mut active = BTreeSet::new();
    for disk in &disks.members {
        active.insert(scheduler::choice(disk)?.active);
    }
    Ok(active.pop_first().filter(|_| active.is_empty()))
}
