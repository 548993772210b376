//! `iosched-ab persist`: prints what makes an arm permanent, and installs nothing.

use anyhow::Result;
use iosched::ab::result::ResultFile;
use iosched::failure::Failure;
use iosched::persist::{self, Refusal};

use crate::cli::{PersistArguments, PersistFormat as Format};
use crate::report;
use crate::study;

pub fn run(arguments: &PersistArguments) -> Result<()> {
    let text = match study::result_in(&arguments.file)? {
        Some(study) => text(&study.results(), arguments)?,
        None => text(&[&report::read(&arguments.file)?], arguments)?,
    };
    report::print(&text)
}

fn text(results: &[&ResultFile], arguments: &PersistArguments) -> Result<String> {
    let (arm, serial) = (arguments.arm.as_deref(), arguments.serial.as_deref());
    let decision = persist::decide(results, arm, &arguments.accept, serial).map_err(refused)?;
    let format = match arguments.format {
        Format::Udev => persist::Format::Udev,
        Format::Hwdb => persist::Format::Hwdb,
        Format::Tuned => persist::Format::Tuned,
        Format::Tmpfiles => persist::Format::Tmpfiles,
        Format::Nixos => persist::Format::Nixos,
        Format::Ansible => persist::Format::Ansible,
    };
    persist::render(&decision, format).map_err(refused)
}

fn refused(refusal: Refusal) -> anyhow::Error {
    Failure::refused(
        format!("nothing is made permanent: {}", refusal.what),
        refusal.hint,
    )
}
