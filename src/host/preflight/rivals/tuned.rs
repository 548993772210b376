//! TuneD's profiles: the active ones, then the one that is loaded after them, each with those that it includes. TuneD acts
//! as a service, after udev's rules.

mod loader; // what TuneD's own modules say
mod profiles; // our own reading

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::tree::Tree;
use super::{Agent, Rival, pattern, sysfs, texts};
use crate::system::device::Device;
pub use loader::ask;
use profiles::{Unit, Value, expanded};

const SCHEDULER: &str = "/queue/scheduler";
/// A section with one of these is for machines that match it, which only TuneD itself can tell.
const CONDITIONS: [&str; 2] = ["cpuinfo_regex", "uname_regex"];

/// Whether the file is of a profile in a place where TuneD looks.
pub fn is_looked_at(tree: &Tree<'_>, file: &Path) -> bool {
    let directory = file.parent().and_then(Path::parent);
    directory.is_some_and(|directory| {
        profiles::directories(tree)
            .iter()
            .any(|other| other == directory)
    })
}

/// The sections of a merged profile, and the variables that are left in them.
pub struct Profile {
    units: Vec<Unit>,
    variables: Unit,
}

impl Profile {
    pub fn read(tree: &Tree<'_>) -> Self {
        let (units, variables) = profiles::units(tree);
        Profile { units, variables }
    }

    pub fn rivals(&self, tree: &Tree<'_>, disks: &[Device]) -> Vec<Rival> {
        let mut found = Vec::new();
        for disk in disks {
            let mut is_free = Some(true);
            for unit in &self.units {
                let has_condition = CONDITIONS.iter().any(|key| unit.get(key).is_some());
                let mut is_for = Some(true);
                if unit.kind() == "disk" {
                    is_for = self.is_for(tree, unit, disk);
                }
                is_for = is_for.map(|is_certain| is_certain && !has_condition);
                if unit.kind() == "disk" {
                    is_for = take(&mut is_free, is_for);
                }
                let Some(is_certain) = is_for else {
                    continue;
                };
                let mut own = self.of_unit(tree, unit, disk);
                for rival in &mut own {
                    rival.is_certain &= is_certain;
                }
                found.extend(own);
            }
        }
        found
    }

    fn of_unit(&self, tree: &Tree<'_>, unit: &Unit, disk: &Device) -> Vec<Rival> {
        let rival = |value: &Value| Rival {
            agent: Agent::Tuned,
            file: Tree::shown(&value.file),
            line: value.line,
            text: value.whole.clone(),
            value: expanded(&value.text, &self.variables),
            disk: disk.name.clone(),
            is_certain: true,
            rule: None,
        };
        match unit.kind() {
            "disk" => unit
                .options
                .get("elevator")
                .map(rival)
                .into_iter()
                .collect(),
            "sysfs" => {
                let is_of_disk = |path: &str| {
                    let device = path.strip_suffix(SCHEDULER);
                    let device = device.and_then(|path| path.rsplit('/').next());
                    device.is_some_and(|wanted| pattern::matches(wanted, &disk.name))
                };
                let values = unit.options.iter().filter(|(path, _)| is_of_disk(path));
                values.map(|(_, value)| rival(value)).collect()
            }
            "script" => unit
                .options
                .get("script")
                .map(|value| self.of_scripts(tree, value, disk))
                .unwrap_or_default(),
            _ => Vec::new(),
        }
    }

    fn of_scripts(&self, tree: &Tree<'_>, value: &Value, disk: &Device) -> Vec<Rival> {
        let names = expanded(&value.text, &self.variables).unwrap_or_default();
        let starter = format!("{}:{}", value.file.display(), value.line);
        let mut found = Vec::new();
        for name in names.lines() {
            // Names in its own directory are paths of this tree already.
            let inside = tree.path("");
            let inside = Path::new(name)
                .strip_prefix(&inside)
                .map_or(name.to_owned(), |path| path.display().to_string());
            let disks = std::slice::from_ref(disk);
            let mut read = BTreeSet::new();
            found.extend(texts::started(tree, &inside, &starter, disks, &mut read));
        }
        for rival in &mut found {
            rival.agent = Agent::Tuned;
        }
        found
    }

    /// By what TuneD says, or else `devices`, or in its place `devices_udev_regex=^ID_MODEL=X$`. None: not for this disk;
    /// otherwise whether that is certain.
    fn is_for(&self, tree: &Tree<'_>, unit: &Unit, disk: &Device) -> Option<bool> {
        if let Some(disks) = &unit.disks {
            return disks.contains(&disk.name).then_some(true);
        }
        if !is_supported(tree, disk) {
            return None;
        }
        let Some(regex) = unit.get("devices_udev_regex") else {
            return is_named(unit, &self.variables, disk);
        };
        let number = format!("{}:{}", disk.major, disk.minor);
        match (simple(regex), sysfs::properties(tree, &number)) {
            (Some((key, value, is_whole)), Some(properties)) => {
                let own = properties.get(&key)?;
                (own == &value || !is_whole && own.starts_with(&value)).then_some(true)
            }
            _ => Some(false),
        }
    }
}

/// The first section of the type disk that matches a disk takes it. `is_free`: None once that has happened, Some(false) if it
/// perhaps has.
fn take(is_free: &mut Option<bool>, is_for: Option<bool>) -> Option<bool> {
    let (was_free, is_for) = ((*is_free)?, is_for?);
    *is_free = if is_for { None } else { Some(false) };
    Some(was_free && is_for)
}

/// The disks that TuneD's plugin takes.
fn is_supported(tree: &Tree<'_>, disk: &Device) -> bool {
    const ABOVE: [&str; 5] = ["scsi", "virtio", "xen", "nvme", "mmc"];
    let own = tree.path("sys/block").join(&disk.name);
    let removable = fs::read_to_string(own.join("removable"));
    let above = fs::read_link(own.join("device/subsystem"));
    removable.is_ok_and(|text| text.trim() == "0")
        && above.map_or(true, |link| ABOVE.iter().any(|name| link.ends_with(name)))
}

/// `sd*, !sda`
fn is_named(unit: &Unit, variables: &Unit, disk: &Device) -> Option<bool> {
    let Some(devices) = expanded(unit.get("devices").unwrap_or("*"), variables) else {
        return Some(false);
    };
    let names = || {
        devices
            .split([',', ' ', '\t'])
            .filter(|name| !name.is_empty())
    };
    let is_in = |name: &str| pattern::matches(name, &disk.name);
    if names().filter_map(|name| name.strip_prefix('!')).any(is_in) {
        return None;
    }
    let mut wanted = names().filter(|name| !name.starts_with('!')).peekable();
    (wanted.peek().is_none() || wanted.any(is_in)).then_some(true)
}

/// `^KEY=TEXT$`, as `iosched-ab persist` writes it; None: more than that. With whether the end counts.
fn simple(regex: &str) -> Option<(String, String, bool)> {
    let (key, rest) = regex.strip_prefix('^')?.split_once('=')?;
    let (rest, is_whole) = rest
        .strip_suffix('$')
        .map_or((rest, false), |rest| (rest, true));
    let mut value = String::new();
    let mut chars = rest.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => value.push(chars.next().filter(|c| !c.is_alphanumeric())?),
            c if ".*+?()[]{}|^$".contains(c) => return None,
            c => value.push(c),
        }
    }
    Some((key.to_owned(), value, is_whole))
}

#[cfg(test)]
#[path = "tuned/tests.rs"]
mod tests;
