//! Several disks switched as one: each has the arm when it is done, or none has.

use std::slice;

use anyhow::{Context, Result};

use super::{Applied, SavedQueue, apply_onto, refuse_unknown, restore};
use crate::arm::Arm;
use crate::device::Device;

/// [`apply_onto`] for each disk with its own baseline. Where one does not take the arm, those that have it already are
/// put back as they were before the call.
pub fn apply_onto_all(
    disks: &[Device],
    arm: &Arm,
    baselines: &[SavedQueue],
) -> Result<Vec<Applied>> {
    // The last one is never put back: nothing comes after it that could fail.
    let all_but_last = &disks[..disks.len().saturating_sub(1)];
    let before = all_but_last
        .iter()
        .map(|disk| SavedQueue::take(disk, slice::from_ref(arm)))
        .collect::<Result<Vec<_>>>()?;
    // What can be refused without a write is refused before the first one.
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
            Err(also) => {
                error.context(format!("and then, putting {} back: {also:#}", saved.device))
            }
        })
}
