//! `iosched-ab report` and `iosched-ab workloads`.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use iosched::ab::analysis;
use iosched::failure::Failure;
use iosched::journal;
use iosched::report::result::{ResultFile, SCHEMA_VERSION, Status};
use iosched::report::{
    benchfmt, bmf, csv, github_benchmark, junit, ktap, markdown, openmetrics, text,
};
use iosched::workload::catalogue;

use crate::cli::{Format, Report};

pub fn run(arguments: &Report) -> Result<()> {
    let result = read(&arguments.file)?;
    let text = match arguments.format {
        Format::Text => text::render(&result, arguments.all),
        Format::Json => serde_json::to_string_pretty(&result).context("writing JSON")? + "\n",
        Format::Csv => csv::render(&result),
        Format::Markdown => markdown::render(&result),
        Format::Junit => junit::render(&result),
        Format::Ktap => ktap::render(&result),
        Format::Benchfmt => benchfmt::render(&result),
        Format::Bmf => bmf::render(&result),
        Format::GithubBenchmark => return two_files(&result, arguments.output.as_deref()),
        Format::Openmetrics => openmetrics::render(&result),
    };
    match &arguments.output {
        Some(path) => journal::write_whole(path, text.as_bytes()),
        None => std::io::stdout()
            .write_all(text.as_bytes())
            .context("writing the report"),
    }
}

fn two_files(result: &ResultFile, output: Option<&Path>) -> Result<()> {
    let stem = output.ok_or_else(|| {
        Failure::usage(
            "github-benchmark is two files, one for each direction",
            "name them: -o NAME writes NAME-smaller.json and NAME-bigger.json",
        )
    })?;
    let path = |end: &str| PathBuf::from(format!("{}-{end}.json", stem.display()));
    let files = github_benchmark::render(result);
    journal::write_whole(&path("smaller"), files.smaller.as_bytes())?;
    journal::write_whole(&path("bigger"), files.bigger.as_bytes())
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
    let mut result: ResultFile =
        serde_json::from_value(value).map_err(|error| not_a_result(&path, &error))?;
    // Of a run that was killed nobody has drawn the conclusions.
    if result.status == Status::Running {
        analysis::conclude(&mut result);
    }
    Ok(result)
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
