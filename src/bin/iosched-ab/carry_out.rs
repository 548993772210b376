//! What `run`, `aa`, `demo` and `--resume` have in common once they know what they want.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::Result;
use iosched::ab::run::{self as experiment, Experiment};
use iosched::ab::stopping::Stopping;
use iosched::failure::Failure;
use iosched::journal::Journal;
use iosched::report::result::ResultFile;
use iosched::report::text;
use iosched::scratch::{Model, Scratch};

use crate::note;
use crate::progress::Progress;
use crate::report;

const SCRATCH_BYTES: u64 = 1 << 30;

/// Runs it, prints the report, names the file. Everything is put back when this returns.
pub fn carry_out(experiment: Experiment<'_>) -> Result<()> {
    let output = experiment.output.clone();
    let outcome = {
        let mut progress = Progress::default();
        experiment.run(&mut progress)
    };
    let result = match (outcome, &output) {
        (Ok(result), _) => result,
        (Err(error), Some(path)) if path.exists() => {
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

/// None for stdout.
pub fn output(wanted: Option<&Path>, default_stem: &str) -> Option<PathBuf> {
    match wanted {
        Some(path) if path == Path::new("-") => None,
        Some(path) => Some(path.to_owned()),
        None => {
            let now = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
            let stamp: String = now.chars().filter(char::is_ascii_alphanumeric).collect();
            Some(PathBuf::from(format!("{default_stem}-{stamp}.json")))
        }
    }
}
