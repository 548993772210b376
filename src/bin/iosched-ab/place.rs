//! Whether a workload runs in a scratch file instead of on the raw device, and where.

use std::path::PathBuf;

use anyhow::Result;
use iosched::device::Disks;
use iosched::failure::Failure;
use iosched::preflight::Report;
use iosched::scratch_file::{Place, Size};
use iosched::workload::Workload;

use crate::cli::Conditions;

/// As the command line asks for it.
pub struct Wanted {
    directory: PathBuf,
    size: Size,
}

/// Where the disks were named by a mount point a writing workload runs on the file system there.
pub fn wanted(
    arguments: &Conditions,
    disks: &Disks,
    workload: &dyn Workload,
) -> Result<Option<Wanted>> {
    let by_default = workload.writes() && !arguments.destroy_data;
    let directory = match &arguments.scratch {
        Some(directory) => Some(directory.clone()),
        None if by_default => disks.mounted_on.clone(),
        None => None,
    };
    let Some(directory) = directory else {
        return match arguments.scratch_size {
            None => Ok(None),
            Some(_) => Err(Failure::usage(
                "--scratch-size without a scratch file",
                "say where it may be: --scratch DIR",
            )),
        };
    };
    let size = match arguments.scratch_size {
        Some(bytes) => Size::Bytes(bytes),
        // It makes its own files.
        None if !arguments.command.is_empty() => Size::NoFile,
        None => Size::Usual,
    };
    Ok(Some(Wanted { directory, size }))
}

/// The same as before: for rounds of one run.
pub fn again(place: &Place) -> Wanted {
    Wanted {
        directory: place.directory.clone(),
        size: place.size_bytes.map_or(Size::NoFile, Size::Bytes),
    }
}

/// None, and a finding, where there cannot be one.
pub fn find(
    wanted: &Wanted,
    disks: &Disks,
    workload: &dyn Workload,
    report: &mut Report,
) -> Result<Option<Place>> {
    match Place::find(disks, &wanted.directory, wanted.size) {
        Ok(place) => {
            if let Some(size_bytes) = place.size_bytes {
                report.add_failure_of(workload.check_in_file(size_bytes))?;
            }
            Ok(Some(place))
        }
        Err(error) => report.add_failure_of(Err(error)).map(|()| None),
    }
}
