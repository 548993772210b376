//! The settings of Linux's schedulers, to find a misspelled one before its scheduler is active. Only advice comes from it:
//! the kernel says what there is.

use anyhow::Result;

use super::is_of_scheduler;
use super::state::{attributes, choice};
use crate::system::device::Device;
use iosched_result::text::similar::near;
use iosched_result::types::arm::Arm;

/// All that Linux 5.10 to 7.3 have, from block/{bfq-iosched,kyber-iosched,mq-deadline}.c.
const SETTINGS: [(&str, &[&str]); 3] = [
    (
        "bfq",
        &[
            "iosched/back_seek_max",
            "iosched/back_seek_penalty",
            "iosched/fifo_expire_async",
            "iosched/fifo_expire_sync",
            "iosched/low_latency",
            "iosched/max_budget",
            "iosched/slice_idle",
            "iosched/slice_idle_us",
            "iosched/strict_guarantees",
            "iosched/timeout_sync",
        ],
    ),
    (
        "kyber",
        &["iosched/read_lat_nsec", "iosched/write_lat_nsec"],
    ),
    (
        "mq-deadline",
        &[
            "iosched/async_depth",
            "iosched/fifo_batch",
            "iosched/front_merges",
            "iosched/prio_aging_expire",
            "iosched/read_expire",
            "iosched/write_expire",
            "iosched/writes_starved",
        ],
    ),
];

/// An objection to a setting, before its scheduler is active.
pub struct Doubt {
    /// The device has no such attribute under any scheduler. Otherwise Linux's scheduler of this name has no such setting, and
    /// this kernel may have another scheduler of the name.
    pub is_certain: bool,
    pub what: String,
    pub hint: String,
}

/// The doubts about an arm whose scheduler the device offers.
pub fn doubts(device: &Device, arm: &Arm) -> Result<Vec<Doubt>> {
    let is_active = choice(device)?.active == arm.scheduler;
    let there = attributes(device)?;
    let mut there: Vec<&str> = there.iter().map(String::as_str).collect();
    there.retain(|name| is_active || !is_of_scheduler(name));
    let own = SETTINGS.iter().find(|(name, _)| *name == arm.scheduler);
    let own = own.map_or(&[][..], |(_, settings)| settings);
    let doubt = |name: &str| {
        let is_certain = is_active || !is_of_scheduler(name);
        let known: Vec<&str> = if is_certain {
            there.iter().chain(own).copied().collect()
        } else {
            own.to_vec()
        };
        if there.contains(&name) || own.contains(&name) && !is_active || known.is_empty() {
            return None;
        }
        let what = if is_certain {
            no_attribute(device, arm, name)
        } else {
            format!("{}: {} has no {name} in Linux", arm.label, arm.scheduler)
        };
        Some(Doubt {
            is_certain,
            what,
            hint: meant(name, &known),
        })
    };
    let names = arm.queue_settings().map(|(name, _)| name);
    Ok(names.filter_map(doubt).collect())
}

pub(super) fn no_attribute(device: &Device, arm: &Arm, name: &str) -> String {
    let (device, scheduler) = (&device.name, &arm.scheduler);
    format!("{device} has no attribute {name:?} under {scheduler}")
}

/// The usual mistake is `read_expire` instead of `iosched/read_expire`.
pub(super) fn meant(name: &str, there: &[&str]) -> String {
    fn bare(name: &str) -> &str {
        name.strip_prefix("iosched/").unwrap_or(name)
    }
    let near = near(bare(name), there.iter().map(|other| bare(other)));
    let mut meant: Vec<&str> = there.to_vec();
    meant.retain(|other| near.contains(&bare(other)));
    meant.dedup();
    match meant.as_slice() {
        [] => format!("available attributes: {}", there.join(", ")),
        some => format!("did you mean {}?", some.join(" or ")),
    }
}
