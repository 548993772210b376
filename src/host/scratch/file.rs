//! A scratch file on a mounted file system of the measured disk, for workloads that would otherwise write to the raw
//! node.
//!
//! The file is written completely and flushed before the first round, because unwritten areas are read without any I/O.
//! One file serves all rounds; it is removed when the [`ScratchFile`] is dropped or when the guardian undoes the
//! journal.

mod filling; // writes its initial content
pub mod place; // its place and size

use std::fs;
use std::io::ErrorKind;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::process::{Gid, Uid};

use crate::safety::journal::{Journal, TemporaryFiles};
use crate::system::device::Disks;
use iosched_result::types::scratch_place::ScratchPlace;
pub use place::Size;

const NAME: &str = "data";
/// Files that are prepared once for all rounds.
const PREPARED: &str = "prepared";
const OF_USER: &str = "own";

/// A directory that only root can enter, with the file in it.
pub struct ScratchFile {
    files: TemporaryFiles,
    handle: OwnedFd,
    file: Option<Filled>,
}

/// The file, by a path that stays valid even if a directory above it is renamed. Usable as long as its owner lives.
#[derive(Clone, Debug)]
pub struct Filled {
    pub path: PathBuf,
    pub size_bytes: u64,
}

impl ScratchFile {
    /// Calls `progress` with the number of bytes written so far.
    pub fn make(
        place: &ScratchPlace,
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

    /// Its path, for users and their commands.
    pub fn directory(&self) -> &Path {
        self.files.path()
    }

    /// A directory in it that belongs to this user and group, for a command that runs as that user: what removes ours takes
    /// no other's.
    pub fn of_user(&self, (uid, gid): (u32, u32)) -> Result<PathBuf> {
        let make = || -> rustix::io::Result<()> {
            let (uid, gid) = (Uid::from_raw(uid), Gid::from_raw(gid));
            match rustix::fs::mkdirat(&self.handle, OF_USER, Mode::RWXU) {
                Err(rustix::io::Errno::EXIST) => {}
                made => made?,
            }
            let flags = AtFlags::SYMLINK_NOFOLLOW;
            rustix::fs::chownat(&self.handle, OF_USER, Some(uid), Some(gid), flags)?;
            // Others may pass, and not see or change what is in it.
            rustix::fs::fchmod(&self.handle, Mode::RWXU | Mode::XGRP | Mode::XOTH)
        };
        make().with_context(|| format!("making a directory in {}", self.directory().display()))?;
        Ok(self.directory().join(OF_USER))
    }

    /// A directory in it that no round empties.
    pub fn prepared(&self) -> PathBuf {
        self.directory().join(PREPARED)
    }

    /// Makes it, empty: what an earlier stage or the pilot left is removed.
    pub fn make_prepared(&self) -> Result<()> {
        let path = self.through_handle().join(PREPARED);
        let at = || self.prepared().display().to_string();
        match fs::remove_dir_all(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                return Err(error).with_context(|| format!("removing {}", at()));
            }
            _ => {}
        }
        fs::create_dir(&path).with_context(|| format!("creating {}", at()))
    }

    pub fn file(&self) -> Option<&Filled> {
        self.file.as_ref()
    }

    /// Writes back all that its file system has not written yet.
    pub fn write_back(&self) -> Result<()> {
        rustix::fs::syncfs(&self.handle).with_context(|| {
            format!(
                "writing back the file system of {}",
                self.directory().display()
            )
        })
    }

    /// Restores the same state for each round: the file has its full length, and files that a command left are removed.
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
            "the size of the scratch file in {} changed from {} to {size_bytes} bytes",
            self.directory().display(),
            file.size_bytes
        );
        Ok(())
    }

    fn clear(&self) -> Result<()> {
        let at = || {
            format!(
                "removing the files that the last round left in {}",
                self.directory().display()
            )
        };
        let mut left = false;
        for entry in fs::read_dir(self.through_handle()).with_context(at)? {
            let entry = entry.with_context(at)?;
            let is_file = self.file.is_some() && entry.file_name() == NAME;
            if is_file || entry.file_name() == PREPARED {
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
            // Write out the removal now, so that the next round does not have to.
            rustix::fs::syncfs(&self.handle).with_context(at)?;
        }
        Ok(())
    }

    fn through_handle(&self) -> PathBuf {
        let (pid, number) = (std::process::id(), self.handle.as_raw_fd());
        PathBuf::from(format!("/proc/{pid}/fd/{number}"))
    }

    /// The name may have been reassigned since it was checked: check what was opened.
    fn ensure_ours(&self, disks: &Disks) -> Result<()> {
        let made = fs::metadata(self.through_handle())
            .context("reading the metadata of the scratch directory")?;
        let path = fs::read_link(self.through_handle())
            .context("reading the path of the scratch directory")?;
        let me = rustix::process::geteuid().as_raw();
        ensure!(
            made.uid() == me && path == self.files.path(),
            "{} is not the directory that iosched created there",
            self.files.path().display()
        );
        place::file_system(disks, &path).map(drop)
    }
}
