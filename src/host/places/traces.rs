//! What can be seen of what a command does: the settings of the disks, the kernel's modules, the settings of the system that
//! arms may make, and what /sys/kernel says in words. That is not all that it may do.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::Result;

use super::system;
use crate::scheduler;
use crate::system::device::Device;
use iosched_result::types::arm::system_setting;

const KERNEL: &str = "/sys/kernel";
/// They are large, change all the time, or say nothing of settings.
const LEFT_OUT: [&str; 10] = [
    "btf",
    "config",
    "debug",
    "iommu_groups",
    "irq",
    "notes",
    "security",
    "slab",
    "tracing",
    "vmcoreinfo",
];
const MOST_CHARS: usize = 100;

/// By what it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Traces(BTreeMap<String, String>);

impl Traces {
    pub fn take(disks: &[Device]) -> Result<Traces> {
        let mut seen = BTreeMap::new();
        for disk in disks {
            let state = scheduler::read(disk)?;
            let name = &disk.name;
            seen.insert(format!("{name} scheduler"), state.active);
            let settings = state.settings.into_iter();
            seen.extend(settings.map(|(setting, value)| (format!("{name} {setting}"), value)));
        }
        for module in names(Path::new("/sys/module")) {
            seen.insert(format!("module {module}"), "loaded".to_owned());
        }
        for setting in system_setting::ALL {
            if let Ok(value) = system::read(setting.name) {
                seen.insert(setting.name.to_owned(), value);
            }
        }
        for directory in names(Path::new(KERNEL)) {
            if !LEFT_OUT.contains(&directory.as_str()) {
                words_in(&Path::new(KERNEL).join(directory), &mut seen);
            }
        }
        Ok(Traces(seen))
    }

    /// All but the settings of these disks.
    #[must_use]
    pub fn of_no_disk(mut self, disks: &[Device]) -> Traces {
        let is_of = |name: &str, disk: &Device| {
            name.strip_prefix(&*disk.name)
                .is_some_and(|rest| rest.starts_with(' '))
        };
        self.0
            .retain(|name, _| !disks.iter().any(|disk| is_of(name, disk)));
        self
    }

    /// Each difference in words.
    pub fn since(&self, before: &Traces) -> Vec<String> {
        let mut all: Vec<&String> = before.0.keys().chain(self.0.keys()).collect();
        all.sort();
        all.dedup();
        let differs = |name: &&String| {
            let (was, is) = (before.0.get(*name), self.0.get(*name));
            let shown =
                |value: Option<&String>| value.map_or_else(|| "none".to_owned(), Clone::clone);
            (was != is).then(|| format!("{name}: {} -> {}", shown(was), shown(is)))
        };
        all.iter().filter_map(differs).collect()
    }
}

fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect()
}

/// Numbers there are counts, which grow by themselves.
fn words_in(directory: &Path, seen: &mut BTreeMap<String, String>) {
    for name in names(directory) {
        let path = directory.join(&name);
        if !path.is_file() {
            if path.is_dir() {
                seen.insert(path.display().to_string(), "there".to_owned());
            }
            continue;
        }
        let text = fs::read_to_string(&path).unwrap_or_default();
        let text: String = text.trim().chars().take(MOST_CHARS).collect();
        if !text.is_empty() && text.parse::<f64>().is_err() {
            seen.insert(path.display().to_string(), text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_told_and_a_machine_at_rest_has_none() {
        let traces = |pairs: &[(&str, &str)]| {
            let pairs = pairs
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
            Traces(pairs.collect())
        };
        let before = traces(&[("a", "1"), ("b", "2")]);
        let after = traces(&[("b", "3"), ("module x", "loaded")]);
        assert_eq!(
            after.since(&before),
            ["a: 1 -> none", "b: 2 -> 3", "module x: none -> loaded"]
        );
        let now = Traces::take(&[]).unwrap();
        assert!(now.0.len() > 10);
        assert_eq!(Traces::take(&[]).unwrap().since(&now), [""; 0]);
    }
}
