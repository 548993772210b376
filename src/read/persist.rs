//! `persist`: prints what makes an arm permanent, and installs nothing.

use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::Args;
use iosched_files::input as files;
use iosched_result::failure::Failure;
use iosched_result::persist::{self, Decision, FORMATS, Format, Refusal, Wanted};
use iosched_result::report::evidence::{Origin, block};
use iosched_result::study::result::StudyResult;

use crate::choice::{self, metric_name};
use crate::evidence;
use crate::input::{self, Judged, Stored};
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
    /// Take the serial although no disk of this machine has it
    #[arg(long, requires = "serial")]
    pub unchecked_serial: bool,
    /// Use the result although hardly any request waited
    #[arg(long)]
    pub accept_idle: bool,
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
        accepts_idle: arguments.accept_idle,
    };
    if let Some(serial) = wanted.serial.filter(|_| !arguments.unchecked_serial) {
        ensure_is_here(serial)?;
    }
    let confirming = arguments.confirm.as_deref().map(confirming).transpose()?;
    let Stored { bytes, name, doubt } = input::bytes(&arguments.file)?;
    let decision = match input::from_bytes(&bytes, &name)?.judged()? {
        Judged::Study(study) => {
            ensure_ours(&arguments.file, doubt, arguments)?;
            persist::decide_study(&study, confirming.as_ref().map(|(study, _)| study), wanted)
        }
        Judged::Merged(_) => {
            return Err(Failure::usage(
                format!(
                    "{} has the results of many hosts, merged",
                    arguments.file.display()
                ),
                "name the result of one host of that model",
            ));
        }
        Judged::Run(_) if confirming.is_some() => {
            return Err(Failure::usage(
                "--confirm is for the result of a study; all rows of a run hold together already",
                "leave it out",
            ));
        }
        Judged::Run(result) => {
            ensure_ours(&arguments.file, doubt, arguments)?;
            let name = evidence::base(&name);
            let origin = Origin {
                name: &name,
                bytes: &bytes,
                cell: None,
            };
            persist::decide(&result, wanted).map(|decision| Decision {
                block: Some(block(&result, origin)),
                ..decision
            })
        }
    };
    if let (Some(file), Some((_, doubt))) = (&arguments.confirm, confirming) {
        ensure_ours(file, doubt, arguments)?;
    }
    let decision = decision.map_err(refused)?;
    print(&(arguments.format.it)(&decision).map_err(refused)?)
}

/// A rule for a disk that is nowhere would never act, and nobody would know.
fn ensure_is_here(serial: &str) -> Result<()> {
    const DATABASE: &str = "/run/udev/data";
    const LIMIT: u64 = 1 << 20;
    let line = format!("E:ID_SERIAL={serial}");
    let of_disks = std::fs::read_dir(DATABASE).into_iter().flatten().flatten();
    let mut of_disks =
        of_disks.filter(|entry| entry.file_name().as_encoded_bytes().starts_with(b"b"));
    let is_its = |path: &Path| {
        let text = files::read_text(path, LIMIT);
        text.is_ok_and(|text| text.lines().any(|it| it == line))
    };
    if of_disks.any(|entry| is_its(&entry.path())) {
        return Ok(());
    }
    Err(refused(Refusal {
        what: format!("no disk of this machine has the ID_SERIAL {serial}"),
        hint: "run it where the disk is, or add --unchecked-serial if the serial is right"
            .to_owned(),
    }))
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
