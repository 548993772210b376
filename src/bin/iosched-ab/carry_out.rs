//! What `run`, `aa`, `demo` and `--resume` have in common once they know what they want.

use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context, Result};
use iosched::ab::run::{self as experiment, Experiment};
use iosched::ab::stopping::Stopping;
use iosched::failure::Failure;
use iosched::journal::Journal;
use iosched::output;
use iosched::report::result::ResultFile;
use iosched::report::text;
use iosched::scratch::{Model, Scratch};
use rustix::fs::{FileType, OFlags};

use crate::note;
use crate::progress::Progress;
use crate::report;

const SCRATCH_BYTES: u64 = 1 << 30;

/// Runs it, prints the report, names the file. Everything is put back when this returns.
pub fn carry_out(experiment: Experiment<'_>) -> Result<()> {
    let output = experiment.output.clone();
    let before = output.as_deref().and_then(version);
    let outcome = {
        let mut progress = Progress::default();
        experiment.run(&mut progress)
    };
    let result = match (outcome, &output) {
        (Ok(result), _) => result,
        (Err(error), Some(path)) if version(path) != before => {
            note(&format!(
                "the rounds that were done are in {}",
                path.display()
            ));
            // An open run is ended by hand: this is its result.
            if let Ok(result) = report::read(path)
                && result.design.stopping == Stopping::Open
            {
                let text = text::render(&result, false);
                // The error is the one to report.
                let _ = std::io::stdout().write_all(text.as_bytes());
            }
            return Err(error);
        }
        (Err(error), _) => return Err(error),
    };
    let printed = print(&result, output.as_deref());
    // The verdict on the run comes before the fate of its print-out.
    experiment::ensure_valid(&result)?;
    printed
}

/// Every save is a new file in the old one's place.
fn version(path: &Path) -> Option<(u64, i64, i64)> {
    let found = std::fs::metadata(path).ok()?;
    Some((found.ino(), found.mtime(), found.mtime_nsec()))
}

fn print(result: &ResultFile, output: Option<&Path>) -> Result<()> {
    let mut out = std::io::stdout().lock();
    let report = text::render(result, false);
    if let Some(path) = output {
        writeln!(out, "{report}Result file: {}", path.display())?;
    } else {
        // Not a pipe that was closed because its reader has seen enough: this is the result.
        out.write_all(&experiment::to_json(result)?)
            .map_err(|error| {
                Failure::runtime(
                    format!("the result could not be written to standard output: {error}"),
                    "name a file with -o",
                )
            })?;
        let _ = std::io::stderr().write_all(report.as_bytes());
    }
    Ok(())
}

pub fn make_scratch(model: Model, journal: &Journal) -> Result<Scratch> {
    let scratch = Scratch::create(model, SCRATCH_BYTES, journal)?;
    note(&format!(
        "made {}: {}",
        scratch.device_name(),
        scratch.truth().text
    ));
    if let Some(why) = scratch.fallback() {
        note(&format!(
            "it is a plain loop device over memory, because {why}"
        ));
    }
    Ok(scratch)
}

pub fn seed(wanted: Option<u32>) -> u64 {
    let from_clock = || {
        SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .map_or(1, |now| now.subsec_nanos())
    };
    u64::from(wanted.unwrap_or_else(from_clock))
}

/// The result file, None for stdout. A file that cannot be written is refused now, not after hours of rounds.
pub fn output(wanted: Option<&Path>, force: bool, default_stem: &str) -> Result<Option<PathBuf>> {
    let path = match wanted {
        Some(path) if path == Path::new("-") => {
            ensure_stdout_is_open()?;
            return Ok(None);
        }
        Some(path) => path.to_owned(),
        None => {
            let now = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
            let stamp: String = now.chars().filter(char::is_ascii_alphanumeric).collect();
            PathBuf::from(format!("{default_stem}-{stamp}.json"))
        }
    };
    let advice = "go on with an interrupted run by --resume, ";
    output::ensure_may_write(&path, force, advice)?;
    Ok(Some(path))
}

/// A closed standard output is opened on /dev/null before `main`, for reading and writing; a shell's `>/dev/null` is for
/// writing alone.
fn ensure_stdout_is_open() -> Result<()> {
    let stdout = std::io::stdout();
    let is_null = rustix::fs::fstat(&stdout).is_ok_and(|found| {
        found.st_rdev == rustix::fs::makedev(1, 3)
            && FileType::from_raw_mode(found.st_mode).is_char_device()
    });
    let flags =
        rustix::fs::fcntl_getfl(&stdout).context("asking for the mode of standard output")?;
    if is_null && flags.contains(OFlags::RDWR) {
        return Err(Failure::refused(
            "standard output is closed: the result would be lost",
            "name a file with -o",
        ));
    }
    Ok(())
}
