//! Carries out a plan and leaves the device as it was, whatever happens on the way.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result};

use super::metric::Metric;
use super::plan::Plan;
use super::round::{Bench, Done};
use super::stopping::Stopping;
use super::turn::{self, Next, Turn};
use super::{analysis, noise};
use crate::arm::Arm;
use crate::device::Disks;
use crate::device::uevents::Uevents;
use crate::environment::Environment;
use crate::failure::{Failure, Kind, kind_of};
use crate::guardian::Guardian;
use crate::interrupt;
use crate::journal::{self, Journal, Undo};
use crate::output::{remove_unfinished, write_new, write_whole};
use crate::preflight::{self, Hold};
use crate::probe::{self, Detail, Probe};
use crate::report::result::{
    Design, DeviceInfo, Exclusion, ProbeInfo, ResultFile, Resumed, Round, SCHEMA, SCHEMA_VERSION,
    Status, WorkloadInfo,
};
use crate::scheduler::{SavedQueue, State};
use crate::scratch::Truth;
use crate::scratch_file::{Place, ScratchFile};
use crate::workload::Workload;

/// What is to be compared, on what, and for how long.
pub struct Experiment<'a> {
    pub disks: Disks,
    pub scratch: Option<Truth>,
    pub arms: Vec<Arm>,
    pub reference: usize,
    pub workload: &'a mut dyn Workload,
    /// Where a scratch file is made for the workload, to be used instead of the device.
    pub scratch_file: Option<Place>,
    /// The raw disk that the workload may overwrite.
    pub hold: Option<Hold>,
    pub guardian: &'a Guardian,
    pub fio_version: Option<String>,
    pub stopping: Stopping,
    pub seed: u64,
    pub ramp: Duration,
    pub time: Duration,
    pub primary: Vec<Metric>,
    pub journal: &'a Journal,
    pub launcher: &'a Path,
    /// Saved here after every round, if given.
    pub output: Option<PathBuf>,
    /// A file that is there is replaced by the first save.
    pub replaces_output: bool,
    pub notes: Vec<String>,
    /// All arms are the same, to see what noise does.
    pub is_placebo: bool,
    /// An interrupted run to go on with; it has the plan and the rounds so far.
    pub earlier: Option<ResultFile>,
}

impl ProbeInfo {
    pub fn of(probe: &Probe) -> ProbeInfo {
        ProbeInfo {
            measures_q2g: probe.measures_q2g(),
            memory_bytes: probe.memory_bytes(),
            notes: probe.notes(),
        }
    }
}

/// Told of the progress; prints, or not.
pub trait Observer {
    /// Before the first round, if there is to be a scratch file; first with nothing done.
    fn scratch_file_grows(&mut self, place: &Place, done_bytes: u64);
    fn begin(&mut self, result: &ResultFile);
    fn round_begins(&mut self, turn: &Turn, arm: &Arm);
    fn round_ends(&mut self, round: &Round);
}

/// Family-wise error rate of the primary metrics.
const ALPHA: f64 = 0.05;

impl Experiment<'_> {
    /// The plan, without touching anything.
    pub fn plan(&self) -> Plan {
        Plan::in_segments(self.seed, self.arms.len(), self.stopping.segments())
    }

    /// The result is complete, or says why it is not. An error is one of before the first round, or of putting
    /// back the settings.
    pub fn run(mut self, observer: &mut dyn Observer) -> Result<ResultFile> {
        let disks = &self.disks.members;
        // In the order of their numbers, so that of two runs on the same disks one has them all.
        let _locks = disks
            .iter()
            .map(preflight::lock)
            .collect::<Result<Vec<_>>>()?;
        let scratch_file = self.make_scratch_file(observer)?;
        let deepest = self
            .arms
            .iter()
            .filter_map(|arm| arm.setting("nr_requests")?.parse().ok())
            .max();
        let detail = Detail {
            asked: self.workload.is_asynchronous() && probe::can_tell_since_when(),
            ..Detail::default()
        };
        let mut probe = Probe::attach(disks, deepest.unwrap_or(0), detail)?;
        let baselines = disks
            .iter()
            .map(|disk| SavedQueue::take(disk, &self.arms))
            .collect::<Result<Vec<_>>>()?;
        let mut result = match self.earlier.take() {
            Some(earlier) => self.go_on_with(earlier, &probe),
            None => self.empty_result(&probe),
        };
        if let Some(path) = &self.output {
            remove_unfinished(path)?;
        }
        result.notes.extend(self.guardian.take_notes());
        self.save_first(&result)?;
        observer.begin(&result);

        let settings = baselines
            .iter()
            .map(|baseline| self.journal.record(Undo::Queue(baseline.clone())))
            .collect::<Result<Vec<_>>>()?;
        let (begin, done_before) = (Instant::now(), result.rounds.len());
        let outcome = self
            .rounds(
                &mut probe,
                &baselines,
                scratch_file.as_ref(),
                &mut result,
                observer,
            )
            .map_err(|error| self.or_gone(error, result.rounds.len()));
        let took = begin.elapsed();
        let put_back = journal::undo_all(settings);

        result.finished = Some(now());
        result.status = match &outcome {
            Ok(()) => Status::Complete,
            Err(error) if matches!(kind_of(error), Kind::Interrupted(_)) => Status::Interrupted,
            Err(_) => Status::Failed,
        };
        result.error = outcome.as_ref().err().map(|error| format!("{error:#}"));
        analysis::conclude(&mut result);
        result.noise = (result.design.is_placebo)
            .then(|| noise::noise(&result, block_s(&result, done_before, took)))
            .flatten();
        let saved = save(self.output.as_deref(), &result);
        put_back.context("not all is as it was; `iosched restore` tries again")?;
        outcome?;
        saved?;
        Ok(result)
    }

    /// What came to the name since it was looked at is not overwritten.
    fn save_first(&self, result: &ResultFile) -> Result<()> {
        match &self.output {
            Some(path) if !self.replaces_output => write_new(path, &to_json(result)?),
            output => save(output.as_deref(), result),
        }
    }

    fn make_scratch_file(&self, observer: &mut dyn Observer) -> Result<Option<ScratchFile>> {
        let make = |place: &Place| {
            let mut progress = |done_bytes| observer.scratch_file_grows(place, done_bytes);
            ScratchFile::make(place, &self.disks, self.journal, &mut progress)
        };
        self.scratch_file.as_ref().map(make).transpose()
    }

    /// Whatever failed on a disk that is no longer there failed because of that.
    fn or_gone(&self, error: anyhow::Error, finished: usize) -> anyhow::Error {
        let gone: Vec<&str> = self.disks.gone().iter().map(|d| d.name.as_str()).collect();
        if gone.is_empty() || matches!(kind_of(&error), Kind::Interrupted(_)) {
            return error;
        }
        let is_all = gone.len() == self.disks.members.len();
        Failure::runtime(
            format!(
                "{} has gone (unplugged, removed, or let go by its driver) in round {}: {error:#}",
                gone.join(", "),
                finished + 1
            ),
            if is_all {
                "its scheduler and settings went with it: nothing is left to be put back, and every finished round is kept"
            } else {
                "its scheduler and settings went with it, the other disks have theirs again, and every finished round is kept"
            },
        )
    }

    fn rounds(
        &mut self,
        probe: &mut Probe,
        baselines: &[SavedQueue],
        scratch_file: Option<&ScratchFile>,
        result: &mut ResultFile,
        observer: &mut dyn Observer,
    ) -> Result<()> {
        let uevents = Uevents::listen()?;
        let mut bench = Bench {
            disks: &self.disks,
            arms: &self.arms,
            baselines,
            probe,
            workload: self.workload,
            ramp: self.ramp,
            time: self.time,
            journal: self.journal,
            launcher: self.launcher,
            scratch_file,
            hold: self.hold.as_ref(),
            uevents: &uevents,
            first: first_states(result),
        };
        loop {
            let turn = match turn::next(result) {
                Next::Round(turn) => turn,
                Next::Draw(blocks) => {
                    result.plan.extend(blocks);
                    continue;
                }
                Next::End => return Ok(()),
            };
            interrupt::check()?;
            observer.round_begins(&turn, &self.arms[turn.planned.arm]);
            let Done { round, rival } = bench.carry_out(&turn)?;
            observer.round_ends(&round);
            result.notes.extend(self.guardian.take_notes());
            let failed_at_once = round.index == 0 && round.exclusion == Some(Exclusion::Workload);
            let problem = round.problem.clone();
            result.rounds.push(round);
            result.excluded = analysis::excluded_blocks(result);
            save(self.output.as_deref(), result)?;
            if let Some(rival) = rival {
                return Err(Failure::invalid(
                    format!(
                        "{rival}: the run has ended, for two that switch a disk at the same moment can crash the kernel"
                    ),
                    "stop that program (`iosched doctor` names those that are likely), then go on with --resume",
                ));
            }
            if let (true, Some(problem)) = (failed_at_once, problem) {
                return Err(Failure::runtime(
                    format!("the workload failed in the first round: {problem}"),
                    "run it by hand on this device, mend it, and try again",
                ));
            }
        }
    }

    /// Everything that was decided and measured stays; only what this process is in is new.
    fn go_on_with(&self, earlier: ResultFile, probe: &Probe) -> ResultFile {
        let mut resumed = earlier.resumed;
        resumed.push(Resumed {
            at: now(),
            after_rounds: earlier.rounds.len(),
        });
        ResultFile {
            status: Status::Running,
            error: None,
            finished: None,
            resumed,
            device: DeviceInfo::of_all(&self.disks, self.scratch.clone()),
            probe: ProbeInfo::of(probe),
            ..earlier
        }
    }

    fn empty_result(&self, probe: &Probe) -> ResultFile {
        ResultFile {
            schema: SCHEMA.to_owned(),
            schema_version: SCHEMA_VERSION,
            status: Status::Running,
            error: None,
            started: now(),
            finished: None,
            resumed: Vec::new(),
            environment: Environment::read(self.fio_version.clone()),
            device: DeviceInfo::of_all(&self.disks, self.scratch.clone()),
            workload: WorkloadInfo {
                name: self.workload.name().to_owned(),
                fixed: self.workload.fixed(),
                description: self.workload.description(),
                scratch_file: self.scratch_file.clone(),
            },
            design: Design {
                arms: self.arms.clone(),
                reference: self.reference,
                stopping: self.stopping,
                ramp_s: self.ramp.as_secs_f64(),
                round_time_s: self.time.as_secs_f64(),
                primary: self.primary.clone(),
                alpha: ALPHA,
                is_placebo: self.is_placebo,
            },
            plan: self.plan(),
            probe: ProbeInfo::of(probe),
            metrics: Vec::new(),
            rounds: Vec::new(),
            excluded: Vec::new(),
            comparisons: Vec::new(),
            waiting: Vec::new(),
            diagnostics: Vec::new(),
            noise: None,
            notes: self.notes.clone(),
        }
    }
}

fn block_s(result: &ResultFile, done_before: usize, took: Duration) -> f64 {
    let rounds = result.rounds.len() - done_before;
    took.as_secs_f64() * result.plan.arms as f64 / rounds.max(1) as f64
}

/// By arm, what was in force on each disk in its first round, if it had one before the run was interrupted.
fn first_states(result: &ResultFile) -> BTreeMap<usize, Vec<State>> {
    let mut first = BTreeMap::new();
    for round in &result.rounds {
        if let Some(arm) = result.arm_index(&round.arm) {
            let states = || round.evidence.states().into_iter().cloned().collect();
            first.entry(arm).or_insert_with(states);
        }
    }
    first
}

/// Whether the run as a whole may be trusted.
pub fn ensure_valid(result: &ResultFile) -> Result<()> {
    let (excluded, blocks) = (result.excluded.len(), result.blocks_begun());
    match result.excluded.first() {
        Some(first) if !turn::is_tolerable(excluded, blocks) => Err(Failure::invalid(
            format!(
                "the run is invalid: {excluded} of {blocks} blocks had a round that does not count; the first because {}",
                first.problem
            ),
            "every round and its problem is in the result file",
        )),
        _ => Ok(()),
    }
}

fn save(output: Option<&Path>, result: &ResultFile) -> Result<()> {
    match output {
        None => Ok(()),
        Some(path) => write_whole(path, &to_json(result)?),
    }
}

/// The result file's bytes.
pub fn to_json(result: &ResultFile) -> Result<Vec<u8>> {
    let mut bytes = serde_json::to_vec(result).context("writing the result as JSON")?;
    bytes.push(b'\n');
    Ok(bytes)
}

fn now() -> String {
    humantime::format_rfc3339_seconds(SystemTime::now()).to_string()
}
