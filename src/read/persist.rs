//! `persist`: prints what makes an arm permanent, and installs nothing.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::Args;
use iosched_files::input as files;
use iosched_result::failure::Failure;
use iosched_result::merge::fingerprint;
use iosched_result::persist::{
    self, Candidate, FORMATS, Format, LeftOut, Refusal, Together, Wanted, Written,
};
use iosched_result::report::evidence::{Origin, block, sha256};
use iosched_result::study::result::StudyResult;

use crate::choice::{self, metric_name};
use crate::evidence;
use crate::input::{self, Judged, Stored};
use crate::messages::note;
use crate::print::print;

pub const HELP: &str = "\
It prints, and installs nothing. It refuses where the result does not support the arm: on a simulated disk, in a run \
that is invalid or not complete, or if the arm is worse in a metric that you do not --accept. Of several models of disks
it leaves out those that it refuses, and names them; a merged file must also show that a further host is not worse off.

Examples:
  iosched-ab persist result.json > 61-iosched.rules
  iosched-ab persist result.json --arm bfq --accept hog.throughput --format ansible
  iosched-ab persist fleet.json --format machineconfig > 61-iosched.yaml";

#[derive(Args)]
#[allow(clippy::struct_excessive_bools)] // options of a command
pub struct PersistArguments {
    /// Result files of `run`, `tune` or `study`, or what `merge` made of many: a rule for each model of disk, of which all that
    /// is named must support the same arm
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
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
    /// For all disks of the same driver and size as the measured one, which has no model
    #[arg(long, conflicts_with = "serial")]
    pub alike: bool,
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

/// What else is to be said of rules before they are printed, as lines: what is on this machine already.
pub type Beside = fn(&Together, &Written) -> Vec<String>;

pub fn run(arguments: &PersistArguments, beside: Beside) -> Result<()> {
    ensure_one(arguments)?;
    let wanted = Wanted {
        arm: arguments.arm.as_deref(),
        accepted: &arguments.accept,
        serial: arguments.serial.as_deref(),
        alike: arguments.alike,
        accepts_idle: arguments.accept_idle,
    };
    if let Some(serial) = wanted.serial.filter(|_| !arguments.unchecked_serial) {
        ensure_is_here(serial)?;
    }
    let mut candidates = Vec::new();
    let mut known = BTreeMap::new();
    for file in &arguments.files {
        candidates.extend(of_file(file, arguments, wanted, &mut known)?);
    }
    let together = persist::together(candidates).map_err(refused)?;
    let written = arguments.format.it.write(&together).map_err(refused)?;
    for LeftOut { disks, why } in &written.left_out {
        note(&format!("left out: {disks}: {} ({})", why.what, why.hint));
    }
    if arguments.alike {
        let disks = together.decisions.iter().map(|it| it.disk.to_string());
        note(&format!(
            "the rule is for {}, of which one was measured",
            disks.collect::<Vec<_>>().join(", ")
        ));
    }
    for line in beside(&together, &written) {
        note(&line);
    }
    print(&written.text)
}

/// One disk, and one study, have one result.
fn ensure_one(arguments: &PersistArguments) -> Result<()> {
    let given = [
        ("--serial", arguments.serial.is_some()),
        ("--alike", arguments.alike),
        ("--confirm", arguments.confirm.is_some()),
    ];
    match given.iter().find(|(_, is_given)| *is_given) {
        Some((option, _)) if arguments.files.len() > 1 => Err(Failure::usage(
            format!(
                "{option} is about one result, and {} files are named",
                arguments.files.len()
            ),
            "name the result that it is about",
        )),
        _ => Ok(()),
    }
}

/// What a file supports: of a merged one, each group.
fn of_file(
    file: &Path,
    arguments: &PersistArguments,
    wanted: Wanted<'_>,
    known: &mut BTreeMap<[u8; 32], String>,
) -> Result<Vec<Candidate>> {
    let confirming = arguments.confirm.as_deref().map(confirming).transpose()?;
    let Stored { bytes, name, doubt } = input::bytes(file)?;
    let base = evidence::base(&name);
    let judged = input::from_bytes(&bytes, &name)?.judged()?;
    if let (Judged::Run(_), Some(_)) = (&judged, &confirming) {
        return Err(Failure::usage(
            "--confirm is for the result of a study; all rows of a run hold together already",
            "leave it out",
        ));
    }
    ensure_ours(file, doubt, arguments)?;
    let one = |disk, decision| {
        vec![Candidate {
            from: name.clone(),
            disk,
            decision,
        }]
    };
    let candidates = match judged {
        Judged::Study(study) => {
            let confirmed = confirming.as_ref().map(|(study, _)| study);
            let disk = study
                .compared()
                .next()
                .and_then(|cell| persist::disk_of(&cell.result, wanted));
            one(disk, persist::decide_study(&study, confirmed, wanted))
        }
        Judged::Merged(merged) => {
            if wanted.serial.is_some() || wanted.alike {
                return Err(Failure::usage(
                    format!(
                        "{name} has the results of many hosts, merged, and goes by models of disks"
                    ),
                    "leave out --serial and --alike, or name the result of one host",
                ));
            }
            persist::of_merged(&merged, &base, &sha256(&bytes), wanted)
        }
        Judged::Run(result) => {
            if let Some(first) = known.insert(fingerprint(&result), name.clone()) {
                return Err(Failure::usage(
                    format!("{first} and {name} are the same run"),
                    "name it once",
                ));
            }
            let origin = Origin {
                name: &base,
                bytes: &bytes,
                cell: None,
            };
            let decision = persist::decide(&result, wanted);
            one(
                persist::disk_of(&result, wanted),
                decision.map(|decision| decision.with_block(block(&result, origin))),
            )
        }
    };
    if let (Some(file), Some((_, doubt))) = (&arguments.confirm, confirming) {
        ensure_ours(file, doubt, arguments)?;
    }
    Ok(candidates)
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
