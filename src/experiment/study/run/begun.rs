//! The result of a study before its first round.

use iosched_result::study::result::{CellResult, SCHEMA, SCHEMA_VERSION, StudyResult};
use iosched_result::types::result::Status;

use super::{CellRun, StudyRun, now};
use crate::machine::Machine;

impl StudyRun<'_> {
    pub(super) fn begun(&self, machine: &dyn Machine, cells: &[CellRun<'_>]) -> StudyResult {
        let cells = cells.iter().map(|run| {
            let (cell, is_placebo) = (run.cell, run.is_placebo);
            let mut result = run.experiment.empty_result(machine);
            // A command's own name says less, and several cells may run the same.
            result.workload.name.clone_from(&cell.name);
            CellResult {
                name: cell.name.clone(),
                expect: cell.expect.clone(),
                is_placebo,
                placebo_of: self
                    .placebo_of()
                    .filter(|_| is_placebo)
                    .map(|cell| cell.name.clone()),
                exact: Vec::new(),
                hopeless: None,
                result,
            }
        });
        StudyResult {
            schema: SCHEMA.to_owned(),
            schema_version: SCHEMA_VERSION,
            iosched_version: env!("CARGO_PKG_VERSION").to_owned(),
            study: self.study.name.clone(),
            title: self.study.title.clone(),
            file: self.study.text.clone(),
            quick: self.quick,
            times: self.times,
            budget: None,
            status: Status::Running,
            error: None,
            started: now(machine),
            finished: None,
            seed: self.seed,
            stages: self.used_stages(),
            arms: self.labels(),
            left_out: Vec::new(),
            cells: cells.collect(),
            shown: None,
        }
    }

    /// The reference first.
    fn labels(&self) -> Vec<String> {
        let reference = self.study.reference;
        let others = (0..self.arms.len()).filter(|arm| *arm != reference);
        let all = std::iter::once(reference).chain(others);
        all.map(|arm| self.arms[arm].label.clone()).collect()
    }

    /// The names of the stages that some cell is in, if the study has several.
    fn used_stages(&self) -> Vec<String> {
        let stages = &self.study.stages;
        if stages.len() == 1 {
            return Vec::new();
        }
        let is_used = |stage: usize| self.cells.iter().any(|cell| cell.stage == stage);
        let used = stages.iter().enumerate();
        let used = used.filter(|(stage, _)| is_used(*stage));
        used.map(|(_, stage)| stage.name.clone()).collect()
    }
}
