//! Enables a controller for our control groups, and disables it after the last of them.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result};

use super::PREFIX;
use iosched_files::flock;
use iosched_files::output::lock_file;

/// Disables `controller` after the last group with this mark.
pub(crate) fn put_back_controller(parent: &Path, controller: &str) -> Result<()> {
    let _lock = lock()?;
    let control = parent.join("cgroup.subtree_control");
    if marked_groups(parent, &format!("+{controller}"))? || !lists(&control, controller) {
        return Ok(());
    }
    write_control(&control, &format!("-{controller}"))
        .with_context(|| format!("disabling {controller} again in {}", control.display()))
}

/// Two iosched processes must not switch the same controller at once.
pub fn lock() -> Result<File> {
    const NAME: &str = "cgroup.lock";
    flock::exclusively(lock_file(NAME)?, NAME)
}

pub fn marked_groups(parent: &Path, mark: &str) -> Result<bool> {
    let names = fs::read_dir(parent).with_context(|| format!("reading {}", parent.display()))?;
    Ok(names.filter_map(Result::ok).any(|entry| {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        name.starts_with(PREFIX) && name.ends_with(mark)
    }))
}

pub fn lists(file: &Path, word: &str) -> bool {
    fs::read_to_string(file).is_ok_and(|text| text.split_whitespace().any(|other| other == word))
}

/// A control file must be written in one write and must not be created.
pub fn write_control(file: &Path, text: &str) -> std::io::Result<()> {
    fs::OpenOptions::new()
        .write(true)
        .open(file)?
        .write_all(text.as_bytes())
}
