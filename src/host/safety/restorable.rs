//! Tries whether a disk's own values can be written again, under the journal: such a write may change other values.

use anyhow::Result;

use super::journal::{Journal, Undo};
use crate::scheduler::{self, SavedQueue};
use crate::system::device::Device;
use iosched_result::failure;

/// Refuses arms after which `baseline` could not be restored. Everything is as before, also after a kill.
pub fn ensure_restorable(journal: &Journal, device: &Device, baseline: &SavedQueue) -> Result<()> {
    if !scheduler::needs_a_trial(baseline) {
        return Ok(());
    }
    let entry = journal.record(Undo::Queue(baseline.clone()))?;
    let tried = scheduler::try_to_restore(device, baseline);
    // Nothing was switched, so nothing is switched back; all of it is for a process that is killed here.
    let put_back = match scheduler::put_back_settings(device, baseline) {
        Ok(()) => entry.keep(),
        Err(_) => entry.undo(),
    };
    match (tried, put_back) {
        (tried, Ok(())) => tried,
        (Ok(()), Err(left)) => Err(left),
        (Err(cause), Err(left)) => Err(failure::unrestored(&cause, &left)),
    }
}
