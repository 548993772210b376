//! The names of control groups: the kernel counts by id, people know paths.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::device::mounts;
use crate::workload::cgroup_mounts::Mounts;

/// The hierarchy that bios are charged to: v1's blkio where it is mounted (hybrid hosts), else the unified one.
/// Ids are unique only within one.
fn root() -> Option<PathBuf> {
    let mounts = Mounts::among(&mounts::read().ok()?);
    mounts.blkio.or(mounts.unified)
}

/// Paths by id, looked up when an unknown id turns up, and weights, which are read once until they are forgotten.
#[derive(Default)]
pub struct Names {
    /// Once it was found.
    root: Option<PathBuf>,
    paths: HashMap<u64, Option<String>>,
    weights: HashMap<u64, f64>,
}

impl Names {
    /// The path below its hierarchy's root, `/` for the root itself; `None` for a group that is gone.
    pub fn path(&mut self, id: u64) -> Option<String> {
        if !self.paths.contains_key(&id) {
            if let Some(root) = self.root() {
                self.walk(&root, &root);
            }
            self.paths.entry(id).or_insert(None);
        }
        self.paths[&id].clone()
    }

    /// Its share of a device against its siblings', 100 where nothing is set: bfq's weight if there is one, else
    /// io.weight. A group's weight is taken alone, without those above it.
    pub fn weight(&mut self, id: u64) -> f64 {
        if let Some(&weight) = self.weights.get(&id) {
            return weight;
        }
        let weight = self.read_weight(id).unwrap_or(100.0);
        self.weights.insert(id, weight);
        weight
    }

    /// They change: whoever shows them again reads them again.
    pub fn forget_weights(&mut self) {
        self.weights.clear();
    }

    fn read_weight(&mut self, id: u64) -> Option<f64> {
        let (root, path) = (self.root()?, self.path(id)?);
        let directory = root.join(path.trim_start_matches('/'));
        ["io.bfq.weight", "blkio.bfq.weight", "io.weight"]
            .into_iter()
            .filter_map(|name| fs::read_to_string(directory.join(name)).ok())
            .find_map(|text| default_weight(&text))
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

/// Of the lines `default 100` and `8:0 200`, or of a lone number.
pub(crate) fn default_weight(text: &str) -> Option<f64> {
    let line = text.lines().next()?;
    let number = line.strip_prefix("default ").unwrap_or(line).trim();
    // Whole numbers from 1 on; "nan" is a number only for Rust.
    let weight = number.parse::<u32>().ok().filter(|weight| *weight > 0)?;
    Some(f64::from(weight))
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
        assert!(is(names.weight(id), 250.0));
        write("default 50\n");
        assert!(is(names.weight(id), 250.0));
        names.forget_weights();
        assert!(is(names.weight(id), 50.0));
        assert!(is(names.weight(u64::MAX), 100.0), "a group that is gone");
    }

    #[test]
    fn weights_are_read_as_the_kernel_writes_them() {
        assert_eq!(default_weight("default 250\n8:0 100\n"), Some(250.0));
        assert_eq!(default_weight("100\n"), Some(100.0));
        for text in ["", "default 0", "nan", "-1", "8:0 100"] {
            assert_eq!(default_weight(text), None, "{text}");
        }
    }
}
