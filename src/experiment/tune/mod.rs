//! A search for the best arm: stages of rounds on the real machine, and fresh rounds as their referee. What comes next is decided in
//! [`iosched_result::tune::search`].

pub mod propose; // asks a command for arms
mod settle; // which candidates the disks have

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::Result;
use iosched_host::safety::panics;
use iosched_host::system::device::Disks;
use iosched_host::system::page_cache;
use iosched_measure::probe::Detail;
use iosched_result::analysis::conclude;
use iosched_result::failure::{Failure, Kind, kind_of};
use iosched_result::report::units;
use iosched_result::statistics::stopping::Stopping;
use iosched_result::tune::search::{self, Step, next};
use iosched_result::tune::{DEFAULT, Phase, Space, Stage, TuneResult};
use iosched_result::types::arm::Arm;
use iosched_result::types::participant::Named;
use iosched_result::types::queue::State;
use iosched_result::types::result::{Design, ResultFile, Status};
use iosched_result::types::scratch_place::ScratchPlace;

use crate::machine::{Machine, RealMachine, Resources};
use crate::run::{BlockEnd, Experiment, Observer, after_restoring, go_on_with, gone};
use crate::saved::{self, now};
use crate::workload::Workload;

/// Switching and starting the workload, in a round.
const AROUND_S: f64 = 0.6;

/// A search, and where it is run.
pub struct TuneRun<'a> {
    pub disks: Disks,
    /// The design of each stage, but for its arms: the only one here is what the disks have.
    pub design: Design,
    pub workload: &'a mut dyn Workload,
    pub participants: Vec<Named>,
    pub scratch_file: Option<ScratchPlace>,
    /// New, or of an interrupted search.
    pub tune: TuneResult,
    pub output: Option<PathBuf>,
    pub replaces_output: bool,
    pub notes: Vec<String>,
}

/// Receives the progress.
pub trait TuneObserver: Observer {
    fn leaves_out(&mut self, arm: &str, why: &str);
    /// The rounds of a stage, or of the referee, begin.
    fn stage_begins(&mut self, tune: &TuneResult, name: &str, result: &ResultFile);
    fn stage_ends(&mut self, tune: &TuneResult);
    fn asks(&mut self, argv: &[String]);
    /// So many lines of the answer are no arms that can be tried.
    fn refuses(&mut self, lines: usize);
}

/// Leaves out what the budget has no time for, as soon as the times of the rounds are known. Err: it is too short for anything.
pub fn fit(tune: &mut TuneResult, design: &Design) -> Result<()> {
    let own_s = design.ramp_s + design.round_time_s + design.washout_s;
    // A command takes as long as it takes.
    if design.auto_times.is_some() || own_s <= 0.0 {
        return Ok(());
    }
    search::fit(tune, own_s + AROUND_S).map_err(|needed_s| {
        Failure::usage(
            format!(
                "the budget is too short: the smallest search and its referee need {}",
                units::duration(needed_s)
            ),
            format!("give it --budget {:.0}s or more", needed_s.ceil()),
        )
    })
}

impl TuneRun<'_> {
    /// Err: a failure before the first round, while restoring the settings, or one that ended the search; what was measured is in
    /// the result file.
    pub fn run(
        self,
        resources: Resources<'_>,
        observer: &mut dyn TuneObserver,
    ) -> Result<TuneResult> {
        self.design
            .cold
            .map_or(Ok(()), page_cache::ensure_can_drop)?;
        // Those of a file may set what is elsewhere, which is saved now; others are admitted one by one.
        let is_known = |arm: &&Arm| arm.setting_elsewhere().is_some();
        let arms = self.tune.candidates.iter().map(|it| &it.arm);
        let arms = arms.clone().take(DEFAULT + 1).chain(arms.filter(is_known));
        let arms: Vec<Arm> = arms.cloned().collect();
        let mut machine = RealMachine::take(
            &self.disks,
            &arms,
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
        self.run_on(&mut machine, observer)
    }

    fn run_on(
        mut self,
        machine: &mut dyn Machine,
        observer: &mut dyn TuneObserver,
    ) -> Result<TuneResult> {
        // Before that there is nothing to go on with.
        self.choose_times(machine, observer)?;
        saved::begin(self.output.as_ref(), self.replaces_output, &self.tune)?;
        let outcome = panics::caught(|| {
            machine.listen()?;
            self.steps(machine, observer)
        })
        .map_err(|error| gone::explain(error, &self.disks, machine, self.tune.search_rounds() + 1));
        self.tune.status = match &outcome {
            Ok(()) => Status::Complete,
            Err(error) if matches!(kind_of(error), Kind::Interrupted(_)) => Status::Interrupted,
            Err(_) => Status::Failed,
        };
        self.tune.error = outcome.as_ref().err().map(|error| format!("{error:#}"));
        self.tune.finished = Some(now(machine));
        let saved = self.save();
        outcome?;
        saved?;
        Ok(self.tune)
    }

    fn steps(&mut self, machine: &mut dyn Machine, observer: &mut dyn TuneObserver) -> Result<()> {
        let mut states: BTreeMap<usize, Vec<State>> = BTreeMap::new();
        loop {
            machine.ensure_uninterrupted()?;
            if let Some(place) = self.unfinished() {
                self.settle(machine, &mut states, observer)?;
                self.go_on(machine, place, observer)?;
                continue;
            }
            self.settle(machine, &mut states, observer)?;
            match next(&self.tune) {
                Step::Stage {
                    phase,
                    arms,
                    blocks,
                } => {
                    let result = self.begun(machine, &arms, blocks);
                    self.tune.stages.push(Stage { phase, result });
                }
                Step::Add(candidates) => self.tune.candidates.extend(candidates),
                Step::Propose => self.propose(observer)?,
                Step::Referee { arms, blocks } => {
                    self.tune.referee = Some(self.begun(machine, &arms, blocks));
                }
                Step::End => return Ok(()),
            }
        }
    }

    /// Ramp and window from a pilot under what the disks have and each scheduler as it comes, and what a budget is enough for.
    fn choose_times(
        &mut self,
        machine: &mut dyn Machine,
        observer: &mut dyn TuneObserver,
    ) -> Result<()> {
        if let Some(stage) = self.tune.stages.first() {
            let design = &stage.result.design;
            self.design.ramp_s = design.ramp_s;
            self.design.round_time_s = design.round_time_s;
            return Ok(());
        }
        if self.design.auto_times.is_some() {
            let plain = self.tune.candidates.iter().enumerate();
            let plain = plain.filter(|(index, it)| *index == DEFAULT || it.arm.settings.is_empty());
            let arms: Vec<usize> = plain.map(|(index, _)| index).collect();
            let mut result = self.begun(machine, &arms, 1);
            machine.record_settings()?;
            let mut experiment = self.experiment(result.design.clone(), 0);
            let chosen = panics::caught(|| experiment.pilot(machine, &mut result, observer));
            after_restoring(chosen, machine.put_back())?;
            self.design.ramp_s = result.design.ramp_s;
            self.design.round_time_s = result.design.round_time_s;
        }
        self.design.auto_times = None;
        fit(&mut self.tune, &self.design)
    }

    fn design_of(&self, arms: &[usize], blocks: usize) -> Design {
        let arms = arms
            .iter()
            .map(|index| self.tune.candidates[*index].arm.clone());
        Design {
            arms: arms.collect(),
            reference: DEFAULT,
            stopping: Stopping::Fixed { blocks },
            ..self.design.clone()
        }
    }

    fn experiment(&mut self, design: Design, number: u64) -> Experiment<'_> {
        Experiment {
            disks: self.disks.clone(),
            design,
            workload: &mut *self.workload,
            participants: self.participants.clone(),
            scratch_file: self.scratch_file.clone(),
            seed: self.tune.seed.wrapping_add(number),
            output: None,
            replaces_output: false,
            notes: self.notes.clone(),
            earlier: None,
        }
    }

    /// Rounds that no other stage has had: each has a seed of its own.
    fn begun(&mut self, machine: &dyn Machine, arms: &[usize], blocks: usize) -> ResultFile {
        let design = self.design_of(arms, blocks);
        let number = self.tune.stages.len() as u64 + 1;
        self.experiment(design, number).empty_result(machine)
    }

    /// A stage whose rounds have not ended, or the referee.
    fn unfinished(&self) -> Option<Place> {
        let is_open = |result: &ResultFile| result.status != Status::Complete;
        let stage = self
            .tune
            .stages
            .iter()
            .position(|stage| is_open(&stage.result));
        let referee = self.tune.referee.as_ref().filter(|result| is_open(result));
        stage.map(Place::Stage).or(referee.map(|_| Place::Referee))
    }

    /// To its end; saved after each block.
    fn go_on(
        &mut self,
        machine: &mut dyn Machine,
        place: Place,
        observer: &mut dyn TuneObserver,
    ) -> Result<()> {
        let mut result = go_on_with(self.result(place).clone(), machine);
        if result.rounds.is_empty() {
            result.resumed.clear();
        }
        observer.stage_begins(&self.tune, &self.name(place), &result);
        machine.record_settings()?;
        let ended = panics::caught(|| self.blocks(machine, place, &mut result, observer));
        let put_back = machine.put_back();
        result.finished = Some(now(machine));
        result.status = match &ended {
            Ok(()) => Status::Complete,
            Err(error) if matches!(kind_of(error), Kind::Interrupted(_)) => Status::Interrupted,
            Err(_) => Status::Failed,
        };
        if place == Place::Referee {
            conclude::conclude(&mut result);
        }
        *self.result(place) = result;
        let saved = self.save();
        after_restoring(ended, put_back)?;
        saved?;
        observer.stage_ends(&self.tune);
        Ok(())
    }

    fn blocks(
        &mut self,
        machine: &mut dyn Machine,
        place: Place,
        result: &mut ResultFile,
        observer: &mut dyn TuneObserver,
    ) -> Result<()> {
        loop {
            let design = result.design.clone();
            let end = self
                .experiment(design, 0)
                .block(machine, result, observer)?;
            // What a command reports is known after its first block.
            self.design.primary.clone_from(&result.design.primary);
            *self.result(place) = result.clone();
            self.save()?;
            match end {
                BlockEnd::More => {}
                BlockEnd::Over => return Ok(()),
                BlockEnd::Hopeless(error) => return Err(error),
            }
        }
    }

    fn result(&mut self, place: Place) -> &mut ResultFile {
        match (place, &mut self.tune.referee) {
            (Place::Referee, Some(referee)) => referee,
            (Place::Stage(index), _) => &mut self.tune.stages[index].result,
            (Place::Referee, None) => unreachable!("the referee has begun"),
        }
    }

    fn name(&self, place: Place) -> String {
        let Place::Stage(index) = place else {
            return "the referee".to_owned();
        };
        let what = match self.tune.stages[index].phase {
            Phase::Space => "",
            Phase::Combinations => ", combinations",
            Phase::Proposals => ", proposals",
            Phase::Final => ", the best of all proposals",
        };
        format!("stage {}{what}", index + 1)
    }

    fn propose(&mut self, observer: &mut dyn TuneObserver) -> Result<()> {
        let Space::Proposals { argv, .. } = &self.tune.space else {
            return Ok(());
        };
        observer.asks(argv);
        let answer = propose::ask(&self.tune, argv)?;
        let refused = propose::take(&mut self.tune, &answer);
        if refused > 0 {
            observer.refuses(refused);
        }
        self.save()
    }

    fn save(&self) -> Result<()> {
        saved::save(self.output.as_deref(), &self.tune)
    }
}

/// The rounds that go on: those of a stage, or the referee's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Stage(usize),
    Referee,
}
