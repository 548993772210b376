//! Runs an experiment that `run`, `aa`, `demo` or `--resume` has set up, and reports it.

use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context, Result};
use iosched_experiment::machine::Resources;
use iosched_experiment::run as experiment;
use iosched_experiment::run::Experiment;
use iosched_experiment::session::Session;
use iosched_experiment::workload::recorded;
use iosched_files::{interrupt, output, stdout};
use iosched_host::system::device::Disks;
use iosched_result::failure::{Failure, Kind, kind_of};
use iosched_result::report::{escape, paint, text};
use iosched_result::types::result::ResultFile;
use iosched_result::types::scratch::spec::DiskSpec;
use rustix::fs::{FileType, OFlags};

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
    if let Ok(result) = input::read_run(path)
        && is_interrupted
        && !result.comparisons.is_empty()
    {
        // A failed print must not hide the error of the run.
        let _ = print::print_painted(&text::render(&result, false, Some(print::pictures())));
    }
    let file = path.display();
    note(&format!(
        "the completed rounds are in {file}; continue with `iosched-ab run --resume {file}`"
    ));
}

/// Changes with every save, because each one replaces the file by a new one.
fn version(path: &Path) -> Option<(u64, i64, i64)> {
    let found = std::fs::metadata(path).ok()?;
    Some((found.ino(), found.mtime(), found.mtime_nsec()))
}

fn print(result: &ResultFile, output: Option<&Path>) -> Result<()> {
    let text = text::render(result, false, Some(print::pictures()));
    if let Some(path) = output {
        print::print_painted(&text)?;
        print::say_where(path)?;
    } else {
        // The result goes nowhere else, so a closed pipe is an error here, unlike for a report.
        let json = escape::json(&String::from_utf8(experiment::to_json(result)?)?);
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

/// `ssd*8` of `scratch:ssd*8`; None for existing devices.
pub fn scratch_spec(devices: &[String]) -> Result<Option<DiskSpec>> {
    let mut specs = devices
        .iter()
        .filter_map(|name| name.strip_prefix("scratch:"));
    match (specs.next(), devices.len()) {
        (None, _) => Ok(None),
        (Some(spec), 1) => Ok(Some(spec.parse()?)),
        (Some(_), _) => Err(Failure::usage(
            "a simulated disk cannot be combined with other devices",
            "name only the simulated disk (scratch:ssd*8 has eight LUNs), or only real disks",
        )),
    }
}

/// `option`: what needs one.
pub fn ensure_has_volume(spec: DiskSpec, option: &str) -> Result<()> {
    match spec.file_system {
        Some(_) => Ok(()),
        None => Err(Failure::usage(
            format!("scratch:{spec} has no file system for a scratch file"),
            format!("make one with scratch:{spec}+ext4, or leave out {option}"),
        )),
    }
}

/// Makes a simulated disk, and says so.
pub fn make_scratch(session: &mut Session, spec: DiskSpec) -> Result<Disks> {
    session
        .make_scratch(spec)?
        .iter()
        .for_each(|text| note(text));
    let disks = session.scratch_disks()?;
    disks.context("a simulated disk that was just made")
}

pub fn seed(wanted: Option<u32>) -> u64 {
    let from_clock = || {
        SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .map_or(1, |now| now.subsec_nanos())
    };
    u64::from(wanted.unwrap_or_else(from_clock))
}

/// The result file, None for stdout. A file that cannot be written is refused before the rounds, not after hours.
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
    let advice = "continue an interrupted run with --resume, ";
    output::ensure_may_write(&path, force, advice)?;
    Ok(Some(path))
}

/// The Rust runtime opens a closed standard output on /dev/null before `main`, for reading and writing; a shell's
/// `>/dev/null` opens it for writing only.
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
            "write it to a file with -o FILE",
        ));
    }
    Ok(())
}
