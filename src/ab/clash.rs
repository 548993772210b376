//! `persist`: what is on this machine already and sets the disks that the new rule is about. The rule may be for other
//! machines, so this is said and refuses nothing.

use std::collections::BTreeMap;
use std::path::Path;

use iosched_experiment::doctor::clash;
use iosched_files::input;
use iosched_host::preflight::rivals;
use iosched_host::system::device::Device;
use iosched_result::persist::{Decision, Disk, Placed, Together, Written};

pub fn notes(together: &Together, written: &Written) -> Vec<String> {
    let replaced = replaced(written).into_iter();
    replaced.chain(others(together, written)).collect()
}

/// A file of this name that holds something else.
fn replaced(written: &Written) -> Option<String> {
    const LIMIT: u64 = 1 << 20;
    let Placed::Udev(file) = &written.placed else {
        return None;
    };
    let there = input::read_text(Path::new(file), LIMIT).ok()?;
    let lines = there.lines().map(str::trim);
    let mut rules = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    let loses = rules.any(|rule| !written.text.contains(rule));
    loses.then(|| {
        format!(
            "{file} is there already, with other rules: give this another name, or it replaces them"
        )
    })
}

fn others(together: &Together, written: &Written) -> Vec<String> {
    let devices = Device::all().unwrap_or_default();
    let mut here = Vec::new();
    let mut schedulers = BTreeMap::new();
    for device in devices {
        let mut about = together.decisions.iter();
        if let Some(decision) = about.find(|decision| is_about(decision, &device)) {
            schedulers.insert(device.name.clone(), decision.scheduler.clone());
            here.push(device);
        }
    }
    if here.is_empty() {
        return Vec::new();
    }
    match rivals::ask(Path::new("/"), &here) {
        Ok(survey) => clash::clashes(&survey.rivals, &written.placed, &schedulers),
        Err(error) => vec![format!(
            "what else sets these disks here is not known: {error:#}"
        )],
    }
}

fn is_about(decision: &Decision, device: &Device) -> bool {
    let serial = || {
        let properties = rivals::properties(Path::new("/"), device)?;
        properties.get("ID_SERIAL").cloned()
    };
    match &decision.disk {
        Disk::Model(model) => device.model().as_deref().map(str::trim_end) == Some(model),
        Disk::Serial(wanted) => serial().as_ref() == Some(wanted),
        Disk::Alike(alike) => {
            device.driver().as_ref() == Some(&alike.driver)
                && device.size_bytes().ok() == Some(alike.size_bytes)
                && device.rotational().ok() == Some(alike.is_rotational)
        }
        Disk::Unnamed(_) => decision.devices.contains(&device.name),
    }
}
