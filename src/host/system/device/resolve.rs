//! Resolves a word of the command line to a disk. Anything that cannot be a disk is refused here with its kind: a
//! mistyped path must not become a benchmark of a regular file in memory.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::backing::{Backing, backing};
use super::mounts::{self, Mount};
use super::{Device, multipath, names_in};
use iosched_result::failure::Failure;

/// The disk, with one line for each decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolved {
    pub device: Device,
    pub notes: Vec<String>,
}

const NAME_A_DISK: &str =
    "name a disk (nvme0n1), its node (/dev/nvme0n1), a partition or a mount point";

/// The block devices that a word of the command line names: one device, or those of a mounted file system.
pub(super) struct Located {
    /// Kernel names of disks or partitions; at least one.
    pub names: Vec<String>,
    pub mounted_on: Option<PathBuf>,
}

impl Located {
    fn device(name: String) -> Self {
        Located {
            names: vec![name],
            mounted_on: None,
        }
    }
}

pub(super) fn resolve(spec: &str) -> Result<Resolved> {
    let Located { names, mounted_on } = locate(spec)?;
    match (names.as_slice(), mounted_on) {
        ([name], None) => whole_disk(name, Vec::new()),
        ([name], Some(_)) => {
            let note = format!("{spec} is mounted from {name}");
            down_to_disk(name, vec![note])
        }
        (several, _) => Err(Failure::refused(
            format!("{spec} is on several devices: {}", several.join(", ")),
            "name one of them",
        )),
    }
}

pub(super) fn locate(spec: &str) -> Result<Located> {
    if let Some(name) = kernel_name(spec) {
        return Ok(Located::device(name));
    }
    let path = Path::new(spec);
    let metadata = fs::metadata(path).map_err(|error| match error.kind() {
        ErrorKind::NotFound => Failure::usage(
            format!("{spec}: no such device"),
            format!("{NAME_A_DISK}; `lsblk` lists them"),
        ),
        _ => Failure::usage(format!("{spec}: {error}"), NAME_A_DISK),
    })?;
    let kind = metadata.file_type();
    if kind.is_block_device() {
        let name = name_of(metadata.rdev())
            .with_context(|| format!("{spec} is a device node, but its device does not exist"))?;
        return Ok(Located::device(name));
    }
    if kind.is_dir() {
        return mount_point(path);
    }
    let what = if kind.is_char_device() {
        "a character device"
    } else if kind.is_file() {
        "a regular file"
    } else {
        "neither a disk nor a mount point"
    };
    Err(Failure::usage(format!("{spec} is {what}"), NAME_A_DISK))
}

/// The spec as a sysfs name, if it is one: `cciss/c0d0` is `cciss!c0d0` there.
fn kernel_name(spec: &str) -> Option<String> {
    if spec.is_empty() || spec.starts_with(['/', '.']) || spec.split('/').any(|part| part == "..") {
        return None;
    }
    let name = spec.replace('/', "!");
    Path::new("/sys/class/block")
        .join(&name)
        .exists()
        .then_some(name)
}

/// The kernel name of the device with this number.
pub(crate) fn name_of(dev: u64) -> Option<String> {
    let (major, minor) = (rustix::fs::major(dev), rustix::fs::minor(dev));
    name_of_numbers(major, minor)
}

pub(super) fn name_of_numbers(major: u32, minor: u32) -> Option<String> {
    let target = fs::read_link(format!("/sys/dev/block/{major}:{minor}")).ok()?;
    Some(target.file_name()?.to_str()?.to_owned())
}

/// The disk that a partition belongs to, or None if `name` is a disk.
pub(super) fn disk_of_partition(name: &str) -> Option<String> {
    let directory = fs::canonicalize(Path::new("/sys/class/block").join(name)).ok()?;
    if !directory.join("partition").exists() {
        return None;
    }
    Some(directory.parent()?.file_name()?.to_str()?.to_owned())
}

pub(super) fn whole_disk(name: &str, mut notes: Vec<String>) -> Result<Resolved> {
    let disk = match disk_of_partition(name) {
        Some(disk) => {
            notes.push(format!(
                "{name} is a partition: its whole disk {disk} is meant"
            ));
            disk
        }
        None => name.to_owned(),
    };
    match Device::by_name(&disk)? {
        Some(device) => Ok(Resolved { device, notes }),
        None => Err(match multipath::unknown_number(&disk) {
            Some(why) => Failure::refused(
                why,
                "boot Linux 5.14 or later, or turn multipath off with nvme_core.multipath=N",
            ),
            None => Failure::usage(format!("{disk}: no such disk"), NAME_A_DISK),
        }),
    }
}

fn mount_point(path: &Path) -> Result<Located> {
    let point = fs::canonicalize(path).with_context(|| format!("reading {}", path.display()))?;
    let mounts = mounts::read()?;
    let Some(mount) = mounts::at(&mounts, &point) else {
        let above = mounts::above(&mounts, &point).map_or_else(String::new, |mount| {
            format!("; the mount point above it is {}", mount.point.display())
        });
        return Err(Failure::usage(
            format!("{} is a directory, but not a mount point", path.display()),
            format!("{NAME_A_DISK}{above}"),
        ));
    };
    let names = devices_of(mount);
    if names.is_empty() {
        return Err(Failure::usage(
            format!(
                "{} is a {} without a block device",
                path.display(),
                mount.filesystem
            ),
            NAME_A_DISK,
        ));
    }
    Ok(Located {
        names,
        mounted_on: Some(point),
    })
}

/// The block devices of a mounted file system, by kernel name. btrfs has an anonymous device number and any number of
/// members.
pub(crate) fn devices_of(mount: &Mount) -> Vec<String> {
    // A mount's source is arbitrary text, except for these file systems, which open it.
    let has_own_number = ["btrfs", "bcachefs"].contains(&&*mount.filesystem);
    let direct = if mount.major == 0 && !has_own_number {
        None
    } else if mount.major == 0 {
        fs::metadata(&mount.source)
            .ok()
            .filter(|metadata| metadata.file_type().is_block_device())
            .and_then(|metadata| name_of(metadata.rdev()))
    } else {
        name_of_numbers(mount.major, mount.minor)
    };
    let Some(direct) = direct else {
        return Vec::new();
    };
    btrfs_members_with(&direct).unwrap_or_else(|| vec![direct])
}

/// The members of the mounted btrfs that contains this device.
fn btrfs_members_with(name: &str) -> Option<Vec<String>> {
    btrfs_members()
        .into_iter()
        .map(|(_, members)| members)
        .find(|members| members.iter().any(|member| member == name))
}

/// Each mounted btrfs: its UUID and its members' kernel names.
pub(crate) fn btrfs_members() -> Vec<(String, Vec<String>)> {
    let directory = Path::new("/sys/fs/btrfs");
    names_in(directory)
        .unwrap_or_default()
        .into_iter()
        .filter_map(|uuid| {
            let members = names_in(&directory.join(&uuid).join("devices")).ok()?;
            (!members.is_empty()).then_some((uuid, members))
        })
        .collect()
}

/// The members of the mounted btrfs whose writers the kernel throttles by this name.
pub(super) fn btrfs_members_throttled_as(bdi: &str) -> Option<Vec<String>> {
    let is_its = |uuid: &str| {
        let link = fs::read_link(format!("/sys/fs/btrfs/{uuid}/bdi"));
        link.is_ok_and(|target| target.file_name().is_some_and(|name| name == bdi))
    };
    let mut all = btrfs_members().into_iter();
    all.find(|(uuid, _)| is_its(uuid))
        .map(|(_, members)| members)
}

/// Whether I/O is scheduled here, or cannot be followed further down.
pub(super) fn stops_at(device: &Device, slaves: &[String]) -> bool {
    device.has_requests() || slaves.is_empty()
}

/// Descends through device mapper and similar layers as long as there is only one device below.
fn down_to_disk(name: &str, notes: Vec<String>) -> Result<Resolved> {
    let mut resolved = whole_disk(name, notes)?;
    loop {
        let above = resolved.device.name.clone();
        match resolved.device.slaves().as_slice() {
            [] => return Ok(resolved),
            [below] => {
                resolved.notes.push(format!("{above} is built on {below}"));
                resolved = whole_disk(below, resolved.notes)?;
            }
            several => {
                return Err(Failure::refused(
                    format!(
                        "{above} is built on several devices: {}",
                        several.join(", ")
                    ),
                    "name one of them",
                ));
            }
        }
    }
}

/// The devices that a device is directly built on, by sysfs, and the paths of a multipath NVMe disk, which it does not say.
pub(super) fn slaves_of(name: &str) -> Vec<String> {
    let directory = Path::new("/sys/block").join(name).join("slaves");
    let mut slaves = names_in(&directory).unwrap_or_default();
    slaves.extend(multipath::paths(name));
    slaves
}

/// The disks that a device is built on, including itself, by kernel name: through partitions, device mapper, md, btrfs
/// members and the backing files of loop devices.
pub fn stands_on(name: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut open = vec![name.to_owned()];
    while let Some(name) = open.pop() {
        let disk = disk_of_partition(&name).unwrap_or(name);
        if !found.insert(disk.clone()) {
            continue;
        }
        open.extend(slaves_of(&disk));
        open.extend(backing_device(&disk));
    }
    found
}

/// Whether all of this device is inside the devices with these names: it is one of them, a partition of one, or built on
/// nothing else.
pub(crate) fn is_within(name: &str, targets: &[&str]) -> bool {
    const DEEPEST: usize = 64;
    is_within_at(name, targets, DEEPEST)
}

fn is_within_at(name: &str, targets: &[&str], deepest: usize) -> bool {
    if targets.contains(&name) {
        return true;
    }
    let Some(deeper) = deepest.checked_sub(1) else {
        return false;
    };
    if let Some(disk) = disk_of_partition(name) {
        return is_within_at(&disk, targets, deeper);
    }
    let mut below = slaves_of(name);
    below.extend(backing_device(name));
    !below.is_empty() && below.iter().all(|name| is_within_at(name, targets, deeper))
}

/// The block device below a loop device: the bound device, or the one that contains the bound file.
fn backing_device(loop_name: &str) -> Option<String> {
    match backing(loop_name)? {
        Backing::Device(dev) | Backing::File { dev, .. } => name_of(dev),
        Backing::Unknown => None,
    }
}

/// The file or device that a loop device is bound to. sysfs prints its name unescaped, as raw bytes.
pub(crate) fn backing_file(loop_name: &str) -> Option<PathBuf> {
    let mut name = fs::read(format!("/sys/block/{loop_name}/loop/backing_file")).ok()?;
    name.pop_if(|last| *last == b'\n');
    Some(PathBuf::from(OsString::from_vec(name)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use iosched_result::failure::{Kind, kind_of};

    #[test]
    fn what_is_no_disk_is_a_usage_failure_that_says_what_it_is() {
        for (spec, says) in [
            ("", "no such device"),
            ("no-such-disk", "no such device"),
            ("/dev/no-such-disk", "no such device"),
            ("/dev/null", "a character device"),
            ("/proc/self/mountinfo", "a regular file"),
            ("/proc", "without a block device"),
            ("/proc/self", "not a mount point"),
        ] {
            let error = resolve(spec).expect_err(spec);
            assert!(error.to_string().contains(says), "{spec}: {error}");
            assert_eq!(kind_of(&error), Kind::Usage, "{spec}");
        }
    }

    #[test]
    fn a_relative_path_is_no_kernel_name() {
        for spec in [".", "..", "./sda", "../block/sda", "a/../sda", ""] {
            assert_eq!(kernel_name(spec), None, "{spec}");
        }
    }

    #[test]
    fn a_disk_is_found_by_name_and_by_node() {
        for device in Device::all().expect("sysfs") {
            let by_name = resolve(&device.name).expect("by name");
            assert_eq!(by_name.device, device);
            assert!(by_name.notes.is_empty());
            if device.node().exists() {
                let node = device.node().display().to_string();
                assert_eq!(resolve(&node).expect("by node").device, device);
            }
            assert!(stands_on(&device.name).contains(&device.name));
        }
    }
}
