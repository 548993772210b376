//! Carries out a plan and restores the device's settings in every case.

pub mod gone; // a disk that disappears during a run
mod live; // preparation and checks of a live run
#[cfg(test)]
pub mod silent; // an observer for tests
mod times; // ramp and window, from a pilot
mod traces; // a trace of each arm, after the last round
mod turns; // one round after the other

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context, Result};

use super::machine::{Machine, RealMachine, Resources};
use super::round::RoundSetup;
use super::saved::{self, now, save};
use crate::workload::Workload;
use iosched_host::safety::panics;
use iosched_host::system::device::Disks;
use iosched_host::system::page_cache;
use iosched_measure::probe::Detail;
use iosched_result::analysis::{budget, conclude, noise, times as chosen, turn};
use iosched_result::failure::{self, Failure, Kind, kind_of};
use iosched_result::types::arm::Arm;
use iosched_result::types::level::Precondition;
use iosched_result::types::participant::Named;
use iosched_result::types::plan::{Plan, Turn};
use iosched_result::types::queue::State;
use iosched_result::types::result::{
    Design, ResultFile, Resumed, Round, Status, Subject, WorkloadInfo,
};
use iosched_result::types::scratch_place::ScratchPlace;

pub use turns::BlockEnd;

/// The note of a run that --for has ended.
pub const ENDED_BY_FOR: &str = "the run ended after the time of --for";

/// A comparison, and its disks.
pub struct Experiment<'a> {
    pub disks: Disks,
    pub design: Design,
    pub workload: &'a mut dyn Workload,
    /// Processes that already run and belong to the workload.
    pub participants: Vec<Named>,
    /// The place of a scratch file, on which the workload then runs instead of the device.
    pub scratch_file: Option<ScratchPlace>,
    pub seed: u64,
    /// Saved here after every round, if given.
    pub output: Option<PathBuf>,
    /// The first save replaces an existing file.
    pub replaces_output: bool,
    pub notes: Vec<String>,
    /// An interrupted run to continue, with its plan and rounds.
    pub earlier: Option<ResultFile>,
}

/// Receives the progress.
pub trait Observer {
    /// Called before the first round while a scratch file is written; first with `done_bytes` 0.
    fn scratch_file_grows(&mut self, place: &ScratchPlace, done_bytes: u64);
    fn begin(&mut self, result: &ResultFile);
    /// After each execution of the workload before the first round.
    fn preconditions(&mut self, _so_far: &Precondition) {}
    /// Before the execution under each arm from which the times of the rounds are chosen.
    fn pilot_begins(&mut self, _arm: &Arm) {}
    fn times_chosen(&mut self, _result: &ResultFile) {}
    fn round_begins(&mut self, turn: &Turn, arm: &Arm);
    fn trace_begins(&mut self, arm: &Arm);
    /// None of the rounds so far counts; see [`Pilot`](super::washout::Pilot).
    fn begins_again(&mut self, _why: &str) {}
    /// Each second while a load is watched before the first switch.
    fn watches(&mut self, _since_s: f64, _load: &iosched_result::types::live::Watched) {}
    fn watched(&mut self, _result: &ResultFile) {}
    /// A live run waits; the reference is in force.
    fn waits(&mut self, why: &str);
    /// `result` already contains the round.
    fn round_ends(&mut self, result: &ResultFile, round: &Round);
}

impl Experiment<'_> {
    /// The plan up to the first look.
    fn plan(&self) -> Plan {
        Plan::new(
            self.seed,
            self.design.arms.len(),
            self.design.stopping.next_segment(0).unwrap_or(0),
        )
    }

    /// Runs on this machine. The result is complete, or says why it is not. Err: a failure before the first round or
    /// while restoring the settings.
    pub fn run(self, resources: Resources<'_>, observer: &mut dyn Observer) -> Result<ResultFile> {
        self.design
            .cold
            .map_or(Ok(()), page_cache::ensure_can_drop)?;
        let mut machine = RealMachine::take(
            &self.disks,
            &self.design.arms,
            self.workload,
            self.scratch_file.as_ref(),
            Detail {
                order: self.design.order,
                fairness: self.design.fairness,
                ..Detail::default()
            },
            resources,
            &mut |place, done_bytes| observer.scratch_file_grows(place, done_bytes),
        )?;
        // A live run switches only in its hours.
        if self.design.live.is_none() && self.earlier.is_none() {
            self.try_arms(&mut machine)?;
        }
        self.run_on(&mut machine, observer)
    }

    fn run_on(
        mut self,
        machine: &mut dyn Machine,
        observer: &mut dyn Observer,
    ) -> Result<ResultFile> {
        let mut result = match self.earlier.take() {
            Some(earlier) => go_on_with(earlier, machine),
            None => self.empty_result(machine),
        };
        // A run that goes on has those of its beginning.
        let mut notes = machine.take_notes();
        notes.retain(|note| !result.notes.contains(note));
        result.notes.extend(notes);
        saved::begin(self.output.as_ref(), self.replaces_output, &result)?;
        observer.begin(&result);

        let (took_before, done_before) = (took_s(&result), carried_out(&result));
        let outcome = panics::caught(|| self.rounds(machine, &mut result, observer))
            .map_err(|error| gone::explain(error, &self.disks, machine, result.rounds.len() + 1));
        let put_back = machine.put_back();

        result.finished = Some(now(machine));
        result.status = match &outcome {
            Ok(()) => Status::Complete,
            Err(error) if matches!(kind_of(error), Kind::Interrupted(_)) => Status::Interrupted,
            Err(_) => Status::Failed,
        };
        result.error = outcome.as_ref().err().map(|error| format!("{error:#}"));
        conclude::conclude(&mut result);
        result.noise = (result.design.is_placebo)
            .then(|| noise::noise(&result, block_s(&result, done_before, took_before)))
            .flatten();
        let saved = save(self.output.as_deref(), &result);
        after_restoring(outcome, put_back)?;
        saved?;
        Ok(result)
    }

    /// Applies each arm that has settings once, and puts everything back, so that a setting which the kernel refuses is reported before
    /// the first round, which may take hours.
    fn try_arms(&self, machine: &mut dyn Machine) -> Result<()> {
        let mut arms = self
            .design
            .arms
            .iter()
            .filter(|arm| !arm.settings.is_empty());
        if arms.clone().next().is_none() {
            return Ok(());
        }
        machine.record_settings()?;
        let tried = panics::caught(|| {
            arms.try_for_each(|arm| {
                machine.ensure_uninterrupted()?;
                machine.apply(arm).map(drop)
            })
        });
        after_restoring(tried, machine.put_back())
    }

    fn rounds(
        &mut self,
        machine: &mut dyn Machine,
        result: &mut ResultFile,
        observer: &mut dyn Observer,
    ) -> Result<()> {
        self.watch_load(machine, result, observer)?;
        machine.record_settings()?;
        machine.listen()?;
        let limits = self.design.live.clone();
        let output = self.output.clone();
        let trace = self.design.trace();
        let mut bench = self.bench(machine, result)?;
        if result.design.precondition {
            let (reference, seed) = (result.design.reference, result.plan.seed);
            let mut done = Precondition::default();
            let auto = result.design.auto_times.filter(|_| chosen::is_due(result));
            let auto = auto.unwrap_or_default();
            if auto.ramp {
                bench.ramp = chosen::FIRST.0;
            }
            if auto.round_time {
                bench.time = chosen::FIRST.1;
            }
            let mut tells = |so_far: &Precondition| observer.preconditions(so_far);
            let ended = bench.precondition(reference, seed, &mut done, &mut tells);
            if let Err(error) = &ended {
                done.problem = Some(format!("{error:#}"));
            }
            result.preconditions.push(done);
            ended?;
            save(output.as_deref(), result)?;
        }
        times::choose(&mut bench, result, observer)?;
        save(output.as_deref(), result)?;
        // A run that was resumed is not let past what refused it.
        budget::ensure_planned(result)?;
        budget::ensure_enough(result)?;
        let began = bench.machine.now();
        loop {
            // Added rounds have their number.
            let is_limited = result.design.extensions.is_empty();
            if limits
                .as_ref()
                .filter(|_| is_limited)
                .is_some_and(|live| live.is_over(bench.machine.now().saturating_sub(began)))
            {
                result.notes.push(ENDED_BY_FOR.to_owned());
                return Ok(());
            }
            let done = result.rounds.len();
            let Some(turn) = turns::next(result) else {
                break;
            };
            if result.rounds.len() < done {
                observer.begins_again(result.notes.last().map_or("", String::as_str));
            }
            if live::waited(limits.as_ref(), &mut bench, observer)? {
                continue;
            }
            // It may have begun after the first blocks.
            bench.washout = result.design.washout();
            let turned = turns::run_turn(&mut bench, &turn, result, observer)?;
            let ended = bench.machine.now();
            save(output.as_deref(), result)?;
            turns::add_time(result, bench.machine.now().saturating_sub(ended));
            live::stopped_reference(result)?;
            turned.ensure_alone()?;
            turned.ensure_hopeful()?;
            if result.rounds.len() == result.plan.rounds_of(0) {
                budget::ensure_enough(result)?;
                budget::fill(result);
            }
        }
        trace.map_or(Ok(()), |time| {
            let save = |result: &ResultFile| save(output.as_deref(), result);
            traces::record(&mut bench, time, limits.as_ref(), result, observer, save)
        })
    }

    fn bench<'b>(
        &'b mut self,
        machine: &'b mut dyn Machine,
        result: &ResultFile,
    ) -> Result<RoundSetup<'b>> {
        Ok(RoundSetup {
            live: self.live_rounds()?,
            disks: &self.disks,
            arms: &self.design.arms,
            machine,
            workload: self.workload,
            ramp: result.design.ramp(),
            washout: result.design.washout(),
            cold: self.design.cold,
            time: result.design.time(),
            why: result.design.why,
            first: first_states(result),
        })
    }

    /// The result before the first round.
    pub fn empty_result(&self, machine: &dyn Machine) -> ResultFile {
        let workload = WorkloadInfo {
            name: self.workload.name().to_owned(),
            fixed: self.workload.properties().fixed,
            description: self.workload.description(),
            scratch_file: self.scratch_file.clone(),
            participants: self.participants.clone(),
        };
        ResultFile {
            command: command(),
            notes: self.notes.clone(),
            ..ResultFile::new(
                now(machine),
                machine.subject(),
                workload,
                self.design.clone(),
                self.plan(),
            )
        }
    }
}

/// The command line of this process.
fn command() -> Vec<String> {
    let words = std::env::args_os();
    words
        .map(|word| word.to_string_lossy().into_owned())
        .collect()
}

/// The error that ended the rounds comes first, then that of restoring.
pub fn after_restoring<T>(outcome: Result<T>, put_back: Result<()>) -> Result<T> {
    let put_back = put_back
        .context("some settings were not restored; `iosched restore` tries those that it knows");
    match (outcome, put_back) {
        (outcome, Ok(())) => outcome,
        (Ok(_), Err(left)) => Err(left),
        (Err(cause), Err(left)) => Err(failure::unrestored(&cause, &left)),
    }
}

/// Keeps all decisions and measurements; replaces only what describes this process.
pub fn go_on_with(earlier: ResultFile, machine: &dyn Machine) -> ResultFile {
    let Subject { device, probe, .. } = machine.subject();
    let mut resumed = earlier.resumed;
    resumed.push(Resumed {
        at: now(machine),
        after_rounds: earlier.rounds.len(),
    });
    ResultFile {
        status: Status::Running,
        error: None,
        finished: None,
        resumed,
        device,
        probe,
        ..earlier
    }
}

/// Also those that do not count.
fn carried_out(result: &ResultFile) -> usize {
    result.rounds.len() + result.pilot.as_ref().map_or(0, |pilot| pilot.rounds.len())
}

fn took_s(result: &ResultFile) -> f64 {
    result.rounds_took_s.unwrap_or_default()
}

/// The mean time of a block since `done_before` rounds were done, without what comes before the first round and after the last.
fn block_s(result: &ResultFile, done_before: usize, took_before_s: f64) -> f64 {
    let took_s = took_s(result) - took_before_s;
    let rounds = carried_out(result).saturating_sub(done_before);
    took_s * result.plan.arms as f64 / rounds.max(1) as f64
}

/// The settings of each disk in the first round of each arm, if it had one before the interruption.
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

/// Whether the run as a whole is valid.
pub fn ensure_valid(result: &ResultFile) -> Result<()> {
    match turn::why_invalid(result) {
        Some(why) => Err(Failure::invalid(
            why,
            "every round and its problem is in the result file",
        )),
        None => Ok(()),
    }
}

#[cfg(test)]
#[path = "run_tests.rs"]
mod tests;
