//! The load of each round: a built-in workload, a job file of fio, a command, or what already runs on the disk.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::Result;
use iosched_experiment::workload::application::Application;
use iosched_experiment::workload::command::CommandLine;
use iosched_experiment::workload::fio::Fio;
use iosched_experiment::workload::live::{self, Live};
use iosched_experiment::workload::{Workload, catalogue, launch};
use iosched_result::failure::Failure;

use crate::cli::Conditions;

/// fio takes several files, of which each may set its own defaults.
fn only_job_file(files: &[PathBuf]) -> Result<Option<&PathBuf>> {
    let [first, _, ..] = files else {
        return Ok(files.first());
    };
    let names: Vec<String> = files
        .iter()
        .map(|file| file.display().to_string())
        .collect();
    Err(Failure::usage(
        format!("--job is given {} times: {}", files.len(), names.join(", ")),
        format!(
            "put their jobs into one file, such as {}; as a command, fio takes all of them: -- fio {}",
            first.display(),
            names.join(" ")
        ),
    ))
}

/// `is_ours`: the disk is made for the run, so that a command may write to it.
pub fn wanted(conditions: &Conditions, is_ours: bool) -> Result<Box<dyn Workload>> {
    let is_live = conditions.workload.as_deref() == Some(live::NAME);
    if let Some(asked) = conditions.asked().first().filter(|_| !is_live) {
        return Err(Failure::usage(
            format!(
                "{} is for --workload live, where the application runs anyway",
                asked.option()
            ),
            "a COMMAND reports metrics in its output (--metric-regex), or writes them to $IOSCHED_METRICS",
        ));
    }
    if let Some(name) = &conditions.workload {
        if name == live::NAME {
            return Ok(Box::new(Live::new(Application::new(conditions.asked())?)));
        }
        return Ok(Box::new(catalogue::find(name)?));
    }
    if let Some(path) = only_job_file(&conditions.job)? {
        let fio = Fio::from_job_file(path, &conditions.section, conditions.trust)?;
        return Ok(Box::new(fio));
    }
    // iosched cannot know what a command writes: with consent it is treated as a writer, without consent it is trusted
    // to only read.
    let writes = conditions.destroy_data || is_ours;
    let command = CommandLine::new(conditions.command.clone(), writes, conditions.limit)?;
    ensure_is_there(&conditions.command)?;
    let patterns = conditions.metric_regex.clone();
    Ok(Box::new(
        command
            .with_sources(conditions.parse.as_deref(), patterns)?
            .with_user(conditions.user.as_deref())?,
    ))
}

/// Reports a misspelled program before the run starts.
fn ensure_is_there(argv: &[OsString]) -> Result<()> {
    let Some(program) = argv.first() else {
        return Ok(());
    };
    let is_name = Path::new(program).components().count() == 1;
    if launch::is_in_path(program) || (!is_name && Path::new(program).exists()) {
        return Ok(());
    }
    Err(Failure::usage(
        format!("there is no program {}", program.to_string_lossy()),
        "check that it is installed and in PATH",
    ))
}
