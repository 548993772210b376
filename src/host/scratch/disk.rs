//! The data of the scratch device: sparse anonymous memory of fixed size. Unwritten areas read as zeroes.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::FileExt;

use rustix::fs::{FallocateFlags, MemfdFlags};

pub struct MemoryDisk {
    memory: File,
    size_bytes: u64,
}

impl MemoryDisk {
    /// `name` appears in the memory's path, `/memfd:NAME (deleted)`.
    pub fn new(name: &str, size_bytes: u64) -> io::Result<Self> {
        let memory = File::from(rustix::fs::memfd_create(name, MemfdFlags::CLOEXEC)?);
        memory.set_len(size_bytes)?;
        Ok(MemoryDisk { memory, size_bytes })
    }

    pub fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    /// Replaces the content of `buffer` by the `bytes` at `offset`, or fewer at the end of the device.
    pub fn read(&self, offset: u64, bytes: usize, buffer: &mut Vec<u8>) -> io::Result<()> {
        let bytes = self.before_the_end(offset, bytes as u64) as usize;
        buffer.resize(bytes, 0);
        self.memory.read_exact_at(buffer, offset)
    }

    /// Writes all of `data` or nothing: a device does not grow.
    pub fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        if self.before_the_end(offset, data.len() as u64) < data.len() as u64 {
            return Err(rustix::io::Errno::NOSPC.into());
        }
        self.memory.write_all_at(data, offset)
    }

    /// Makes a range read as zeroes and frees its memory.
    pub fn zero(&self, offset: u64, bytes: u64) -> io::Result<()> {
        let bytes = self.before_the_end(offset, bytes);
        if bytes == 0 {
            return Ok(());
        }
        let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        rustix::fs::fallocate(&self.memory, hole, offset, bytes).map_err(Into::into)
    }

    fn before_the_end(&self, offset: u64, bytes: u64) -> u64 {
        bytes.min(self.size_bytes.saturating_sub(offset))
    }
}

impl AsFd for MemoryDisk {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.memory.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;

    fn bytes_at(disk: &MemoryDisk, offset: u64, bytes: usize) -> Vec<u8> {
        let mut buffer = vec![0xEE; 3];
        disk.read(offset, bytes, &mut buffer).unwrap();
        buffer
    }

    #[test]
    fn holes_are_zeroes_and_writes_stay() {
        let disk = MemoryDisk::new("iosched-test", 1 << 20).unwrap();
        assert_eq!(bytes_at(&disk, 4095, 5), [0; 5]);
        disk.write(4095, b"abc").unwrap();
        assert_eq!(bytes_at(&disk, 4094, 5), b"\0abc\0");
        disk.zero(4096, 1).unwrap();
        assert_eq!(bytes_at(&disk, 4094, 5), b"\0a\0c\0");
    }

    #[test]
    fn nothing_lies_beyond_the_end() {
        let disk = MemoryDisk::new("iosched-test", 8192).unwrap();
        let error = disk.write(8190, b"abc").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        disk.write(8190, b"ab").unwrap();
        assert_eq!(bytes_at(&disk, 8191, 10), b"b");
        assert_eq!(bytes_at(&disk, 1 << 40, 10), b"");
        disk.zero(8000, 1 << 40).unwrap();
        disk.zero(1 << 40, 1).unwrap();
        assert_eq!(bytes_at(&disk, 8190, 2), [0; 2]);
        assert_eq!(disk.memory.metadata().unwrap().len(), 8192);
    }

    #[test]
    fn memory_is_used_only_where_something_was_written() {
        let disk = MemoryDisk::new("iosched-test", 1 << 40).unwrap();
        disk.write(1 << 39, &vec![1; 1 << 20]).unwrap();
        let used_bytes = || disk.memory.metadata().unwrap().blocks() * 512;
        assert!(
            (1 << 20..8 << 20).contains(&used_bytes()),
            "{}",
            used_bytes()
        );
        disk.zero(0, 1 << 40).unwrap();
        assert_eq!(used_bytes(), 0);
    }
}
