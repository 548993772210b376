//! Switches a disk to an arm: the scheduler, then its settings in their order. All of it is undone if something fails.

use std::io;

use anyhow::Result;

use super::offered::{refuse_unknown, unknown_attribute};
use super::queue_file::write;
use super::read_ahead::{self, READ_AHEAD_KB};
use super::read_back::{note_side_effects, verify};
use super::saved::{self, SavedQueue, restore};
use super::state::{choice, read};
use super::{NONE, NR_REQUESTS, WBT_LAT_USEC, is_of_scheduler};
use crate::system::cgroup::setting::SavedGroup;
use crate::system::device::Device;
use iosched_result::failure::{self, Failure};
use iosched_result::types::arm::Arm;
use iosched_result::types::queue::Applied;

/// Applies an arm to the device in its current state. To compare several arms use [`apply_onto`].
pub fn apply(device: &Device, arm: &Arm) -> Result<Applied> {
    let baseline = SavedQueue::take(device, std::slice::from_ref(arm))?;
    apply_onto(device, arm, &baseline)
}

/// Applies an arm without remains of other arms: attributes of `queue/` that another arm sets but this one does not,
/// and the hardware depth, return to the baseline.
pub fn apply_onto(device: &Device, arm: &Arm, baseline: &SavedQueue) -> Result<Applied> {
    let before = SavedQueue::take(device, std::slice::from_ref(arm))?;
    refuse_unknown(device, arm)?;
    write_arm(device, arm, baseline, &before).map_err(|error| match restore(&before) {
        Ok(()) => error,
        Err(also) => failure::unrestored(&error, &also),
    })
}

fn write_arm(
    device: &Device,
    arm: &Arm,
    baseline: &SavedQueue,
    before: &SavedQueue,
) -> Result<Applied> {
    let mut notes = Vec::new();
    baseline.put_back_depth(device)?;
    let switch_ns = switch(device, &arm.scheduler)?;
    if switch_ns.is_none() {
        notes.push(format!(
            "{}: {} is its only scheduler, so nothing was switched",
            device.name, arm.scheduler
        ));
    }
    if arm.scheduler == baseline.active {
        baseline
            .of_groups
            .iter()
            .try_for_each(SavedGroup::restore)?;
    }
    for (attribute, value) in baseline.left_by_others(arm) {
        if device
            .optional_attribute(&format!("queue/{attribute}"))
            .as_ref()
            != Some(value)
        {
            write(device, attribute, value)?;
        }
    }
    for (attribute, value) in in_writing_order(arm) {
        write_setting(device, arm, attribute, value)?;
        if attribute == WBT_LAT_USEC {
            insist_on_latency(device, value)?;
        }
        if arm.scheduler == NONE && attribute == NR_REQUESTS {
            saved::make_depth_true(device)?;
        }
    }
    if arm.setting(READ_AHEAD_KB).is_none() {
        read_ahead::put_back(device, baseline)?;
    }
    let effective = read(device)?;
    verify(device, arm, &effective, &mut notes)?;
    note_side_effects(arm, before, &effective, &mut notes);
    Ok(Applied {
        effective,
        switch_ns,
        notes,
    })
}

/// If the target is already active, switches to another scheduler first: the kernel ignores a write of the current
/// name, and learnt state and old settings would remain. Returns the duration of the last write, None if there was
/// none.
fn switch(device: &Device, target: &str) -> Result<Option<u64>> {
    let now = choice(device)?;
    if now.active == target {
        let Some(other) = now.other_than(target) else {
            return Ok(None);
        };
        write(device, "scheduler", other)?;
    }
    let took = write(device, "scheduler", target)?;
    let now = choice(device)?;
    if now.active != target {
        return Err(Failure::runtime(
            format!(
                "{}: {target} was written, but {} is active",
                device.name, now.active
            ),
            "its driver ignores the choice, as loop devices do before Linux 6.1, or another program sets it: look for udev rules and TuneD profiles",
        ));
    }
    Ok(Some(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX)))
}

/// `nr_requests` first, because schedulers derive other values from it; the scheduler's own attributes last, and before them
/// what other writes change.
fn in_writing_order(arm: &Arm) -> Vec<(&str, &str)> {
    let mut ordered: Vec<(&str, &str)> = arm.queue_settings().collect();
    ordered.sort_by_key(|(attribute, _)| {
        let (is_first, is_late) = (*attribute == NR_REQUESTS, *attribute == READ_AHEAD_KB);
        (is_of_scheduler(attribute), is_late, !is_first)
    });
    ordered
}

fn write_setting(device: &Device, arm: &Arm, attribute: &str, value: &str) -> Result<()> {
    if !device.sysfs("queue").join(attribute).is_file() {
        return Err(unknown_attribute(device, arm, attribute)?);
    }
    write(device, attribute, value).map(drop).map_err(|error| {
        let refused = error.downcast_ref::<io::Error>().is_some_and(|error| {
            matches!(
                error.kind(),
                io::ErrorKind::InvalidInput | io::ErrorKind::PermissionDenied
            ) || error.raw_os_error() == Some(rustix::io::Errno::RANGE.raw_os_error())
        });
        if refused {
            Failure::usage(
                format!(
                    "{}: the kernel rejected {attribute}={value} under {}",
                    device.name, arm.scheduler
                ),
                describe_present(device, attribute),
            )
        } else {
            error
        }
    })
}

/// bfq turns write-back throttling off, which reads as 0. The kernel keeps the latency all the same, and ignores a write of
/// the one that it has: only another one turns throttling on again.
fn insist_on_latency(device: &Device, value: &str) -> Result<()> {
    let found = device.optional_attribute(&format!("queue/{WBT_LAT_USEC}"));
    match value.trim().parse::<u32>() {
        Ok(latency) if latency > 0 && found.as_deref().map(str::trim) == Some("0") => {
            write(device, WBT_LAT_USEC, &latency.saturating_add(1).to_string())?;
            write(device, WBT_LAT_USEC, value).map(drop)
        }
        _ => Ok(()),
    }
}

fn describe_present(device: &Device, attribute: &str) -> String {
    match device.optional_attribute(&format!("queue/{attribute}")) {
        Some(value) => format!(
            "its current value is {value:?}; use a value of the same kind within the kernel's limits"
        ),
        None => "it cannot be read either; omit it".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nr_requests_is_written_first_and_iosched_last() {
        let arm: Arm =
            "mq-deadline,iosched/b=1,wbt_lat_usec=0,iosched/a=2,read_ahead_kb=8,nr_requests=64,nomerges=1"
                .parse()
                .expect("an arm");
        let order: Vec<&str> = in_writing_order(&arm)
            .into_iter()
            .map(|(name, _)| name)
            .collect();
        assert_eq!(
            order,
            [
                "nr_requests",
                "wbt_lat_usec",
                "nomerges",
                "read_ahead_kb",
                "iosched/b",
                "iosched/a"
            ]
        );
    }
}
