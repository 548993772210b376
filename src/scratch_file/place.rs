//! Where a scratch file may lie, and how large it may be: known before anything is touched.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use rustix::fs::Access;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::device::mounts::{self, Mount};
use crate::device::{Device, Disks, devices_of, stands_on};
use crate::failure::Failure;

const MIB: u64 = 1 << 20;
const USUAL_BYTES: u64 = 1024 * MIB;
/// In less, all writers meet in a few blocks.
const SMALLEST_BYTES: u64 = 16 * MIB;

/// A directory, and what is made below it for the length of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Place {
    pub directory: PathBuf,
    /// Its type, as the kernel calls it.
    pub file_system: String,
    /// Of the file; absent where a command has the empty directory alone.
    pub size_bytes: Option<u64>,
}

/// What is wanted of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// A tenth of the free space, but at most 1 GiB.
    Usual,
    Bytes(u64),
    NoFile,
}

impl Place {
    /// Refuses what is not on these disks, cannot be written, or has no room.
    pub fn find(disks: &Disks, directory: &Path, size: Size) -> Result<Place> {
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
                format!("{name} cannot be written: {error}"),
                "name a directory on a file system that is mounted for writing",
            ));
        }
        let space = rustix::fs::statvfs(&directory)
            .with_context(|| format!("asking for the free space of {name}"))?;
        let free_bytes = space.f_bavail.saturating_mul(space.f_frsize);
        Ok(Place {
            size_bytes: size_bytes(size, free_bytes, &directory)?,
            directory,
            file_system,
        })
    }
}

const A_DIRECTORY: &str = "name a directory that exists, on a mounted file system of the disk";

/// The type of the file system on which an absolute path without links lies; refused unless all of it is on these disks:
/// what it writes elsewhere would not be seen.
pub(super) fn file_system(disks: &Disks, path: &Path) -> Result<String> {
    let mounts = mounts::read()?;
    let mount = mounts::above(&mounts, path).context("a root file system")?;
    let members = members_below(mount);
    let hint = || match &*mounted_from(disks, &mounts) {
        [] => format!(
            "{} has no mounted file system: mount one, take scratch:ssd as the device, or say --destroy-data if the \
             data of the disk may be lost",
            disks.name()
        ),
        points => format!("name a directory below {}", points.join(" or ")),
    };
    if members.is_empty() {
        return Err(Failure::refused(
            format!(
                "{} lies on {} ({}), which is on no disk",
                path.display(),
                mount.point.display(),
                mount.filesystem
            ),
            hint(),
        ));
    }
    let elsewhere: Vec<&str> = members
        .iter()
        .filter(|member| !is_on(disks, member))
        .map(|member| &*member.name)
        .collect();
    if !elsewhere.is_empty() {
        return Err(Failure::refused(
            format!(
                "{} lies on {} ({}), not on {} alone",
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

fn members_below(mount: &Mount) -> Vec<Device> {
    let names = devices_of(mount);
    let members = names.iter().flat_map(|name| Disks::members_of(name));
    members.collect()
}

fn is_on(disks: &Disks, member: &Device) -> bool {
    let below = stands_on(&member.name);
    disks.members.iter().any(|disk| below.contains(&disk.name))
}

/// Where file systems of these disks are mounted, as far as it is worth telling.
fn mounted_from(disks: &Disks, mounts: &[Mount]) -> Vec<String> {
    const ENOUGH: usize = 3;
    let is_on_them = |mount: &&Mount| {
        let members = members_below(mount);
        !members.is_empty() && members.iter().all(|member| is_on(disks, member))
    };
    let points = mounts.iter().filter(is_on_them);
    let mut points: Vec<String> = points
        .map(|mount| mount.point.display().to_string())
        .collect();
    points.dedup();
    points.truncate(ENOUGH);
    points
}

/// Whole MiB.
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
            format!(
                "{place} has {free} free, and a tenth of that is too little for a scratch file"
            ),
            format!("make room, or say --scratch-size: {smallest} are the least"),
        ));
    }
    if wanted < SMALLEST_BYTES {
        return Err(Failure::usage(
            format!("a scratch file of {} is too small", mib(wanted)),
            format!("{smallest} are the least: in fewer, all writers meet in a few blocks"),
        ));
    }
    if wanted > free_bytes - tenth {
        return Err(Failure::refused(
            format!(
                "a scratch file of {} does not fit: {place} has {free} free, and a tenth of that is left to others",
                mib(wanted)
            ),
            "make room, or take a smaller --scratch-size",
        ));
    }
    Ok(Some(wanted))
}

fn mib(bytes: u64) -> String {
    format!("{} MiB", bytes / MIB)
}

/// In words: `a scratch file of 1024 MiB below /srv/data (ext4)`.
impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.size_bytes {
            Some(bytes) => write!(f, "a scratch file of {}", mib(bytes))?,
            None => f.write_str("a scratch directory")?,
        }
        write!(
            f,
            " below {} ({})",
            self.directory.display(),
            self.file_system
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::{Kind, kind_of};

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
