//! Finds the paths of files. The kernel side keeps the names of a file and of the directories above it, within
//! the file system, when it first sees the file; where that is mounted is looked up here.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use iosched_bpf::enums::file_kind;
use iosched_bpf::{Tracer, file_path, owner};
use iosched_host::system::device::mounts::{self, Mount};
use iosched_result::measured::snapshot::{FileKey, FileKind};

/// Beyond so many files the paths of those without I/O are forgotten.
const MANY: usize = 32_768;

#[derive(Default)]
pub(super) struct Files {
    paths: HashMap<FileKey, String>,
    /// As they are at this look, if it was necessary to know.
    mounts: Option<Vec<Mount>>,
}

impl Files {
    /// The mounts may have changed.
    pub fn begin_look(&mut self) {
        self.mounts = None;
    }

    /// Looks the path up if the file of this row is new.
    pub fn look(&mut self, tracer: &Tracer, row: usize, file: Option<FileKey>) {
        let Some(key) = file.filter(|file| file.kind == FileKind::Regular) else {
            return;
        };
        if self.paths.contains_key(&key) {
            return;
        }
        if self.paths.len() >= MANY {
            self.paths.clear();
        }
        let Some(kept) = tracer.file_path(row).filter(|kept| kept.parts > 0) else {
            return;
        };
        let read = || mounts::read().unwrap_or_default();
        let mounts = self.mounts.get_or_insert_with(read);
        let path = path(&kept, &key, mounts);
        self.paths.extend(path.map(|path| (key, path)));
    }

    /// None if it is no regular file, or has no name.
    pub fn path(&self, key: &FileKey) -> Option<&str> {
        self.paths.get(key).map(String::as_str)
    }

    /// Its path, or what else it is called.
    pub fn name(&self, key: &FileKey) -> String {
        self.path(key).map_or_else(|| key.label(), str::to_owned)
    }
}

/// The kernel's form of a device number has 20 bits for the minor.
const MINOR_BITS: u32 = 20;

pub(super) fn file_of(row: &owner) -> Option<FileKey> {
    let kind = match file_kind(row.key.file_kind) {
        file_kind::FILE_INODE => FileKind::Regular,
        file_kind::FILE_BLOCK_DEVICE => FileKind::BlockDevice,
        file_kind::FILE_METADATA => FileKind::Metadata,
        file_kind::FILE_JOURNAL => FileKind::Journal,
        file_kind::FILE_SWAP => FileKind::Swap,
        file_kind::FILE_UNKNOWN => FileKind::Unknown,
        _ => return None,
    };
    Some(FileKey {
        kind,
        inode: row.key.inode,
        instance: row.key.file_instance,
        major: row.key.file_dev >> MINOR_BITS,
        minor: row.key.file_dev & ((1 << MINOR_BITS) - 1),
    })
}

fn path(kept: &file_path, key: &FileKey, mounts: &[Mount]) -> Option<String> {
    let count = (kept.parts as usize).min(kept.part.len());
    if count == 0 {
        return None;
    }
    let names: Vec<String> = kept.part[..count].iter().rev().map(name).collect();
    let within = format!("/{}", names.join("/"));
    let of_system = |mount: &&Mount| (mount.major, mount.minor) == (key.major, key.minor);
    let its = || mounts.iter().filter(of_system);
    if kept.is_cut != 0 {
        // Whether it is below another directory of the file system is not known.
        let whole = its().find(|mount| mount.root == Path::new("/"));
        let point = whole.map(|mount| mount.point.display().to_string());
        let begin = point.unwrap_or_else(|| format!("{}:{}:", key.major, key.minor));
        return Some(format!("{}/...{within}", begin.trim_end_matches('/')));
    }
    // Several mounts may show different parts of a file system.
    let shown = its().filter_map(|mount| {
        let below = Path::new(&within).strip_prefix(&mount.root).ok()?;
        Some((mount.root.components().count(), joined(&mount.point, below)))
    });
    let first = shown.min_by_key(|(depth, _)| *depth);
    let path = first.map(|(_, path)| path.display().to_string());
    Some(path.unwrap_or_else(|| format!("{}:{}:{within}", key.major, key.minor)))
}

fn joined(point: &Path, below: &Path) -> PathBuf {
    if below.as_os_str().is_empty() {
        point.to_owned()
    } else {
        point.join(below)
    }
}

/// A name that had no room ends with dots.
fn name(words: &[u64; 8]) -> String {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
    let end = bytes
        .iter()
        .position(|byte| *byte == 0)
        .unwrap_or(bytes.len());
    let name = String::from_utf8_lossy(&bytes[..end]);
    if end + 1 >= bytes.len() {
        return format!("{name}...");
    }
    name.into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(name: &str) -> [u64; 8] {
        let mut bytes = [0; 64];
        let length = name.len().min(63);
        bytes[..length].copy_from_slice(&name.as_bytes()[..length]);
        let (words, _) = bytes.as_chunks::<8>();
        std::array::from_fn(|place| u64::from_ne_bytes(words[place]))
    }

    /// From the file up, as the kernel side keeps it.
    fn kept(names: &[&str], is_cut: u32) -> file_path {
        let mut kept = file_path {
            parts: names.len() as u32,
            is_cut,
            ..file_path::default()
        };
        for (part, name) in kept.part.iter_mut().zip(names) {
            *part = words(name);
        }
        kept
    }

    const MOUNTS: &str = "\
22 1 254:0 / / rw - ext4 /dev/vda rw
40 22 7:3 /sub /mnt/part rw - ext4 /dev/loop3 rw
41 22 7:3 / /mnt/whole rw - ext4 /dev/loop3 rw
";

    fn at(major: u32, minor: u32, kept: &file_path) -> Option<String> {
        let key = FileKey {
            kind: FileKind::Regular,
            inode: 12,
            instance: 0,
            major,
            minor,
        };
        path(kept, &key, &mounts::parse(MOUNTS))
    }

    #[test]
    fn a_path_begins_where_its_file_system_is_mounted() {
        let file = kept(&["data", "sub"], 0);
        let is = |major, minor| at(major, minor, &file).unwrap();
        assert_eq!(is(254, 0), "/sub/data");
        assert_eq!(is(7, 3), "/mnt/whole/sub/data");
        assert_eq!(
            is(7, 4),
            "7:4:/sub/data",
            "mounted where this process cannot see it"
        );
    }

    #[test]
    fn what_had_no_room_is_seen() {
        assert_eq!(
            at(7, 3, &kept(&["data", "sub"], 1)).unwrap(),
            "/mnt/whole/.../sub/data"
        );
        assert_eq!(at(254, 0, &kept(&["data"], 1)).unwrap(), "/.../data");
        assert_eq!(at(9, 9, &kept(&["data"], 1)).unwrap(), "9:9:/.../data");
        let long = "x".repeat(80);
        let cut = at(254, 0, &kept(&[&long], 0)).unwrap();
        assert_eq!(cut, format!("/{}...", "x".repeat(63)));
        assert_eq!(at(254, 0, &kept(&[], 0)), None);
    }
}
