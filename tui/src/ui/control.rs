//! Changes schedulers and puts them back: through the journal, with a guardian, and under the disk's lock.

use std::path::PathBuf;

use anyhow::{Context, Result};
use iosched::arm::Arm;
use iosched::device::Device;
use iosched::guardian::{self, Guardian};
use iosched::interrupt;
use iosched::journal::{Entry, Journal, Undo};
use iosched::lock::Lock;
use iosched::preflight::{self, Intent};
use iosched::scheduler::{self, Applied, SavedQueue};

pub struct Control {
    journal: Journal,
    /// A binary of ours: the guardian is another process of it.
    launcher: PathBuf,
    /// Undone in the order of the fields: first the queues, then the guardian goes.
    held: Vec<Held>,
    guardian: Option<Guardian>,
    /// Somebody else's guardian watches over the same journal.
    is_guarded: bool,
}

/// A device that was changed.
struct Held {
    device: Device,
    baseline: SavedQueue,
    entry: Option<Entry>,
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

    /// `arms`: all that may be applied while we run; the first change of a device says what is to be put back of it.
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
            // The user asks for this switch by name: a mounted file system does not stand against it.
            allow_mounted: true,
            destroy_data: false,
        };
        preflight::check(device, &intent)?.into_result()?;
        let at = match self.held.iter().position(|held| held.device == *device) {
            Some(at) => at,
            None => self.hold(device, arms)?,
        };
        let held = &mut self.held[at];
        match (put_back, held.entry.take()) {
            (true, None) => {
                // A guardian that was killed and cannot be replaced ends what it guarded.
                interrupt::check()?;
                if self.guardian.is_none() && !self.is_guarded {
                    self.guardian = Some(guardian::start(&self.launcher, &self.journal)?);
                }
                held.entry = Some(self.journal.record(Undo::Queue(held.baseline.clone()))?);
            }
            (true, entry) => held.entry = entry,
            (false, Some(entry)) => entry.keep()?,
            (false, None) => {}
        }
        let mut applied = scheduler::apply_onto(device, arm, &held.baseline)
            .with_context(|| format!("switching {} to {}", device.name, arm.label))?;
        let said = self.guardian.iter().flat_map(Guardian::take_notes);
        applied.notes.extend(said);
        Ok(applied)
    }

    fn hold(&mut self, device: &Device, arms: &[Arm]) -> Result<usize> {
        let held = Held {
            _lock: preflight::lock(device)?,
            baseline: SavedQueue::take(device, arms)?,
            device: device.clone(),
            entry: None,
        };
        self.held.push(held);
        Ok(self.held.len() - 1)
    }

    /// Everything that is to be put back, and a line for each: what was done, or what could not be.
    pub fn put_back(&mut self) -> Vec<Result<String>> {
        let entries = self.held.drain(..).filter_map(|held| {
            let text = format!(
                "{}: {} and its settings are back",
                held.device.name, held.baseline.active
            );
            Some(held.entry?.undo().map(|()| text))
        });
        entries.collect()
    }
}
