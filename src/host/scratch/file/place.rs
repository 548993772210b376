//! Checks the place and size of a scratch file before anything is changed.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use rustix::fs::Access;

use crate::system::device::mounts::{self, Mount};
use crate::system::device::{Disks, RawTarget, devices_of, is_within};
use iosched_result::failure::Failure;
use iosched_result::types::scratch_place::{ScratchPlace, mib};

const MIB: u64 = 1 << 20;
const USUAL_BYTES: u64 = 1024 * MIB;
/// In a smaller file all writers would compete for a few blocks.
const SMALLEST_BYTES: u64 = 16 * MIB;

/// The requested size of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// A tenth of the free space, but at most 1 GiB.
    Usual,
    Bytes(u64),
    NoFile,
}

/// Fails if the directory is not on these disks, is not writable, or has no space.
pub fn find(disks: &Disks, directory: &Path, size: Size) -> Result<ScratchPlace> {
    let name = directory.display();
    let directory = fs::canonicalize(directory)
        .map_err(|error| Failure::usage(format!("{name}: {error}"), A_DIRECTORY))?;
    if !directory.is_dir() || directory.to_str().is_none() {
        let what = format!("{name} is not a directory with a name in UTF-8");
        return Err(Failure::usage(what, A_DIRECTORY));
    }
    let file_system = file_system(disks, &directory)?;
    if let Err(error) = rustix::fs::access(&directory, Access::WRITE_OK) {
        return Err(Failure::refused(
            format!("{name} is not writable: {error}"),
            "name a directory on a file system that is mounted read-write",
        ));
    }
    let space = rustix::fs::statvfs(&directory)
        .with_context(|| format!("reading the free space of {name}"))?;
    let free_bytes = space.f_bavail.saturating_mul(space.f_frsize);
    Ok(ScratchPlace {
        size_bytes: size_bytes(size, free_bytes, &directory)?,
        directory,
        file_system,
    })
}

const A_DIRECTORY: &str = "name an existing directory on a mounted file system of the disk";

/// Type of the file system that contains an absolute path without links. Fails unless the file system is only on what was
/// named: I/O to other disks would not be seen, and another partition was not offered.
pub(super) fn file_system(disks: &Disks, path: &Path) -> Result<String> {
    let mounts = mounts::read()?;
    let mount = mounts::above(&mounts, path).context("finding the mount of the path")?;
    let devices = devices_of(mount);
    let hint = || match &*mounted_from(disks, &mounts) {
        [] => format!(
            "{} has no mounted file system: mount one, use scratch:ssd as the device, or add --destroy-data if the \
             data on the disk may be lost",
            disks.name()
        ),
        points => format!("name a directory below {}", points.join(" or ")),
    };
    if devices.is_empty() {
        return Err(Failure::refused(
            format!(
                "{} is on {} ({}), which is not on a disk",
                path.display(),
                mount.point.display(),
                mount.filesystem
            ),
            hint(),
        ));
    }
    let targets = names(disks);
    let elsewhere: Vec<&str> = devices
        .iter()
        .filter(|device| !is_within(device, &targets))
        .map(String::as_str)
        .collect();
    if !elsewhere.is_empty() {
        return Err(Failure::refused(
            format!(
                "{} is on {} ({}), not part of {}",
                path.display(),
                elsewhere.join(", "),
                mount.point.display(),
                disks.name()
            ),
            hint(),
        ));
    }
    Ok(mount.filesystem.clone())
}

fn names(disks: &Disks) -> Vec<&str> {
    disks.targets.iter().map(RawTarget::name).collect()
}

/// Where file systems of these disks are mounted, at most a few of them.
fn mounted_from(disks: &Disks, mounts: &[Mount]) -> Vec<String> {
    const ENOUGH: usize = 3;
    let targets = names(disks);
    let is_on_them = |mount: &&Mount| {
        let devices = devices_of(mount);
        !devices.is_empty() && devices.iter().all(|device| is_within(device, &targets))
    };
    let points = mounts.iter().filter(is_on_them);
    let mut points: Vec<String> = points
        .map(|mount| mount.point.display().to_string())
        .collect();
    points.dedup();
    points.truncate(ENOUGH);
    points
}

/// The size, rounded to whole MiB.
fn size_bytes(size: Size, free_bytes: u64, directory: &Path) -> Result<Option<u64>> {
    let tenth = free_bytes / 10;
    let wanted = match size {
        Size::NoFile => return Ok(None),
        Size::Usual => USUAL_BYTES.min(tenth),
        Size::Bytes(bytes) => bytes,
    } / MIB
        * MIB;
    let (free, smallest) = (mib(free_bytes), mib(SMALLEST_BYTES));
    let place = directory.display();
    if size == Size::Usual && wanted < SMALLEST_BYTES {
        return Err(Failure::refused(
            format!("{place} has {free} free, and a tenth of that is too small for a scratch file"),
            format!("free some space, or set --scratch-size to at least {smallest}"),
        ));
    }
    if wanted < SMALLEST_BYTES {
        return Err(Failure::usage(
            format!("a scratch file of {} is too small", mib(wanted)),
            format!(
                "use at least {smallest}: in a smaller file all writers would compete for a few blocks"
            ),
        ));
    }
    if wanted > free_bytes - tenth {
        return Err(Failure::refused(
            format!(
                "a scratch file of {} does not fit: {place} has {free} free, and a tenth of that stays reserved for others",
                mib(wanted)
            ),
            "free some space, or use a smaller --scratch-size",
        ));
    }
    Ok(Some(wanted))
}

#[cfg(test)]
mod tests {
    use super::*;
    use iosched_result::failure::{Kind, kind_of};

    fn size(size: Size, free_bytes: u64) -> Result<Option<u64>> {
        size_bytes(size, free_bytes, Path::new("/data"))
    }

    #[test]
    fn a_file_is_whole_mebibytes_and_leaves_a_tenth_to_others() {
        assert_eq!(size(Size::Usual, 1 << 40).unwrap(), Some(1 << 30));
        assert_eq!(size(Size::Usual, 205 * MIB).unwrap(), Some(20 * MIB));
        assert_eq!(
            size(Size::Bytes(17 * MIB + 5), 1 << 40).unwrap(),
            Some(17 * MIB)
        );
        assert_eq!(
            size(Size::Bytes(90 * MIB), 100 * MIB).unwrap(),
            Some(90 * MIB)
        );
        assert_eq!(size(Size::NoFile, 0).unwrap(), None);
    }

    #[test]
    fn too_little_room_and_too_small_a_file_are_told_apart() {
        for (wanted, free, kind, says) in [
            (
                Size::Usual,
                159 * MIB,
                Kind::Refused,
                "/data has 159 MiB free",
            ),
            (Size::Usual, 0, Kind::Refused, "/data has 0 MiB free"),
            (
                Size::Bytes(91 * MIB),
                100 * MIB,
                Kind::Refused,
                "91 MiB does not fit: /data has 100 MiB",
            ),
            (
                Size::Bytes(u64::MAX),
                u64::MAX,
                Kind::Refused,
                "does not fit",
            ),
            (
                Size::Bytes(SMALLEST_BYTES - 1),
                1 << 40,
                Kind::Usage,
                "15 MiB is too small",
            ),
            (Size::Bytes(0), 1 << 40, Kind::Usage, "0 MiB is too small"),
        ] {
            let error = size(wanted, free).unwrap_err();
            assert_eq!(kind_of(&error), kind, "{error}");
            assert!(error.to_string().contains(says), "{error}");
        }
    }
}
