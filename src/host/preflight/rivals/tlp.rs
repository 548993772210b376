//! TLP sets the schedulers of `DISK_DEVICES` to those of `DISK_IOSCHED`: at boot, at resume, and whenever the source of
//! power changes.

use std::fs;

use super::tree::Tree;
use super::{Agent, Rival};
use crate::system::device::Device;

const DEVICES: &str = "DISK_DEVICES";
const SCHEDULERS: &str = "DISK_IOSCHED";
const USUAL_DEVICES: &str = "nvme0n1 sda";
/// Values with which TLP leaves a scheduler as it is.
const KEPT: [&str; 2] = ["keep", "_"];

/// A setting, and where it stands.
#[derive(Default)]
struct Setting {
    value: String,
    file: String,
    line: usize,
    text: String,
}

pub fn find(tree: &Tree<'_>, disks: &[Device]) -> Vec<Rival> {
    // The last file that sets something counts.
    let mut files = vec![
        tree.path("usr/share/tlp/defaults.conf"),
        tree.path("etc/default/tlp"),
    ];
    files.extend(tree.layered(&["etc/tlp.d"], ".conf"));
    files.push(tree.path("etc/tlp.conf"));
    let (mut devices, mut schedulers, mut enabled) =
        (Setting::default(), Setting::default(), Setting::default());
    USUAL_DEVICES.clone_into(&mut devices.value);
    for file in files {
        let text = tree.read(&file).unwrap_or_default();
        for (index, line) in text.lines().enumerate() {
            let Some((key, value)) = line.trim().split_once('=') else {
                continue;
            };
            let (key, is_added) = key
                .strip_suffix('+')
                .map_or((key, false), |key| (key, true));
            let setting = match key {
                DEVICES => &mut devices,
                SCHEDULERS => &mut schedulers,
                "TLP_ENABLE" => &mut enabled,
                _ => continue,
            };
            let value = value.trim().trim_matches(['"', '\'']);
            let before = std::mem::take(&mut setting.value);
            *setting = Setting {
                value: if is_added {
                    format!("{before} {value}")
                } else {
                    value.to_owned()
                },
                file: Tree::shown(&file),
                line: index + 1,
                text: line.trim().to_owned(),
            };
        }
    }
    if enabled.value == "0" {
        return Vec::new();
    }
    let wanted: Vec<&str> = schedulers.value.split_whitespace().collect();
    let mut found = Vec::new();
    for (index, name) in devices.value.split_whitespace().enumerate() {
        let Some(disk) = disks.iter().find(|disk| is(tree, name, disk)) else {
            continue;
        };
        // Where a list is too short, TLP's versions differ.
        let Some(value) = wanted
            .get(index)
            .or(wanted.last())
            .filter(|value| !KEPT.contains(value))
        else {
            continue;
        };
        found.push(Rival {
            agent: Agent::Tlp,
            file: schedulers.file.clone(),
            line: schedulers.line,
            text: schedulers.text.clone(),
            value: Some((*value).to_owned()),
            disk: disk.name.clone(),
            is_certain: index < wanted.len(),
            rule: None,
        });
    }
    found
}

/// By its kernel name or its name in `/dev/disk/by-id`.
fn is(tree: &Tree<'_>, name: &str, disk: &Device) -> bool {
    let link = || fs::read_link(tree.path("dev/disk/by-id").join(name)).ok();
    name == disk.name || link().is_some_and(|target| target.ends_with(&disk.name))
}
