//! `report`: a result in any format.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use iosched_result::gate::redrawn;
use iosched_result::report::formats::{self, Asked, FORMATS, Format, Source};
use iosched_result::report::gate::contradictions;
use iosched_result::report::text::Look;
use iosched_result::types::result::Status;

use crate::choice;
use crate::input::{self, Input};
use crate::messages::note_of;
use crate::print::{Destination, pictures};

pub const HELP: &str = "\
Examples:
  iosched-ab report result.json --all
  iosched-ab report result.json --format html -o report.html
  iosched-ab report night-*.json --format csv -o rounds.csv
  iosched-ab report result.json --format markdown >> \"$GITHUB_STEP_SUMMARY\"";

#[derive(Args)]
pub struct ReportArguments {
    /// Result files that `run`, `aa`, `study`, `tune` or `demo` wrote, `-` for standard input. Several are one after the other, in
    /// the formats text, csv, junit, ktap, benchfmt, bmf, github-benchmark and openmetrics
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// Format of the report
    #[arg(long, default_value = "text", value_parser = choice::of(FORMATS))]
    pub format: &'static Format,
    /// Show the exploratory metrics and the shift functions too, in the text format
    #[arg(long)]
    pub all: bool,
    /// Text format: leave out the pictures in characters
    #[arg(long)]
    pub no_plot: bool,
    /// Show the trace of this arm only; blkparse needs it if several arms have a trace
    #[arg(long, value_name = "LABEL")]
    pub arm: Option<String>,
    #[command(flatten)]
    pub to: Destination,
}

pub fn run(arguments: &ReportArguments) -> Result<()> {
    let opened = arguments.files.iter().map(|file| {
        let input = input::open(file)?;
        let name = file.display().to_string();
        say_contradictions(&input, (arguments.files.len() > 1).then_some(&*name));
        Ok((name, input))
    });
    let opened: Vec<(String, Input)> = opened.collect::<Result<_>>()?;
    let sources: Vec<(String, Source<'_>)> = opened
        .iter()
        .map(|(name, input)| (name.clone(), source(input)))
        .collect();
    let names: Vec<&str> = opened.iter().map(|(name, _)| name.as_str()).collect();
    let asked = Asked {
        look: Look {
            all: arguments.all,
            pictures: (!arguments.no_plot).then(pictures),
            width: arguments.to.width(),
        },
        arm: arguments.arm.as_deref(),
        file: &names.join(", "),
    };
    let made = match &sources[..] {
        [(_, source)] => formats::make(arguments.format, *source, asked)?,
        sources => formats::make_all(arguments.format, sources, asked)?,
    };
    let inputs: Vec<&PathBuf> = arguments.files.iter().collect();
    arguments.to.deliver(&made, &inputs)
}

fn source(input: &Input) -> Source<'_> {
    match input {
        Input::Run(result) => Source::Run(result),
        Input::Study(study) => Source::Study(study),
        Input::Merged(merged) => Source::Merged(merged),
        Input::Tune(tune) => Source::Tune(tune),
    }
}

/// `file`: its name, if there are several.
fn say_contradictions(input: &Input, file: Option<&str>) {
    let result = match input {
        Input::Run(result) => Some(&**result),
        Input::Tune(tune) => {
            let referee = tune.referee.as_ref();
            referee.filter(|it| it.status == Status::Complete)
        }
        Input::Study(_) | Input::Merged(_) => None,
    };
    let found = result.map(|result| contradictions(result, &redrawn(result, 1)));
    for contradiction in found.into_iter().flatten() {
        note_of(file, &contradiction);
    }
}
