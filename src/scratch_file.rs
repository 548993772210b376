//! A file of our own on a mounted file system of the measured disk, for workloads that would else write to the raw node.
//!
//! It is written whole and to the disk before the first round: what was never written is read without any I/O. One file
//! serves all rounds, and it is gone when the [`ScratchFile`] is dropped, or when the guardian has undone the journal.

mod filling; // what is written to it first
mod place; // where it may lie and how large it may be

use std::fs;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use rustix::fs::{Mode, OFlags};

use crate::device::Disks;
use crate::journal::{Journal, TemporaryFiles};
pub use place::{Place, Size};

const NAME: &str = "data";

/// A directory that only root can enter, and the file in it.
pub struct ScratchFile {
    files: TemporaryFiles,
    handle: OwnedFd,
    file: Option<Filled>,
}

/// The file, by a path that whoever may rename what lies above it cannot make another's. Good as long as its owner lives.
#[derive(Clone, Debug)]
pub struct Filled {
    pub path: PathBuf,
    pub size_bytes: u64,
}

impl ScratchFile {
    /// `progress` is told how many bytes have been written.
    pub fn make(
        place: &Place,
        disks: &Disks,
        journal: &Journal,
        progress: &mut dyn FnMut(u64),
    ) -> Result<Self> {
        let files = TemporaryFiles::create_in(journal, &place.directory, "scratch")?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let handle = rustix::fs::open(files.path(), flags, Mode::empty())
            .with_context(|| format!("opening {}", files.path().display()))?;
        let mut made = ScratchFile {
            file: None,
            files,
            handle,
        };
        made.ensure_ours(disks)?;
        if let Some(size_bytes) = place.size_bytes {
            filling::write(&made.handle, NAME, place, size_bytes, progress)?;
            let path = made.through_handle().join(NAME);
            made.file = Some(Filled { path, size_bytes });
        }
        Ok(made)
    }

    /// Its path, for people and their commands.
    pub fn directory(&self) -> &Path {
        self.files.path()
    }

    pub fn file(&self) -> Option<&Filled> {
        self.file.as_ref()
    }

    /// So that each round finds the same: the file as long as it was, and nothing of what a command has left.
    pub fn make_ready(&self) -> Result<()> {
        if let Some(file) = &self.file {
            self.ensure_whole(file)?;
        }
        self.clear()
    }

    fn ensure_whole(&self, file: &Filled) -> Result<()> {
        let size_bytes = fs::metadata(&file.path).map_or(0, |metadata| metadata.len());
        ensure!(
            size_bytes == file.size_bytes,
            "the scratch file in {} had {} bytes and has {size_bytes}",
            self.directory().display(),
            file.size_bytes
        );
        Ok(())
    }

    fn clear(&self) -> Result<()> {
        let at = || {
            format!(
                "removing what the last round left in {}",
                self.directory().display()
            )
        };
        let mut left = false;
        for entry in fs::read_dir(self.through_handle()).with_context(at)? {
            let entry = entry.with_context(at)?;
            if self.file.is_some() && entry.file_name() == NAME {
                continue;
            }
            left = true;
            let is_directory = entry.file_type().with_context(at)?.is_dir();
            let removed = if is_directory {
                fs::remove_dir_all(entry.path())
            } else {
                fs::remove_file(entry.path())
            };
            removed.with_context(at)?;
        }
        if left {
            // The next round need not carry it to the disk.
            rustix::fs::syncfs(&self.handle).with_context(at)?;
        }
        Ok(())
    }

    fn through_handle(&self) -> PathBuf {
        let (pid, number) = (std::process::id(), self.handle.as_raw_fd());
        PathBuf::from(format!("/proc/{pid}/fd/{number}"))
    }

    /// A name may have been given to something else since it was looked at: what was opened counts.
    fn ensure_ours(&self, disks: &Disks) -> Result<()> {
        let made = fs::metadata(self.through_handle()).context("looking at a directory")?;
        let path = fs::read_link(self.through_handle()).context("the path of a directory")?;
        let me = rustix::process::geteuid().as_raw();
        ensure!(
            made.uid() == me && path == self.files.path(),
            "{} is not the directory that was made there",
            self.files.path().display()
        );
        place::file_system(disks, &path).map(drop)
    }
}
