//! `iosched-ab report` and `iosched-ab workloads`.

mod trace; // the formats that show single requests

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anstream::{AutoStream, ColorChoice};
use anyhow::{Context, Result};
use iosched_experiment::workload::catalogue;
use iosched_files::{input, interrupt, output, stdout};
use iosched_result::failure::Failure;
use iosched_result::gate::redrawn;
use iosched_result::read::{self, Unreadable, schema2};
use iosched_result::report::characters::{Form, has_utf8};
use iosched_result::report::{
    benchfmt, bmf, csv, escape, gate, github_benchmark, html, junit, ktap, markdown, openmetrics,
    paint, study as report_study, text,
};
use iosched_result::study::result::StudyResult;
use iosched_result::types::result::{ResultFile, SCHEMA_VERSION};

use crate::cli::{Format, ReportArguments};
use crate::study;
use crate::talk::note;

/// The name of standard input, and of standard output.
pub const STDIO: &str = "-";

pub fn run(arguments: &ReportArguments) -> Result<()> {
    if let Some(study) = study::result_in(&arguments.file)? {
        return of_study(&study, arguments);
    }
    let result = read(&arguments.file)?;
    for contradiction in gate::contradictions(&result, &redrawn(&result, 1)) {
        note(&contradiction);
    }
    let text = match arguments.format {
        Format::Text => text::render(&result, arguments.all, (!arguments.no_plot).then(pictures)),
        Format::Html => html::render(&result),
        Format::Json => json(&result)?,
        Format::Markdown => markdown::render(&result),
        Format::GithubBenchmark => return two_files(&[&result], arguments),
        Format::Perfetto | Format::Blkparse => return trace::deliver(&result, arguments),
        format => rendered(&[&result], format),
    };
    deliver(&text, arguments)
}

fn of_study(study: &StudyResult, arguments: &ReportArguments) -> Result<()> {
    let results = study.results();
    let text = match arguments.format {
        Format::Text => report_study::render(study),
        Format::Html => html::render_study(study),
        Format::Json => json(study)?,
        Format::Markdown => report_study::markdown(study),
        Format::GithubBenchmark => return two_files(&results, arguments),
        Format::Perfetto | Format::Blkparse => return Err(trace::none(arguments)),
        format => rendered(&results, format),
    };
    deliver(&text, arguments)
}

fn json(result: &impl serde::Serialize) -> Result<String> {
    let json = serde_json::to_string_pretty(result).context("writing JSON")?;
    Ok(escape::json(&json) + "\n")
}

/// Formats that are the same for one result and for several.
fn rendered(results: &[&ResultFile], format: Format) -> String {
    match format {
        Format::Csv => csv::render(results),
        Format::Junit => junit::render(results),
        Format::Ktap => ktap::render(results),
        Format::Benchfmt => benchfmt::render(results),
        Format::Bmf => bmf::render(results),
        Format::Openmetrics => openmetrics::render(results),
        Format::Text
        | Format::Html
        | Format::Json
        | Format::Markdown
        | Format::GithubBenchmark
        | Format::Perfetto
        | Format::Blkparse => String::new(),
    }
}

fn deliver(text: &str, arguments: &ReportArguments) -> Result<()> {
    match (file_to_write(arguments.output.as_deref()), arguments.format) {
        (Some(path), _) => write(path, text.as_bytes(), arguments),
        (None, Format::Text) => print_painted(text),
        (None, _) => print(text),
    }
}

/// None: standard output, also as `-`.
pub fn file_to_write(wanted: Option<&Path>) -> Option<&Path> {
    wanted.filter(|path| *path != Path::new(STDIO))
}

fn write(path: &Path, bytes: &[u8], arguments: &ReportArguments) -> Result<()> {
    ensure_may_write(path, arguments.force, [&arguments.file])?;
    output::write_whole(path, bytes)
}

pub fn print(text: &str) -> Result<()> {
    stdout::write_all(text.as_bytes()).context("writing the report")
}

/// Text that names from outside may be in.
pub fn print_page(text: &str) -> Result<()> {
    print(&escape::page(text))
}

/// In colours where they are wanted.
pub fn print_painted(text: &str) -> Result<()> {
    let painted = paint::report(text);
    let is_plain = AutoStream::choice(&std::io::stdout()) == ColorChoice::Never;
    let text = if is_plain {
        anstream::adapter::strip_str(&painted).to_string()
    } else {
        painted
    };
    print(&text)
}

/// Pictures for where standard output goes: as wide as the terminal, and without special characters where the locale has
/// none.
pub fn pictures() -> Form {
    const WIDTH: usize = 100;
    let size = rustix::termios::tcgetwinsize(std::io::stdout());
    let columns = size.map_or(0, |size| usize::from(size.ws_col));
    Form {
        width: if columns > 0 { columns } else { WIDTH },
        is_ascii: !has_utf8(|name| std::env::var(name).ok()),
    }
}

/// Prints the path of the result, and the command that makes a page with pictures of it.
pub fn say_where(path: &Path) -> Result<()> {
    let file = path.display().to_string();
    let quoted = shlex::try_quote(&file).unwrap_or_default();
    print_page(&format!(
        "Result file: {file}\nWith pictures: iosched-ab report {quoted} --format html -o report.html\n"
    ))
}

/// An input is not replaced by what was made from it, whatever the user allows.
pub fn ensure_may_write<'a>(
    path: &Path,
    force: bool,
    inputs: impl IntoIterator<Item = &'a PathBuf>,
) -> Result<()> {
    output::ensure_may_write(path, force, "")?;
    let same = |input: &PathBuf| fs::canonicalize(path).ok() == fs::canonicalize(input).ok();
    if path.exists() && inputs.into_iter().any(same) {
        return Err(Failure::refused(
            format!("{} is the input of this report", path.display()),
            "name another file",
        ));
    }
    Ok(())
}

fn two_files(results: &[&ResultFile], arguments: &ReportArguments) -> Result<()> {
    let stem = arguments.output.as_ref().ok_or_else(|| {
        Failure::usage(
            "github-benchmark needs two output files, one for each direction",
            "give -o NAME, which writes NAME-smaller.json and NAME-bigger.json",
        )
    })?;
    let path = |end: &str| PathBuf::from(format!("{}-{end}.json", stem.display()));
    let files = github_benchmark::render(results);
    write(&path("smaller"), files.smaller.as_bytes(), arguments)?;
    write(&path("bigger"), files.bigger.as_bytes(), arguments)
}

/// Reads a result file; `-` is standard input.
pub fn read(file: &Path) -> Result<ResultFile> {
    if file == Path::new(STDIO) {
        let name = "standard input";
        let bytes = input::read_stdin(input::RESULT_LIMIT);
        return parse(&bytes.map_err(|error| unreadable(name, &error))?, name);
    }
    read_with_doubt(file).map(|(result, _)| result)
}

/// The same, and the reason why another user could have written the file, if there is one.
pub fn read_with_doubt(file: &Path) -> Result<(ResultFile, Option<String>)> {
    let path = file.display();
    let (bytes, doubt) = input::read_with_doubt(file, input::RESULT_LIMIT)
        .map_err(|error| unreadable(&path.to_string(), &error))?;
    Ok((parse(&bytes, &path.to_string())?, doubt))
}

fn unreadable(name: &str, error: &std::io::Error) -> anyhow::Error {
    match interrupt::received() {
        Some(signal) => Failure::interrupted(signal),
        None => Failure::usage(
            format!("cannot read {name}: {error}"),
            "name a result file of iosched-ab",
        ),
    }
}

fn parse(bytes: &[u8], path: &str) -> Result<ResultFile> {
    if bytes.is_empty() {
        return Err(Failure::usage(
            format!("{path} is empty, or a pipe to which nobody writes"),
            "name a file that `iosched-ab run` wrote",
        ));
    }
    read::parse(bytes).map_err(|why| match why {
        Unreadable::Json(error) => Failure::usage(
            format!("{path} is not a result of iosched-ab: {error}"),
            "name a file that `iosched-ab run` wrote",
        ),
        Unreadable::Version(version) => Failure::usage(
            format!(
                "{path} has {}, but this iosched-ab reads {} and {SCHEMA_VERSION}",
                match version {
                    Some(version) => format!("schema version {version}"),
                    None => "no schema version".to_owned(),
                },
                schema2::VERSION
            ),
            "use the iosched-ab that wrote it",
        ),
        Unreadable::Inconsistent(what) => Failure::usage(
            format!("{path} is inconsistent: {what}"),
            "use the file exactly as `iosched-ab run` wrote it",
        ),
    })
}

pub fn workloads() -> Result<()> {
    let mut out = stdout::lines();
    for entry in catalogue::list() {
        writeln!(out, "{:14} {}", entry.name, entry.description)?;
    }
    writeln!(
        out,
        "\nWorkloads that write run on a scratch file on a mounted disk (DEVICE is a mount point, or --scratch DIR), on\n\
         a simulated disk (scratch:ssd), or on a raw disk, whose data is then lost (--destroy-data)."
    )?;
    Ok(())
}
