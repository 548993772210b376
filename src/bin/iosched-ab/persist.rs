//! `iosched-ab persist`: prints what makes an arm permanent, and installs nothing.

use anyhow::Result;
use iosched::failure::Failure;
use iosched::persist::{self, Refusal, Wanted};

use crate::cli::{PersistArguments, PersistFormat as Format};
use crate::report;
use crate::study;

pub fn run(arguments: &PersistArguments) -> Result<()> {
    let wanted = Wanted {
        arm: arguments.arm.as_deref(),
        accepted: &arguments.accept,
        serial: arguments.serial.as_deref(),
    };
    let decision = match study::result_in(&arguments.file)? {
        Some(study) => persist::decide_study(&study, wanted),
        None => persist::decide(&report::read(&arguments.file)?, wanted),
    };
    let decision = decision.map_err(refused)?;
    let format = match arguments.format {
        Format::Udev => persist::Format::Udev,
        Format::Hwdb => persist::Format::Hwdb,
        Format::Tuned => persist::Format::Tuned,
        Format::Tmpfiles => persist::Format::Tmpfiles,
        Format::Nixos => persist::Format::Nixos,
        Format::Ansible => persist::Format::Ansible,
    };
    report::print(&persist::render(&decision, format).map_err(refused)?)
}

fn refused(refusal: Refusal) -> anyhow::Error {
    Failure::refused(
        format!("nothing is made permanent: {}", refusal.what),
        refusal.hint,
    )
}
