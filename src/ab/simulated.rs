//! The simulated disk `scratch:` that is made for a run.

use anyhow::{Context, Result};
use iosched_experiment::session::Session;
use iosched_experiment::workload::live;
use iosched_host::system::device::Disks;
use iosched_result::failure::Failure;
use iosched_result::types::scratch::spec::DiskSpec;

use crate::cli::Conditions;
use iosched_read::messages::note;

/// `ssd*8` of `scratch:ssd*8`; None for existing devices.
pub fn spec(devices: &[String]) -> Result<Option<DiskSpec>> {
    let mut specs = devices
        .iter()
        .filter_map(|name| name.strip_prefix("scratch:"));
    match (specs.next(), devices.len()) {
        (None, _) => Ok(None),
        (Some(spec), 1) => Ok(Some(spec.parse()?)),
        (Some(_), _) => Err(Failure::usage(
            "a simulated disk cannot be combined with other devices",
            "name only the simulated disk (scratch:ssd*8 has eight LUNs), or only real disks",
        )),
    }
}

/// Refuses options that do not go with it.
pub fn refuse_options(spec: DiskSpec, conditions: &Conditions) -> Result<()> {
    if conditions.workload.as_deref() == Some(live::NAME) {
        return Err(Failure::usage(
            format!(
                "scratch:{spec} is made for the run: there is no load on it that `live` could measure"
            ),
            "name the disk that your programs use, or take another workload: `iosched-ab workloads`",
        ));
    }
    if let Some(name) = &conditions.user {
        return Err(Failure::usage(
            format!(
                "{name} cannot use a simulated disk: only root may enter the directories of iosched"
            ),
            "name a disk that the user may use, or add --scratch DIR on a mounted file system: the command gets a directory of its \
             own in it",
        ));
    }
    if conditions.scratch.is_some() || conditions.scratch_size.is_some() {
        ensure_has_volume(spec, "--scratch and --scratch-size")?;
    }
    if conditions.scratch.is_some() {
        return Err(Failure::usage(
            format!(
                "the file system of scratch:{spec} is made for the run and has no directory yet"
            ),
            "leave out --scratch: the workload runs on it anyway",
        ));
    }
    Ok(())
}

/// `option`: what needs one.
pub fn ensure_has_volume(spec: DiskSpec, option: &str) -> Result<()> {
    match spec.file_system {
        Some(_) => Ok(()),
        None => Err(Failure::usage(
            format!("scratch:{spec} has no file system for a scratch file"),
            format!("make one with scratch:{spec}+ext4, or leave out {option}"),
        )),
    }
}

/// Makes a simulated disk, and says so.
pub fn make(session: &mut Session, spec: DiskSpec) -> Result<Disks> {
    session
        .make_scratch(spec)?
        .iter()
        .for_each(|text| note(text));
    let disks = session.scratch_disks()?;
    disks.context("a simulated disk that was just made")
}
