//! A disk and its partitions as udev's rules see them, from sysfs and udev's database.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::tree::Tree;
use super::udev::subject::{Known, Parent, Subject};
use crate::system::device::Device;
use iosched_files::{input, interrupt};

/// A device is below a dozen others at most.
const DEEPEST: usize = 32;
const LARGEST_ATTRIBUTE: u64 = 64 << 10;

pub struct Seen<'a> {
    tree: &'a Tree<'a>,
    known: Known,
    /// The directories of the device and of those above it.
    directories: Vec<PathBuf>,
}

/// The disk, then its partitions: their events, too, can lead to its scheduler.
pub fn subjects<'a>(tree: &'a Tree<'a>, disk: &Device) -> Vec<Seen<'a>> {
    let link = tree.path("sys/block").join(&disk.name);
    let directory = fs::canonicalize(&link).unwrap_or(link);
    let number = format!("{}:{}", disk.major, disk.minor);
    let mut subjects = vec![seen(tree, &directory, &disk.name, &number)];
    let inside = fs::read_dir(&directory).into_iter().flatten().flatten();
    let mut partitions: Vec<PathBuf> = inside
        .map(|entry| entry.path())
        .filter(|path| path.join("partition").exists())
        .collect();
    partitions.sort();
    subjects.extend(partitions.iter().map(|path| {
        let number = fs::read_to_string(path.join("dev")).unwrap_or_default();
        seen(tree, path, &disk.name, number.trim())
    }));
    subjects
}

fn seen<'a>(tree: &'a Tree<'a>, directory: &Path, disk: &str, number: &str) -> Seen<'a> {
    let root = fs::canonicalize(tree.path("")).unwrap_or_else(|_| tree.path(""));
    let below = directory.strip_prefix(root.join("sys")).ok();
    let own = directory
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let directories = chain(directory, &root.join("sys"));
    let link = |directory: &Path, name: &str| {
        let target = fs::read_link(directory.join(name)).unwrap_or_default();
        target
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned()
    };
    let parents = directories.iter().map(|directory| Parent {
        name: name_of(directory),
        subsystem: link(directory, "subsystem"),
        driver: link(directory, "driver"),
    });
    let command_line = tree.read(&tree.path("proc/cmdline"));
    let name = own.replace('!', "/");
    let mut event = pairs(&tree.read(&directory.join("uevent")).unwrap_or_default());
    if let Some(node) = event.get_mut("DEVNAME") {
        *node = format!("/dev/{node}");
    }
    let is_partition = own != disk;
    let kind = if is_partition { "partition" } else { "disk" };
    event
        .entry("DEVTYPE".to_owned())
        .or_insert_with(|| kind.to_owned());
    let known = Known {
        name,
        path: below.map(|path| format!("/{}", path.display())),
        event,
        // Without its link in sysfs, what is above it is not known.
        parents: tree
            .path("sys/block")
            .join(disk)
            .is_symlink()
            .then(|| parents.collect()),
        properties: properties(tree, number),
        command_line,
        scheduler: if is_partition {
            "../queue/scheduler"
        } else {
            "queue/scheduler"
        }
        .to_owned(),
        disk: disk.to_owned(),
    };
    Seen {
        tree,
        known,
        directories,
    }
}

fn name_of(directory: &Path) -> String {
    let name = directory.file_name().unwrap_or_default().to_string_lossy();
    name.replace('!', "/")
}

/// The device and those above it, as udev counts them: the directories with a file `uevent`.
fn chain(directory: &Path, top: &Path) -> Vec<PathBuf> {
    let above = directory.ancestors().skip(1).take(DEEPEST);
    let above = above
        .take_while(|path| path.starts_with(top) && *path != top)
        .filter(|path| path.join("uevent").exists());
    [directory]
        .into_iter()
        .chain(above)
        .map(Path::to_owned)
        .collect()
}

/// `KEY=VALUE` by line.
fn pairs(text: &str) -> BTreeMap<String, String> {
    let pairs = text.lines().filter_map(|line| line.split_once('='));
    pairs
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .collect()
}

/// `E:KEY=VALUE` in udev's database.
pub fn properties(tree: &Tree<'_>, number: &str) -> Option<BTreeMap<String, String>> {
    let text = tree.read(&tree.path("run/udev/data").join(format!("b{number}")))?;
    let lines: Vec<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("E:"))
        .collect();
    Some(pairs(&lines.join("\n")))
}

impl Subject for Seen<'_> {
    fn attribute(&self, parent: usize, name: &str) -> Option<String> {
        // Whoever has asked finds that out at once.
        if interrupt::received().is_some() {
            return None;
        }
        let file = self
            .directories
            .get(parent)?
            .join(name.trim_start_matches('/'));
        if matches!(name, "driver" | "subsystem" | "module") {
            let target = fs::read_link(&file).ok()?;
            return Some(target.file_name()?.to_string_lossy().into_owned());
        }
        // Some attributes can only be written, and most rules ask for some that only other devices have.
        if fs::symlink_metadata(&file).ok()?.mode() & 0o444 == 0 {
            return None;
        }
        if !fs::metadata(&file).ok()?.is_file() {
            return None;
        }
        let bytes = input::read(&file, LARGEST_ATTRIBUTE).ok()?;
        let text = String::from_utf8_lossy(&bytes);
        Some(text.trim_end_matches(['\n', '\r']).to_owned())
    }

    fn mode(&self, path: &str) -> Option<u32> {
        let Some((before, after)) = path.split_once("/*/") else {
            return Some(fs::metadata(self.tree.path(path)).ok()?.mode());
        };
        let names = fs::read_dir(self.tree.path(before)).ok()?.flatten();
        names
            .filter(|entry| !entry.file_name().to_string_lossy().starts_with('.'))
            .find_map(|entry| Some(fs::metadata(entry.path().join(after)).ok()?.mode()))
    }

    fn known(&self) -> &Known {
        &self.known
    }
}
