//! Whether a workload runs on a scratch file instead of the raw device, and in which directory.

use std::path::{Path, PathBuf};

use anyhow::Result;
use iosched_experiment::workload::{Target, Workload};
use iosched_host::preflight::Findings;
use iosched_host::scratch::Scratch;
use iosched_host::scratch::file::Size;
use iosched_host::system::device::Disks;
use iosched_result::failure::Failure;
use iosched_result::types::scratch_place::ScratchPlace;

use crate::cli::Conditions;

/// The place that the command line asks for.
pub struct WantedPlace {
    pub directory: PathBuf,
    pub size: Size,
}

/// If the disks were named by a mount point, a writing workload runs on the file system there.
fn wanted(
    arguments: &Conditions,
    disks: &Disks,
    workload: &dyn Workload,
) -> Result<Option<WantedPlace>> {
    let by_default = workload.properties().writes && !arguments.destroy_data;
    let directory = match &arguments.scratch {
        Some(directory) => Some(directory.clone()),
        None if by_default => disks.mounted_on.clone(),
        None => None,
    };
    let Some(directory) = directory else {
        return match arguments.scratch_size {
            None => Ok(None),
            Some(_) => Err(Failure::usage(
                "--scratch-size is given without a scratch file",
                "name its directory with --scratch DIR",
            )),
        };
    };
    Ok(Some(in_directory(directory, arguments)))
}

/// A workload on a scratch device uses its file system if there is one, else the raw device.
pub fn wanted_on(
    scratch: Option<&Scratch>,
    arguments: &Conditions,
    disks: &Disks,
    workload: &dyn Workload,
) -> Result<Option<WantedPlace>> {
    let Some(scratch) = scratch else {
        return wanted(arguments, disks, workload);
    };
    let point = scratch.mount_point();
    Ok(point.map(|point| in_directory(point.to_owned(), arguments)))
}

fn in_directory(directory: PathBuf, arguments: &Conditions) -> WantedPlace {
    let size = match arguments.scratch_size {
        Some(bytes) => Size::Bytes(bytes),
        // A command creates its own files.
        None if !arguments.command.is_empty() => Size::NoFile,
        None => Size::Usual,
    };
    WantedPlace { directory, size }
}

/// The same place as before: all rounds of one run use the same. A scratch device has a new mount point.
pub fn again(place: &ScratchPlace, mount_point: Option<&Path>) -> WantedPlace {
    WantedPlace {
        directory: mount_point.unwrap_or(&place.directory).to_owned(),
        size: place.size_bytes.map_or(Size::NoFile, Size::Bytes),
    }
}

/// None, and one of the `findings`, if no scratch file can be made.
pub fn find(
    wanted: &WantedPlace,
    disks: &Disks,
    findings: &mut Findings,
) -> Result<Option<ScratchPlace>> {
    match iosched_host::scratch::file::place::find(disks, &wanted.directory, wanted.size) {
        Ok(place) => Ok(Some(place)),
        Err(error) => findings.add_failure_of(Err(error)).map(|()| None),
    }
}

/// The target that the workload runs on; None if it makes its own files.
pub fn target(place: Option<&ScratchPlace>, disks: &Disks) -> Result<Option<Target>> {
    let Some(place) = place else {
        return Ok(Some(Target {
            bytes: disks.targets[0].size_bytes()?,
            is_file: false,
            disks: disks.targets.len(),
        }));
    };
    Ok(place.size_bytes.map(|bytes| Target {
        bytes,
        is_file: true,
        disks: 1,
    }))
}
