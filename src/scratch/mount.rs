//! Mounts of ours: made with a source that names us, and unmounted only where that source is found.

use std::ffi::CString;
use std::fs;
use std::os::fd::RawFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use rustix::io::Errno;
use rustix::mount::{MountFlags, UnmountFlags};

use super::loop_device;
use crate::failure::Failure;

/// Mounts the FUSE connection `fuse` at `path`; only root may look in.
pub fn mount(path: &Path, source: &str, fuse: RawFd) -> Result<()> {
    let options = CString::new(format!("fd={fuse},rootmode=40000,user_id=0,group_id=0"))?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    rustix::mount::mount(source, path, "fuse", flags, options.as_c_str())
        .with_context(|| format!("mounting a FUSE file system at {}", path.display()))
}

/// Unmounts the FUSE file system `source` at `path`; Ok also when it is not, or no longer, there.
/// A mount that is in use is detached from the tree after its connection was cut, so that I/O that still waits
/// for it ends with an error.
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
        // Detached, the mount would hide the path by which the device is known as ours.
        return Err(Failure::runtime(
            format!("{device} still uses the mount at {}", path.display()),
            format!("end what uses /dev/{device}, then run: iosched restore"),
        ));
    }
    if !is_mounted(path, source)? {
        return Ok(());
    }
    rustix::mount::unmount(path, UnmountFlags::NOFOLLOW | UnmountFlags::DETACH)
        .with_context(|| format!("detaching the mount at {}", path.display()))
}

/// Ends all I/O of the FUSE file system of ours that holds `file`, if there is one, with errors. For a device
/// whose server is stuck or gone: it can be given up only when nobody waits for it any more.
pub fn cut_below(file: &Path) {
    let Some(path) = file.parent() else { return };
    let is_ours = |entry: &Mounted| entry.path == path && entry.is_ours();
    if mounts().is_ok_and(|mounts| mounts.iter().any(is_ours)) {
        cut(path);
    }
}

/// A forced unmount aborts the connection first; that it then finds the mount in use is expected.
fn cut(path: &Path) {
    let _ = rustix::mount::unmount(path, UnmountFlags::NOFOLLOW | UnmountFlags::FORCE);
}

/// What the sources of our mounts begin with.
pub const SOURCE_PREFIX: &str = "iosched-scratch-";

#[derive(Debug, PartialEq, Eq)]
struct Mounted {
    path: PathBuf,
    kind: String,
    source: String,
}

impl Mounted {
    fn is_ours(&self) -> bool {
        self.kind == "fuse" && self.source.starts_with(SOURCE_PREFIX)
    }
}

/// Whether the FUSE file system `source` is what is mounted at `path`, on top of whatever else is.
pub fn is_mounted(path: &Path, source: &str) -> Result<bool> {
    let mounts = mounts()?;
    let topmost = mounts.iter().rfind(|entry| entry.path == path);
    Ok(topmost.is_some_and(|entry| entry.kind == "fuse" && entry.source == source))
}

fn mounts() -> Result<Vec<Mounted>> {
    let text = fs::read("/proc/self/mountinfo").context("reading /proc/self/mountinfo")?;
    Ok(String::from_utf8_lossy(&text)
        .lines()
        .filter_map(parse)
        .collect())
}

/// One line of mountinfo: `36 35 98:0 /root /path rw,noatime master:1 - ext3 /dev/sda1 rw`.
fn parse(line: &str) -> Option<Mounted> {
    let (front, back) = line.split_once(" - ")?;
    let mut back = back.split(' ');
    Some(Mounted {
        path: PathBuf::from(unescape(front.split(' ').nth(4)?)),
        kind: back.next()?.to_owned(),
        source: unescape(back.next()?),
    })
}

/// Spaces, tabs, newlines and backslashes stand as octal numbers: `\040`.
fn unescape(field: &str) -> String {
    let mut parts = field.split('\\');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let code = part.get(..3);
        if let Some(byte) = code.and_then(|code| u8::from_str_radix(code, 8).ok()) {
            text.push(char::from(byte));
            text.push_str(&part[3..]);
        } else {
            text.push('\\');
            text.push_str(part);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_mountinfo_is_read() {
        let line = r"55 25 0:44 / /run/a\040b rw,nosuid shared:3 master:1 - fuse iosched-scratch-1 rw,user_id=0";
        let mounted = parse(line).unwrap();
        assert_eq!(mounted.path, Path::new("/run/a b"));
        assert_eq!(mounted.source, "iosched-scratch-1");
        assert!(mounted.is_ours());
        assert_eq!(parse("55 25 0:44 / /run"), None);
        assert_eq!(unescape(r"a\134b\x"), r"a\b\x");
    }

    #[test]
    fn other_mounts_are_not_ours() {
        let other = r"55 25 0:44 / /mnt rw - fuse.sshfs iosched-scratch-1 rw";
        assert!(!parse(other).unwrap().is_ours());
        assert!(
            !parse(r"55 25 0:44 / /mnt rw - fuse s rw")
                .unwrap()
                .is_ours()
        );
    }

    #[test]
    fn what_is_not_mounted_is_unmounted() {
        assert!(!is_mounted(Path::new("/"), "iosched-scratch-none").unwrap());
        unmount(Path::new("/"), "iosched-scratch-none").unwrap();
        unmount(Path::new("/no/such/place"), "iosched-scratch-none").unwrap();
    }
}
