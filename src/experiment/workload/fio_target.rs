//! The target of fio in a round.

use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use anyhow::{Context, Result};
use rustix::fs::{Mode, OFlags, SeekFrom};

use super::{Execution, Target};
use iosched_host::scratch::file::ScratchFile;
use iosched_result::failure::Failure;

/// fio would take a mistyped name for a file to create, and measure the page cache.
fn require_block_device(node: &Path) -> Result<()> {
    let what = match std::fs::metadata(node) {
        Ok(metadata) if metadata.file_type().is_block_device() => return Ok(()),
        Ok(_) => "is not a block device".to_owned(),
        Err(e) => format!("cannot be used: {e}"),
    };
    Err(Failure::refused(
        format!("{} {what}", node.display()),
        "name a block device such as /dev/nvme0n1; `lsblk` lists them",
    ))
}

/// The scratch file, or block devices.
pub(super) fn of(round: &Execution<'_>) -> Result<Target> {
    if let Some(file) = round.scratch_file.and_then(ScratchFile::file) {
        return Ok(Target {
            bytes: file.size_bytes,
            is_file: true,
            disks: 1,
        });
    }
    for node in round.device_nodes {
        require_block_device(node)?;
    }
    let node = &round.device_nodes[0];
    let open = rustix::fs::open(node, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty());
    let bytes = open.and_then(|disk| rustix::fs::seek(&disk, SeekFrom::End(0)));
    Ok(Target {
        bytes: bytes.with_context(|| format!("reading the size of {}", node.display()))?,
        is_file: false,
        disks: round.device_nodes.len(),
    })
}
