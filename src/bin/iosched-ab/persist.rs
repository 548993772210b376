//! `iosched-ab persist`: prints what makes an arm permanent, and installs nothing.

use std::path::Path;

use anyhow::Result;
use iosched::failure::Failure;
use iosched::persist::{self, Refusal, Wanted};

use crate::cli::{PersistArguments, PersistFormat as Format};
use crate::report::{self, STDIO};
use crate::study;

pub fn run(arguments: &PersistArguments) -> Result<()> {
    let wanted = Wanted {
        arm: arguments.arm.as_deref(),
        accepted: &arguments.accept,
        serial: arguments.serial.as_deref(),
    };
    let (decision, doubt) = match study::result_with_doubt_in(&arguments.file)? {
        Some((study, doubt)) => (persist::decide_study(&study, wanted), doubt),
        None if arguments.file == Path::new(STDIO) => (
            persist::decide(&report::read(&arguments.file)?, wanted),
            None,
        ),
        None => {
            let (result, doubt) = report::read_with_doubt(&arguments.file)?;
            (persist::decide(&result, wanted), doubt)
        }
    };
    if let Some(doubt) = doubt.filter(|_| !arguments.trust) {
        let file = arguments.file.display();
        return Err(refused(Refusal {
            what: format!("another user could have written {file}: {doubt}"),
            hint: format!(
                "look at it with `iosched-ab report {file}`; if that is what was measured, add --trust"
            ),
        }));
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

fn refused(refusal: Refusal) -> anyhow::Error {
    Failure::refused(
        format!("nothing is made permanent: {}", refusal.what),
        refusal.hint,
    )
}
