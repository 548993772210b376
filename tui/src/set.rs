//! `iosched set`.

use std::io::Write;

use anyhow::{Context, Result};
use iosched_files::stdout;
use iosched_host::preflight::{self, Intent, Loss};
use iosched_host::safety::guardian;
use iosched_host::safety::journal::{self, Entry, Journal, Undo};
use iosched_host::safety::restorable::ensure_restorable;
use iosched_host::scheduler::{self, SavedQueue};
use iosched_host::system::device::{Device, Disks};
use iosched_result::report::{escape, units};
use iosched_result::types::arm::{Arm, ensure_of_the_disk};
use iosched_result::types::queue::{Applied, State};

use crate::cli::Set;

pub fn run(arguments: &Set) -> Result<()> {
    let arm: Arm = arguments.arm.parse()?;
    ensure_of_the_disk(&arm)?;
    let (disks, mut notes) = Disks::resolve(std::slice::from_ref(&arguments.device))?;
    disks.ensure_have_nodes()?;
    if disks.members.len() > 1 {
        let names: Vec<&str> = disks.members.iter().map(|it| &*it.name).collect();
        notes.push(format!("{} are switched together", names.join(", ")));
    }
    notes.extend(arm.notes.clone());
    // The user asks for exactly this switch, so a mounted file system does not prevent it.
    let intent = Intent {
        arms: std::slice::from_ref(&arm),
        writes_raw_device: false,
        allow_mounted: true,
        loss: Loss::Refused,
    };
    preflight::check_all(&disks, &intent)?.into_result()?;
    // Refused while a comparison runs on a device.
    let locks = disks.members.iter().map(preflight::lock);
    let _locks = locks.collect::<Result<Vec<_>>>()?;
    let before = disks.members.iter().map(scheduler::read);
    let before = before.collect::<Result<Vec<_>>>()?;
    let applied = apply(&disks.members, &arm)?;
    for ((device, before), applied) in disks.members.iter().zip(&before).zip(&applied) {
        notes.extend(applied.notes.clone());
        print(device, before, applied, &std::mem::take(&mut notes)).with_context(|| {
            format!("{} was switched, but the report of it failed", device.name)
        })?;
    }
    Ok(())
}

/// Applies everything or nothing: what has been changed is undone after an error, or by the guardian if this process is
/// killed halfway.
fn apply(devices: &[Device], arm: &Arm) -> Result<Vec<Applied>> {
    let saved = devices
        .iter()
        .map(|device| SavedQueue::take(device, std::slice::from_ref(arm)));
    let saved = saved.collect::<Result<Vec<_>>>()?;
    let journal = Journal::create()?;
    let launcher = std::env::current_exe().context("finding this program's own path")?;
    let guardian = guardian::start(&launcher, &journal)?;
    for (device, before) in devices.iter().zip(&saved) {
        ensure_restorable(&journal, device, before)?;
    }
    let (mut entries, mut all) = (Vec::new(), Vec::new());
    for (device, before) in devices.iter().zip(saved) {
        entries.push(journal.record(Undo::Queue(before))?);
        match scheduler::apply(device, arm) {
            Ok(applied) => all.push(applied),
            Err(error) => return Err(undone(entries, error)),
        }
    }
    for entry in entries {
        entry.keep()?;
    }
    if let Some(last) = all.last_mut() {
        last.notes.extend(guardian.take_notes());
    }
    Ok(all)
}

/// The cause first, then what could not be undone.
fn undone(entries: Vec<Entry>, cause: anyhow::Error) -> anyhow::Error {
    match journal::undo_all(entries) {
        Ok(()) => cause,
        Err(error) => cause.context(format!("{error:#}; after")),
    }
}

fn print(device: &Device, before: &State, applied: &Applied, notes: &[String]) -> Result<()> {
    let after = &applied.effective;
    let mut out = stdout::lines();
    if before.active == after.active {
        writeln!(out, "{}: {}, as before", device.name, after.active)?;
    } else {
        writeln!(
            out,
            "{}: {} -> {}",
            device.name, before.active, after.active
        )?;
    }
    if let Some(ns) = applied.switch_ns {
        writeln!(
            out,
            "  the queue was frozen for {}",
            units::time(Some(ns as f64))
        )?;
    }
    for line in lines(before, after, notes) {
        writeln!(out, "  {}", escape::line(&line))?;
    }
    Ok(())
}

/// What changed, and what is to say beside that.
fn lines(before: &State, after: &State, notes: &[String]) -> Vec<String> {
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
    // A setting that changed with the scheduler has its line.
    let is_said = |note: &str| {
        let (attribute, values) = note.split_once(" changed with it: ")?;
        Some(lines.contains(&format!("{attribute}: {values}")))
    };
    let notes = notes.iter().filter(|note| is_said(note) != Some(true));
    let notes: Vec<String> = notes.map(|note| format!("note: {note}")).collect();
    lines.extend(notes);
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_said_twice() {
        let state = |settings: &[(&str, &str)]| State {
            active: "bfq".to_owned(),
            available: Vec::new(),
            settings: settings
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
            hardware_depth: None,
        };
        let before = state(&[("wbt_lat_usec", "2000"), ("nr_requests", "64")]);
        let after = state(&[("wbt_lat_usec", "0"), ("nr_requests", "64")]);
        let notes = [
            "wbt_lat_usec changed with it: 2000 -> 0".to_owned(),
            "the hardware depth changed with it: 64 -> 32; a switch of the scheduler does not undo this".to_owned(),
            "something else".to_owned(),
        ];
        assert_eq!(
            lines(&before, &after, &notes),
            [
                "wbt_lat_usec: 2000 -> 0",
                "note: the hardware depth changed with it: 64 -> 32; a switch of the scheduler does not undo this",
                "note: something else",
            ]
        );
    }
}
