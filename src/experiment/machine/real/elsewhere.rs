//! What arms set elsewhere than in the disks' queues, while rounds run.

use std::fs::File;

use anyhow::Result;

use iosched_host::places::{Hook, Moment, Places, Saved, Traces};
use iosched_host::preflight;
use iosched_host::safety::journal::{Entry, Journal, Undo, undo_all};
use iosched_host::scheduler::{self, SavedQueue};
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
    pub fn take(
        disks: &[Device],
        arms: &[Arm],
        baselines: &[SavedQueue],
        journal: &Journal,
    ) -> Result<Elsewhere> {
        if !arms.iter().any(Arm::sets_what_outlives_rounds) {
            return Ok(Elsewhere::default());
        }
        let lock = preflight::lock_elsewhere()?;
        let places = Places::take(disks, arms)?;
        let saved = [Moment::UnderItsScheduler, Moment::Any].map(|moment| places.saved(moment));
        saved
            .into_iter()
            .flatten()
            .try_for_each(|saved| try_to_restore(saved, journal))?;
        let elsewhere = Elsewhere {
            hook: None,
            places,
            _lock: Some(lock),
        };
        let hooks = arms.iter().map(|arm| Hook::of(arm, disks));
        let hooks: Vec<Hook> = hooks.filter_map(Result::transpose).collect::<Result<_>>()?;
        if !hooks.is_empty() {
            // What they change, though they should not, is put back.
            let entries = elsewhere.record(baselines, journal)?;
            let tried = hooks.iter().try_for_each(|hook| try_undo(hook, disks));
            tried.and(undo_all(entries))?;
        }
        Ok(elsewhere)
    }

    /// All settings, those of the disks too, in the order in which they are made: entries are undone from last to first.
    pub fn record(&self, baselines: &[SavedQueue], journal: &Journal) -> Result<Vec<Entry>> {
        let of_places = |moment| self.places.saved(moment).cloned().map(Undo::Setting);
        let of_disks = baselines.iter().cloned().map(Undo::Queue);
        of_places(Moment::UnderItsScheduler)
            .chain(of_disks)
            .chain(of_places(Moment::Any))
            .map(|undo| journal.record(undo))
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
        ensure_nothing_left(&Traces::take(disks)?.since(&before))
    }

    /// At the end, with the entries of [`Elsewhere::record`]: they put back, too, what a command has not undone of what they have.
    pub fn undo(&mut self, disks: &[Device], entries: Vec<Entry>) -> Result<()> {
        let hook = self.hook.take();
        let (undone, before) = hook.map(|hook| (hook.entry.undo(), hook.before)).unzip();
        let rest = undo_all(entries);
        if let Some(Err(undone)) = undone {
            return Err(match rest {
                Ok(()) => undone,
                Err(rest) => rest.context(format!("{undone:#}; also")),
            });
        }
        rest?;
        // The disks have their own scheduler again.
        before.map_or(Ok(()), |before| {
            ensure_nothing_left(&Traces::take(&[])?.since(&before.of_no_disk(disks)))
        })
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
        if !self.places.is_empty() {
            self.read_all(disks, applied)?;
        }
        let Some(hook) = Hook::of(arm, disks)? else {
            return Ok(());
        };
        let made: Vec<State> = applied.iter().map(|disk| disk.effective.clone()).collect();
        let before = Traces::take(disks)?;
        let entry = journal.record(Undo::Hook(hook.undo))?;
        hook.exec.run()?;
        let seen = Traces::take(disks)?.since(&before);
        self.hook = Some(InForce { entry, before });
        if let Some(first) = applied.first_mut() {
            first.notes.push(in_words(&seen));
        }
        self.read_all(disks, applied)?;
        let mut pairs = made.iter().zip(applied);
        pairs.try_for_each(|(made, applied)| ensure_arm_stays(arm, made, &applied.effective))
    }

    fn read_all(&self, disks: &[Device], applied: &mut [Applied]) -> Result<()> {
        for (disk, applied) in disks.iter().zip(applied) {
            applied.effective = scheduler::read(disk)?;
            self.read_into(&mut applied.effective, disk);
        }
        Ok(())
    }

    pub fn read_into(&self, state: &mut State, disk: &Device) {
        state.settings.extend(self.places.read(disk));
    }
}

/// What the arm names itself is not for its command to change.
fn ensure_arm_stays(arm: &Arm, made: &State, now: &State) -> Result<()> {
    let named = |name: &&String| arm.setting(name).is_some();
    let changed = made.settings.keys().filter(named).find_map(|name| {
        let (was, is) = (made.settings.get(name), now.settings.get(name));
        (was != is).then(|| format!("{name}, now {}", is.map_or("gone", String::as_str)))
    });
    let switched =
        (made.active != now.active).then(|| format!("the scheduler, now {}", now.active));
    match switched.or(changed) {
        None => Ok(()),
        Some(what) => Err(Failure::usage(
            format!(
                "arm {}: its command changed what the arm sets: {what}",
                arm.label
            ),
            "let one of the two set it",
        )),
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
        "iosched has put back what is its own; undo the rest by hand, and make the command undo all of it",
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

/// The undo command must succeed and change nothing here, where there is nothing to undo: after a kill it may run too early, or
/// twice.
fn try_undo(hook: &Hook, disks: &[Device]) -> Result<()> {
    let before = Traces::take(disks)?;
    hook.undo.run()?;
    ensure_nothing_left(&Traces::take(disks)?.since(&before))
}
