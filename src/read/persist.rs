//! `persist`: prints what makes an arm permanent, and installs nothing.

use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::Args;
use iosched_result::failure::Failure;
use iosched_result::persist::{self, FORMATS, Format, Refusal, Wanted};
use iosched_result::study::result::StudyResult;

use crate::choice::{self, metric_name};
use crate::input::{self, Judged};
use crate::print::print;

pub const HELP: &str = "\
It prints, and installs nothing. It refuses where the result does not support the arm: on a simulated disk, in a run \
that is invalid or not complete, or if the arm is worse in a metric that you do not --accept.

Examples:
  iosched-ab persist result.json > 61-iosched.rules
  iosched-ab persist result.json --arm bfq --accept hog.throughput --format ansible";

#[derive(Args)]
pub struct PersistArguments {
    /// Result file of `run` or `study`
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Result of a study of some of FILE's cells, made after it: its fresh rounds decide, so that the best of many cells is
    /// not taken for a difference
    #[arg(long, value_name = "FILE")]
    pub confirm: Option<PathBuf>,
    /// Arm to make permanent, by its label [default: the only one that the result supports]
    #[arg(long, value_name = "LABEL")]
    pub arm: Option<String>,
    /// Accept that the arm is worse in this metric, or cannot be judged by it; may be given several times
    #[arg(long, value_name = "METRIC", value_parser = metric_name)]
    pub accept: Vec<String>,
    /// For one disk only, by the ID_SERIAL of `udevadm info --query=property /dev/DISK` [default: all disks of the model]
    #[arg(long, value_name = "ID_SERIAL")]
    pub serial: Option<String>,
    /// Use the result although another user could have written its file
    #[arg(long)]
    pub trust: bool,
    /// What to print
    #[arg(long, default_value = "udev", value_parser = choice::of(FORMATS))]
    pub format: &'static Format,
}

pub fn run(arguments: &PersistArguments) -> Result<()> {
    let wanted = Wanted {
        arm: arguments.arm.as_deref(),
        accepted: &arguments.accept,
        serial: arguments.serial.as_deref(),
    };
    let confirming = arguments.confirm.as_deref().map(confirming).transpose()?;
    let (input, doubt) = input::open_with_doubt(&arguments.file)?;
    let decision = match input.judged()? {
        Judged::Study(study) => {
            ensure_ours(&arguments.file, doubt, arguments)?;
            persist::decide_study(&study, confirming.as_ref().map(|(study, _)| study), wanted)
        }
        Judged::Run(_) if confirming.is_some() => {
            return Err(Failure::usage(
                "--confirm is for the result of a study; all rows of a run hold together already",
                "leave it out",
            ));
        }
        Judged::Run(result) => {
            ensure_ours(&arguments.file, doubt, arguments)?;
            persist::decide(&result, wanted)
        }
    };
    if let (Some(file), Some((_, doubt))) = (&arguments.confirm, confirming) {
        ensure_ours(file, doubt, arguments)?;
    }
    let decision = decision.map_err(refused)?;
    print(&(arguments.format.it)(&decision).map_err(refused)?)
}

type Doubt = Option<String>;

fn confirming(file: &Path) -> Result<(StudyResult, Doubt)> {
    input::study_with_doubt(file)?.ok_or_else(|| {
        Failure::usage(
            format!("{} is not the result of a study", file.display()),
            "--confirm takes a file that `iosched-ab study` wrote",
        )
    })
}

fn ensure_ours(file: &Path, doubt: Doubt, arguments: &PersistArguments) -> Result<()> {
    let Some(doubt) = doubt.filter(|_| !arguments.trust) else {
        return Ok(());
    };
    let file = file.display();
    Err(refused(Refusal {
        what: format!("another user could have written {file}: {doubt}"),
        hint: format!(
            "look at it with `iosched-ab report {file}`; if that is what was measured, add --trust"
        ),
    }))
}

fn refused(refusal: Refusal) -> anyhow::Error {
    Failure::refused(
        format!("nothing is made permanent: {}", refusal.what),
        refusal.hint,
    )
}
