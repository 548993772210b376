//! One fio process in its control group: its job file, its arguments, and its result.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::slice;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde_json::json;

use super::cgroup::Group;
use super::fio::FioPart;
use super::fio_result::{self, FioReport, one_line};
use super::job_file::{Layout, Window};
use super::launch::{self, Ended, Launch, Process};
use super::rights::Rights;
use super::{Execution, names};
use iosched_files::input;
use iosched_host::scratch::file::ScratchFile;
use iosched_result::failure::Failure;
use iosched_result::types::outcome::{CgroupRef, Outcome};
use iosched_result::types::raw::RawJson;

/// Longer than the start and end of any round take.
const COMPANY: Duration = Duration::from_secs(60);
/// fio's exit code after a signal; its result is valid.
const ENDED_BY_SIGNAL: i32 = 128;
/// Signals that fio does not send itself: hang-up, interrupt, kill, terminate.
const OF_OTHERS: [i32; 4] = [libc::SIGHUP, libc::SIGINT, libc::SIGKILL, libc::SIGTERM];

/// Field order is drop order: the group kills all processes, then the program is waited for.
pub(super) struct FioProcess {
    label: String,
    is_background: bool,
    asked_to_end: bool,
    group: Option<Group>,
    process: Process,
    started: Instant,
    ended: Option<Ended>,
    output: PathBuf,
    requested: Duration,
    entries: Option<usize>,
}

impl FioProcess {
    pub fn start(
        program: &OsStr,
        part: &FioPart,
        round: &Execution<'_>,
        layout: &Layout,
        lead: Duration,
        seed: u64,
    ) -> Result<Self> {
        // The label becomes part of file names and of a control group's name.
        names::check_label(&part.label)
            .map_err(|why| Failure::refused(why, "choose another label for that process"))?;
        let directory = std::path::absolute(round.directory).context("the round's directory")?;
        let file = |extension: &str| directory.join(format!("{}.{extension}", part.label));
        let scratch = round.scratch_file.and_then(ScratchFile::file);
        let window = Window {
            targets: scratch.map_or(round.device_nodes, |file| slice::from_ref(&file.path)),
            ramp: round.ramp,
            time: if part.is_background {
                round.time + COMPANY
            } else {
                round.time
            },
            lead,
            layout: Some(layout),
        };
        let job_file = file("fio");
        // Fails if the file exists because another process has the same label.
        File::create_new(&job_file)
            .and_then(|mut file| file.write_all(part.job.for_round(&window).as_bytes()))
            .with_context(|| format!("writing {}", job_file.display()))?;
        let output = file("json");
        let argv = arguments(program, &output, seed, part.job.writes(), &job_file);
        let group = round.group(&part.label)?;
        group.set(&part.group, round.disks)?;
        let process = launch::start(
            &Launch {
                launcher: round.launcher,
                argv: &argv,
                rights: scratch.map_or(Rights::Disk, |_| Rights::ScratchFile),
                environment: &[
                    ("LC_ALL", OsString::from("C")),
                    // fio acts on a file with a known name in this directory, whoever created it.
                    ("TMPDIR", directory.clone().into_os_string()),
                ],
                working_directory: Some(&directory),
                stdout: &file("stdout"),
                stderr: file("stderr"),
            },
            &group,
        )?;
        Ok(FioProcess {
            label: part.label.clone(),
            is_background: part.is_background,
            asked_to_end: false,
            group: Some(group),
            process,
            started: Instant::now(),
            ended: None,
            output,
            // A background process has no minimum run time: how long it runs depends on the scheduler.
            requested: if part.is_background {
                Duration::ZERO
            } else {
                round.time
            },
            entries: part.job.entries(),
        })
    }

    /// Whether it succeeded, once it has ended.
    pub fn poll(&mut self) -> Result<Option<bool>> {
        self.ended = self.process.poll()?;
        Ok(self.ended.map(|ended| self.is_success(&ended)))
    }

    fn is_success(&self, ended: &Ended) -> bool {
        let as_asked = self.asked_to_end && ended.status.code() == Some(ENDED_BY_SIGNAL);
        as_asked || ended.status.success()
    }

    pub fn is_background(&self) -> bool {
        self.is_background
    }

    /// fio also writes its result on SIGINT. Sent only once.
    pub fn ask_to_end(&mut self) {
        if self.ended.is_none() && !self.asked_to_end {
            self.asked_to_end = true;
            self.process.interrupt();
        }
    }

    pub fn label(&self) -> &str {
        &self.label
    }

    pub fn ended_at(&self) -> Option<Instant> {
        Some(self.started + self.ended?.elapsed)
    }

    pub fn reference(&self) -> Option<CgroupRef> {
        self.group.as_ref().map(Group::reference)
    }

    /// Kills whatever is left of it.
    pub fn stop(&mut self) {
        // On an error the group stays in the journal, which reports it.
        self.group = None;
        self.process.kill();
    }

    /// Its part of the outcome. Call it before [`FioProcess::stop`]: the CPU time vanishes with the group.
    pub fn hand_in(&mut self) -> Outcome {
        let cpu_ns = self.group.as_ref().and_then(Group::cpu_ns);
        let report = match input::read(&self.output, input::FIO_OUTPUT_LIMIT) {
            Ok(bytes) => fio_result::parse(&bytes),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
                Err("fio wrote no result".to_owned())
            }
            Err(e) => Err(format!("fio's result {}: {e}", self.output.display())),
        };
        let problem = self.problem(&report);
        let raw = report.as_ref().ok().map(|report| {
            RawJson::from(&json!({ "label": self.label, "fio": report.summary, "diagnostics": report.diagnostics }))
        });
        let jobs = report.map(|report| report.jobs).unwrap_or_default();
        Outcome {
            // The end after a signal that iosched sent is a success.
            exit_code: self.ended.and_then(|ended| {
                if self.is_success(&ended) {
                    Some(0)
                } else {
                    ended.status.code()
                }
            }),
            signal: self.ended.and_then(|ended| ended.signal()),
            elapsed_ns: self.ended.map_or(0, |ended| ended.elapsed_ns()),
            user_cpu_ns: cpu_ns.map(|ns| ns.0),
            system_cpu_ns: cpu_ns.map(|ns| ns.1),
            jobs: jobs.into_iter().map(|job| job.result).collect(),
            ended_by_others: problem.is_some()
                && self
                    .ended
                    .is_some_and(|ended| ended.signal().is_some_and(|it| OF_OTHERS.contains(&it))),
            problem,
            raw,
            ..Outcome::default()
        }
    }

    fn problem(&self, report: &Result<FioReport, String>) -> Option<String> {
        let program = format!("fio ({})", self.label);
        let problem = match (&self.ended, report) {
            // It was stopped because of another process, whose problem is reported instead.
            (None, _) => return None,
            (Some(ended), Err(why)) => match ended.problem(&program) {
                Some(end) => Some(format!("{end}: {why}")),
                None => Some(why.clone()),
            },
            (Some(ended), Ok(report)) => Some(ended)
                .filter(|ended| !self.is_success(ended))
                .and_then(|ended| ended.problem(&program))
                .or_else(|| fio_result::problem(report, self.requested, self.entries)),
        }?;
        let said = report
            .as_ref()
            .map(|report| one_line(&report.diagnostics))
            .unwrap_or_default();
        let words = [said, self.process.end_of_stderr()];
        let words: Vec<&str> = words
            .iter()
            .map(String::as_str)
            .filter(|w| !w.is_empty())
            .collect();
        if words.is_empty() {
            return Some(problem);
        }
        Some(format!("{problem}; its output: {}", words.join(" | ")))
    }
}

fn arguments(
    program: &OsStr,
    output: &Path,
    seed: u64,
    writes: bool,
    job_file: &Path,
) -> Vec<OsString> {
    let mut output_option = OsString::from("--output=");
    output_option.push(output);
    let mut argv = vec![
        program.to_owned(),
        output_option,
        "--output-format=json+".into(),
        "--eta=never".into(),
        "--allow_file_create=0".into(),
        // fio multiplies by the seed; with 0 all sequences would be equal.
        format!("--randseed={}", (seed >> 1).max(1)).into(),
    ];
    argv.push(if writes {
        "--allow_mounted_write=0".into()
    } else {
        "--readonly".into()
    });
    argv.push(job_file.into());
    argv
}
