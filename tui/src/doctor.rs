//! `iosched doctor`.

use anyhow::Result;
use iosched_experiment::doctor::{self, facts};
use iosched_files::{interrupt, stdout};
use iosched_host::system::device::Device;
use iosched_read::fit;
use iosched_result::failure::Failure;
use iosched_result::report::escape;

use crate::cli::Doctor;

pub fn run(arguments: &Doctor) -> Result<()> {
    let named = !arguments.devices.is_empty();
    let devices = if named {
        let mut devices = Vec::new();
        for name in &arguments.devices {
            devices.extend(Device::measured(name)?.devices);
        }
        devices
    } else {
        Device::lowest()?.devices
    };
    let facts = facts::read(&devices);
    // A fact that an interruption left out is no finding.
    interrupt::check()?;
    let diagnosis = doctor::diagnose(&facts, named);
    let text = if arguments.json {
        escape::json(&serde_json::to_string_pretty(&diagnosis)?) + "\n"
    } else {
        doctor::render(&diagnosis, fit::columns(&std::io::stdout()))
    };
    stdout::write_all(text.as_bytes())?;
    let cannot = match (diagnosis.can_measure, diagnosis.can_switch) {
        (true, true) => return Ok(()),
        (false, true) => "measure",
        (true, false) => "switch schedulers",
        (false, false) => "measure or switch schedulers",
    };
    Err(Failure::runtime(
        format!("cannot {cannot} here"),
        "the lines marked missing say how to fix it",
    ))
}
