//! The formats of what a gate found, one row each.

use anyhow::{Context, Result};

use super::several::{self, Together};
use super::study as of_cells;
use crate::failure::Failure;
use crate::gate::Judgement;
use crate::merge::Merged;
use crate::report::formats::Made;
use crate::report::{html, junit};
use crate::study::gate::StudyJudgement;
use crate::study::result::StudyResult;
use crate::text::named::Named;
use crate::types::result::ResultFile;

/// The judged result and its judgement.
#[derive(Clone, Copy)]
pub enum Judged<'a> {
    Run(&'a ResultFile, &'a Judgement),
    Study(&'a StudyResult, &'a StudyJudgement<'a>),
    /// The merged file, and each of its groups as a result.
    Merged(&'a Merged, &'a Together<'a>),
    Several(&'a Together<'a>),
}

/// Makes a report for a terminal of this width; None has room for all.
pub type Make = fn(Judged<'_>, Option<usize>) -> Result<Made>;
pub type Format = Named<Make>;

pub const FORMATS: &[Format] = &[
    Format::new("text", "Table for people", |judged, width| {
        Ok(Made::Painted(match judged {
            Judged::Run(result, judgement) => super::text(result, judgement, width),
            Judged::Study(_, judged) => of_cells::study_text(judged),
            Judged::Merged(_, judged) | Judged::Several(judged) => several::text(judged, width),
        }))
    }),
    Format::new(
        "json",
        "All findings with the exit code; docs/gate-1.schema.json is its schema",
        |judged, _| {
            let json = match judged {
                Judged::Run(result, judgement) => super::json(result, judgement),
                Judged::Study(study, judged) => of_cells::study_json(study, judged),
                Judged::Merged(_, judged) | Judged::Several(judged) => several::json(judged),
            };
            Ok(Made::Text(json.context("writing JSON")?))
        },
    ),
    Format::new(
        "markdown",
        "For a CI step summary or a comment",
        |judged, _| {
            Ok(Made::Text(match judged {
                Judged::Run(result, judgement) => super::markdown(result, judgement),
                Judged::Study(study, judged) => of_cells::study_markdown(study, judged),
                Judged::Merged(_, judged) | Judged::Several(judged) => several::markdown(judged),
            }))
        },
    ),
    Format::new(
        "html",
        "One page with pictures: the findings, then the report",
        |judged, _| {
            Ok(Made::Text(match judged {
                Judged::Run(result, judgement) => html::gate::render(result, judgement),
                Judged::Study(study, judged) => html::gate::render_study(study, judged),
                Judged::Merged(merged, judged) => html::gate::render_merged(merged, judged),
                Judged::Several(_) => {
                    return Err(Failure::usage(
                        "a page is of one result",
                        "gate on each file by itself, or use another format",
                    ));
                }
            }))
        },
    ),
    Format::new("junit", "One test case per comparison", |judged, _| {
        Ok(Made::Text(match judged {
            Judged::Run(result, judgement) => junit::gate(&[(result, judgement)], &[], &[]),
            Judged::Study(_, judged) => of_cells::study_junit(judged),
            Judged::Merged(_, judged) | Judged::Several(judged) => several::junit(judged),
        }))
    }),
];
