//! Reads, applies, verifies and restores a scheduler and its settings. The only module that writes below `queue/`; its callers
//! hold the disk's lock (`safety::lock`).
//!
//! Guarantees: every write is read back and compared; a switch always starts with a fresh scheduler, even if the target
//! is already active; a failed attempt leaves the device as it was. Attributes are found by listing the directory, so
//! that out-of-tree schedulers and later kernels need no code here.

mod known; // the settings of Linux's schedulers
mod offered; // what a device has, and refusals of what it has not
mod present; // the settings in force, as an arm
mod queue_file; // the only code that writes sysfs
mod read_ahead; // what other writes change
mod restorable; // whether a value can be written again
mod saved;
pub(crate) mod state;
mod together;
pub(crate) mod value;
mod writer; // a write in a child process, which may hang

use std::collections::BTreeSet;
use std::io;
use std::time::Duration;

use anyhow::Result;
use rustix::time::{ClockId, clock_getres};

use crate::system::device::Device;
use iosched_result::failure::{self, Failure};
use iosched_result::types::arm::Arm;

pub use iosched_result::types::queue::{Applied, State};
pub use known::doubts;
pub use offered::{known_missing_hint, lacks};
pub use present::present;
pub use restorable::{needs_a_trial, try_to_restore};
pub use saved::{SavedQueue, put_back_settings, restore};
pub use state::{Choice, choice, read};
pub use together::apply_onto_all;

pub(crate) use offered::unknown_scheduler;
use offered::{refuse_unknown, unknown_attribute};
use queue_file::write;
use read_ahead::READ_AHEAD_KB;
use value::Acceptance;

/// Written under `none`, this attribute resizes the driver tags.
const NR_REQUESTS: &str = "nr_requests";
/// An attribute of the queue since 7.0, where each scheduler sets it when it starts, and `none` refuses it.
const ASYNC_DEPTH: &str = "async_depth";
/// Once written, this attribute is no longer adapted by the kernel.
pub const WBT_LAT_USEC: &str = "wbt_lat_usec";
const NONE: &str = "none";

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

/// Whether the attribute belongs to a scheduler and not to the queue.
pub fn is_of_scheduler(attribute: &str) -> bool {
    attribute.starts_with("iosched/")
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
    for (attribute, value) in baseline.left_by_others(arm) {
        if device
            .optional_attribute(&format!("queue/{attribute}"))
            .as_ref()
            != Some(value)
        {
            write(device, attribute, value)?;
        }
    }
    for (attribute, value) in in_writing_order(&arm.settings) {
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

/// `nr_requests` first, because schedulers derive other values from it; the scheduler's own attributes last, and before them
/// what other writes change.
fn in_writing_order(settings: &[(String, String)]) -> Vec<(&str, &str)> {
    let mut ordered: Vec<(&str, &str)> = settings
        .iter()
        .map(|(attribute, value)| (attribute.as_str(), value.as_str()))
        .collect();
    ordered.sort_by_key(|(attribute, _)| {
        let (is_first, is_late) = (*attribute == NR_REQUESTS, *attribute == READ_AHEAD_KB);
        (is_of_scheduler(attribute), is_late, !is_first)
    });
    ordered
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

fn describe_present(device: &Device, attribute: &str) -> String {
    match device.optional_attribute(&format!("queue/{attribute}")) {
        Some(value) => format!(
            "its current value is {value:?}; use a value of the same kind within the kernel's limits"
        ),
        None => "it cannot be read either; omit it".to_owned(),
    }
}

fn verify(device: &Device, arm: &Arm, effective: &State, notes: &mut Vec<String>) -> Result<()> {
    if effective.active != arm.scheduler {
        return Err(Failure::runtime(
            format!(
                "{}: {} immediately replaced {}",
                device.name, effective.active, arm.scheduler
            ),
            "another program sets the scheduler: look for udev rules and TuneD profiles",
        ));
    }
    for (attribute, wanted) in &arm.settings {
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

fn note_side_effects(arm: &Arm, before: &SavedQueue, effective: &State, notes: &mut Vec<String>) {
    if arm.setting(WBT_LAT_USEC).is_some() {
        notes.push(format!(
            "{WBT_LAT_USEC} was written: until the disk is removed or the machine restarts, the kernel no longer adapts it to the scheduler"
        ));
    }
    let asked: BTreeSet<&str> = arm.settings.iter().map(|(name, _)| name.as_str()).collect();
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
fn jiffy_ns() -> u64 {
    let resolution = clock_getres(ClockId::MonotonicCoarse);
    Duration::try_from(resolution).map_or(1_000_000, |jiffy| jiffy.as_nanos() as u64)
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
        let order: Vec<&str> = in_writing_order(&arm.settings)
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

    #[test]
    fn a_jiffy_is_between_one_and_ten_milliseconds() {
        assert!(
            (1_000_000..=10_000_000).contains(&jiffy_ns()),
            "{}",
            jiffy_ns()
        );
    }
}
