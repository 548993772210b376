//! The findings of a gate on a study, in its formats. Pure.

use std::fmt::Write;

use serde::Serialize;

use super::json::{GateRecord, Overall};
use super::{markdown, text};
use crate::failure::Kind;
use crate::gate::{Decision, GateOutcome, Judgement};
use crate::report::escape::{self, markdown as escaped};
use crate::report::junit;
use crate::report::markdown::ROOM;
use crate::study::gate::StudyJudgement;
use crate::study::result::StudyResult;
use crate::types::result::ResultFile;

pub const SCHEMA_VERSION: u32 = 1;
/// File name of the schema in `docs/`.
pub const SCHEMA: &str = "study-gate-1.schema.json";

/// Output of `iosched-ab gate --format json` for the result of a study.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StudyGateRecord<'a> {
    /// The schema of this object.
    #[serde(rename = "$schema")]
    schema: &'static str,
    /// The version of the schema.
    schema_version: u32,
    /// The study's name.
    study: &'a str,
    /// The outcome of all cells together.
    outcome: Overall,
    /// Exit code of the command, as for one result.
    exit_code: u8,
    /// The outcome in words.
    summary: String,
    /// Counts that are not what the study asserts, in words. One of them fails the gate.
    broken: &'a [String],
    /// Each cell by itself; `run.workload` is its name.
    cells: Vec<GateRecord<'a>>,
}

/// One line on all cells together.
pub fn headline(judged: &StudyJudgement<'_>) -> String {
    let checks = || judged.cells.iter().flat_map(|(_, it)| &it.checks);
    let (all, cells) = (checks().count(), judged.cells.len());
    let count = |outcome| checks().filter(|check| check.outcome == outcome).count();
    if let Some(first) = judged.broken.first() {
        let more = match judged.broken.len() {
            1 => String::new(),
            all => format!(", and {} more", all - 1),
        };
        return format!("a count is not what the study asserts: {first}{more}");
    }
    match &judged.decision {
        Decision::Passed => format!("all {all} comparisons in {cells} cells passed the gate"),
        Decision::Failed => format!(
            "{} of {all} comparisons in {cells} cells failed the gate",
            count(GateOutcome::Failed)
        ),
        Decision::Undecided => format!(
            "{} of {all} comparisons in {cells} cells are not decided",
            count(GateOutcome::Undecided)
        ),
        Decision::Incomparable(why) => {
            format!("the results cannot be compared: {}", why.join("; "))
        }
        Decision::Invalid(why) => why.clone(),
    }
}

fn level(judged: &StudyJudgement<'_>) -> String {
    format!(
        "The {} cells share the level, so that all verdicts hold together.",
        judged.sharing
    )
}

pub fn study_text(judged: &StudyJudgement<'_>) -> String {
    let mut page = String::new();
    for (cell, judgement) in &judged.cells {
        let name = escape::line(&cell.name);
        let _ = write!(page, "{name}\n{}\n", text(&cell.result, judgement, None));
    }
    for broken in &judged.broken {
        let _ = writeln!(page, "NOT EXACT: {}", escape::line(broken));
    }
    if judged.sharing > 1 {
        let _ = writeln!(page, "{}", level(judged));
    }
    page + &escape::page(&format!("{}.\n", headline(judged)))
}

pub fn study_json(study: &StudyResult, judged: &StudyJudgement<'_>) -> serde_json::Result<String> {
    let cells = judged.cells.iter();
    let record = StudyGateRecord {
        schema: SCHEMA,
        schema_version: SCHEMA_VERSION,
        study: &study.study,
        outcome: Overall::of(&judged.decision),
        exit_code: judged.decision.kind().map_or(0, Kind::exit_code),
        summary: headline(judged),
        broken: &judged.broken,
        cells: cells
            .map(|(cell, judgement)| GateRecord::new(&cell.result, judgement))
            .collect(),
    };
    Ok(escape::json(&serde_json::to_string_pretty(&record)?) + "\n")
}

pub fn study_markdown(study: &StudyResult, judged: &StudyJudgement<'_>) -> String {
    let mut page = format!(
        "## {}\n\n**Gate**: {}.\n\n",
        escaped(&study.title),
        escaped(&headline(judged))
    );
    for broken in &judged.broken {
        let _ = writeln!(page, "- **Not exact**: {}", escaped(broken));
    }
    for (cell, judgement) in &judged.cells {
        let own = markdown(&cell.result, judgement);
        if page.len() + own.len() > ROOM {
            page += "\nThere is no room for the other cells.\n";
            break;
        }
        page += &(own + "\n");
    }
    page
}

pub fn study_junit(judged: &StudyJudgement<'_>) -> String {
    let suites: Vec<(&ResultFile, &Judgement)> = judged
        .cells
        .iter()
        .map(|(cell, judgement)| (&cell.result, judgement))
        .collect();
    junit::gate(&suites, &[], &judged.broken)
}
