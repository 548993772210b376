//! Parses `/proc/self/mountinfo`, the list of mounts.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// One mounted file system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// Major 0 for a file system that is not on one block device: btrfs, overlay, tmpfs.
    pub major: u32,
    pub minor: u32,
    /// The directory of the file system that is shown at `point`.
    pub root: PathBuf,
    pub point: PathBuf,
    pub filesystem: String,
    pub source: String,
    /// The file system's options, without those of the mount.
    pub options: String,
}

impl Mount {
    pub fn has_option(&self, name: &str) -> bool {
        self.options.split(',').any(|option| option == name)
    }
}

/// The mounts that this process sees. Mounts in other namespaces only show as a failing exclusive open.
pub fn read() -> Result<Vec<Mount>> {
    let bytes = fs::read("/proc/self/mountinfo").context("reading /proc/self/mountinfo")?;
    Ok(parse(&String::from_utf8_lossy(&bytes)))
}

/// The mounts that another process sees; none if it is gone.
pub fn read_of(pid: u32) -> Vec<Mount> {
    let bytes = fs::read(format!("/proc/{pid}/mountinfo")).unwrap_or_default();
    parse(&String::from_utf8_lossy(&bytes))
}

/// The mount at exactly this path; the last one hides earlier ones.
pub fn at<'a>(mounts: &'a [Mount], point: &Path) -> Option<&'a Mount> {
    mounts.iter().rev().find(|mount| mount.point == point)
}

/// The mount that contains a path.
pub fn above<'a>(mounts: &'a [Mount], path: &Path) -> Option<&'a Mount> {
    path.ancestors().find_map(|ancestor| at(mounts, ancestor))
}

/// Skips lines that are not in the format of mountinfo.
pub fn parse(text: &str) -> Vec<Mount> {
    text.lines().filter_map(parse_line).collect()
}

/// `36 35 98:0 /root /point options [optional fields] - type source super-options`
fn parse_line(line: &str) -> Option<Mount> {
    let (before, after) = line.split_once(" - ")?;
    let mut before = before.split(' ').skip(2);
    let (major, minor) = super::parse_dev(before.next()?)?;
    let root = PathBuf::from(text(before.next()?));
    let point = PathBuf::from(text(before.next()?));
    let mut after = after.split(' ');
    Some(Mount {
        major,
        minor,
        root,
        point,
        filesystem: after.next()?.to_owned(),
        source: text(after.next()?),
        options: after.next()?.to_owned(),
    })
}

fn text(escaped: &str) -> String {
    String::from_utf8_lossy(&unescape(escaped.as_bytes())).into_owned()
}

/// Decodes the `\040` by which the kernel escapes blanks and backslashes in paths.
pub(crate) fn unescape(escaped: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(escaped.len());
    let mut rest = escaped;
    while let Some((&first, tail)) = rest.split_first() {
        let octal = tail
            .get(..3)
            // Rust's number parser would accept a sign.
            .filter(|digits| first == b'\\' && digits.iter().all(u8::is_ascii_digit))
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 8).ok());
        if let Some(byte) = octal {
            bytes.push(byte);
            rest = &tail[3..];
        } else {
            bytes.push(first);
            rest = tail;
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
22 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard
40 22 7:3 /sub /mnt/with\\040blank rw shared:5 master:1 - ext4 /dev/loop3 rw
41 22 0:44 / /mnt/b rw - btrfs /dev/loop4 rw,subvol=/
42 22 0:45 / /mnt/b rw - tmpfs none\\134x rw
broken line
";

    #[test]
    fn optional_fields_and_escapes_are_understood() {
        let mounts = parse(TEXT);
        assert_eq!(mounts.len(), 4);
        assert_eq!(mounts[1].point, Path::new("/mnt/with blank"));
        assert_eq!((mounts[1].major, mounts[1].minor), (7, 3));
        assert_eq!(mounts[2].source, "/dev/loop4");
        assert_eq!(mounts[3].source, "none\\x");
        assert!(mounts[0].has_option("discard") && !mounts[0].has_option("relatime"));
    }

    #[test]
    fn the_last_mount_on_a_point_counts() {
        let mounts = parse(TEXT);
        assert_eq!(
            at(&mounts, Path::new("/mnt/b")).map(|m| &*m.filesystem),
            Some("tmpfs")
        );
        assert_eq!(at(&mounts, Path::new("/mnt")), None);
        assert_eq!(
            above(&mounts, Path::new("/mnt/x/y")).map(|m| &*m.source),
            Some("/dev/vda")
        );
    }

    #[test]
    fn a_lone_backslash_stays() {
        assert_eq!(text("a\\"), "a\\");
        assert_eq!(text("a\\09z"), "a\\09z");
        assert_eq!(text("\\011"), "\t");
        assert_eq!(text("\\+12"), "\\+12");
    }
}
