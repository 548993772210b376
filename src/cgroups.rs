//! The names of control groups: the kernel counts by id, people know paths.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The hierarchies that bios are charged to: the unified one, and v1's blkio on hybrid hosts.
fn roots() -> Vec<PathBuf> {
    let mountinfo = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    mountinfo
        .lines()
        .filter_map(|line| {
            let (before, after) = line.split_once(" - ")?;
            let mut after = after.split(' ');
            let is_charged = match after.next()? {
                "cgroup2" => true,
                "cgroup" => after.nth(1)?.split(',').any(|option| option == "blkio"),
                _ => false,
            };
            is_charged.then(|| PathBuf::from(before.split(' ').nth(4).unwrap_or_default()))
        })
        .collect()
}

/// Paths by id, looked up when an unknown id turns up.
#[derive(Default)]
pub struct Names {
    paths: HashMap<u64, Option<String>>,
}

impl Names {
    /// The path below its hierarchy's root, `/` for the root itself; `None` for a group that is gone.
    pub fn path(&mut self, id: u64) -> Option<String> {
        if !self.paths.contains_key(&id) {
            for root in roots() {
                self.walk(&root, &root);
            }
            self.paths.entry(id).or_insert(None);
        }
        self.paths[&id].clone()
    }

    fn walk(&mut self, root: &Path, directory: &Path) {
        if let Ok(metadata) = fs::metadata(directory) {
            let below = directory.strip_prefix(root).unwrap_or(directory);
            let path = format!("/{}", below.display());
            // Both hierarchies' roots have id 1; any of them is "/".
            self.paths.insert(metadata.ino(), Some(path));
        }
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                self.walk(root, &entry.path());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roots_have_a_name_and_unknown_ids_have_none() {
        let Some(root) = roots().into_iter().next() else {
            println!("skipped: no cgroup hierarchy is mounted here");
            return;
        };
        let id = fs::metadata(root).unwrap().ino();
        let mut names = Names::default();
        assert_eq!(names.path(id).as_deref(), Some("/"));
        assert_eq!(names.path(u64::MAX), None);
    }
}
