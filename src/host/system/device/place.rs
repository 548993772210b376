//! Finds the mount point and the disks of a file system by its number in the kernel.

use std::collections::BTreeSet;
use std::path::Path;

use iosched_result::stat::SyncPlace;

use super::mounts::{Mount, above};
use super::resolve::{devices_of, name_of_numbers, stands_on};

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
        return SyncPlace {
            name: Some(mount.point.to_string_lossy().into_owned()),
            devices: Some(disks_of(&devices_of(mount))),
        };
    }
    match name_of_numbers(major, minor) {
        Some(name) => SyncPlace {
            devices: Some(disks_of(std::slice::from_ref(&name))),
            name: Some(name),
        },
        None => SyncPlace::default(),
    }
}

/// Files of an overlay are written to its upper directory, which is named as this process sees it.
fn upper(mounts: &[Mount], overlay: &Mount) -> SyncPlace {
    let mut options = overlay.options.split(',');
    let directory = options.find_map(|option| option.strip_prefix("upperdir="));
    let mount = directory.and_then(|path| above(mounts, Path::new(path)));
    mount.map_or_else(SyncPlace::default, |mount| SyncPlace {
        name: Some(mount.point.to_string_lossy().into_owned()),
        devices: Some(disks_of(&devices_of(mount))),
    })
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
