//! Direct I/O, past the page cache.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

pub const BLOCK: usize = 4096;

pub fn readable(path: impl AsRef<Path>) -> File {
    open(path.as_ref(), OpenOptions::new().read(true))
}

pub fn writable(path: impl AsRef<Path>) -> File {
    open(path.as_ref(), OpenOptions::new().read(true).write(true))
}

fn open(path: &Path, options: &mut OpenOptions) -> File {
    const DIRECT: i32 = rustix::fs::OFlags::DIRECT.bits() as i32;
    let file = options.custom_flags(DIRECT).open(path);
    file.unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Memory as direct I/O wants it: the aligned part of one that is larger.
pub struct Aligned(Vec<u8>, usize);

impl Aligned {
    pub fn new(bytes: usize) -> Self {
        let memory = vec![0; bytes + BLOCK];
        let start = memory.as_ptr().align_offset(BLOCK);
        Aligned(memory, start)
    }

    pub fn bytes(&mut self, bytes: usize) -> &mut [u8] {
        &mut self.0[self.1..self.1 + bytes]
    }
}
