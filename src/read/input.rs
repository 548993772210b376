//! Results from files: of a run, of a study, or of a search.

use std::path::Path;

use anyhow::Result;
use iosched_files::{input, interrupt};
use iosched_result::failure::Failure;
use iosched_result::head::Head;
use iosched_result::merge::read::{self as merge_read, UnreadableMerge};
use iosched_result::merge::{Merged, SCHEMA_VERSION as MERGE_VERSION};
use iosched_result::read::{self, Unreadable, schema2};
use iosched_result::study::read::{self as study_read, UnreadableStudy};
use iosched_result::study::result::{SCHEMA_VERSION as STUDY_VERSION, StudyResult};
use iosched_result::study::schema1;
use iosched_result::tune::read::{self as tune_read, UnreadableTune};
use iosched_result::tune::{SCHEMA_VERSION as TUNE_VERSION, TuneResult};
use iosched_result::types::result::{ResultFile, SCHEMA_VERSION, Status};

/// The name of standard input, and of standard output.
pub const STDIO: &str = "-";

pub enum Input {
    Run(Box<ResultFile>),
    Study(Box<StudyResult>),
    Tune(Box<TuneResult>),
    Merged(Box<Merged>),
}

impl Input {
    /// The result that has the verdicts of a run, or of a search: its referee's.
    pub fn judged(self) -> Result<Judged> {
        match self {
            Input::Run(result) => Ok(Judged::Run(result)),
            Input::Study(study) => Ok(Judged::Study(study)),
            Input::Merged(merged) => Ok(Judged::Merged(merged)),
            Input::Tune(tune) => match tune.referee {
                Some(referee) if referee.status == Status::Complete => {
                    Ok(Judged::Run(Box::new(referee)))
                }
                _ => Err(Failure::invalid(
                    "the search has not ended its fresh rounds, and what it found so far claims nothing",
                    "go on with `iosched-ab tune --resume FILE`",
                )),
            },
        }
    }
}

/// What has verdicts.
pub enum Judged {
    Run(Box<ResultFile>),
    Study(Box<StudyResult>),
    Merged(Box<Merged>),
}

/// Reads a result; `-` is standard input.
pub fn open(file: &Path) -> Result<Input> {
    open_with_doubt(file).map(|(input, _)| input)
}

/// The same, and the reason why another user could have written the file, if there is one.
pub fn open_with_doubt(file: &Path) -> Result<(Input, Option<String>)> {
    let stored = bytes(file)?;
    Ok((from_bytes(&stored.bytes, &stored.name)?, stored.doubt))
}

/// A file as it is stored.
pub struct Stored {
    pub bytes: Vec<u8>,
    /// For messages.
    pub name: String,
    /// Why another user could have written it, if there is a reason.
    pub doubt: Option<String>,
}

/// Reads a file; `-` is standard input.
pub fn bytes(file: &Path) -> Result<Stored> {
    if file == Path::new(STDIO) {
        let name = "standard input".to_owned();
        let bytes = input::read_stdin(input::RESULT_LIMIT);
        let bytes = bytes.map_err(|error| unreadable(&name, &error))?;
        return Ok(Stored {
            bytes,
            name,
            doubt: None,
        });
    }
    let name = file.display().to_string();
    let read = input::read_with_doubt(file, input::RESULT_LIMIT);
    let (bytes, doubt) = read.map_err(|error| unreadable(&name, &error))?;
    Ok(Stored { bytes, name, doubt })
}

/// A result whose bytes were read already.
pub fn from_bytes(bytes: &[u8], name: &str) -> Result<Input> {
    let head = Head::of(bytes).unwrap_or_default();
    if head.is_of("tune-")
        && let Some(tune) = tune(bytes, name)?
    {
        return Ok(Input::Tune(Box::new(tune)));
    }
    if head.is_of("merge-")
        && let Some(merged) = merged(bytes, name)?
    {
        return Ok(Input::Merged(Box::new(merged)));
    }
    if head.is_of("study-")
        && let Some(study) = study(bytes, name)?
    {
        return Ok(Input::Study(Box::new(study)));
    }
    Ok(Input::Run(Box::new(run(bytes, name)?)))
}

/// The result of a run, and the reason why another user could have written the file, if there is one.
pub fn run_with_doubt(file: &Path) -> Result<(ResultFile, Option<String>)> {
    match open_with_doubt(file)? {
        (Input::Run(result), doubt) => Ok((*result, doubt)),
        (Input::Study(study), _) => Err(Failure::usage(
            format!(
                "{} is the result of the study {}",
                file.display(),
                study.study
            ),
            "name the result of a run",
        )),
        (Input::Merged(_), _) => Err(Failure::usage(
            format!("{} has the results of many hosts, merged", file.display()),
            "name the result of a run",
        )),
        (Input::Tune(_), _) => Err(Failure::usage(
            format!("{} is the result of a search", file.display()),
            "go on with it by `iosched-ab tune --resume FILE`, or name the result of a run",
        )),
    }
}

/// The result of a run.
pub fn read_run(file: &Path) -> Result<ResultFile> {
    run_with_doubt(file).map(|(result, _)| result)
}

/// The result of a study, and the reason why another user could have written the file, if there is one; None: it is not the
/// result of a study.
pub fn study_with_doubt(file: &Path) -> Result<Option<(StudyResult, Option<String>)>> {
    // A file that cannot be read is an error for whoever reads it as something else.
    let Ok((bytes, doubt)) = input::read_with_doubt(file, input::RESULT_LIMIT) else {
        return Ok(None);
    };
    let study = study(&bytes, &file.display().to_string())?;
    Ok(study.map(|study| (study, doubt)))
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

fn run(bytes: &[u8], path: &str) -> Result<ResultFile> {
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

/// None: it is something else than the result of a search.
pub fn tune(bytes: &[u8], name: &str) -> Result<Option<TuneResult>> {
    const HINT: &str = "use the file exactly as `iosched-ab tune` wrote it";
    tune_read::parse(bytes).map_err(|why| match why {
        UnreadableTune::Version(other) => Failure::usage(
            format!("{name} has schema version {other}, but this iosched-ab reads {TUNE_VERSION}"),
            "use the iosched-ab that wrote it",
        ),
        UnreadableTune::Json(error) => {
            Failure::usage(format!("{name} is no result of a search: {error}"), HINT)
        }
        UnreadableTune::Inconsistent(why) => {
            Failure::usage(format!("{name} is inconsistent: {why}"), HINT)
        }
    })
}

/// None: it is something else than a merged file.
fn merged(bytes: &[u8], name: &str) -> Result<Option<Merged>> {
    const HINT: &str = "use the file exactly as `iosched-ab merge` wrote it";
    merge_read::parse(bytes).map_err(|why| match why {
        UnreadableMerge::Version(other) => Failure::usage(
            format!("{name} has schema version {other}, but this iosched-ab reads {MERGE_VERSION}"),
            "use the iosched-ab that wrote it",
        ),
        UnreadableMerge::Json(error) => {
            Failure::usage(format!("{name} is no merged file: {error}"), HINT)
        }
        UnreadableMerge::Inconsistent(why) => {
            Failure::usage(format!("{name} is inconsistent: {why}"), HINT)
        }
    })
}

/// None: it is something else than the result of a study.
pub fn study(bytes: &[u8], name: &str) -> Result<Option<StudyResult>> {
    const HINT: &str = "use the file exactly as `iosched-ab study` wrote it";
    study_read::parse(bytes).map_err(|why| match why {
        UnreadableStudy::Version(other) => Failure::usage(
            format!(
                "{name} has schema version {other}, but this iosched-ab reads {} and {STUDY_VERSION}",
                schema1::VERSION
            ),
            "use the iosched-ab that wrote it",
        ),
        UnreadableStudy::Json(error) => {
            Failure::usage(format!("{name} is no result of a study: {error}"), HINT)
        }
        UnreadableStudy::Inconsistent { cell, why } => {
            Failure::usage(format!("{name} is inconsistent: cell {cell}: {why}"), HINT)
        }
    })
}
