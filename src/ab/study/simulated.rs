//! The simulated disk of a study.

use anyhow::Result;
use iosched_experiment::session::Session;
use iosched_experiment::study::format::{Cell, Study};
use iosched_experiment::study::suits;
use iosched_host::system::device::Disks;
use iosched_result::failure::Failure;
use iosched_result::types::scratch::spec::DiskSpec;

use crate::cli::StudyArguments;
use crate::simulated;
use iosched_read::messages::note;

/// The disk to make, on which the cells can run; None if existing devices are named.
pub fn wanted(
    study: &Study,
    cells: &[Cell],
    arguments: &StudyArguments,
) -> Result<Option<DiskSpec>> {
    let spec = match simulated::spec(&arguments.devices)? {
        Some(spec) => spec,
        None if arguments.devices.is_empty() => study.device,
        None => return Ok(None),
    };
    if arguments.scratch_size.is_some() {
        simulated::ensure_has_volume(spec, "--scratch-size")?;
    }
    check(study, cells, spec)?;
    Ok(Some(spec))
}

pub fn check(study: &Study, cells: &[Cell], spec: DiskSpec) -> Result<()> {
    let name = &study.name;
    let cannot = |why| format!("{name} cannot run on scratch:{spec}: {why}");
    suits::check(spec, &study.stages, cells).map_err(|why| {
        let own = study.device;
        Failure::usage(
            cannot(why),
            format!("leave the device out for scratch:{own}, or choose other cells with --cells"),
        )
    })?;
    let lacks = suits::needs_files(&study.stages, cells);
    match lacks.filter(|_| spec.file_system.is_none()) {
        Some(why) => Err(Failure::usage(
            cannot(why),
            format!(
                "make one with scratch:{spec}+{}, or choose other cells with --cells",
                if spec.luns == 1 { "ext4" } else { "btrfs" }
            ),
        )),
        None => Ok(()),
    }
}

/// That the study's question is one about a file system, which this disk lacks.
pub fn note_on(study: &Study, spec: DiskSpec) -> Option<String> {
    let own = study.device;
    (own.file_system.is_some() && spec.file_system.is_none()).then(|| {
        format!("the cells run on the raw disk, without the file system of the study's own, {own}")
    })
}

pub fn make(study: &Study, spec: DiskSpec, session: &mut Session) -> Result<Disks> {
    if let Some(missing) = note_on(study, spec) {
        note(&missing);
    }
    simulated::make(session, spec)
}
