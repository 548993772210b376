//! Finds the users of a disk: mounted file systems, members of btrfs, swap, device mapper, loop devices. Names are not
//! sufficient (a symlink, the second member of a btrfs, a loop device on the raw disk), so everything is compared by
//! device number.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use crate::system::device::mounts::{self, Mount};
use crate::system::device::{
    Backing, Device, RawTarget, backing, btrfs_members, devices_of, name_of, names_in, stands_on,
};

/// One line per user, with the name of the disk or partition. Devices of the `stack` that is to be measured do not
/// count as users of each other.
pub(super) fn all(device: &Device, stack: &[Device], mounts: &[Mount]) -> Vec<String> {
    uses(&device.clone().into(), stack, mounts)
}

/// The users of what may be a partition: those of its disk as a whole and of other partitions in the same place, but not
/// those beside it.
pub(super) fn uses(target: &RawTarget, stack: &[Device], mounts: &[Mount]) -> Vec<String> {
    let mut uses = named(target, stack, mounts);
    let (ours, _) = held_by(&parts_of(target), stack);
    if uses.is_empty() && ours.is_empty() && is_held(target) {
        uses.push(format!(
            "{} is opened exclusively by a process that is not visible (file system in another namespace, RAID, LVM, another tool)",
            target.name()
        ));
    }
    if target.is_whole_disk() && root_disks(mounts).contains(target.name()) {
        uses.push(format!("{} carries the root file system", target.name()));
    }
    uses
}

/// The users that can be named; an exclusive open by this process is not among them.
pub(super) fn named(target: &RawTarget, stack: &[Device], mounts: &[Mount]) -> Vec<String> {
    let (device, parts) = (&target.disk, parts_of(target));
    let mut uses = mounted(&parts, mounts);
    uses.extend(btrfs(&parts));
    uses.extend(swap(&parts));
    let (_, others) = held_by(&parts, stack);
    uses.extend(others);
    uses.extend(looped(&parts, &device.name));
    uses.extend(below_a_loop(device, mounts));
    uses.extend(on_the_same_file(&device.name, mounts));
    uses
}

/// The holders built on these: those in the stack, and all others.
fn held_by(parts: &[DiskPart], stack: &[Device]) -> (Vec<String>, Vec<String>) {
    let is_ours = |holder: &String| stack.iter().any(|device| device.name == *holder);
    let (ours, others): (Vec<_>, Vec<_>) = holders(parts)
        .into_iter()
        .partition(|(_, holder)| is_ours(holder));
    let lines = |held: Vec<(&str, String)>| held.into_iter().map(is_part).collect();
    (lines(ours), lines(others))
}

/// Whether anything, this process included, has opened the disk or one of its partitions exclusively, in any namespace.
/// A partition is held if it or its disk is.
fn is_held(target: &RawTarget) -> bool {
    let flags = OFlags::RDONLY | OFlags::EXCL | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let head = target
        .disk
        .head()
        .and_then(|head| Device::by_name(&head).ok()?);
    let node = head.map_or_else(|| target.node(), |head| head.node());
    rustix::fs::open(node, flags, Mode::empty()).err() == Some(Errno::BUSY)
}

/// The disks that carry `/`.
fn root_disks(mounts: &[Mount]) -> BTreeSet<String> {
    mounts::at(mounts, Path::new("/"))
        .map(devices_of)
        .unwrap_or_default()
        .iter()
        .flat_map(|name| stands_on(name))
        .collect()
}

struct DiskPart {
    name: String,
    major: u32,
    minor: u32,
}

impl DiskPart {
    fn is(&self, dev: u64) -> bool {
        dev == rustix::fs::makedev(self.major, self.minor)
    }
}

/// All that shares sectors with a disk, the disk first.
fn parts(device: &Device) -> Vec<DiskPart> {
    parts_of(&device.clone().into())
}

/// All that shares sectors with it, its disk first. A path of a multipath disk shares them with the disk.
fn parts_of(target: &RawTarget) -> Vec<DiskPart> {
    let disk = &target.disk;
    let mut partitions = disk.partitions();
    if let Some(own) = &target.partition {
        partitions.retain(|other| other.name == own.name || other.overlaps(own));
    }
    let whole = DiskPart {
        name: disk.name.clone(),
        major: disk.major,
        minor: disk.minor,
    };
    let parts_below = partitions.into_iter().map(|partition| DiskPart {
        name: partition.name,
        major: partition.major,
        minor: partition.minor,
    });
    let head = disk.head().and_then(|head| Device::by_name(&head).ok()?);
    let of_head = head.iter().flat_map(parts);
    [whole]
        .into_iter()
        .chain(parts_below)
        .chain(of_head)
        .collect()
}

fn mounted(parts: &[DiskPart], mounts: &[Mount]) -> Vec<String> {
    let mut found = Vec::new();
    for mount in mounts {
        for part in parts {
            if (part.major, part.minor) == (mount.major, mount.minor) {
                found.push(format!(
                    "{} is mounted on {}",
                    part.name,
                    mount.point.display()
                ));
            }
        }
    }
    found
}

fn btrfs(parts: &[DiskPart]) -> Vec<String> {
    let mut found = Vec::new();
    for (uuid, members) in btrfs_members() {
        for part in parts.iter().filter(|part| members.contains(&part.name)) {
            found.push(format!(
                "{} is a member of the mounted btrfs {uuid}",
                part.name
            ));
        }
    }
    found
}

/// Swap on a device; a swap file appears as the mounted file system that contains it.
fn swap(parts: &[DiskPart]) -> Vec<String> {
    let table = fs::read("/proc/swaps").unwrap_or_default();
    let mut found = Vec::new();
    for path in swap_paths(&table) {
        let Some(dev) = block_device(&path) else {
            continue;
        };
        for part in parts.iter().filter(|part| part.is(dev)) {
            found.push(format!("{} is swap space", part.name));
        }
    }
    found
}

fn swap_paths(table: &[u8]) -> impl Iterator<Item = PathBuf> {
    table
        .split(|byte| *byte == b'\n')
        .skip(1)
        .filter_map(|line| line.split(u8::is_ascii_whitespace).next())
        .filter(|path| !path.is_empty())
        .map(|path| OsString::from_vec(mounts::unescape(path)).into())
}

/// Devices built on the disk or its partitions, with the name of the part.
fn holders(parts: &[DiskPart]) -> Vec<(&str, String)> {
    let of = |part: &DiskPart| {
        let directory = Path::new("/sys/class/block")
            .join(&part.name)
            .join("holders");
        names_in(&directory).unwrap_or_default()
    };
    parts
        .iter()
        .flat_map(|part| of(part).into_iter().map(|holder| (&*part.name, holder)))
        .collect()
}

fn is_part((part, holder): (&str, String)) -> String {
    format!("{part} is part of {holder}")
}

/// Loop devices on the raw disk: neither a holder nor a failed exclusive open reveals them. `above` is skipped.
fn looped(parts: &[DiskPart], above: &str) -> Vec<String> {
    let mut found = Vec::new();
    for name in names_in(Path::new("/sys/block")).unwrap_or_default() {
        if name == above {
            continue;
        }
        match backing(&name) {
            Some(Backing::Device(dev)) => {
                for part in parts.iter().filter(|part| part.is(dev)) {
                    found.push(format!("{} is the backing device of {name}", part.name));
                }
            }
            Some(Backing::Unknown) if parts.iter().all(|part| part.name != name) => {
                found.push(format!(
                    "{} may be the backing device of {name}, whose backing file cannot be inspected",
                    parts[0].name
                ));
            }
            _ => {}
        }
    }
    found
}

/// The device may itself be a loop device on a raw disk or partition, and that again a loop device: a user of any of
/// these is a user of the device.
fn below_a_loop(device: &Device, mounts: &[Mount]) -> Vec<String> {
    const DEEPEST: usize = 64;
    let mut uses = Vec::new();
    let mut above = device.name.clone();
    for _ in 0..DEEPEST {
        let Some(Backing::Device(dev)) = backing(&above) else {
            return uses;
        };
        let Some(name) = name_of(dev) else {
            return uses;
        };
        let below = match Device::by_name(&name) {
            Ok(Some(disk)) => parts(&disk),
            _ => vec![DiskPart {
                name: name.clone(),
                major: rustix::fs::major(dev),
                minor: rustix::fs::minor(dev),
            }],
        };
        uses.extend(mounted(&below, mounts));
        uses.extend(btrfs(&below));
        uses.extend(swap(&below));
        uses.extend(holders(&below).into_iter().map(is_part));
        uses.extend(looped(&below, &above));
        uses.extend(on_the_same_file(&name, mounts));
        above = name;
    }
    uses
}

/// Other loop devices on the same part of a file: the kernel does not keep one from overwriting what is mounted from the
/// other.
fn on_the_same_file(name: &str, mounts: &[Mount]) -> Vec<String> {
    let Some(ours @ Backing::File { .. }) = backing(name) else {
        return Vec::new();
    };
    let others = names_in(Path::new("/sys/block")).unwrap_or_default();
    others
        .iter()
        .filter(|other| *other != name)
        .filter(|other| backing(other).is_some_and(|theirs| may_be_one_file(ours, theirs, mounts)))
        .filter(|other| overlap(part_of_file(name), part_of_file(other)))
        .map(|other| format!("{name} has the same backing file as {other}"))
        .collect()
}

/// Offset and length of the part of its file that a loop device shows; length 0: to the end.
fn part_of_file(name: &str) -> (u64, u64) {
    let number = |attribute: &str| {
        let path = Path::new("/sys/block")
            .join(name)
            .join("loop")
            .join(attribute);
        let text = fs::read_to_string(path).ok()?;
        text.trim().parse().ok()
    };
    // A range that cannot be read may overlap.
    (
        number("offset").unwrap_or(0),
        number("sizelimit").unwrap_or(0),
    )
}

fn overlap(one: (u64, u64), other: (u64, u64)) -> bool {
    let begins_before_the_end_of = |(start, _): (u64, u64), (offset, length): (u64, u64)| {
        length == 0 || start < offset.saturating_add(length)
    };
    begins_before_the_end_of(one, other) && begins_before_the_end_of(other, one)
}

/// A file on an overlay has the inode number of the file below it but another device number.
fn may_be_one_file(ours: Backing, theirs: Backing, mounts: &[Mount]) -> bool {
    let (
        Backing::File { dev, ino },
        Backing::File {
            dev: their_dev,
            ino: their_ino,
        },
    ) = (ours, theirs)
    else {
        return false;
    };
    let is_overlay = |dev| {
        let number = (rustix::fs::major(dev), rustix::fs::minor(dev));
        let mut overlays = mounts.iter().filter(|mount| mount.filesystem == "overlay");
        overlays.any(|mount| (mount.major, mount.minor) == number)
    };
    ino == their_ino && (dev == their_dev || is_overlay(dev) || is_overlay(their_dev))
}

fn block_device(path: &Path) -> Option<u64> {
    let metadata = fs::metadata(path).ok()?;
    metadata
        .file_type()
        .is_block_device()
        .then(|| metadata.rdev())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn swap_files_and_devices_are_the_first_column() {
        let table = b"Filename\t\t\tType\t\tSize\n/dev/dm-1                partition\t8\t0\n\
            /swap\\040file\xff\t\t\tfile\t\t8\t0\n";
        let paths: Vec<PathBuf> = swap_paths(table).collect();
        let file = OsString::from_vec(b"/swap file\xff".to_vec());
        assert_eq!(paths, [PathBuf::from("/dev/dm-1"), file.into()]);
    }

    #[test]
    fn a_mount_of_a_partition_is_a_use_of_the_disk() {
        let mount = |major, minor, point: &str| Mount {
            root: PathBuf::from("/"),
            major,
            minor,
            point: point.into(),
            filesystem: "ext4".into(),
            source: "any source".into(),
            options: "rw".into(),
        };
        let part = |name: &str, minor| DiskPart {
            name: name.into(),
            major: 8,
            minor,
        };
        let found = mounted(
            &[part("sda", 0), part("sda1", 1)],
            &[
                mount(8, 1, "/data"),
                mount(8, 2, "/other"),
                mount(7, 1, "/loop"),
            ],
        );
        assert_eq!(found, ["sda1 is mounted on /data"]);
    }

    #[test]
    fn parts_of_a_file_overlap_or_not() {
        for (one, other, expected) in [
            ((0, 0), (0, 0), true),
            ((0, 0), (4096, 512), true),
            ((0, 4096), (4096, 4096), false),
            ((0, 4097), (4096, 4096), true),
            ((4096, 0), (0, 4096), false),
            ((u64::MAX, 9), (0, 4096), false),
        ] {
            assert_eq!(overlap(one, other), expected, "{one:?} {other:?}");
            assert_eq!(overlap(other, one), expected, "{one:?} {other:?}");
        }
    }

    #[test]
    fn the_root_disks_are_disks() {
        let mounts = mounts::read().expect("mountinfo");
        for name in root_disks(&mounts) {
            assert!(Path::new("/sys/block").join(&name).exists(), "{name}");
        }
    }
}
