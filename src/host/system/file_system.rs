//! File systems that iosched makes on its own devices, and mounts.

use std::ffi::{CString, OsStr};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use rustix::io::Errno;
use rustix::mount::{MountFlags, UnmountFlags};

use super::ask::{self, Limits};
use super::device::mounts;
use iosched_result::failure::Failure;
use iosched_result::types::file_system::FileSystem;

const LIMITS: Limits = Limits {
    time: Duration::from_secs(120),
    bytes: 1 << 16,
};

/// OVERWRITES the devices with an empty file system. Does all its work now: nothing is left for a kernel thread to
/// initialise during the rounds, and nothing is discarded.
pub fn make(made: FileSystem, nodes: &[PathBuf]) -> Result<()> {
    let program = format!("mkfs.{made}");
    let mut words: Vec<&OsStr> = options(made).iter().map(OsStr::new).collect();
    if let Some(profile) = made.profile(nodes.len()) {
        words.extend(["-d", profile, "-m", profile].map(OsStr::new));
    }
    words.extend(nodes.iter().map(|node| node.as_os_str()));
    let answer = ask::ask(program.as_ref(), &words, LIMITS).map_err(|error| {
        match error
            .downcast_ref::<std::io::Error>()
            .map(std::io::Error::kind)
        {
            Some(ErrorKind::NotFound) => Failure::refused(
                format!("{program} is not installed"),
                format!("install {}, or use another file system", package(made)),
            ),
            _ => error,
        }
    })?;
    if answer.status.success() {
        return Ok(());
    }
    Err(Failure::runtime(
        format!(
            "{program} failed ({}): {}",
            answer.status,
            String::from_utf8_lossy(&answer.stderr).trim()
        ),
        "",
    ))
}

fn options(made: FileSystem) -> &'static [&'static str] {
    match made {
        FileSystem::Ext4 => &[
            "-q",
            "-F",
            "-E",
            "nodiscard,lazy_itable_init=0,lazy_journal_init=0",
        ],
        FileSystem::Xfs | FileSystem::Btrfs => &["-q", "-f", "-K"],
    }
}

/// Debian's.
fn package(made: FileSystem) -> &'static str {
    match made {
        FileSystem::Ext4 => "e2fsprogs",
        FileSystem::Xfs => "xfsprogs",
        FileSystem::Btrfs => "btrfs-progs",
    }
}

/// Mounts the file system that was made on these devices.
pub fn mount(made: FileSystem, nodes: &[PathBuf], point: &Path) -> Result<()> {
    let others = nodes.iter().skip(1);
    let others: Vec<String> = others
        .map(|node| format!("device={}", node.display()))
        .collect();
    let options = CString::new(others.join(","))?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    let mounted = rustix::mount::mount(
        &nodes[0],
        point,
        made.to_string(),
        flags,
        options.as_c_str(),
    );
    match mounted {
        Err(Errno::NODEV) => Err(Failure::refused(
            format!("this kernel has no {made}"),
            format!("load it (`modprobe {made}`), or use another file system"),
        )),
        other => other.with_context(|| format!("mounting {made} at {}", point.display())),
    }
}

/// Unmounts what is mounted from one of `sources` at `point`; succeeds also if it is not mounted. A mount that stays in
/// use leaves the tree and ends with its last user.
pub fn unmount(point: &Path, sources: &[String]) -> Result<()> {
    for _ in 0..100 {
        if !is_mounted(point, sources)? {
            return Ok(());
        }
        match rustix::mount::unmount(point, UnmountFlags::NOFOLLOW) {
            Ok(()) => return Ok(()),
            Err(Errno::BUSY) => std::thread::sleep(Duration::from_millis(10)),
            Err(error) => {
                return Err(error).with_context(|| format!("unmounting {}", point.display()));
            }
        }
    }
    rustix::mount::unmount(point, UnmountFlags::NOFOLLOW | UnmountFlags::DETACH)
        .with_context(|| format!("detaching the mount at {}", point.display()))
}

fn is_mounted(point: &Path, sources: &[String]) -> Result<bool> {
    let mounts = mounts::read()?;
    let topmost = mounts::at(&mounts, point);
    Ok(topmost.is_some_and(|mount| sources.contains(&mount.source)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_mounted_from_elsewhere_stays() {
        unmount(Path::new("/"), &["/dev/loop1048575".to_owned()]).unwrap();
        assert!(mounts::at(&mounts::read().unwrap(), Path::new("/")).is_some());
    }
}
