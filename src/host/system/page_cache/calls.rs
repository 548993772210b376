//! The requests to the kernel about its page cache that no safe crate offers.
#![allow(unsafe_code)]

use std::fs::File;
use std::os::fd::AsRawFd;

use rustix::io::Result;
use rustix::ioctl::{NoArg, Opcode, ioctl};

/// `BLKFLSBUF` of linux/fs.h.
const BLKFLSBUF: Opcode = 0x1261;
/// The same number on every architecture.
const CACHESTAT: libc::c_long = 451;

/// `struct cachestat_range` of linux/mman.h. A length of 0 means up to the end.
#[repr(C)]
struct Range {
    offset: u64,
    length: u64,
}

/// `struct cachestat` of linux/mman.h: numbers of pages.
#[repr(C)]
#[derive(Default)]
struct Cachestat {
    cached: u64,
    dirty: u64,
    under_writeback: u64,
    evicted: u64,
    recently_evicted: u64,
}

/// Writes back the pages of a block device and drops them.
pub fn flush_buffers(device: &File) -> Result<()> {
    // SAFETY: BLKFLSBUF takes no argument.
    unsafe { ioctl(device, NoArg::<BLKFLSBUF>::new()) }
}

/// None if the kernel does not have the call (before 6.5), or refuses it.
pub fn cached_bytes(file: &File) -> Option<u64> {
    let range = Range {
        offset: 0,
        length: 0,
    };
    let mut found = Cachestat::default();
    // SAFETY: cachestat reads one range and fills one `struct cachestat`, whose layouts these have, and which outlive it.
    let done = unsafe {
        libc::syscall(
            CACHESTAT,
            file.as_raw_fd(),
            &raw const range,
            &raw mut found,
            0_u32,
        )
    };
    // SAFETY: sysconf reads no memory of ours.
    let page_bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    let page_bytes = u64::try_from(page_bytes).ok()?;
    (done == 0).then(|| found.cached * page_bytes)
}
