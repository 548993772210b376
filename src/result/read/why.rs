//! Who waited behind whom in a round, as far as the reports rely on it. Pure.

use super::{LARGEST_COUNT, LONGEST_S, require};
use crate::why::{RoundWhy, WhyDevice, WhyOwner};

/// A round has fewer.
const MOST_OWNERS: usize = 64;

pub(super) fn check(round: &RoundWhy) -> Result<(), String> {
    require((0.0..=LONGEST_S).contains(&round.time_s), || {
        "evidence.why.time_s is out of range".to_owned()
    })?;
    round.devices.iter().try_for_each(device)
}

fn device(device: &WhyDevice) -> Result<(), String> {
    let count = device.owners.len();
    require(count <= MOST_OWNERS, || {
        format!("evidence.why: {count} owners are too many")
    })?;
    device.owners.iter().try_for_each(owner)
}

fn owner(owner: &WhyOwner) -> Result<(), String> {
    let parts = owner.behind.iter().map(|of| of.ns);
    let sum = parts.fold(owner.device_idle_ns, u64::saturating_add);
    require(sum == owner.wait_ns, || {
        format!(
            "evidence.why: the parts of the waiting of {:?} do not add up to it",
            owner.name
        )
    })?;
    let counts = [owner.ios, owner.waits, owner.service_ns, owner.wait_ns];
    require(counts.iter().all(|count| *count <= LARGEST_COUNT), || {
        format!("evidence.why: {:?} has too large a number", owner.name)
    })
}
