//! Switches several disks together: afterwards either all of them have the arm or none.

use std::slice;

use anyhow::{Context, Result};

use super::offered::refuse_unknown;
use super::{SavedQueue, apply_onto, restore};
use crate::system::device::Device;
use iosched_result::failure;
use iosched_result::types::arm::Arm;
use iosched_result::types::queue::Applied;

/// [`apply_onto`] for each disk with its own baseline. If a disk rejects the arm, the disks that already have it are
/// restored to their state before the call.
pub fn apply_onto_all(
    disks: &[Device],
    arm: &Arm,
    baselines: &[SavedQueue],
) -> Result<Vec<Applied>> {
    // The last disk never needs to be restored: nothing can fail after it.
    let all_but_last = &disks[..disks.len().saturating_sub(1)];
    let before = all_but_last
        .iter()
        .map(|disk| SavedQueue::take(disk, slice::from_ref(arm)))
        .collect::<Result<Vec<_>>>()?;
    // Check everything that can be rejected without a write before the first write.
    disks
        .iter()
        .try_for_each(|disk| refuse_unknown(disk, arm))?;
    let mut applied = Vec::new();
    for (disk, baseline) in disks.iter().zip(baselines) {
        let outcome = apply_onto(disk, arm, baseline)
            .with_context(|| format!("applying {} to {}", arm.label, disk.name));
        match outcome {
            Ok(done) => applied.push(done),
            Err(error) => return Err(put_back(&before[..applied.len()], error)),
        }
    }
    Ok(applied)
}

fn put_back(switched: &[SavedQueue], error: anyhow::Error) -> anyhow::Error {
    switched
        .iter()
        .rev()
        .fold(error, |error, saved| match restore(saved) {
            Ok(()) => error,
            Err(also) => failure::unrestored(&error, &also),
        })
}
