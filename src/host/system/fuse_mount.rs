//! FUSE mounts made by iosched: their source identifies them, and only mounts with that source are unmounted.

use std::ffi::CString;
use std::os::fd::RawFd;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use rustix::io::Errno;
use rustix::mount::{MountFlags, UnmountFlags};

use super::loop_device;
use crate::system::device::mounts::{self, Mount};
use iosched_result::failure::Failure;

/// Mounts the FUSE connection `fuse` at `path`; only root can access it.
pub fn mount(path: &Path, source: &str, fuse: RawFd) -> Result<()> {
    let options = CString::new(format!("fd={fuse},rootmode=40000,user_id=0,group_id=0"))?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    rustix::mount::mount(source, path, "fuse", flags, options.as_c_str())
        .with_context(|| format!("mounting a FUSE file system at {}", path.display()))
}

/// Unmounts the FUSE file system `source` at `path`; succeeds also if it is not mounted. If the mount is in use, aborts
/// its connection and detaches it, so that pending I/O fails with an error.
pub fn unmount(path: &Path, source: &str) -> Result<()> {
    for _ in 0..20 {
        if !is_mounted(path, source)? {
            return Ok(());
        }
        match rustix::mount::unmount(path, UnmountFlags::NOFOLLOW) {
            Ok(()) => return Ok(()),
            Err(Errno::BUSY) => std::thread::sleep(Duration::from_millis(10)),
            Err(error) => {
                return Err(error).with_context(|| format!("unmounting {}", path.display()));
            }
        }
    }
    cut(path);
    if let Some(device) = loop_device::bound_below(path) {
        // Once detached, the mount would no longer show the path by which the device is recognised.
        return Err(Failure::runtime(
            format!("{device} still uses the mount at {}", path.display()),
            format!("stop the processes that use /dev/{device}, then run `iosched restore`"),
        ));
    }
    if !is_mounted(path, source)? {
        return Ok(());
    }
    rustix::mount::unmount(path, UnmountFlags::NOFOLLOW | UnmountFlags::DETACH)
        .with_context(|| format!("detaching the mount at {}", path.display()))
}

/// Aborts the connection of our FUSE file system that contains `file`, if any, so that all its I/O fails. For a device
/// whose server hangs or is gone: it cannot be removed while I/O is pending.
pub fn cut_below(file: &Path) {
    let Some(path) = file.parent() else { return };
    let is_it = |mount: &Mount| mount.point == path && is_ours(mount);
    if mounts::read().is_ok_and(|mounts| mounts.iter().any(is_it)) {
        cut(path);
    }
}

/// A forced unmount aborts the connection first; it then fails with EBUSY, as expected.
fn cut(path: &Path) {
    let _ = rustix::mount::unmount(path, UnmountFlags::NOFOLLOW | UnmountFlags::FORCE);
}

/// Prefix of the sources of our mounts.
pub const SOURCE_PREFIX: &str = "iosched-scratch-";

fn is_ours(mount: &Mount) -> bool {
    mount.filesystem == "fuse" && mount.source.starts_with(SOURCE_PREFIX)
}

/// Whether the FUSE file system `source` is the topmost mount at `path`.
pub fn is_mounted(path: &Path, source: &str) -> Result<bool> {
    let mounts = mounts::read()?;
    let topmost = mounts::at(&mounts, path);
    Ok(topmost.is_some_and(|mount| mount.filesystem == "fuse" && mount.source == source))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_fuse_with_our_name_is_ours() {
        for (rest, expected) in [
            ("fuse iosched-scratch-1 rw,user_id=0", true),
            ("fuse.sshfs iosched-scratch-1 rw", false),
            ("fuse s rw", false),
        ] {
            let line = format!("55 25 0:44 / /run/a rw,nosuid shared:3 master:1 - {rest}");
            assert_eq!(is_ours(&mounts::parse(&line)[0]), expected, "{rest}");
        }
    }

    #[test]
    fn what_is_not_mounted_is_unmounted() {
        assert!(!is_mounted(Path::new("/"), "iosched-scratch-none").unwrap());
        unmount(Path::new("/"), "iosched-scratch-none").unwrap();
        unmount(Path::new("/no/such/place"), "iosched-scratch-none").unwrap();
    }
}
