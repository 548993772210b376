//! `iosched-ab report` and `iosched-ab workloads`.

use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result};
use iosched::failure::Failure;
use iosched::report::result::{ResultFile, SCHEMA_VERSION};
use iosched::report::text;
use iosched::workload::catalogue;

use crate::cli::{Format, Report};

pub fn run(arguments: &Report) -> Result<()> {
    let result = read(&arguments.file)?;
    let mut out = std::io::stdout().lock();
    match arguments.format {
        Format::Text => out.write_all(text::render(&result, arguments.all).as_bytes()),
        Format::Json => {
            serde_json::to_writer_pretty(&mut out, &result).map_err(std::io::Error::from)?;
            writeln!(out)
        }
    }
    .context("writing the report")
}

/// A result file of this version.
pub fn read(file: &Path) -> Result<ResultFile> {
    let path = file.display();
    let bytes = std::fs::read(file).map_err(|error| {
        Failure::usage(
            format!("cannot read {path}: {error}"),
            "name a result file of iosched-ab",
        )
    })?;
    let value: serde_json::Value =
        serde_json::from_slice(&bytes).map_err(|error| not_a_result(&path, &error))?;
    let version = value
        .get("schema_version")
        .and_then(serde_json::Value::as_u64);
    if version != Some(u64::from(SCHEMA_VERSION)) {
        return Err(Failure::usage(
            format!(
                "{path} has schema version {version:?}, this iosched-ab reads {SCHEMA_VERSION}"
            ),
            "take the iosched-ab that wrote it",
        ));
    }
    serde_json::from_value(value).map_err(|error| not_a_result(&path, &error))
}

fn not_a_result(path: &impl std::fmt::Display, error: &serde_json::Error) -> anyhow::Error {
    Failure::usage(
        format!("{path} is not a result of iosched-ab: {error}"),
        "name a file that `iosched-ab run` wrote",
    )
}

pub fn workloads() -> Result<()> {
    let mut out = std::io::stdout().lock();
    for entry in catalogue::list() {
        writeln!(out, "{:14} {}", entry.name, entry.description)?;
    }
    Ok(())
}
