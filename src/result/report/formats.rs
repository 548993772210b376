//! The formats of a report, one row each: the command line, tests and pages are made from this table.

use anyhow::{Context, Result, ensure};
use serde::Serialize;

use super::text::Look;
use super::{
    benchfmt, bmf, csv, escape, github_benchmark, html, junit, ktap, markdown, merge, openmetrics,
    study, text, traces, tune,
};
use crate::merge::Merged;
use crate::study::result::StudyResult;
use crate::text::named::Named;
use crate::tune::TuneResult;
use crate::types::result::ResultFile;

/// The source of a report.
#[derive(Clone, Copy)]
pub enum Source<'a> {
    Run(&'a ResultFile),
    Study(&'a StudyResult),
    Tune(&'a TuneResult),
    Merged(&'a Merged),
}

impl<'a> Source<'a> {
    /// All results that compare arms.
    fn results(self) -> Vec<&'a ResultFile> {
        match self {
            Source::Run(result) => vec![result],
            Source::Study(study) => study.results(),
            // The search claims nothing.
            Source::Tune(tune) => tune::ended(tune).into_iter().collect(),
            // It has verdicts, and no rounds.
            Source::Merged(_) => Vec::new(),
        }
    }
}

/// The user's request beside the format.
#[derive(Clone, Copy, Default)]
pub struct Asked<'a> {
    /// In text.
    pub look: Look,
    /// The arm whose trace is shown.
    pub arm: Option<&'a str>,
    /// The name of the file, for errors.
    pub file: &'a str,
}

/// A report.
#[derive(Debug)]
pub enum Made {
    /// Verdicts may be coloured.
    Painted(String),
    Text(String),
    Binary(Vec<u8>),
    /// Files, each with the end of its name.
    Several(Vec<(&'static str, String)>),
}

impl Made {
    fn is_empty(&self) -> bool {
        match self {
            Made::Painted(text) | Made::Text(text) => text.is_empty(),
            Made::Binary(bytes) => bytes.is_empty(),
            Made::Several(files) => files.iter().any(|(_, text)| text.is_empty()),
        }
    }
}

pub type Make = fn(Source<'_>, Asked<'_>) -> Result<Made>;
pub type Format = Named<Make>;

pub const FORMATS: &[Format] = &[
    Format::new("text", "Report for people", |of, asked| {
        Ok(Made::Painted(match of {
            Source::Run(result) => text::render(result, asked.look),
            Source::Study(study) => study::render(study),
            Source::Tune(tune) => tune::render(tune, asked.look),
            Source::Merged(merged) => merge::render(merged, asked.look),
        }))
    }),
    Format::new(
        "html",
        "One page with pictures, which opens in a browser and needs nothing else",
        |of, _| {
            Ok(Made::Text(match of {
                Source::Run(result) => html::render(result),
                Source::Study(study) => html::render_study(study),
                Source::Tune(tune) => html::render_tune(tune),
                Source::Merged(merged) => html::render_merge(merged),
            }))
        },
    ),
    Format::new("json", "The whole result", |of, _| match of {
        Source::Run(result) => json(result),
        Source::Study(study) => json(study),
        Source::Tune(tune) => json(tune),
        Source::Merged(merged) => json(merged),
    }),
    Format::new("csv", "One row per round", |of, _| {
        Ok(Made::Text(csv::render(&of.results())))
    }),
    Format::new("markdown", "For a CI step summary or a comment", |of, _| {
        Ok(Made::Text(match of {
            Source::Run(result) => markdown::render(result),
            Source::Study(study) => study::markdown(study),
            Source::Tune(tune) => tune::markdown(tune),
            Source::Merged(merged) => merge::markdown(merged),
        }))
    }),
    Format::new(
        "junit",
        "One test case per primary comparison: worse is a failure, an invalid or incomplete run an error",
        |of, _| Ok(Made::Text(junit::render(&of.results()))),
    ),
    Format::new("ktap", "The same in the kernel's test protocol", |of, _| {
        Ok(Made::Text(ktap::render(&of.results())))
    }),
    Format::new(
        "benchfmt",
        "Go's benchmark format, for `benchstat -col /arm`",
        |of, _| Ok(Made::Text(benchfmt::render(&of.results()))),
    ),
    Format::new("bmf", "Bencher Metric Format", |of, _| {
        Ok(Made::Text(bmf::render(&of.results())))
    }),
    Format::new(
        "github-benchmark",
        "For github-action-benchmark; with `-o NAME` it writes NAME-smaller.json and NAME-bigger.json",
        |of, _| {
            let files = github_benchmark::render(&of.results());
            Ok(Made::Several(vec![
                ("-smaller.json", files.smaller),
                ("-bigger.json", files.bigger),
            ]))
        },
    ),
    Format::new("openmetrics", "For Prometheus", |of, _| {
        Ok(Made::Text(openmetrics::render(&of.results())))
    }),
    Format::new(
        "perfetto",
        "Each request of a run with --trace, for ui.perfetto.dev: binary",
        traces::perfetto,
    ),
    Format::new(
        "blkparse",
        "Each request of a run with --trace, in blkparse's columns",
        traces::blkparse,
    ),
];

/// The formats of what many hosts say together.
pub const OF_MERGED: [&str; 4] = ["text", "html", "json", "markdown"];

fn json(result: &impl Serialize) -> Result<Made> {
    let json = serde_json::to_string_pretty(result).context("writing JSON")?;
    Ok(Made::Text(escape::json(&json) + "\n"))
}

/// The report. An empty one is an error: a file that says nothing looks like a success.
pub fn make(format: &Format, of: Source<'_>, asked: Asked<'_>) -> Result<Made> {
    let name = format.name;
    ensure!(
        !matches!(of, Source::Merged(_)) || OF_MERGED.contains(&name),
        "the format {name} has rounds, and a merged file has none; it can be {}",
        OF_MERGED.join(", ")
    );
    let made = (format.it)(of, asked)?;
    ensure!(
        !made.is_empty(),
        "the format {name} has nothing to say of this result"
    );
    Ok(made)
}
