//! `iosched set`.

use std::io::Write;

use anyhow::Result;
use iosched::arm::Arm;
use iosched::device::Device;
use iosched::preflight::{self, Intent};
use iosched::report::{escape, units};
use iosched::scheduler;

use crate::cli::Set;

pub fn run(arguments: &Set) -> Result<()> {
    let arm: Arm = arguments.arm.parse()?;
    let resolved = Device::resolve(&arguments.device)?;
    let device = resolved.device;
    let mut notes = resolved.notes;
    notes.extend(arm.notes.clone());
    // The user asks for this switch by name: a mounted file system does not stand against it.
    let intent = Intent {
        arms: std::slice::from_ref(&arm),
        writes_raw_device: false,
        allow_mounted: true,
        destroy_data: false,
    };
    preflight::check(&device, &intent)?.into_result()?;
    // Refused while a comparison is at work on the device.
    let _lock = preflight::lock(&device)?;
    let before = scheduler::read(&device)?;
    let applied = scheduler::apply(&device, &arm)?;
    let after = &applied.effective;

    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "{}: {} -> {}",
        device.name, before.active, after.active
    )?;
    if let Some(ns) = applied.switch_ns {
        writeln!(
            out,
            "  the queue stood still for {}",
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
    for attribute in before
        .settings
        .keys()
        .filter(|name| !after.settings.contains_key(*name))
    {
        lines.push(format!("{attribute}: gone"));
    }
    let notes = notes.iter().chain(&applied.notes);
    lines.extend(notes.map(|note| format!("note: {note}")));
    for line in lines {
        writeln!(out, "  {}", escape::line(&line))?;
    }
    Ok(())
}
