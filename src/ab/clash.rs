//! `persist`: what is on this machine already and sets the disks that the new rule is about. The rule may be for other
//! machines, so this is said and refuses nothing.

use std::collections::BTreeMap;
use std::path::Path;

use iosched_experiment::doctor::clash;
use iosched_host::preflight::rivals;
use iosched_host::system::device::Device;
use iosched_result::persist::{Decision, Disk, Together, Written};

pub fn notes(together: &Together, written: &Written) -> Vec<String> {
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
