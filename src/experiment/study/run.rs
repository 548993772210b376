//! All cells of a study advance together: one block of each cell in each pass, in random order, so that every cell has
//! data after the first pass and a drift of the machine meets all alike. Blocks go on only where a cell is not decided.

mod begun; // a result before its first round
mod passes; // over the cells of each stage
mod pilot; // rounds from which a budget is planned

#[cfg(test)]
mod tests; // budgets, on a machine that is none

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::Result;

use super::ahead::{Ahead, Took};
use super::budget::Deadline;
use super::format::{Cell, Study};
use super::optional::{self, Candidate};
use crate::machine::{Machine, RealMachine, Resources};
use crate::run::{Experiment, Observer, after_restoring, go_on_with, gone};
use crate::saved::{self, now};
use crate::workload::Workload;
use iosched_host::safety::panics;
use iosched_host::system::device::Disks;
use iosched_host::system::page_cache;
use iosched_measure::probe::Detail;
use iosched_result::analysis::conclude;
use iosched_result::failure::{Failure, Kind, kind_of};
use iosched_result::statistics::stopping::Stopping;
use iosched_result::study::joint;
use iosched_result::study::result::StudyResult;
use iosched_result::study::times::{Budget, LeftOut, Times};
use iosched_result::types::arm::Arm;
use iosched_result::types::result::{Design, ResultFile, Status};
use iosched_result::types::scratch_place::ScratchPlace;

pub const PLACEBO: &str = "A/A";

/// A study, and where it is run.
pub struct StudyRun<'a> {
    pub study: &'a Study,
    /// Arms that are compared; the optional ones that the disks have are added.
    pub arms: Vec<Arm>,
    pub candidates: Vec<Candidate>,
    /// Chosen cells; the last that the disks suffice for is run against itself too.
    pub cells: Vec<Cell>,
    pub disks: Disks,
    pub scratch_file: Option<ScratchPlace>,
    pub times: Times,
    /// Chooses other times, so that the study ends so long after it began.
    pub budget: Option<Duration>,
    pub began: Instant,
    /// Follows from that, after the pilot.
    pub deadline: Option<Deadline>,
    pub quick: bool,
    /// The target that the workloads write to holds nothing that can be lost.
    pub may_write: bool,
    pub seed: u64,
    pub output: Option<PathBuf>,
    pub replaces_output: bool,
    pub notes: Vec<String>,
    /// An interrupted study to continue.
    pub earlier: Option<StudyResult>,
}

/// Receives the progress: that of each cell, and which it is.
pub trait StudyObserver: Observer {
    fn cell_begins(&mut self, name: &str, ahead: &Ahead);
    /// The disk is brought into the state of a stage; its name may be empty.
    fn prepares(&mut self, stage: &str);
    /// A pilot block of the cell begins.
    fn pilots(&mut self, name: &str);
    /// The disks do not have it.
    fn leaves_out(&mut self, arm: &LeftOut);
    /// The pilot blocks are over.
    fn chose(&mut self, times: &Times, budget: &Budget);
}

/// A cell as it is run. Its result has the same place among those of the study.
struct CellRun<'a> {
    cell: &'a Cell,
    /// Both arms are the reference.
    is_placebo: bool,
    experiment: Experiment<'a>,
    /// Its blocks.
    took: Took,
    /// Its workload cannot run.
    is_hopeless: bool,
}

impl StudyRun<'_> {
    /// Runs on this machine. Err: a failure before the first round, while restoring the settings, or one that ended the
    /// study; what was measured is in the result file.
    pub fn run(
        mut self,
        resources: Resources<'_>,
        observer: &mut dyn StudyObserver,
    ) -> Result<StudyResult> {
        let cells = self.with_placebo();
        let mut workloads = cells
            .iter()
            .map(|(cell, _)| cell.load.workload(&cell.name, self.may_write))
            .collect::<Result<Vec<_>>>()?;
        let colds = cells.iter().filter_map(|(cell, _)| cell.cold);
        colds
            .into_iter()
            .try_for_each(page_cache::ensure_can_drop)?;
        let asynchronous = workloads
            .iter()
            .find(|workload| workload.properties().is_asynchronous);
        let may_come = optional::may_come(&self.arms, &self.candidates);
        let mut machine = RealMachine::take(
            &self.disks,
            &may_come,
            &**asynchronous.unwrap_or(&workloads[0]),
            self.scratch_file.as_ref(),
            Detail::default(),
            resources,
            &mut |place, done_bytes| observer.scratch_file_grows(place, done_bytes),
        )?;
        let left_out = self.settle_arms(&mut machine, observer)?;
        let mut budget = None;
        if let Some(limit) = self.budget {
            let pilot = self.study.pilot();
            let cells = self.cell_runs(&cells, &mut workloads, pilot);
            let end = (machine.now() + limit).saturating_sub(self.began.elapsed());
            let planned = self.pilot(&mut machine, cells, end, observer)?;
            (self.times, self.deadline) = (planned.times, Some(planned.deadline));
            budget = Some(planned.budget);
        }
        let cells = self.cell_runs(&cells, &mut workloads, self.times);
        self.run_on(&mut machine, cells, budget, left_out, observer)
    }

    /// Finds out which of the optional arms the disks have, and returns the others.
    fn settle_arms(
        &mut self,
        machine: &mut dyn Machine,
        observer: &mut dyn StudyObserver,
    ) -> Result<Vec<LeftOut>> {
        let mut candidates = std::mem::take(&mut self.candidates);
        if optional::needs_a_try(&candidates) {
            machine.record_settings()?;
            let tried = panics::caught(|| optional::try_out(&mut candidates, machine));
            let put_back = machine.put_back();
            after_restoring(tried, put_back)?;
        }
        let (arms, left_out) = optional::settle(candidates);
        self.arms.extend(arms);
        for arm in &left_out {
            observer.leaves_out(arm);
        }
        match left_out.first() {
            Some(first) if self.arms.len() < 2 => Err(Failure::usage(
                format!(
                    "there is nothing to compare {} with: {}",
                    self.arms[0].label, first.why
                ),
                "name another disk, or write a study with other arms",
            )),
            _ => Ok(left_out),
        }
    }

    fn cell_runs<'b>(
        &self,
        cells: &'b [(Cell, bool)],
        workloads: &'b mut [Box<dyn Workload>],
        times: Times,
    ) -> Vec<CellRun<'b>> {
        let mut runs = Vec::new();
        for (index, (of, workload)) in cells.iter().zip(workloads).enumerate() {
            let expected = self.deadline.as_ref().map(|it| it.blocks[index]);
            runs.push(CellRun {
                cell: &of.0,
                is_placebo: of.1,
                experiment: self.experiment(index, of, &mut **workload, times),
                took: Took {
                    expected,
                    ..Took::default()
                },
                is_hopeless: false,
            });
        }
        runs
    }

    /// The cell that is also run with the reference in both arms: the last one that the disks suffice for, because studies
    /// begin with calm cells, in which there is little noise to find. An interrupted study keeps its own; earlier versions,
    /// which did not record it, took the first.
    fn placebo_of(&self) -> Option<&Cell> {
        let mut begun = self.earlier.iter().flat_map(|earlier| &earlier.cells);
        match begun
            .find(|cell| cell.is_placebo)
            .map(|cell| &cell.placebo_of)
        {
            Some(Some(name)) => {
                let own = self.cells.iter().find(|cell| cell.name == *name);
                own.or(self.cells.last())
            }
            Some(None) => self.cells.first(),
            None => {
                let may_run = |cell: &&Cell| self.has_disks_for(cell);
                self.cells.iter().rfind(may_run).or(self.cells.last())
            }
        }
    }

    fn has_disks_for(&self, cell: &Cell) -> bool {
        let there = self.disks.targets.len();
        cell.load.disks().is_none_or(|disks| disks <= there)
    }

    /// All cells to run, and whether each is A/A.
    fn with_placebo(&self) -> Vec<(Cell, bool)> {
        let placebo = self.placebo_of().map(|cell| Cell {
            name: PLACEBO.to_owned(),
            exact: Vec::new(),
            expect: "no difference: both arms are the reference".to_owned(),
            ..cell.clone()
        });
        let cells = self.cells.iter().cloned().map(|cell| (cell, false));
        cells.chain(placebo.map(|cell| (cell, true))).collect()
    }

    fn experiment<'b>(
        &self,
        index: usize,
        (cell, is_placebo): &(Cell, bool),
        workload: &'b mut dyn Workload,
        times: Times,
    ) -> Experiment<'b> {
        let study = self.study;
        let reference = &self.arms[study.reference];
        let labelled = |label: &str| Arm {
            label: label.to_owned(),
            ..reference.clone()
        };
        let (arms, reference) = if *is_placebo {
            (vec![labelled("A"), labelled("B")], 0)
        } else {
            (self.arms.clone(), study.reference)
        };
        let stopping = times
            .blocks
            .map_or(Stopping::LOOKS, |blocks| Stopping::Fixed { blocks });
        Experiment {
            disks: self.disks.clone(),
            design: Design {
                cold: cell.cold,
                is_placebo: *is_placebo,
                why: study.why,
                goals: cell.goals.clone().filter(|_| !*is_placebo),
                ..Design::new(arms, reference, stopping, cell.metrics.clone())
                    .timed(cell.ramp(times), times.round())
            },
            workload,
            participants: Vec::new(),
            scratch_file: self.scratch_file.clone(),
            seed: self.seed.wrapping_add(index as u64),
            output: None,
            replaces_output: false,
            notes: self.notes.clone(),
            earlier: None,
        }
    }

    fn run_on(
        &self,
        machine: &mut dyn Machine,
        mut cells: Vec<CellRun<'_>>,
        budget: Option<Budget>,
        left_out: Vec<LeftOut>,
        observer: &mut dyn StudyObserver,
    ) -> Result<StudyResult> {
        let mut study = match &self.earlier {
            Some(earlier) => go_on(earlier, machine),
            None => StudyResult {
                left_out,
                ..self.begun(machine, &cells)
            },
        };
        if budget.is_some() {
            study.budget = budget;
        }
        saved::begin(self.output.as_ref(), self.replaces_output, &study)?;
        machine.record_settings()?;
        machine.listen()?;
        let outcome = panics::caught(|| self.stages(machine, &mut study, &mut cells, observer))
            .map_err(|error| {
                let rounds = study.cells.iter().map(|cell| cell.result.rounds.len());
                gone::explain(error, &self.disks, machine, rounds.sum::<usize>() + 1)
            });
        let put_back = machine.put_back();
        finish(&mut study, &outcome, now(machine));
        let saved = self.save(&study);
        after_restoring(outcome, put_back)?;
        saved?;
        Ok(study)
    }

    fn save(&self, study: &StudyResult) -> Result<()> {
        saved::save(self.output.as_deref(), study)
    }
}

/// Keeps all rounds; cells that had ended stay as they are.
fn go_on(earlier: &StudyResult, machine: &dyn Machine) -> StudyResult {
    let mut study = earlier.clone();
    (study.status, study.error, study.finished) = (Status::Running, None, None);
    study.shown = None;
    for cell in &mut study.cells {
        if cell.result.status != Status::Complete && cell.hopeless.is_none() {
            cell.result = go_on_with(cell.result.clone(), machine);
        }
    }
    study
}

fn finish(study: &mut StudyResult, outcome: &Result<()>, at: String) {
    study.status = match outcome {
        Ok(()) => Status::Complete,
        Err(error) if matches!(kind_of(error), Kind::Interrupted(_)) => Status::Interrupted,
        Err(_) => Status::Failed,
    };
    study.error = outcome.as_ref().err().map(|error| format!("{error:#}"));
    let status = study.status;
    for cell in &mut study.cells {
        if cell.result.status == Status::Running {
            conclude::conclude(&mut cell.result);
            finish_cell(&mut cell.result, status, at.clone());
        }
    }
    study.shown = Some(joint::shown(study));
    study.finished = Some(at);
}

fn finish_cell(result: &mut ResultFile, status: Status, at: String) {
    result.status = status;
    result.finished = Some(at);
}
