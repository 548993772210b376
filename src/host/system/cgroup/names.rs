//! Names of control groups: the kernel counts by id, people know paths.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::system::cgroup::mounts::Mounts;
use crate::system::device::mounts;

/// The hierarchy that bios are charged to: blkio of version 1 where it is mounted (hybrid hosts), otherwise the unified
/// one. Ids are unique only within one hierarchy.
fn root() -> Option<PathBuf> {
    let mounts = Mounts::among(&mounts::read().ok()?);
    mounts.blkio.or(mounts.unified)
}

/// Caches the paths by id, and the weights until they are forgotten.
#[derive(Default)]
pub struct Names {
    /// Set once the root has been found.
    root: Option<PathBuf>,
    paths: HashMap<u64, Option<String>>,
    /// The weights as the kernel prints them.
    weights: HashMap<u64, Option<String>>,
    /// Device numbers by name: `8:0`.
    numbers: HashMap<String, Option<String>>,
}

impl Names {
    /// The path relative to its hierarchy's root, `/` for the root itself; `None` for a group that is gone.
    pub fn path(&mut self, id: u64) -> Option<String> {
        if !self.paths.contains_key(&id) {
            if let Some(root) = self.root() {
                self.walk(&root, &root);
            }
            self.paths.entry(id).or_insert(None);
        }
        self.paths[&id].clone()
    }

    /// The group's weight relative to its siblings, 100 by default: bfq's weight if there is one, otherwise io.weight.
    /// The weights of its parents are ignored.
    pub fn weight(&mut self, id: u64, device: &str) -> f64 {
        if !self.weights.contains_key(&id) {
            let text = self.read_weight(id);
            self.weights.insert(id, text);
        }
        if !self.numbers.contains_key(device) {
            let number = fs::read_to_string(format!("/sys/class/block/{device}/dev")).ok();
            let number = number.map(|number| number.trim().to_owned());
            self.numbers.insert(device.to_owned(), number);
        }
        let text = self.weights[&id].as_deref();
        text.and_then(|text| weight_of(text, self.numbers[device].as_deref()))
            .unwrap_or(100.0)
    }

    /// Weights change: call this before showing them again.
    pub fn forget_weights(&mut self) {
        self.weights.clear();
        self.numbers.clear();
    }

    fn read_weight(&mut self, id: u64) -> Option<String> {
        let (root, path) = (self.root()?, self.path(id)?);
        let directory = root.join(path.trim_start_matches('/'));
        ["io.bfq.weight", "blkio.bfq.weight_device", "io.weight"]
            .into_iter()
            .filter_map(|name| fs::read_to_string(directory.join(name)).ok())
            .find(|text| weight_of(text, None).is_some())
    }

    fn root(&mut self) -> Option<PathBuf> {
        if self.root.is_none() {
            self.root = root();
        }
        self.root.clone()
    }

    fn walk(&mut self, root: &Path, directory: &Path) {
        if let Ok(metadata) = fs::metadata(directory) {
            let below = directory.strip_prefix(root).unwrap_or(directory);
            let path = format!("/{}", below.display());
            self.paths.insert(metadata.ino(), Some(path));
        }
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                self.walk(root, &entry.path());
            }
        }
    }
}

/// From the lines `default 100` and `8:0 200`, or from a single number: the device's weight, otherwise the default.
pub(crate) fn weight_of(text: &str, device_number: Option<&str>) -> Option<f64> {
    // Weights are integers from 1 up; parsing as a float would accept "nan".
    let weight = |number: &str| number.trim().parse::<u32>().ok().filter(|n| *n > 0);
    let own = text.lines().filter_map(|line| line.split_once(' '));
    let mut own = own.filter(|(number, _)| device_number == Some(number));
    if let Some(weight) = own.find_map(|(_, number)| weight(number)) {
        return Some(f64::from(weight));
    }
    let line = text.lines().next()?;
    weight(line.strip_prefix("default ").unwrap_or(line)).map(f64::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_has_a_name_and_unknown_ids_have_none() {
        let Some(root) = root() else {
            println!("skipped: no cgroup hierarchy is mounted here");
            return;
        };
        let id = fs::metadata(root).unwrap().ino();
        let mut names = Names::default();
        assert_eq!(names.path(id).as_deref(), Some("/"));
        assert_eq!(names.path(u64::MAX), None);
    }

    #[test]
    fn a_weight_is_read_once_until_it_is_forgotten() {
        let root = tempfile::tempdir().unwrap();
        let group = root.path().join("group");
        fs::create_dir(&group).unwrap();
        let id = fs::metadata(&group).unwrap().ino();
        let write = |text| fs::write(group.join("io.weight"), text).unwrap();
        let is = |a: f64, b: f64| (a - b).abs() < f64::EPSILON;
        let mut names = Names {
            root: Some(root.path().to_owned()),
            ..Names::default()
        };
        write("default 250\n");
        assert!(is(names.weight(id, "no-such-disk"), 250.0));
        write("default 50\n");
        assert!(is(names.weight(id, "no-such-disk"), 250.0));
        names.forget_weights();
        assert!(is(names.weight(id, "no-such-disk"), 50.0));
        assert!(
            is(names.weight(u64::MAX, "no-such-disk"), 100.0),
            "a group that is gone"
        );
    }

    #[test]
    fn weights_are_read_as_the_kernel_writes_them() {
        let text = "default 250\n8:0 100\n8:16 0\n";
        for (device, weight) in [("8:0", 100.0), ("8:16", 250.0), ("8:1", 250.0)] {
            assert_eq!(weight_of(text, Some(device)), Some(weight), "{device}");
        }
        assert_eq!(weight_of(text, None), Some(250.0));
        assert_eq!(weight_of("100\n", None), Some(100.0));
        for text in ["", "default 0", "nan", "-1", "8:0 100"] {
            assert_eq!(weight_of(text, None), None, "{text}");
        }
    }
}
