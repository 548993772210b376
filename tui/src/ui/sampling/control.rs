//! Switches schedulers and restores them: through the journal, with a guardian, and under the disk's lock.

use std::path::PathBuf;

use anyhow::{Context, Result};
use iosched_files::interrupt;
use iosched_host::preflight::{self, Intent, Loss};
use iosched_host::safety::guardian::{self, Guardian};
use iosched_host::safety::journal::{Entry, Journal, Undo};
use iosched_host::safety::lock::Lock;
use iosched_host::safety::restorable::ensure_restorable;
use iosched_host::scheduler::{self, SavedQueue};
use iosched_host::system::device::Device;
use iosched_result::types::arm::Arm;
use iosched_result::types::queue::Applied;

pub struct Control {
    journal: Journal,
    /// A binary of ours, which is started again as the guardian.
    launcher: PathBuf,
    /// Dropped in the order of the fields: first the queues are restored, then the guardian ends.
    held: Vec<Held>,
    guardian: Option<Guardian>,
    /// Another guardian already watches the same journal.
    is_guarded: bool,
}

/// A device that we have changed.
struct Held {
    device: Device,
    baseline: SavedQueue,
    entry: Option<Entry>,
    /// The user chose that it stays.
    is_kept: bool,
    _lock: Lock,
}

impl Control {
    pub fn new(journal: Journal, launcher: PathBuf, is_guarded: bool) -> Self {
        Control {
            journal,
            launcher,
            held: Vec::new(),
            guardian: None,
            is_guarded,
        }
    }

    /// `arms` lists all arms that may be applied later: at the first change of a device, all settings they touch are
    /// saved.
    pub fn switch(
        &mut self,
        device: &Device,
        arm: &Arm,
        arms: &[Arm],
        put_back: bool,
    ) -> Result<Applied> {
        let intent = Intent {
            arms: std::slice::from_ref(arm),
            writes_raw_device: false,
            // The user asks for exactly this switch, so a mounted file system does not prevent it.
            allow_mounted: true,
            loss: Loss::Refused,
        };
        preflight::check(device, &intent)?.into_result()?;
        self.guard()?;
        let at = match self.held.iter().position(|held| held.device == *device) {
            Some(at) => at,
            None => self.hold(device, arms)?,
        };
        let held = &mut self.held[at];
        match (put_back, held.entry.take()) {
            (true, None) => {
                held.entry = Some(self.journal.record(Undo::Queue(held.baseline.clone()))?);
            }
            (true, entry) => held.entry = entry,
            (false, Some(entry)) => entry.keep()?,
            (false, None) => {}
        }
        held.is_kept = !put_back;
        let mut applied = scheduler::apply_onto(device, arm, &held.baseline)
            .with_context(|| format!("switching {} to {}", device.name, arm.label))?;
        let said = self.guardian.iter().flat_map(Guardian::take_notes);
        applied.notes.extend(said);
        Ok(applied)
    }

    fn guard(&mut self) -> Result<()> {
        // If a killed guardian cannot be replaced, `interrupt` ends the program.
        interrupt::check()?;
        if self.guardian.is_none() && !self.is_guarded {
            let guardian = guardian::start_beside_a_screen(&self.launcher, &self.journal)?;
            self.guardian = Some(guardian);
        }
        Ok(())
    }

    fn hold(&mut self, device: &Device, arms: &[Arm]) -> Result<usize> {
        let lock = preflight::lock(device)?;
        let baseline = SavedQueue::take(device, arms)?;
        ensure_restorable(&self.journal, device, &baseline)?;
        let held = Held {
            _lock: lock,
            baseline,
            device: device.clone(),
            entry: None,
            is_kept: false,
        };
        self.held.push(held);
        Ok(self.held.len() - 1)
    }

    /// Restores everything that is not to stay; returns a line or an error for each device.
    pub fn put_back(&mut self) -> Vec<Result<String>> {
        let lines = self.held.drain(..).filter_map(|held| {
            let name = &held.device.name;
            let stays = || {
                let now = scheduler::choice(&held.device)?.active;
                Ok(format!("{name}: {now} stays, as you chose"))
            };
            let was = &held.baseline.active;
            let text = format!("{name}: {was} and its settings are restored");
            match held.entry {
                Some(entry) => Some(entry.undo().map(|()| text)),
                None => held.is_kept.then(stays),
            }
        });
        lines.collect()
    }
}
