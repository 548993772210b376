//! Writes back and drops what the page cache holds of a file, of block devices, or of everything.

mod calls; // two requests to the kernel that no safe crate offers

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use rustix::fs::Advice;

use iosched_result::failure::Failure;
use iosched_result::types::cold::Cold;

const DROP_CACHES: &str = "/proc/sys/vm/drop_caches";
/// Pages, and directory entries and inodes.
const ALL_CACHES: &[u8] = b"3\n";

/// A workload's file or devices.
#[derive(Clone, Copy, Debug)]
pub enum Cached<'a> {
    File(&'a Path),
    Devices(&'a [PathBuf]),
}

/// How often the kernel writes back what has been dirty for long; None if it never does, or does not say.
pub fn writeback_period_s() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/sys/vm/dirty_writeback_centisecs").ok()?;
    let centiseconds: u32 = text.trim().parse().ok()?;
    (centiseconds > 0).then(|| f64::from(centiseconds) / 100.0)
}

/// Before anything is changed: whether the kernel lets this process drop them.
pub fn ensure_can_drop(cold: Cold) -> Result<()> {
    match cold {
        Cold::File => Ok(()),
        Cold::All => open_drop_caches().map(drop),
    }
}

/// Writes back what is not on the device yet: dirty pages cannot be dropped, and their write-back must not reach into
/// the next round. The file system of a scratch file is written back by its owner.
pub fn write_back(cold: Cold, cached: Cached<'_>) -> Result<()> {
    if cold == Cold::All {
        rustix::fs::sync();
    }
    if let Cached::Devices(nodes) = cached {
        for node in nodes {
            let at = || format!("writing back the cached pages of {}", node.display());
            let device = File::open(node).with_context(at)?;
            device.sync_data().with_context(at)?;
        }
    }
    Ok(())
}

/// Drops the pages that are clean and not in use.
pub fn drop_pages(cold: Cold, cached: Cached<'_>) -> Result<()> {
    if cold == Cold::All {
        let written = open_drop_caches()?.write_all(ALL_CACHES);
        return written.with_context(|| format!("writing to {DROP_CACHES}"));
    }
    let at = |path: &Path| format!("dropping the cached pages of {}", path.display());
    match cached {
        Cached::File(path) => {
            let file = File::open(path).with_context(|| at(path))?;
            // No length: up to the end.
            rustix::fs::fadvise(&file, 0, None, Advice::DontNeed).with_context(|| at(path))
        }
        Cached::Devices(nodes) => nodes.iter().try_for_each(|node| {
            let device = File::open(node).with_context(|| at(node))?;
            calls::flush_buffers(&device).with_context(|| at(node))
        }),
    }
}

/// The bytes of it in the page cache; None before Linux 6.5.
pub fn cached_bytes(cached: Cached<'_>) -> Option<u64> {
    let of = |path: &Path| calls::cached_bytes(&File::open(path).ok()?);
    match cached {
        Cached::File(path) => of(path),
        Cached::Devices(nodes) => nodes.iter().map(|node| of(node)).sum(),
    }
}

fn open_drop_caches() -> Result<File> {
    let opened = OpenOptions::new().write(true).open(DROP_CACHES);
    opened.map_err(|error| {
        Failure::refused(
            format!("cannot drop all caches: {DROP_CACHES}: {error}"),
            "run iosched-ab as root outside of a container, or use --cold for the scratch file or device alone",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_of_a_file_are_counted_and_dropped() {
        // Not on tmpfs, whose pages are the file.
        let mut file = tempfile::NamedTempFile::new_in(env!("CARGO_MANIFEST_DIR")).expect("a file");
        file.write_all(&vec![1; 1 << 20]).expect("content");
        let cached = Cached::File(file.path());
        let Some(before) = cached_bytes(cached) else {
            return println!("skipped: the kernel has no cachestat");
        };
        assert_eq!(before, 1 << 20);
        // Dirty pages stay.
        drop_pages(Cold::File, cached).expect("dropped");
        assert!(cached_bytes(cached) > Some(0));
        file.as_file().sync_all().expect("written back");
        drop_pages(Cold::File, cached).expect("dropped");
        assert_eq!(cached_bytes(cached), Some(0));
        std::fs::read(file.path()).expect("its content");
        assert_eq!(cached_bytes(cached), Some(1 << 20));
    }
}
