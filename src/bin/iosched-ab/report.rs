//! `iosched-ab report` and `iosched-ab workloads`.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use iosched::failure::Failure;
use iosched::input;
use iosched::interrupt;
use iosched::output;
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
        Format::GithubBenchmark => return two_files(&result, arguments),
        Format::Openmetrics => openmetrics::render(&result),
    };
    match &arguments.output {
        Some(path) => write(path, &text, arguments),
        None => std::io::stdout()
            .write_all(text.as_bytes())
            .context("writing the report"),
    }
}

fn write(path: &Path, text: &str, arguments: &Report) -> Result<()> {
    output::ensure_may_write(path, arguments.force, "")?;
    let is_input = fs::canonicalize(path).ok() == fs::canonicalize(&arguments.file).ok();
    if path.exists() && is_input {
        return Err(Failure::refused(
            format!("{} is the result that is read", path.display()),
            "name another file",
        ));
    }
    output::write_whole(path, text.as_bytes())
}

fn two_files(result: &ResultFile, arguments: &Report) -> Result<()> {
    let stem = arguments.output.as_ref().ok_or_else(|| {
        Failure::usage(
            "github-benchmark is two files, one for each direction",
            "name them: -o NAME writes NAME-smaller.json and NAME-bigger.json",
        )
    })?;
    let path = |end: &str| PathBuf::from(format!("{}-{end}.json", stem.display()));
    let files = github_benchmark::render(result);
    write(&path("smaller"), &files.smaller, arguments)?;
    write(&path("bigger"), &files.bigger, arguments)
}

/// A result file of this version.
pub fn read(file: &Path) -> Result<ResultFile> {
    read_with_doubt(file).map(|(result, _)| result)
}

/// The same, and why somebody else could have written it, if so.
pub fn read_with_doubt(file: &Path) -> Result<(ResultFile, Option<String>)> {
    let path = file.display();
    let (bytes, doubt) = input::read_with_doubt(file, input::RESULT_LIMIT).map_err(|error| {
        if let Some(signal) = interrupt::received() {
            return Failure::interrupted(signal);
        }
        Failure::usage(
            format!("cannot read {path}: {error}"),
            "name a result file of iosched-ab",
        )
    })?;
    let result = read::parse(&bytes).map_err(|why| match why {
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
    })?;
    Ok((result, doubt))
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
