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
use crate::messages::note;
use crate::print::{Destination, pictures};

pub const HELP: &str = "\
Examples:
  iosched-ab report result.json --all
  iosched-ab report result.json --format html -o report.html
  iosched-ab report result.json --format csv -o rounds.csv
  iosched-ab report result.json --format markdown >> \"$GITHUB_STEP_SUMMARY\"";

#[derive(Args)]
pub struct ReportArguments {
    /// Result file that `run`, `aa`, `study`, `tune` or `demo` wrote, `-` for standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
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
    let input = input::open(&arguments.file)?;
    let source = match &input {
        Input::Run(result) => {
            for contradiction in contradictions(result, &redrawn(result, 1)) {
                note(&contradiction);
            }
            Source::Run(result)
        }
        Input::Study(study) => Source::Study(study),
        Input::Merged(merged) => Source::Merged(merged),
        Input::Tune(tune) => {
            let ended = tune
                .referee
                .iter()
                .filter(|it| it.status == Status::Complete);
            for contradiction in ended.flat_map(|it| contradictions(it, &redrawn(it, 1))) {
                note(&contradiction);
            }
            Source::Tune(tune)
        }
    };
    let asked = Asked {
        look: Look {
            all: arguments.all,
            pictures: (!arguments.no_plot).then(pictures),
            width: arguments.to.width(),
        },
        arm: arguments.arm.as_deref(),
        file: &arguments.file.display().to_string(),
    };
    let made = formats::make(arguments.format, source, asked)?;
    arguments.to.deliver(&made, &[&arguments.file])
}
