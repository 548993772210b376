//! Writes the initial content of a scratch file: every block, bypassing the page cache, with data that no file system
//! and no disk can compress.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;

use anyhow::{Context, Result};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use rustix::fs::{AtFlags, Mode, OFlags, StatxFlags};
use rustix::io::Errno;

use iosched_files::interrupt;
use iosched_result::failure::Failure;
use iosched_result::types::scratch_place::ScratchPlace;

/// Also the memory alignment: more than any disk requires.
const CHUNK_BYTES: usize = 1 << 20;

pub(super) fn write(
    directory: &OwnedFd,
    name: &str,
    place: &ScratchPlace,
    size_bytes: u64,
    progress: &mut dyn FnMut(u64),
) -> Result<()> {
    let file = File::from(open(directory, name, place)?);
    let mut random = ChaCha8Rng::seed_from_u64(size_bytes);
    let mut buffer = vec![0; 2 * CHUNK_BYTES];
    let start = buffer.as_ptr().align_offset(CHUNK_BYTES);
    let chunk = &mut buffer[start..start + CHUNK_BYTES];
    let mut done_bytes = 0;
    while done_bytes < size_bytes {
        progress(done_bytes);
        interrupt::check()?;
        random.fill_bytes(chunk);
        let rest = usize::try_from(size_bytes - done_bytes).unwrap_or(usize::MAX);
        let part = &chunk[..rest.min(CHUNK_BYTES)];
        file.write_all_at(part, done_bytes)
            .map_err(|error| failure(&error, place, done_bytes))?;
        done_bytes += part.len() as u64;
    }
    file.sync_all()
        .map_err(|error| failure(&error, place, done_bytes))?;
    progress(done_bytes);
    Ok(())
}

fn open(directory: &OwnedFd, name: &str, place: &ScratchPlace) -> Result<OwnedFd> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::DIRECT | OFlags::CLOEXEC;
    let opened = rustix::fs::openat(directory, name, flags, Mode::RUSR | Mode::WUSR);
    let file = match opened {
        Err(Errno::INVAL) => return Err(no_direct_io(place)),
        other => other.with_context(|| format!("creating {place}"))?,
    };
    // ext4 with data=journal and encrypted directories accept O_DIRECT but use the page cache.
    let asked = rustix::fs::statx(&file, "", AtFlags::EMPTY_PATH, StatxFlags::DIOALIGN);
    match asked {
        Ok(stat) if is_through_the_cache(stat.stx_mask, stat.stx_dio_offset_align) => {
            Err(no_direct_io(place))
        }
        // Before Linux 6.1 this cannot be determined.
        _ => Ok(file),
    }
}

fn is_through_the_cache(mask: u32, offset_align: u32) -> bool {
    StatxFlags::from_bits_retain(mask).contains(StatxFlags::DIOALIGN) && offset_align == 0
}

fn no_direct_io(place: &ScratchPlace) -> anyhow::Error {
    Failure::runtime(
        format!(
            "files in {} ({}) are always written through the page cache, which would be measured instead of the disk",
            place.directory.display(),
            place.file_system
        ),
        "use a file system and a directory that support direct I/O: without data=journal and encryption",
    )
}

fn failure(error: &std::io::Error, place: &ScratchPlace, done_bytes: u64) -> anyhow::Error {
    Failure::runtime(
        format!(
            "creating {place} failed after {} MiB: {error}",
            done_bytes >> 20
        ),
        "the file was removed again; if the disk is full, free space or use a smaller --scratch-size",
    )
}
