//! Stage after stage, and in each of them pass after pass over the cells that are not decided.

use std::time::Duration;

use anyhow::Result;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

use super::{CellRun, StudyObserver, StudyRun, finish_cell, now};
use crate::machine::Machine;
use crate::run::BlockEnd;
use crate::study::ahead::{self, Ahead, Took};
use crate::study::format::Stage;
use iosched_result::analysis::conclude;
use iosched_result::random::below;
use iosched_result::study::exact;
use iosched_result::study::result::StudyResult;
use iosched_result::study::times::Cut;
use iosched_result::types::result::Status;

/// Passes over the cells of one stage.
struct Passes<'a> {
    stage: usize,
    /// Indices of its cells that are not decided.
    open: Vec<usize>,
    /// Indices of the cells of later stages.
    later: &'a [usize],
    rng: &'a mut ChaCha8Rng,
}

impl StudyRun<'_> {
    /// Stage after stage, as each changes what is on the disk.
    pub(super) fn stages(
        &self,
        machine: &mut dyn Machine,
        study: &mut StudyResult,
        cells: &mut [CellRun<'_>],
        observer: &mut dyn StudyObserver,
    ) -> Result<()> {
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        for (index, stage) in self.study.stages.iter().enumerate() {
            let is_open = |cell: &usize| study.cells[*cell].result.status == Status::Running;
            let (open, later): (Vec<usize>, Vec<usize>) = (0..cells.len())
                .filter(is_open)
                .partition(|cell| cells[*cell].cell.stage == index);
            if open.is_empty() {
                continue;
            }
            let making = self.deadline.as_ref().map(|it| it.making[index]);
            let made = machine.now() + making.unwrap_or_default();
            let is_too_late = |cell: &usize| self.is_too_late(index, made, cells[*cell].took);
            if open.iter().all(is_too_late) {
                for cell in open {
                    cut(study, cell, now(machine));
                }
                continue;
            }
            self.make(stage, machine, observer)?;
            let passes = Passes {
                stage: index,
                open,
                later: &later,
                rng: &mut rng,
            };
            self.passes(passes, machine, study, cells, observer)?;
        }
        Ok(())
    }

    /// Under the reference, so that the disk is the same however the stage before ended.
    pub(super) fn make(
        &self,
        stage: &Stage,
        machine: &mut dyn Machine,
        observer: &mut dyn StudyObserver,
    ) -> Result<()> {
        if stage.prepare.is_empty() {
            return Ok(());
        }
        observer.prepares(&stage.name);
        machine.apply(&self.arms[self.study.reference])?;
        machine.make_ready(&stage.prepare)
    }

    /// Whether the time of the stage would be over before one more block ends that begins then.
    fn is_too_late(&self, stage: usize, begin: Duration, took: Took) -> bool {
        let end = begin + took.block().unwrap_or_default();
        let ends = self.deadline.as_ref().map(|it| it.ends[stage]);
        ends.is_some_and(|ends| end > ends)
    }

    fn passes(
        &self,
        passes: Passes<'_>,
        machine: &mut dyn Machine,
        study: &mut StudyResult,
        cells: &mut [CellRun<'_>],
        observer: &mut dyn StudyObserver,
    ) -> Result<()> {
        let Passes {
            stage,
            mut open,
            later,
            rng,
        } = passes;
        let mut pass = 0;
        while !open.is_empty() {
            shuffle(&mut open, rng);
            let mut stays = Vec::new();
            for (done, &index) in open.iter().enumerate() {
                let to_go: Vec<_> = open[done..]
                    .iter()
                    .chain(&stays)
                    .chain(later)
                    .map(|&index: &usize| (&study.cells[index].result, cells[index].took))
                    .collect();
                let ahead = Ahead {
                    pass,
                    open_cells: to_go.len(),
                    left: ahead::left(&to_go),
                };
                if self.is_too_late(stage, machine.now(), cells[index].took) {
                    cut(study, index, now(machine));
                    continue;
                }
                let cell = &mut study.cells[index];
                observer.cell_begins(&cell.name, &ahead);
                let begin = machine.now();
                let run = &mut cells[index];
                let end = run.experiment.block(machine, &mut cell.result, observer)?;
                conclude::conclude(&mut cell.result);
                cell.exact = exact::counted(&run.cell.exact, &cell.result, page_bytes());
                match end {
                    BlockEnd::More => stays.push(index),
                    BlockEnd::Over => finish_cell(&mut cell.result, Status::Complete, now(machine)),
                    BlockEnd::Hopeless(error) => {
                        cell.hopeless = Some(format!("{error:#}"));
                        finish_cell(&mut cell.result, Status::Failed, now(machine));
                    }
                }
                self.save(study)?;
                // The time of a block includes its conclusions and the saving of the file, which grow with the study.
                cells[index].took.add(machine.now().saturating_sub(begin));
            }
            open = stays;
            pass += 1;
        }
        Ok(())
    }
}

/// Ends a cell before its last block, because the time is over.
fn cut(study: &mut StudyResult, index: usize, at: String) {
    let cell = &mut study.cells[index];
    conclude::conclude(&mut cell.result);
    finish_cell(&mut cell.result, Status::Complete, at);
    let cut = Cut {
        cell: cell.name.clone(),
        blocks: cell.result.blocks_begun(),
    };
    if let Some(budget) = &mut study.budget {
        budget.cut.push(cut);
    }
}

fn page_bytes() -> u64 {
    rustix::param::page_size() as u64
}

fn shuffle(open: &mut [usize], rng: &mut ChaCha8Rng) {
    for last in (1..open.len()).rev() {
        open.swap(last, below(rng, last as u64 + 1) as usize);
    }
}
