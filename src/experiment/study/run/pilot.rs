//! Pilot rounds: how long the blocks of each cell take, and how noisy they are.

use std::time::Duration;

use anyhow::Result;

use super::{CellRun, StudyObserver, StudyRun};
use crate::machine::Machine;
use crate::run::{BlockEnd, after_restoring};
use crate::study::budget::{self, Deadline, Piloted};
use crate::study::load::LoadSpec;
use iosched_host::safety::panics;
use iosched_result::analysis::conclude;
use iosched_result::failure::Failure;
use iosched_result::statistics::signed_rank::FEWEST_BLOCKS;
use iosched_result::statistics::stopping::Stopping;
use iosched_result::study::times::{Budget, Times};

/// Blocks of a busy machine take longer than those of the pilot.
const SAFE_SHARE: f64 = 0.9;

/// The plan that follows from a pilot.
pub(super) struct Planned {
    pub times: Times,
    pub budget: Budget,
    pub deadline: Deadline,
}

impl StudyRun<'_> {
    /// The least time that the pilot and the fewest blocks take. Cells without a fixed time are not counted.
    fn nominal(&self, cells: &[CellRun<'_>]) -> Duration {
        let times = self.study.pilot();
        let blocks = (budget::PILOT_BLOCKS + FEWEST_BLOCKS) as u32;
        let timed = cells.iter().filter(|run| {
            !matches!(run.cell.load, LoadSpec::Command { .. }) && self.has_disks_for(run.cell)
        });
        let block = timed.map(|run| {
            let arms = if run.is_placebo { 2 } else { self.arms.len() };
            (run.cell.ramp(times) + times.round()) * arms as u32
        });
        block.sum::<Duration>() * blocks
    }

    fn too_little(&self, least: Duration) -> anyhow::Error {
        let (name, least) = (&self.study.name, least.as_secs_f64().ceil());
        Failure::usage(
            format!(
                "{name} takes {} at least",
                humantime::format_duration(Duration::from_secs_f64(least))
            ),
            format!("give --budget {least}s or more, or choose fewer cells with --cells"),
        )
    }

    /// Short rounds of each cell that no result contains: they tell how long a block takes, and how noisy it is.
    pub(super) fn pilot(
        &self,
        machine: &mut dyn Machine,
        mut cells: Vec<CellRun<'_>>,
        end: Duration,
        observer: &mut dyn StudyObserver,
    ) -> Result<Planned> {
        let begin = machine.now();
        let limit = self.budget.unwrap_or_default();
        // The part of it that has passed.
        let before = (begin + limit).saturating_sub(end);
        let nominal = self.nominal(&cells);
        if before + nominal > limit {
            return Err(self.too_little(before + nominal));
        }
        machine.record_settings()?;
        machine.listen()?;
        let mut results = self.begun(machine, &cells).cells;
        let mut making = vec![Duration::ZERO; self.study.stages.len()];
        let blocks = || -> Result<()> {
            for (number, stage) in self.study.stages.iter().enumerate() {
                let of_stage = |index: &usize| cells[*index].cell.stage == number;
                let own: Vec<usize> = (0..cells.len()).filter(of_stage).collect();
                if own.is_empty() {
                    continue;
                }
                let begin = machine.now();
                self.make(stage, machine, observer)?;
                making[number] = machine.now().saturating_sub(begin);
                for _ in 0..budget::PILOT_BLOCKS {
                    for &index in &own {
                        let (run, cell) = (&mut cells[index], &mut results[index]);
                        if run.is_hopeless {
                            continue;
                        }
                        observer.pilots(&cell.name);
                        let begin = machine.now();
                        let end = run.experiment.block(machine, &mut cell.result, observer)?;
                        run.took.add(machine.now().saturating_sub(begin));
                        run.is_hopeless = matches!(end, BlockEnd::Hopeless(_));
                    }
                }
            }
            Ok(())
        };
        let outcome = panics::caught(blocks);
        let put_back = machine.put_back();
        after_restoring(outcome, put_back)?;
        for cell in &mut results {
            conclude::conclude(&mut cell.result);
        }
        let piloted: Vec<Piloted<'_>> = results
            .iter()
            .zip(&cells)
            .map(|(cell, run)| Piloted {
                result: &cell.result,
                took: run.took.block().unwrap_or_default(),
                has_own_ramp: run.cell.ramp_s.is_some(),
                is_hopeless: run.is_hopeless,
            })
            .collect();
        let spent = machine.now().saturating_sub(begin);
        // Every stage is made once more.
        let fixed = before + spent + making.iter().sum::<Duration>();
        let left = limit.saturating_sub(fixed).mul_f64(SAFE_SHARE);
        let times = budget::choose(&piloted, self.study.pilot(), self.study.times, left);
        let times = times.map_err(|least| self.too_little(fixed + least.div_f64(SAFE_SHARE)))?;
        let most = Stopping::LOOKS.most_blocks().unwrap_or(0);
        let chosen = Budget {
            limit_s: limit.as_secs_f64(),
            pilot_s: spent.as_secs_f64(),
            pilot_blocks: budget::PILOT_BLOCKS,
            detectable: budget::detectable(&piloted, times.blocks.unwrap_or(most)),
            cut: Vec::new(),
        };
        observer.chose(&times, &chosen);
        let block_s = |cell| budget::block_s(cell, self.study.pilot(), times);
        let blocks = piloted.iter().map(block_s).map(Duration::from_secs_f64);
        let stages: Vec<usize> = cells.iter().map(|run| run.cell.stage).collect();
        let number = times.blocks.unwrap_or(most);
        Ok(Planned {
            times,
            deadline: Deadline::new(end, blocks.collect(), &stages, making, number),
            budget: chosen,
        })
    }
}
