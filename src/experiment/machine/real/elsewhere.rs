//! What arms set elsewhere than in the disks' queues, while rounds run.

use std::fs::File;

use anyhow::{Context, Result};

use iosched_host::places::{Hook, Moment, Places, Saved, Traces};
use iosched_host::preflight;
use iosched_host::safety::journal::{Entry, Journal, Undo, undo_all};
use iosched_host::scheduler;
use iosched_host::system::device::Device;
use iosched_result::failure::Failure;
use iosched_result::types::arm::Arm;
use iosched_result::types::queue::{Applied, State};

/// Fields drop in order: what a command did is undone first.
#[derive(Default)]
pub(super) struct Elsewhere {
    hook: Option<InForce>,
    places: Places,
    _lock: Option<File>,
}

/// What a command did, until it is undone.
struct InForce {
    entry: Entry,
    before: Traces,
}

impl Elsewhere {
    /// Tries that the present values can be written again, and that the commands that undo succeed.
    pub fn take(disks: &[Device], arms: &[Arm], journal: &Journal) -> Result<Elsewhere> {
        if arms.iter().all(|arm| arm.setting_elsewhere().is_none()) {
            return Ok(Elsewhere::default());
        }
        let lock = preflight::lock_elsewhere()?;
        let places = Places::take(disks, arms)?;
        let saved = [Moment::UnderItsScheduler, Moment::Any].map(|moment| places.saved(moment));
        saved
            .into_iter()
            .flatten()
            .try_for_each(|saved| try_to_restore(saved, journal))?;
        for arm in arms {
            if let Some(hook) = Hook::of(arm, disks)? {
                try_undo(&hook, disks).with_context(|| format!("arm {}", arm.label))?;
            }
        }
        Ok(Elsewhere {
            hook: None,
            places,
            _lock: Some(lock),
        })
    }

    /// Before and after the entries of the disks: entries are undone from last to first.
    pub fn record(&self, moment: Moment, journal: &Journal) -> Result<Vec<Entry>> {
        let saved = self.places.saved(moment);
        saved
            .map(|saved| journal.record(Undo::Setting(saved.clone())))
            .collect()
    }

    /// Call before a switch to the arm: some settings change those of the queue.
    pub fn apply_before(&mut self, arm: &Arm, disks: &[Device]) -> Result<()> {
        self.end_hook(disks)?;
        self.places.apply(arm, Moment::Any)
    }

    fn end_hook(&mut self, disks: &[Device]) -> Result<()> {
        let Some(InForce { entry, before }) = self.hook.take() else {
            return Ok(());
        };
        entry.undo()?;
        let left = Traces::take(disks)?.since(&before);
        ensure_nothing_left(&left)
    }

    /// Call after the switch.
    pub fn apply_after(
        &mut self,
        arm: &Arm,
        disks: &[Device],
        journal: &Journal,
        applied: &mut [Applied],
    ) -> Result<()> {
        self.places.apply(arm, Moment::UnderItsScheduler)?;
        if let Some(hook) = Hook::of(arm, disks)? {
            let before = Traces::take(disks)?;
            let entry = journal.record(Undo::Hook(hook.undo))?;
            hook.exec.run()?;
            let seen = Traces::take(disks)?.since(&before);
            self.hook = Some(InForce { entry, before });
            if let Some(first) = applied.first_mut() {
                first.notes.push(in_words(&seen));
            }
        }
        if self.hook.is_some() || !self.places.is_empty() {
            for (disk, applied) in disks.iter().zip(applied) {
                applied.effective = scheduler::read(disk)?;
                self.read_into(&mut applied.effective, disk);
            }
        }
        Ok(())
    }

    pub fn read_into(&self, state: &mut State, disk: &Device) {
        state.settings.extend(self.places.read(disk));
    }
}

fn in_words(seen: &[String]) -> String {
    if seen.is_empty() {
        return "its command has changed nothing that iosched sees: the settings of the disks and of the system, modules, /sys/kernel".to_owned();
    }
    format!("its command has changed {}", seen.join(", "))
}

fn ensure_nothing_left(left: &[String]) -> Result<()> {
    if left.is_empty() {
        return Ok(());
    }
    Err(Failure::runtime(
        format!("the command that undoes left {}", left.join(", ")),
        "make it undo all of that, by hand first",
    ))
}

/// The value is written over itself, with an entry in the journal for a kill in between.
fn try_to_restore(saved: &Saved, journal: &Journal) -> Result<()> {
    let entry = journal.record(Undo::Setting(saved.clone()))?;
    // An entry that is dropped is undone.
    saved.write_again().map_err(|error| {
        Failure::refused(
            format!(
                "the present value of {} could not be restored: {:#}",
                saved.describe(),
                error.root_cause()
            ),
            "leave it out of the arms, or set it to another value first",
        )
    })?;
    entry.keep()
}

/// With nothing to undo it must succeed and leave all as it is: so it may come too early or twice.
fn try_undo(hook: &Hook, disks: &[Device]) -> Result<()> {
    let before = Traces::take(disks)?;
    hook.undo.run()?;
    ensure_nothing_left(&Traces::take(disks)?.since(&before))
}

/// Undoes all, what came last first.
pub(super) fn undo(elsewhere: &mut Elsewhere, disks: &[Device], entries: Vec<Entry>) -> Result<()> {
    let hook = elsewhere.end_hook(disks);
    let rest = undo_all(entries);
    match (hook, rest) {
        (Err(hook), Err(rest)) => Err(rest.context(format!("{hook:#}; also"))),
        (hook, rest) => hook.and(rest),
    }
}
