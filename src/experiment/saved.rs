//! The result file of an experiment that goes on: written before its first round, and again after each.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use iosched_files::output::{remove_unfinished, write_new, write_whole};
use serde::Serialize;

use crate::machine::Machine;

/// Does not overwrite a file that was created since the path was checked, unless it `replaces` one.
pub fn begin(output: Option<&PathBuf>, replaces: bool, result: &impl Serialize) -> Result<()> {
    let Some(path) = output else {
        return Ok(());
    };
    remove_unfinished(path)?;
    let bytes = to_json(result)?;
    if replaces {
        write_whole(path, &bytes)
    } else {
        write_new(path, &bytes)
    }
}

pub fn save(output: Option<&Path>, result: &impl Serialize) -> Result<()> {
    match output {
        None => Ok(()),
        Some(path) => write_whole(path, &to_json(result)?),
    }
}

/// The bytes of a result file.
pub fn to_json(result: &impl Serialize) -> Result<Vec<u8>> {
    let mut bytes = serde_json::to_vec(result).context("writing the result as JSON")?;
    bytes.push(b'\n');
    Ok(bytes)
}

/// RFC 3339.
pub fn now(machine: &dyn Machine) -> String {
    humantime::format_rfc3339_seconds(machine.time_of_day()).to_string()
}
