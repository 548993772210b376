//! The names of control groups: the kernel counts by id, people know paths.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::workload::cgroup_mounts::Mounts;

/// The hierarchy that bios are charged to: v1's blkio where it is mounted (hybrid hosts), else the unified one.
/// Ids are unique only within one.
fn root() -> Option<PathBuf> {
    let mounts = Mounts::parse(&fs::read_to_string("/proc/self/mountinfo").ok()?);
    mounts.blkio.or(mounts.unified)
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
            if let Some(root) = root() {
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
}
