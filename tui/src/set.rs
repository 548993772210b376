//! `iosched set`.

use std::io::Write;

use anyhow::{Context, Result};
use iosched::files::stdout;
use iosched::machine::device::Device;
use iosched::preflight::{self, Intent, Loss};
use iosched::report::{escape, units};
use iosched::safety::guardian;
use iosched::safety::journal::{Journal, Undo};
use iosched::safety::restorable::ensure_restorable;
use iosched::scheduler::arm::Arm;
use iosched::scheduler::{self, Applied, SavedQueue, State};

use crate::cli::Set;

pub fn run(arguments: &Set) -> Result<()> {
    let arm: Arm = arguments.arm.parse()?;
    let resolved = Device::resolve(&arguments.device)?;
    let device = resolved.device;
    let mut notes = resolved.notes;
    notes.extend(arm.notes.clone());
    // The user asks for exactly this switch, so a mounted file system does not prevent it.
    let intent = Intent {
        arms: std::slice::from_ref(&arm),
        writes_raw_device: false,
        allow_mounted: true,
        loss: Loss::Refused,
    };
    preflight::check(&device, &intent)?.into_result()?;
    // Refused while a comparison runs on the device.
    let _lock = preflight::lock(&device)?;
    let before = scheduler::read(&device)?;
    let applied = apply(&device, &arm)?;
    notes.extend(applied.notes.clone());
    print(&device, &before, &applied, &notes)
}

/// Applies everything or nothing: if this process is killed halfway, the guardian undoes the changes.
fn apply(device: &Device, arm: &Arm) -> Result<Applied> {
    let before = SavedQueue::take(device, std::slice::from_ref(arm))?;
    let journal = Journal::create()?;
    let launcher = std::env::current_exe().context("finding this program's own path")?;
    let guardian = guardian::start(&launcher, &journal)?;
    ensure_restorable(&journal, device, &before)?;
    let entry = journal.record(Undo::Queue(before))?;
    let mut applied = scheduler::apply(device, arm)?;
    entry.keep()?;
    applied.notes.extend(guardian.take_notes());
    Ok(applied)
}

fn print(device: &Device, before: &State, applied: &Applied, notes: &[String]) -> Result<()> {
    let after = &applied.effective;
    let mut out = stdout::lines();
    writeln!(
        out,
        "{}: {} -> {}",
        device.name, before.active, after.active
    )?;
    if let Some(ns) = applied.switch_ns {
        writeln!(
            out,
            "  the queue was frozen for {}",
            units::time(Some(ns as f64))
        )?;
    }
    let mut lines = Vec::new();
    for (attribute, value) in &after.settings {
        match before.settings.get(attribute) {
            Some(old) if old == value => {}
            Some(old) => lines.push(format!("{attribute}: {old} -> {value}")),
            None => lines.push(format!("{attribute}: {value} (new)")),
        }
    }
    let is_gone = |name: &&String| !after.settings.contains_key(*name);
    let gone = before.settings.keys().filter(is_gone);
    lines.extend(gone.map(|name| format!("{name}: removed")));
    lines.extend(notes.iter().map(|note| format!("note: {note}")));
    for line in lines {
        writeln!(out, "  {}", escape::line(&line))?;
    }
    Ok(())
}
