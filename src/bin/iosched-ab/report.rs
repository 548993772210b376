//! `iosched-ab report` and `iosched-ab workloads`.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use iosched::failure::Failure;
use iosched::input;
use iosched::journal;
use iosched::report::read::{self, Unreadable};
use iosched::report::result::{ResultFile, SCHEMA_VERSION};
use iosched::report::{
    benchfmt, bmf, csv, escape, github_benchmark, junit, ktap, markdown, openmetrics, text,
};
use iosched::workload::catalogue;

use crate::cli::{Format, Report};

pub fn run(arguments: &Report) -> Result<()> {
    let result = read(&arguments.file)?;
    let text = match arguments.format {
        Format::Text => text::render(&result, arguments.all),
        Format::Json => {
            escape::json(&serde_json::to_string_pretty(&result).context("writing JSON")?) + "\n"
        }
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
    let bytes = input::read(file, input::RESULT_LIMIT).map_err(|error| {
        Failure::usage(
            format!("cannot read {path}: {error}"),
            "name a result file of iosched-ab",
        )
    })?;
    read::parse(&bytes).map_err(|why| match why {
        Unreadable::Json(error) => Failure::usage(
            format!("{path} is not a result of iosched-ab: {error}"),
            "name a file that `iosched-ab run` wrote",
        ),
        Unreadable::Version(version) => Failure::usage(
            format!(
                "{path} has schema version {version:?}, this iosched-ab reads {SCHEMA_VERSION}"
            ),
            "take the iosched-ab that wrote it",
        ),
        Unreadable::Inconsistent(what) => Failure::usage(
            format!("{path} contradicts itself: {what}"),
            "take the file as `iosched-ab run` wrote it",
        ),
    })
}

pub fn workloads() -> Result<()> {
    let mut out = std::io::stdout().lock();
    for entry in catalogue::list() {
        writeln!(out, "{:14} {}", entry.name, entry.description)?;
    }
    writeln!(
        out,
        "\nThose that write run in a file of their own on a mounted disk (a mount point as DEVICE, or --scratch DIR), on\n\
         scratch:ssd, or on a raw disk whose data may be lost (--destroy-data)."
    )?;
    Ok(())
}
