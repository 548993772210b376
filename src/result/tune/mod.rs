//! A search for the best arm, and the fresh rounds that judge what it found. The search claims nothing.

mod combine; // the best settings together
pub mod ladder; // which settings are tried
pub mod read; // reads and checks an untrusted result
pub mod score; // how arms stand, by the rounds of the search
pub mod search; // what comes next
#[cfg(test)]
mod tests; // searches over arms with known effects

use serde::{Deserialize, Serialize};

use crate::types::arm::Arm;
use crate::types::result::{ResultFile, Status};

pub const SCHEMA_VERSION: u32 = 1;
/// File name of the schema in `docs/`.
pub const SCHEMA: &str = "tune-1.schema.json";
/// The candidate that the disk has already: in each block of the search, and the referee's reference.
pub const DEFAULT: usize = 0;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TuneResult {
    #[serde(rename = "$schema")]
    pub schema: String,
    pub schema_version: u32,
    pub iosched_version: String,
    pub status: Status,
    /// Why the search ended early.
    pub error: Option<String>,
    pub started: String,
    pub finished: Option<String>,
    pub seed: u64,
    pub space: Space,
    /// The time that all rounds may take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget_s: Option<f64>,
    /// The first is what the disk had before; the others in the order in which they came.
    pub candidates: Vec<Candidate>,
    /// Settings that were not tried, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<String>,
    /// The rounds of the search, which claim nothing.
    pub stages: Vec<Stage>,
    /// Fresh rounds of what won the search, against what the disk had before. Its verdicts are the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub referee: Option<ResultFile>,
}

/// Where the candidates come from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Space {
    /// Each setting that is known to matter, alone, and then the best of them together.
    Ladder,
    /// Arms of a file.
    File { path: String },
    /// Arms that a command names when it is told how the earlier ones did.
    Proposals {
        argv: Vec<String>,
        /// It is asked for no more than so many.
        most: usize,
        /// It has named all it wanted to.
        #[serde(default)]
        has_ended: bool,
    },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Candidate {
    pub arm: Arm,
    pub from: From,
    /// Why it has no rounds: the disk has no such setting, refuses the value, or makes another arm of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_out: Option<String>,
}

/// By whom an arm was named.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum From {
    /// The disk had it before.
    Disk,
    /// A scheduler as it comes.
    Scheduler,
    Ladder,
    File,
    Combination,
    Proposal,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Stage {
    pub phase: Phase,
    /// As of `iosched-ab run`.
    pub result: ResultFile,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// All arms of the space, and the better half of them, and so on.
    Space,
    /// The same with the best settings together.
    Combinations,
    /// The arms of a proposal.
    Proposals,
    /// The best of all proposals, and the better half of them, and so on.
    Final,
}

impl TuneResult {
    pub fn index(&self, label: &str) -> Option<usize> {
        let mut candidates = self.candidates.iter();
        candidates.position(|candidate| candidate.arm.label == label)
    }

    /// Rounds of the search, the referee's not among them.
    pub fn search_rounds(&self) -> usize {
        self.stages
            .iter()
            .map(|stage| stage.result.rounds.len())
            .sum()
    }

    /// The time that all rounds took so far.
    pub fn took_s(&self) -> f64 {
        let stages = self.stages.iter().map(|stage| &stage.result);
        let results = stages.chain(&self.referee);
        // The sum of nothing is -0.
        results
            .filter_map(|result| result.rounds_took_s)
            .sum::<f64>()
            + 0.0
    }
}
