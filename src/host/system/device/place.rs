//! Finds the mount point and the disks of a file system by its number in the kernel.

use std::collections::BTreeSet;
use std::path::Path;

use iosched_result::stat::SyncPlace;

use super::mounts::{Mount, above};
use super::parse_dev;
use super::resolve::{btrfs_members_throttled_as, devices_of, name_of_numbers, stands_on};

/// A mounted file system is named by its mount point, another device by its kernel name. The result is empty if neither is found.
/// `mounts` are the mounts that this process sees, `seen` those that the waiting process sees.
pub fn place_of(mounts: &[Mount], seen: &[Mount], major: u32, minor: u32) -> SyncPlace {
    let here = |mount: &&Mount| (mount.major, mount.minor) == (major, minor);
    // A file system may be mounted many times: where all of it is seen, or else the first one.
    let whole = |mount: &&Mount| mount.root.as_os_str() == "/";
    let all = || mounts.iter().chain(seen).filter(here);
    if let Some(mount) = all().find(whole).or_else(|| all().next()) {
        if mount.filesystem == "overlay" {
            return upper(mounts, mount);
        }
        return at(mount);
    }
    match name_of_numbers(major, minor) {
        Some(name) => SyncPlace {
            devices: Some(disks_of(std::slice::from_ref(&name))),
            name: Some(name),
            ..SyncPlace::default()
        },
        None => SyncPlace::default(),
    }
}

fn at(mount: &Mount) -> SyncPlace {
    let name = mount.point.to_string_lossy().into_owned();
    on(name, &mount.filesystem, devices_of(mount))
}

fn on(name: String, filesystem: &str, members: Vec<String>) -> SyncPlace {
    SyncPlace {
        name: Some(name),
        devices: Some(disks_of(&members)),
        filesystem: Some(filesystem.to_owned()),
        members: if members.len() > 1 {
            members
        } else {
            Vec::new()
        },
    }
}

/// The same by the name of a `backing_dev_info`, by which the kernel throttles the writers of a file system without a disk of its own.
/// It is a device number (`0:53`: NFS, FUSE), or the type of the file system with a number (`btrfs-1`, `cifs-2`).
pub fn place_of_bdi(mounts: &[Mount], seen: &[Mount], bdi: &str) -> SyncPlace {
    let (kind, _) = bdi.split_once('-').unwrap_or((bdi, ""));
    if let Some((major, minor)) = parse_dev(kind) {
        return place_of(mounts, seen, major, minor);
    }
    if let Some(members) = btrfs_members_throttled_as(bdi) {
        let is_its = |mount: &&Mount| mount.filesystem == kind && devices_of(mount) == members;
        let mount = mounts.iter().chain(seen).find(is_its);
        let name = mount.map_or(bdi.to_owned(), |mount| {
            mount.point.to_string_lossy().into_owned()
        });
        return on(name, kind, members);
    }
    // The kernel does not say which mount of this type it is. A file system that needs no device has no disk.
    let of_type = std::fs::read_to_string("/proc/filesystems").unwrap_or_default();
    SyncPlace {
        name: Some(bdi.to_owned()),
        devices: needs_no_device(&of_type, kind).then(Vec::new),
        filesystem: Some(kind.to_owned()),
        members: Vec::new(),
    }
}

/// As the lines of /proc/filesystems have it.
fn needs_no_device(filesystems: &str, kind: &str) -> bool {
    let mut lines = filesystems.lines();
    lines.any(|line| line.split_once('\t') == Some(("nodev", kind)))
}

/// Files of an overlay are written to its upper directory, which is named as this process sees it.
fn upper(mounts: &[Mount], overlay: &Mount) -> SyncPlace {
    let mut options = overlay.options.split(',');
    let directory = options.find_map(|option| option.strip_prefix("upperdir="));
    let mount = directory.and_then(|path| above(mounts, Path::new(path)));
    mount.map_or_else(SyncPlace::default, at)
}

fn disks_of(names: &[String]) -> Vec<String> {
    let disks: BTreeSet<String> = names.iter().flat_map(|name| stands_on(name)).collect();
    disks.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::super::mounts::parse;
    use super::*;

    #[test]
    fn a_file_system_is_named_by_where_all_of_it_is_mounted() {
        let mounts = parse(
            "40 22 0:77 /sub /bind rw - tmpfs none rw\n41 22 0:77 / /whole rw - tmpfs none rw\n",
        );
        let place = place_of(&mounts, &[], 0, 77);
        assert_eq!(place.name.as_deref(), Some("/whole"));
        assert_eq!(place.devices, Some(Vec::new()));
        assert_eq!(
            place_of(&mounts[..1], &[], 0, 77).name.as_deref(),
            Some("/bind")
        );
        assert_eq!(place_of(&mounts, &[], 0, 78), SyncPlace::default());
    }

    #[test]
    fn a_file_system_without_a_disk_is_named_by_what_throttles_its_writers() {
        let mounts = parse("40 22 0:77 / /mnt rw - nfs4 server:/export rw\n");
        for bdi in ["0:77", "0:77-fuseblk"] {
            let place = place_of_bdi(&mounts, &[], bdi);
            assert_eq!(place, place_of(&mounts, &[], 0, 77), "{bdi}");
            assert_eq!(place.name.as_deref(), Some("/mnt"), "{bdi}");
            assert_eq!(place.filesystem.as_deref(), Some("nfs4"), "{bdi}");
            assert_eq!(place.devices, Some(Vec::new()), "{bdi}");
        }
        // It needs no device.
        let place = place_of_bdi(&mounts, &[], "tmpfs-3");
        assert_eq!(place.name.as_deref(), Some("tmpfs-3"));
        assert_eq!(place.devices, Some(Vec::new()));
        // A btrfs that is no more.
        let place = place_of_bdi(&mounts, &[], "btrfs-0");
        assert_eq!(place.name.as_deref(), Some("btrfs-0"));
        assert_eq!((place.devices, place.members), (None, Vec::new()));
    }

    #[test]
    fn the_kernel_says_which_file_systems_need_no_device() {
        let text = "nodev\tcifs\n\tbtrfs\nnodev\tnfs4\n";
        let of = |kind| needs_no_device(text, kind);
        assert_eq!(
            ["cifs", "nfs4", "nfs", "btrfs", ""].map(of),
            [true, true, false, false, false]
        );
    }

    /// Root of a container: only its processes see the overlay, and its upper directory is on a disk of the host.
    #[test]
    fn an_overlay_is_where_its_upper_directory_is() {
        let mounts = parse("40 22 0:77 / /var/lib rw - tmpfs none rw\n");
        let seen = parse(
            "50 1 0:90 / / rw - overlay overlay rw,lowerdir=/l,upperdir=/var/lib/u,workdir=/w\n",
        );
        let place = place_of(&mounts, &seen, 0, 90);
        assert_eq!(place.name.as_deref(), Some("/var/lib"));
        assert_eq!(place_of(&mounts, &[], 0, 90), SyncPlace::default());
        let read_only = parse("50 1 0:90 / / ro - overlay overlay ro,lowerdir=/l\n");
        assert_eq!(place_of(&mounts, &read_only, 0, 90), SyncPlace::default());
    }
}
