//! The result file of a study: one result for each cell.

use serde::{Deserialize, Serialize};

use super::exact::Counted;
use super::joint::Shown;
use super::times::{Budget, LeftOut, Times};
use crate::analysis::turn;
use crate::types::result::{ArmComparison, ResultFile, Status};

pub const SCHEMA_VERSION: u32 = 2;
/// File name of the schema in `docs/`.
pub const SCHEMA: &str = "study-2.schema.json";

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StudyResult {
    #[serde(rename = "$schema")]
    pub schema: String,
    pub schema_version: u32,
    pub iosched_version: String,
    /// Its name.
    pub study: String,
    pub title: String,
    /// The study's file as it was run.
    pub file: String,
    pub quick: bool,
    pub times: Times,
    /// With `--budget`, how the times were chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<Budget>,
    pub status: Status,
    /// Why the study ended early.
    pub error: Option<String>,
    pub started: String,
    pub finished: Option<String>,
    pub seed: u64,
    /// States of the disk in which cells ran one after the other; empty if all cells were interleaved.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stages: Vec<String>,
    /// Labels; the first is the reference.
    pub arms: Vec<String>,
    /// Optional arms that the disks do not have.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOut>,
    pub cells: Vec<CellResult>,
    /// The differences that hold over all cells together: only they are a claim about the study. The verdicts of a cell
    /// hold within that cell. Absent before its end, and in results of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shown: Option<Vec<Shown>>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CellResult {
    pub name: String,
    /// The expectation before its run.
    pub expect: String,
    /// The reference against itself: what it finds is noise.
    pub is_placebo: bool,
    /// The cell whose workload that is; absent in results of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placebo_of: Option<String>,
    /// Counts that each round of an arm must have exactly, and how many have them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exact: Vec<Counted>,
    /// Why no more blocks of it were run.
    pub hopeless: Option<String>,
    /// As of `iosched-ab run`.
    pub result: ResultFile,
}

impl StudyResult {
    /// `arms`: those that are compared.
    /// The results of the cells that compare arms.
    pub fn results(&self) -> Vec<&ResultFile> {
        self.compared().map(|cell| &cell.result).collect()
    }

    /// The cells that compare arms.
    pub fn compared(&self) -> impl Iterator<Item = &CellResult> {
        self.cells.iter().filter(|cell| !cell.is_placebo)
    }
}

impl CellResult {
    /// Why its verdicts mean nothing.
    pub fn why_invalid(&self) -> Option<String> {
        turn::why_invalid(&self.result)
    }

    pub fn primary(&self) -> impl Iterator<Item = &ArmComparison> {
        self.result.primary()
    }
}
