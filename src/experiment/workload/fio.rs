//! Runs fio without trusting it: a round counts only if every job did I/O for the whole requested time, without errors,
//! and ended by itself.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde_json::Value;

use super::description::{Description, Process};
use super::fio_process::FioProcess;
use super::group_settings::GroupSettings;
use super::job_file::JobFile;
use super::properties::Properties;
use super::{Execution, Running, Target, Workload, fio_target, fio_version, names};
use iosched_files::{input, interrupt, trust};
use iosched_result::failure::{Failure, Kind, kind_of};
use iosched_result::metric::profile::{Does, Part, Profile, Reports};
use iosched_result::types::outcome::{CgroupRef, Fixed, Outcome};
use iosched_result::types::raw::RawJson;

/// How long fio may take beyond its run time to write its result.
const HANG_GUARD: Duration = Duration::from_secs(30);

pub struct Fio {
    name: String,
    parts: Vec<FioPart>,
    /// It runs on the first so many of the disks; None: on all.
    disks: Option<usize>,
    program: OsString,
    patience: Duration,
}

/// One fio process in its own control group.
#[derive(Clone, Debug)]
pub struct FioPart {
    pub label: String,
    pub job: JobFile,
    /// Runs beside the other processes, and is stopped when they have ended.
    pub is_background: bool,
    pub group: GroupSettings,
}

impl Fio {
    pub fn new(name: &str, parts: Vec<FioPart>) -> Self {
        Fio {
            name: name.to_owned(),
            parts,
            disks: None,
            program: OsString::from("fio"),
            patience: HANG_GUARD,
        }
    }

    /// A job file of the user. If any are `chosen`, its other jobs are left out. `trust`: the user has looked at a file
    /// that another user may have written.
    pub fn from_job_file(path: &Path, chosen: &[String], trust: bool) -> Result<Self> {
        let file = path.display().to_string();
        let (text, doubt) =
            input::read_text_with_doubt(path, input::JOB_FILE_LIMIT).map_err(|e| {
                match interrupt::received() {
                    Some(signal) => Failure::interrupted(signal),
                    None => Failure::usage(format!("cannot read the job file {file}: {e}"), ""),
                }
            })?;
        trust::ensure(
            trust,
            doubt.as_deref(),
            &file,
            "the jobs that fio would run",
        )?;
        let part = FioPart {
            label: "fio".to_owned(),
            job: JobFile::parse(&file, &text, chosen)?,
            is_background: false,
            group: GroupSettings::default(),
        };
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        names::check_workload(&name).map_err(|why| Failure::usage(why, "rename the job file"))?;
        Ok(Fio::new(&name, vec![part]))
    }

    /// Takes the settings of the control groups of its processes, by label.
    #[must_use]
    pub fn with_groups(mut self, groups: &BTreeMap<String, GroupSettings>) -> Self {
        for part in &mut self.parts {
            part.group = groups.get(&part.label).cloned().unwrap_or_default();
        }
        self
    }

    /// Runs on the first so many of the disks.
    #[must_use]
    pub fn on_first(mut self, disks: Option<usize>) -> Self {
        self.disks = disks;
        self
    }

    /// Devices of the round that it runs on.
    fn own<'a>(&self, nodes: &'a [PathBuf]) -> Result<&'a [PathBuf]> {
        let wanted = self.disks.unwrap_or(nodes.len());
        nodes.get(..wanted).ok_or_else(|| {
            let (name, there) = (&self.name, nodes.len());
            let what = format!("{name} runs on {wanted} disks, and there are {there}");
            Failure::lacking(what, "name as many, or choose other cells with --cells")
        })
    }

    /// Uses another fio than the one in PATH.
    #[must_use]
    pub fn with_program(mut self, program: impl Into<OsString>) -> Self {
        self.program = program.into();
        self
    }

    /// How long fio may take beyond its run time before it is killed.
    #[must_use]
    pub fn with_patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// The output of `fio --version`.
    pub fn version(&self) -> Result<String> {
        fio_version::version(&self.program)
    }
}

/// The version of the installed fio, None if there is none that works. Err: a signal came, so it is not known.
pub fn installed_version() -> Result<Option<String>> {
    match Fio::new("version", Vec::new()).version() {
        Ok(version) => Ok(Some(version)),
        Err(error) if matches!(kind_of(&error), Kind::Interrupted(_)) => Err(error),
        Err(_) => Ok(None),
    }
}

impl Fio {
    /// Until the last process has started.
    fn lead(&self) -> Duration {
        let delays = self.parts.iter().map(|part| part.job.longest_start_delay());
        delays.max().unwrap_or_default()
    }
}

impl Workload for Fio {
    fn name(&self) -> &str {
        &self.name
    }

    fn description(&self) -> Value {
        let processes = self.parts.iter().map(|part| Process {
            group: part.group.clone(),
            label: part.label.clone(),
            job: part.job.text(),
            is_background: part.is_background,
        });
        Description::Fio {
            name: self.name.clone(),
            processes: processes.collect(),
            disks: self.disks,
        }
        .value()
    }

    fn properties(&self) -> Properties {
        let jobs = || self.parts.iter().map(|part| &part.job);
        let measured = || self.parts.iter().filter(|part| !part.is_background);
        let groups = self.parts.iter().map(|part| Part {
            label: part.label.clone(),
            does: Some(part.job.does()),
        });
        let without_latency = measured().find_map(|part| part.job.without_latency());
        Properties {
            writes: jobs().any(JobFile::writes),
            is_asynchronous: jobs().any(JobFile::is_asynchronous),
            without_latency: without_latency
                .map(|why| format!("fio does not measure the latency of every job: {why}")),
            through_page_cache: jobs().find_map(JobFile::through_page_cache),
            lead: self.lead(),
            profile: Profile {
                does: jobs().map(JobFile::does).reduce(Does::or),
                jobs: measured().flat_map(|part| part.job.reported()).collect(),
                groups: groups.collect(),
                reports: Reports::Nothing,
            },
            ..Properties::new(Fixed::Time)
        }
    }

    fn check(&self) -> Result<()> {
        self.version().map(drop)
    }

    fn check_on(&self, target: &Target) -> Result<Vec<String>> {
        if let (true, Some(disks)) = (target.is_file, self.disks) {
            return Err(Failure::usage(
                format!(
                    "{} runs on the first {disks} of the disks, and a file is on all of them",
                    self.name
                ),
                "name devices instead of a mount point",
            ));
        }
        let target = &Target {
            disks: self
                .disks
                .map_or(target.disks, |disks| disks.min(target.disks)),
            ..*target
        };
        let mut notes = Vec::new();
        for part in &self.parts {
            notes.extend(part.job.replaced(target));
            notes.extend(part.job.lay_out(&self.name, target)?.notes);
        }
        Ok(notes)
    }

    fn start(&mut self, round: &Execution<'_>) -> Result<Box<dyn Running>> {
        let round = &Execution {
            device_nodes: self.own(round.device_nodes)?,
            ..*round
        };
        let lead = self.lead();
        let target = fio_target::of(round)?;
        let processes = self
            .parts
            .iter()
            .enumerate()
            .map(|(index, part)| {
                // Two processes with the same seed would do the same I/O.
                let seed = round.seed.wrapping_add(index as u64);
                let layout = part.job.lay_out(&self.name, &target)?;
                FioProcess::start(&self.program, part, round, &layout, lead, seed)
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
    /// Collects the results of all processes. `overdue`: they had to be killed.
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
            // The probe measures background jobs over the window of the others; fio's own window for them differs.
            if !process.is_background() {
                whole.jobs.extend(part.jobs);
            }
            if whole.problem.is_none() {
                (whole.problem, whole.ended_by_others) = (part.problem, part.ended_by_others);
            }
            raw.extend(part.raw.as_ref().map(RawJson::value));
            cpu_ns = cpu_ns
                .zip(part.user_cpu_ns.zip(part.system_cpu_ns))
                .map(|(sum, add)| (sum.0 + add.0, sum.1 + add.1));
        }
        whole.user_cpu_ns = cpu_ns.map(|ns| ns.0);
        whole.system_cpu_ns = cpu_ns.map(|ns| ns.1);
        whole.raw = Some(RawJson::from(&Value::Array(raw)));
        if overdue {
            let seconds = self.limit.as_secs();
            whole.problem = Some(format!("fio did not end within {seconds} s and was killed"));
            whole.overran = true;
        }
        whole.problem = whole.problem.or(early_leaver);
        whole
    }
}

/// A background process that ended before the others.
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
        "{} ended before the others, so that they were measured without it",
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
