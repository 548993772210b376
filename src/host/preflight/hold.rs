//! Keeps a raw disk or partition open from before the user is asked until the last write. While it is open, its device number and
//! name are not given to another disk; while it is open exclusively, nothing can mount it, swap on it or build on it.

use std::fs::{self, File};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};

use anyhow::{Context, Result};
use rustix::fs::{Mode, OFlags, SeekFrom, seek};
use rustix::io::Errno;

use super::in_use;
use crate::system::device::{Device, RawTarget, mounts};
use iosched_result::failure::Failure;

pub struct Hold {
    target: RawTarget,
    file: File,
    size_bytes: u64,
    /// Devices that are measured together with it; they do not count as its users.
    stack: Vec<Device>,
    /// The exclusive open that keeps other users away.
    claim: Option<OwnedFd>,
}

impl Hold {
    /// `stack`: see [`Disks::stack`](crate::machine::device::Disks).
    pub fn open(target: &RawTarget, stack: &[Device]) -> Result<Self> {
        let node = target.node();
        let at = || format!("opening {}", node.display());
        let file = File::options()
            .read(true)
            .custom_flags(OFlags::NONBLOCK.bits() as i32)
            .open(&node)
            .with_context(at)?;
        let hold = Hold {
            size_bytes: seek(&file, SeekFrom::End(0)).with_context(at)?,
            target: target.clone(),
            file,
            stack: stack.to_vec(),
            claim: None,
        };
        match hold.change()? {
            None => Ok(hold),
            Some(change) => Err(hold.failure(&change)),
        }
    }

    /// Keeps every other process from opening the disk exclusively, until this is dropped.
    pub fn claim(&mut self) -> Result<()> {
        if self.claim.is_none() {
            self.claim = Some(self.exclusive()?);
        }
        Ok(())
    }

    fn exclusive(&self) -> Result<OwnedFd> {
        let node = self.target.node();
        let flags = OFlags::RDONLY | OFlags::EXCL | OFlags::CLOEXEC | OFlags::NONBLOCK;
        match rustix::fs::open(&node, flags, Mode::empty()) {
            Err(Errno::BUSY) => Err(self.failure("another process has opened it exclusively")),
            other => other.with_context(|| format!("claiming {}", node.display())),
        }
    }

    /// Checks that it is still the disk that the user agreed to overwrite, of the same size and unused. Call before
    /// every write.
    pub fn ensure_unchanged(&self) -> Result<()> {
        if let Some(change) = self.change()? {
            return Err(self.failure(&change));
        }
        let mounts = mounts::read()?;
        let uses = in_use::named(&self.target, &self.stack, &mounts);
        if !uses.is_empty() {
            return Err(self.failure(&uses.join(", ")));
        }
        if self.claim.is_none() {
            self.exclusive()?;
        }
        Ok(())
    }

    fn change(&self) -> Result<Option<String>> {
        let target = &self.target;
        if !target.is_present() {
            return Ok(Some(
                "it was removed, or another disk or partition has its name".to_owned(),
            ));
        }
        let number = target.number();
        let opened = self
            .file
            .metadata()
            .context("reading the metadata of the open disk")?;
        let named = fs::metadata(target.node()).map(|metadata| metadata.rdev());
        if opened.rdev() != number || !matches!(named, Ok(rdev) if rdev == number) {
            let node = target.node();
            return Ok(Some(format!("{} is now another device", node.display())));
        }
        let size_bytes = seek(&self.file, SeekFrom::End(0)).context("reading the disk's size")?;
        let in_sysfs = target.size_bytes()?;
        if size_bytes != self.size_bytes || in_sysfs != self.size_bytes {
            let (then, now) = (self.size_bytes, size_bytes.min(in_sysfs));
            return Ok(Some(format!("its size changed from {then} to {now} bytes")));
        }
        Ok(None)
    }

    fn failure(&self, change: &str) -> anyhow::Error {
        Failure::runtime(
            format!(
                "{} is no longer what you agreed to overwrite: {change}",
                self.target.name()
            ),
            "nothing was written to it since then; check the disk, then start again",
        )
    }
}
