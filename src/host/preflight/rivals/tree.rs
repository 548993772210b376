//! Reads what others have written about schedulers, below a root directory, and keeps account of what it could not read.

use std::cell::RefCell;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use crate::system::device::names_in;
use iosched_files::input;

/// Larger rules, profiles and scripts are not read; real ones have some KiB.
const LARGEST: u64 = 1 << 20;
/// So many files of one directory are read.
const MOST_FILES: usize = 5000;

/// A file or directory that was not read, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unread {
    pub file: String,
    pub why: String,
}

pub struct Tree<'a> {
    root: &'a Path,
    unread: RefCell<Vec<Unread>>,
}

impl<'a> Tree<'a> {
    pub fn new(root: &'a Path) -> Self {
        Tree {
            root,
            unread: RefCell::default(),
        }
    }

    /// `path` with or without a slash at its beginning.
    pub fn path(&self, path: &str) -> PathBuf {
        self.root.join(path.trim_start_matches('/'))
    }

    pub fn shown(file: &Path) -> String {
        file.display().to_string()
    }

    pub fn into_unread(self) -> Vec<Unread> {
        self.unread.into_inner()
    }

    fn note(&self, file: &Path, why: impl Into<String>) {
        let file = Self::shown(file);
        let mut unread = self.unread.borrow_mut();
        if !unread.iter().any(|other| other.file == file) {
            unread.push(Unread {
                file,
                why: why.into(),
            });
        }
    }

    /// None: it is not there, or it could not be read, which is kept.
    pub fn read(&self, file: &Path) -> Option<String> {
        let found = match fs::metadata(file) {
            Ok(found) => found,
            Err(error)
                if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) =>
            {
                return None;
            }
            Err(error) => {
                self.note(file, error.to_string());
                return None;
            }
        };
        let kind = found.file_type();
        if kind.is_char_device() {
            // A link to /dev/null switches the file of its name off.
            return Some(String::new());
        }
        if !kind.is_file() {
            let what = if kind.is_fifo() {
                "it is a pipe"
            } else if kind.is_dir() {
                "it is a directory"
            } else {
                "it is not a file"
            };
            self.note(file, what);
            return None;
        }
        match input::read(file, LARGEST) {
            Ok(bytes) => Some(String::from_utf8_lossy(&bytes).into_owned()),
            Err(error) => {
                self.note(file, error.to_string());
                None
            }
        }
    }

    /// The names in a directory that end so, sorted; none if there is no directory.
    pub fn names(&self, directory: &str, end: &str) -> Vec<String> {
        let path = self.path(directory);
        let mut names = match names_in(&path) {
            Ok(names) => names,
            Err(_) if !path.is_dir() => return Vec::new(),
            Err(error) => {
                self.note(&path, error.root_cause().to_string());
                return Vec::new();
            }
        };
        names.retain(|name| name.ends_with(end) && !name.starts_with('.'));
        if names.len() > MOST_FILES {
            self.note(
                &path,
                format!("only its first {MOST_FILES} files were read"),
            );
            names.truncate(MOST_FILES);
        }
        names
    }

    /// Files by name, whatever their directory: one hides those of its name in the directories after its own.
    pub fn layered(&self, directories: &[&str], end: &str) -> Vec<PathBuf> {
        let mut files: Vec<(String, PathBuf)> = Vec::new();
        let mut seen = std::collections::BTreeSet::new();
        for directory in directories {
            for name in self.names(directory, end) {
                if seen.insert(name.clone()) {
                    files.push((name.clone(), self.path(directory).join(name)));
                }
            }
        }
        files.sort();
        files.into_iter().map(|(_, file)| file).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_read_is_kept_and_never_waited_for() {
        let root = tempfile::tempdir().unwrap();
        let tree = Tree::new(root.path());
        let pipe = root.path().join("pipe");
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        let large = root.path().join("large");
        fs::write(&large, vec![b'#'; LARGEST as usize + 1]).unwrap();
        std::os::unix::fs::symlink("/dev/null", root.path().join("off")).unwrap();
        assert_eq!(tree.read(&pipe), None);
        assert_eq!(tree.read(&large), None);
        assert_eq!(tree.read(root.path()), None);
        assert_eq!(tree.read(&root.path().join("none")), None);
        assert_eq!(tree.read(&root.path().join("off")).as_deref(), Some(""));
        let why: Vec<String> = tree
            .into_unread()
            .into_iter()
            .map(|unread| unread.why)
            .collect();
        assert_eq!(
            why,
            [
                "it is a pipe",
                "it is larger than the limit of 1 MiB",
                "it is a directory"
            ]
        );
    }

    #[test]
    fn a_file_hides_those_of_its_name() {
        let root = tempfile::tempdir().unwrap();
        for file in ["a/60.rules", "b/50.rules", "b/60.rules", "b/70.txt"] {
            let file = root.path().join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, "").unwrap();
        }
        let files = Tree::new(root.path()).layered(&["a", "b", "c"], ".rules");
        let expected = ["b/50.rules", "a/60.rules"].map(|file| root.path().join(file));
        assert_eq!(files, expected);
    }
}
