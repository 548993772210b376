//! `iosched-ab persist`: prints what makes an arm permanent, and installs nothing.

use std::path::Path;

use anyhow::Result;
use iosched_result::failure::Failure;
use iosched_result::persist::{self, Refusal, Wanted};
use iosched_result::study::result::StudyResult;

use crate::cli::{PersistArguments, PersistFormat as Format};
use crate::report::{self, STDIO};
use crate::study;

pub fn run(arguments: &PersistArguments) -> Result<()> {
    let wanted = Wanted {
        arm: arguments.arm.as_deref(),
        accepted: &arguments.accept,
        serial: arguments.serial.as_deref(),
    };
    let confirming = arguments.confirm.as_deref().map(confirming).transpose()?;
    let decision = match study::result_with_doubt_in(&arguments.file)? {
        Some((study, doubt)) => {
            ensure_ours(&arguments.file, doubt, arguments)?;
            persist::decide_study(&study, confirming.as_ref().map(|(study, _)| study), wanted)
        }
        None if confirming.is_some() => {
            return Err(Failure::usage(
                "--confirm is for the result of a study; all rows of a run hold together already",
                "leave it out",
            ));
        }
        None if arguments.file == Path::new(STDIO) => {
            persist::decide(&report::read(&arguments.file)?, wanted)
        }
        None => {
            let (result, doubt) = report::read_with_doubt(&arguments.file)?;
            ensure_ours(&arguments.file, doubt, arguments)?;
            persist::decide(&result, wanted)
        }
    };
    if let (Some(file), Some((_, doubt))) = (&arguments.confirm, confirming) {
        ensure_ours(file, doubt, arguments)?;
    }
    let decision = decision.map_err(refused)?;
    let format = match arguments.format {
        Format::Udev => persist::Format::Udev,
        Format::Hwdb => persist::Format::Hwdb,
        Format::Tuned => persist::Format::Tuned,
        Format::Tmpfiles => persist::Format::Tmpfiles,
        Format::Nixos => persist::Format::Nixos,
        Format::Ansible => persist::Format::Ansible,
        Format::Gke => persist::Format::Gke,
    };
    report::print(&persist::render(&decision, format).map_err(refused)?)
}

type Doubt = Option<String>;

fn confirming(file: &Path) -> Result<(StudyResult, Doubt)> {
    study::result_with_doubt_in(file)?.ok_or_else(|| {
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
