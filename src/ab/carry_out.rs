//! Runs an experiment that `run`, `aa`, `demo` or `--resume` has set up, and reports it.

use std::fmt::Write as _;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use anyhow::Result;
use iosched_experiment::machine::Resources;
use iosched_experiment::run as experiment;
use iosched_experiment::run::Experiment;
use iosched_experiment::saved::to_json;
use iosched_experiment::workload::recorded;
use iosched_files::{interrupt, stdout};
use iosched_result::analysis::budget;
use iosched_result::failure::{Failure, Kind, kind_of};
use iosched_result::report::{escape, paint, text};
use iosched_result::types::result::ResultFile;

use crate::progress::Progress;
use iosched_read::messages::{detail, note};
use iosched_read::{input, print};

/// Runs the experiment, prints the report and the result file's name. Everything is restored when this returns.
pub fn carry_out(experiment: Experiment<'_>, resources: Resources<'_>) -> Result<()> {
    let output = experiment.output.clone();
    let before = output.as_deref().and_then(version);
    for line in recorded::commands(&experiment.workload.description()) {
        detail(&format!("each round runs {line}"));
    }
    let outcome = {
        let mut progress = Progress::default();
        experiment.run(resources, &mut progress)
    };
    let result = match (outcome, &output) {
        (Ok(result), _) => result,
        (Err(error), Some(path)) if version(path) != before => {
            tell_so_far(path, matches!(kind_of(&error), Kind::Interrupted(_)));
            return Err(error);
        }
        (Err(error), _) => return Err(error),
    };
    let printed = print(&result, output.as_deref());
    // An invalid run is the more important error than a failed print.
    experiment::ensure_valid(&result)?;
    printed
}

/// Tells what the rounds until an error say, and how to go on. An open run always ends by an interrupt: this is its result.
fn tell_so_far(path: &Path, is_interrupted: bool) {
    let mut continued = format!("iosched-ab run --resume {}", print::quoted(path));
    if let Ok(result) = input::read_run(path) {
        if result.rounds.is_empty() && !is_interrupted {
            return;
        }
        if is_interrupted && !result.comparisons.is_empty() {
            // A failed print must not hide the error of the run.
            let _ = print::print_painted(&rendered(&result, Some(path)));
        }
        if let Some(needed_s) = budget::needed_s(&result) {
            let _ = write!(continued, " --budget {}s", needed_s.ceil());
        }
    }
    note(&format!(
        "the completed rounds are in {}; continue with `{continued}`",
        path.display()
    ));
}

/// Changes with every save, because each one replaces the file by a new one.
fn version(path: &Path) -> Option<(u64, i64, i64)> {
    let found = std::fs::metadata(path).ok()?;
    Some((found.ino(), found.mtime(), found.mtime_nsec()))
}

/// With the path of its file in the command that goes on with it.
fn rendered(result: &ResultFile, output: Option<&Path>) -> String {
    let text = text::render(result, print::look());
    let Some(path) = output else {
        return text;
    };
    let named = escape::line(&format!("--resume {} ", print::quoted(path)));
    text.replacen("--resume FILE ", &named, 1)
}

fn print(result: &ResultFile, output: Option<&Path>) -> Result<()> {
    let text = rendered(result, output);
    if let Some(path) = output {
        print::print_painted(&text)?;
        print::say_where(path)?;
    } else {
        // The result goes nowhere else, so a closed pipe is an error here, unlike for a report.
        let json = escape::json(&String::from_utf8(to_json(result)?)?);
        stdout::write_all(json.as_bytes()).map_err(|error| match interrupt::check() {
            Err(interrupted) => interrupted,
            Ok(()) => Failure::runtime(
                format!("the result could not be written to standard output: {error}"),
                "write it to a file with -o FILE",
            ),
        })?;
        let _ = anstream::stderr().write_all(paint::report(&text).as_bytes());
    }
    Ok(())
}
