//! The file system on a scratch device.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::unique_name;
use crate::safety::journal::{Entry, Journal, Undo};
use iosched_files::output::{RUNTIME_DIRECTORY, new_private_directory};
use iosched_result::failure::Failure;
use iosched_result::types::file_system::FileSystem;

/// Dropping it unmounts it.
pub struct Volume {
    point: PathBuf,
    _mount: Entry,
    /// None: the user's own directory.
    _directory: Option<Entry>,
}

impl Volume {
    /// Makes the file system on these new devices, and mounts it: at `wanted`, or at a directory that only root can
    /// enter.
    pub fn make(
        file_system: FileSystem,
        nodes: &[PathBuf],
        wanted: Option<&Path>,
        journal: &Journal,
    ) -> Result<Volume> {
        crate::system::file_system::make(file_system, nodes)?;
        let (point, directory) = if let Some(path) = wanted {
            (empty_directory(path)?, None)
        } else {
            let path = Path::new(RUNTIME_DIRECTORY).join(format!("{}-volume", unique_name()));
            let entry = journal.record(Undo::Directory { path: path.clone() })?;
            new_private_directory(&path).with_context(|| format!("creating {}", path.display()))?;
            (path, Some(entry))
        };
        let mount = journal.record(Undo::FileSystem {
            path: point.clone(),
            sources: nodes
                .iter()
                .map(|node| node.display().to_string())
                .collect(),
        })?;
        crate::system::file_system::mount(file_system, nodes, &point)?;
        Ok(Volume {
            point,
            _mount: mount,
            _directory: directory,
        })
    }

    pub fn mount_point(&self) -> &Path {
        &self.point
    }
}

/// The path as the kernel prints it. A mount would hide the files of a directory that is not empty.
fn empty_directory(path: &Path) -> Result<PathBuf> {
    let name = path.display();
    let hint = "name an existing, empty directory";
    let path =
        fs::canonicalize(path).map_err(|error| Failure::usage(format!("{name}: {error}"), hint))?;
    let mut entries =
        fs::read_dir(&path).map_err(|error| Failure::usage(format!("{name}: {error}"), hint))?;
    match entries.next() {
        None => Ok(path),
        Some(_) => Err(Failure::usage(format!("{name} is not empty"), hint)),
    }
}
