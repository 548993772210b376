//! Directories for the output of workloads: recorded in the journal before they are created, so that not even SIGKILL
//! leaves one behind.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use super::{Entry, Journal, Undo};
use iosched_files::output::{ensure_names_stay, gone_is_fine, new_private_directory};

/// Prefix of all our directories; no other directory is ever removed with its contents.
const PREFIX: &str = "iosched-";

/// An empty directory that only its owner can enter. Dropping it removes it with its contents.
pub struct TemporaryFiles {
    path: PathBuf,
    _entry: Entry,
}

impl TemporaryFiles {
    /// Creates `iosched-PURPOSE-PID-...` in the directory for temporary files.
    pub fn create(journal: &Journal, purpose: &str) -> Result<Self> {
        let parent = std::env::temp_dir();
        ensure!(
            !parent.as_os_str().is_empty(),
            "TMPDIR is set to nothing: unset it, or name a directory"
        );
        ensure_names_stay(&parent)?;
        Self::create_in(journal, &parent, purpose)
    }

    /// The same in `parent`.
    pub fn create_in(journal: &Journal, parent: &Path, purpose: &str) -> Result<Self> {
        // The name is unpredictable, so that no other user can create it beforehand.
        let mut chance = [0; 8];
        File::open("/dev/urandom")
            .and_then(|mut source| source.read_exact(&mut chance))
            .context("reading /dev/urandom")?;
        let chance = u64::from_ne_bytes(chance);
        let name = format!("{PREFIX}{purpose}-{}-{chance:016x}", std::process::id());
        let path = std::path::absolute(parent.join(name))?;
        let entry = journal.record(Undo::Files { path: path.clone() })?;
        new_private_directory(&path).with_context(|| format!("creating {}", path.display()))?;
        Ok(TemporaryFiles {
            path,
            _entry: entry,
        })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Removes one of our directories with its contents, without following links.
pub(super) fn remove(path: &Path) -> Result<()> {
    let name = path.file_name().and_then(OsStr::to_str);
    ensure!(
        name.is_some_and(|name| name.starts_with(PREFIX)),
        "{} is not a directory of iosched",
        path.display()
    );
    let found = match fs::symlink_metadata(path) {
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(()),
        other => other.with_context(|| format!("reading the metadata of {}", path.display()))?,
    };
    let me = rustix::process::geteuid().as_raw();
    ensure!(
        found.is_dir() && found.uid() == me,
        "{} is not the directory that iosched created there",
        path.display()
    );
    gone_is_fine(fs::remove_dir_all(path), path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_directories_of_ours_are_removed() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        fs::create_dir_all(at("iosched-round-1/below")).unwrap();
        fs::write(at("iosched-round-1/below/file"), "x").unwrap();
        fs::create_dir(at("other")).unwrap();
        std::os::unix::fs::symlink(at("other"), at("iosched-link")).unwrap();
        fs::write(at("iosched-file"), "x").unwrap();
        remove(&at("iosched-round-1")).unwrap();
        remove(&at("iosched-round-1")).expect("gone already");
        for name in ["other", "iosched-link", "iosched-file"] {
            let error = remove(&at(name)).unwrap_err().to_string();
            assert!(error.contains(name), "{error}");
        }
        assert!(at("other").is_dir() && at("iosched-file").is_file());
    }
}
