//! Writes the intervals that are held to a file.

use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use iosched_files::output;
use iosched_measure::history::buffer::Buffer;
use iosched_measure::history::file::{self, Disk, Head};

use super::place;
use super::state::model::Model;
use super::state::past;

/// `iosched-history-TIME.jsonl.gz`
pub fn write_held(model: &Model) -> Result<PathBuf> {
    ensure!(!model.kept.is_empty(), past::nothing_held(model));
    let path = place::file(&model.directory, "history", "jsonl.gz");
    output::make_directory_of(&path)?;
    let disks = model.devices.iter().map(|device| device.disk.clone());
    write(&path, disks.collect(), &model.notes, &model.kept)?;
    Ok(path)
}

pub fn write(path: &Path, disks: Vec<Disk>, notes: &[String], kept: &Buffer) -> Result<()> {
    let head = Head {
        history_version: file::SCHEMA_VERSION,
        written: place::time_of_day(),
        environment: iosched_host::system::environment::read(None),
        disks,
        notes: notes.to_vec(),
        dropped: kept.first(),
    };
    file::write(path, &head, kept)
}
