//! fio as a part that lies sometimes: a round counts only if every job did I/O for the whole time that was asked
//! of it, without an error and by its own end.

use std::ffi::OsString;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::ask::{self, Limits};
use super::fio_process::FioProcess;
use super::job_file::JobFile;
use super::{CgroupRef, Fixed, Outcome, Round, Running, Workload, in_file, names};
use crate::failure::{Failure, Kind, kind_of};
use crate::input;
use crate::interrupt;

/// Histogram bins in nanoseconds and `json+` as read here came with version 3.
const OLDEST_MAJOR: u32 = 3;
/// Beyond its time a fio has this long to write its result.
const HANG_GUARD: Duration = Duration::from_secs(30);
/// The time and the words that fio may use to tell its version.
const VERSION_LIMITS: Limits = Limits {
    time: Duration::from_secs(10),
    bytes: 4096,
};

pub struct Fio {
    name: String,
    parts: Vec<Part>,
    program: OsString,
    patience: Duration,
}

/// One fio process, in a control group of its own.
#[derive(Clone, Debug)]
pub struct Part {
    pub label: String,
    pub job: JobFile,
    /// Keeps the others company, and is asked to end when they have ended.
    pub is_background: bool,
}

impl Fio {
    pub fn new(name: &str, parts: Vec<Part>) -> Self {
        Fio {
            name: name.to_owned(),
            parts,
            program: OsString::from("fio"),
            patience: HANG_GUARD,
        }
    }

    /// A job file of the user's; `devices` are those that its `filename=` may name.
    pub fn from_job_file(path: &Path, devices: &[PathBuf]) -> Result<Self> {
        let file = path.display().to_string();
        let text =
            input::read_text(path, input::JOB_FILE_LIMIT).map_err(
                |e| match interrupt::received() {
                    Some(signal) => Failure::interrupted(signal),
                    None => Failure::usage(format!("cannot read the job file {file}: {e}"), ""),
                },
            )?;
        let part = Part {
            label: "fio".to_owned(),
            job: JobFile::parse(&file, &text, devices)?,
            is_background: false,
        };
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        names::check_workload(&name)
            .map_err(|why| Failure::usage(why, "give the job file another name"))?;
        Ok(Fio::new(&name, vec![part]))
    }

    /// Another fio than the one in PATH.
    #[must_use]
    pub fn with_program(mut self, program: impl Into<OsString>) -> Self {
        self.program = program.into();
        self
    }

    /// How long beyond its time a fio may take before it is ended.
    #[must_use]
    pub fn with_patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// What `fio --version` says.
    pub fn version(&self) -> Result<String> {
        let program = self.program.to_string_lossy();
        let hint = "install it: apt install fio, dnf install fio";
        let answer = ask::ask(&self.program, &["--version".as_ref()], VERSION_LIMITS);
        let answer = answer.map_err(|error| match kind_of(&error) {
            Kind::Interrupted(_) => error,
            _ => Failure::runtime(format!("{error:#}"), hint),
        })?;
        let text = String::from_utf8_lossy(&answer.stdout).trim().to_owned();
        match major_version(&text) {
            Some(major) if major >= OLDEST_MAJOR => Ok(text),
            Some(_) => Err(Failure::runtime(
                format!("{program} is {text}, {OLDEST_MAJOR}.0 or later is needed"),
                hint,
            )),
            None => Err(Failure::runtime(
                format!("{program} --version says {text:?}, which is not fio"),
                hint,
            )),
        }
    }
}

/// Of `fio-3.33`, `fio-3.16-64-gfd988`.
fn major_version(text: &str) -> Option<u32> {
    text.strip_prefix("fio-")?.split('.').next()?.parse().ok()
}

/// fio takes a mistyped name for a file to be made, and measures memory.
fn require_block_device(node: &Path) -> Result<()> {
    let what = match std::fs::metadata(node) {
        Ok(metadata) if metadata.file_type().is_block_device() => return Ok(()),
        Ok(_) => "is not a block device".to_owned(),
        Err(e) => format!("cannot be used: {e}"),
    };
    Err(Failure::refused(
        format!("{} {what}", node.display()),
        "name a block device such as /dev/nvme0n1; lsblk lists them",
    ))
}

impl Workload for Fio {
    fn name(&self) -> &str {
        &self.name
    }

    fn description(&self) -> Value {
        let processes = self.parts.iter().map(|part| {
            json!({
                "label": part.label,
                "job": part.job.text(),
                "is_background": part.is_background,
            })
        });
        json!({ "kind": "fio", "name": self.name, "processes": processes.collect::<Vec<_>>() })
    }

    fn writes(&self) -> bool {
        self.parts.iter().any(|part| part.job.writes())
    }

    fn fixed(&self) -> Fixed {
        Fixed::Time
    }

    fn is_asynchronous(&self) -> bool {
        self.parts.iter().any(|part| part.job.is_asynchronous())
    }

    fn lead(&self) -> Duration {
        let delays = self.parts.iter().map(|part| part.job.longest_start_delay());
        delays.max().unwrap_or_default()
    }

    fn check(&self) -> Result<()> {
        self.version().map(drop)
    }

    fn check_in_file(&self, size_bytes: u64) -> Result<()> {
        let mut parts = self.parts.iter();
        parts.try_for_each(|part| in_file::check(&self.name, &part.job, size_bytes))
    }

    fn start(&mut self, round: &Round<'_>) -> Result<Box<dyn Running>> {
        let raw = match round.scratch_file {
            None => round.device_nodes,
            Some(_) => &[],
        };
        for node in raw {
            require_block_device(node)?;
        }
        let lead = self.lead();
        let processes = self
            .parts
            .iter()
            .enumerate()
            .map(|(index, part)| {
                // Two processes with one seed would do the same.
                let seed = round.seed.wrapping_add(index as u64);
                FioProcess::start(&self.program, part, round, lead, seed)
                    .with_context(|| format!("starting fio for {}", part.label))
            })
            .collect::<Result<Vec<_>>>()?;
        let planned = lead + round.ramp + round.time;
        Ok(Box::new(FioRunning {
            processes,
            started: Instant::now(),
            limit: planned + self.patience,
            outcome: None,
        }))
    }
}

struct FioRunning {
    processes: Vec<FioProcess>,
    started: Instant,
    limit: Duration,
    outcome: Option<Outcome>,
}

impl FioRunning {
    /// Reads what each handed in. `overdue`: they had to be ended.
    fn conclude(&mut self, overdue: bool) -> Outcome {
        let mut whole = Outcome::default();
        let mut raw = Vec::new();
        let mut cpu_ns = Some((0, 0));
        let early_leaver = early_leaver(&self.processes);
        for process in &mut self.processes {
            let part = process.hand_in();
            if whole.exit_code.is_none_or(|code| code == 0) {
                whole.exit_code = part.exit_code;
            }
            whole.signal = whole.signal.or(part.signal);
            whole.elapsed_ns = whole.elapsed_ns.max(part.elapsed_ns);
            // Company is measured by the probe, over the window of the others; its own window is another one.
            if !process.is_background() {
                whole.jobs.extend(part.jobs);
            }
            whole.problem = whole.problem.or(part.problem);
            raw.extend(part.raw);
            cpu_ns = cpu_ns
                .zip(part.user_cpu_ns.zip(part.system_cpu_ns))
                .map(|(sum, add)| (sum.0 + add.0, sum.1 + add.1));
        }
        whole.user_cpu_ns = cpu_ns.map(|ns| ns.0);
        whole.system_cpu_ns = cpu_ns.map(|ns| ns.1);
        whole.raw = Some(Value::Array(raw));
        if overdue {
            let seconds = self.limit.as_secs();
            whole.problem = Some(format!("fio did not end within {seconds} s and was ended"));
        }
        whole.problem = whole.problem.or(early_leaver);
        whole
    }
}

/// A process that was to keep another company to its end, and did not.
fn early_leaver(processes: &[FioProcess]) -> Option<String> {
    let (background, measured): (Vec<_>, Vec<_>) = processes
        .iter()
        .partition(|process| process.is_background());
    let last_end = measured
        .iter()
        .filter_map(|process| process.ended_at())
        .max()?;
    let leaver = background
        .iter()
        .find(|process| process.ended_at().is_some_and(|end| end < last_end))?;
    Some(format!(
        "{} ended before the others, which were then measured alone",
        leaver.label()
    ))
}

impl Running for FioRunning {
    fn poll(&mut self) -> Result<Option<Outcome>> {
        if self.outcome.is_some() {
            return Ok(self.outcome.clone());
        }
        let mut all_ended = true;
        let mut measured_ended = true;
        let mut one_failed = false;
        for process in &mut self.processes {
            match process.poll()? {
                None => {
                    all_ended = false;
                    measured_ended &= process.is_background();
                }
                Some(succeeded) => one_failed |= !succeeded,
            }
        }
        if measured_ended && !all_ended {
            self.processes.iter_mut().for_each(FioProcess::ask_to_end);
        }
        let overdue = self.started.elapsed() > self.limit;
        if !(all_ended || one_failed || overdue) {
            return Ok(None);
        }
        let outcome = self.conclude(overdue && !all_ended && !one_failed);
        self.outcome = Some(outcome);
        self.stop();
        Ok(self.outcome.clone())
    }

    fn cgroups(&self) -> Vec<CgroupRef> {
        let processes = self.processes.iter();
        processes.filter_map(FioProcess::reference).collect()
    }

    fn stop(&mut self) {
        self.processes.iter_mut().for_each(FioProcess::stop);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_fio() {
        assert_eq!(major_version("fio-3.33"), Some(3));
        assert_eq!(major_version("fio-3.16-64-gfd988"), Some(3));
        assert_eq!(major_version("fio-2.2.10"), Some(2));
        assert_eq!(major_version("fio 3"), None);
        assert_eq!(major_version("3.33"), None);
    }

    #[test]
    fn a_missing_fio_names_the_package() {
        let missing = Fio::new("x", Vec::new()).with_program("fio-that-is-not-there");
        let error = missing.check().unwrap_err().to_string();
        assert!(
            error.contains("fio-that-is-not-there") && error.contains("apt install fio"),
            "{error}"
        );
        let other = Fio::new("x", Vec::new()).with_program("true");
        assert!(
            other
                .check()
                .unwrap_err()
                .to_string()
                .contains("is not fio")
        );
    }
}
