//! The formats of a report, one row each: the command line, tests and pages are made from this table.

use std::collections::BTreeMap;
use std::fmt::Write;

use anyhow::{Context, Result, ensure};
use serde::Serialize;

use super::text::Look;
use super::{
    benchfmt, bmf, csv, escape, github_benchmark, html, junit, ktap, labels, markdown, merge,
    openmetrics, study, text, traces, tune,
};
use crate::failure::Failure;
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

/// How a format is made.
pub enum Make {
    /// The format holds one result.
    Each(fn(Source<'_>, Asked<'_>) -> Result<Made>),
    /// The format holds any number of results, one after the other.
    All(fn(&[&ResultFile]) -> Made),
}

pub type Format = Named<Make>;

const fn each(
    name: &'static str,
    about: &'static str,
    make: fn(Source<'_>, Asked<'_>) -> Result<Made>,
) -> Format {
    Format::new(name, about, Make::Each(make))
}

const fn all(name: &'static str, about: &'static str, make: fn(&[&ResultFile]) -> Made) -> Format {
    Format::new(name, about, Make::All(make))
}

/// The format for people.
const TEXT: &str = "text";

pub const FORMATS: &[Format] = &[
    each(TEXT, "Report for people", |of, asked| {
        Ok(Made::Painted(match of {
            Source::Run(result) => text::render(result, asked.look),
            Source::Study(study) => study::render(study),
            Source::Tune(tune) => tune::render(tune, asked.look),
            Source::Merged(merged) => merge::render(merged, asked.look),
        }))
    }),
    each(
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
    each("json", "The whole result", |of, _| match of {
        Source::Run(result) => json(result),
        Source::Study(study) => json(study),
        Source::Tune(tune) => json(tune),
        Source::Merged(merged) => json(merged),
    }),
    all("csv", "One row per round", |of| Made::Text(csv::render(of))),
    each("markdown", "For a CI step summary or a comment", |of, _| {
        Ok(Made::Text(match of {
            Source::Run(result) => markdown::render(result),
            Source::Study(study) => study::markdown(study),
            Source::Tune(tune) => tune::markdown(tune),
            Source::Merged(merged) => merge::markdown(merged),
        }))
    }),
    all(
        "junit",
        "One test case per primary comparison: worse is a failure, an invalid or incomplete run an error",
        |of| Made::Text(junit::render(of)),
    ),
    all("ktap", "The same in the kernel's test protocol", |of| {
        Made::Text(ktap::render(of))
    }),
    all(
        "benchfmt",
        "Go's benchmark format, for `benchstat -col /arm`",
        |of| Made::Text(benchfmt::render(of)),
    ),
    all("bmf", "Bencher Metric Format", |of| {
        Made::Text(bmf::render(of))
    }),
    all(
        "github-benchmark",
        "For github-action-benchmark; with `-o NAME` it writes NAME-smaller.json and NAME-bigger.json",
        |of| {
            let files = github_benchmark::render(of);
            Made::Several(vec![
                ("-smaller.json", files.smaller),
                ("-bigger.json", files.bigger),
            ])
        },
    ),
    all("openmetrics", "For Prometheus", |of| {
        Made::Text(openmetrics::render(of))
    }),
    each(
        "perfetto",
        "Each request of a run with --trace, for ui.perfetto.dev: binary",
        traces::perfetto,
    ),
    each(
        "blkparse",
        "Each request of a run with --trace, in blkparse's columns",
        traces::blkparse,
    ),
];

/// Several results in one report, each with the name of its file where that is for people.
pub fn make_all(format: &Format, of: &[(String, Source<'_>)], asked: Asked<'_>) -> Result<Made> {
    let name = format.name;
    if name == TEXT {
        let mut page = String::new();
        for (file, source) in of {
            if let Made::Painted(text) | Made::Text(text) = make(format, *source, asked)? {
                let gap = if page.is_empty() { "" } else { "\n\n" };
                let _ = write!(page, "{gap}{}\n{text}", escape::line(file));
            }
        }
        return Ok(Made::Painted(page));
    }
    let Make::All(make) = format.it else {
        let several = FORMATS.iter().filter(|it| matches!(it.it, Make::All(_)));
        let several = [TEXT].into_iter().chain(several.map(|it| it.name));
        return Err(Failure::usage(
            format!(
                "the format {name} is of one result, and {} files are named",
                of.len()
            ),
            format!(
                "several can be {}; `iosched-ab merge` makes one answer of many hosts",
                several.collect::<Vec<_>>().join(", ")
            ),
        ));
    };
    if let Some((file, _)) = of.iter().find(|(_, it)| matches!(it, Source::Merged(_))) {
        return Err(Failure::usage(
            format!("{file} has the results of many hosts, merged, and no rounds"),
            "report it alone",
        ));
    }
    ensure_one_point_each(name, of)?;
    let results: Vec<&ResultFile> = of.iter().flat_map(|(_, source)| source.results()).collect();
    said(make(&results), format)
}

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
    let made = match format.it {
        Make::Each(make) => make(of, asked)?,
        Make::All(make) => make(&of.results()),
    };
    said(made, format)
}

/// Formats of a history have one value of each series at a time.
const OF_HISTORY: [&str; 3] = ["bmf", "github-benchmark", "openmetrics"];

fn ensure_one_point_each(name: &str, of: &[(String, Source<'_>)]) -> Result<()> {
    if !OF_HISTORY.contains(&name) {
        return Ok(());
    }
    let mut known: BTreeMap<Vec<(&str, String)>, &str> = BTreeMap::new();
    for (file, source) in of {
        for result in source.results() {
            if let Some(first) = known.insert(labels::series(result), file) {
                return Err(Failure::usage(
                    format!(
                        "{first} and {file} are of one workload on one disk of one host, and {name} has one value of each series"
                    ),
                    "report them one after the other",
                ));
            }
        }
    }
    Ok(())
}

fn said(made: Made, format: &Format) -> Result<Made> {
    ensure!(
        !made.is_empty(),
        "the format {} has nothing to say of this result",
        format.name
    );
    Ok(made)
}
