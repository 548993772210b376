//! A file system with one file, `disk`, whose reads and writes take as long as the model says. The thread that receives
//! a request moves its data and computes its deadline; the reply waits in [`Completions`].

use std::ffi::OsStr;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, UNIX_EPOCH};

use fuser::{
    BsdFileFlags, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation,
    INodeNo, InitFlags, KernelConfig, LockOwner, OpenFlags, ReplyAttr, ReplyData, ReplyEmpty,
    ReplyEntry, ReplyOpen, ReplyWrite, TimeOrNow, WriteFlags,
};

use super::completion::{Completions, now_ns};
use super::disk::MemoryDisk;
use iosched_result::types::scratch::model::{Request, Service};

pub const FILE_NAME: &str = "disk";

/// The largest transfer. A loop device accepts at most 128 segments, which may be single pages; a request that is never
/// split has a single service time.
pub const LARGEST_TRANSFER_BYTES: u32 = 512 << 10;

const ROOT: INodeNo = INodeNo(1);
const FILE: INodeNo = INodeNo(2);
/// Attributes never change, so the kernel may cache them indefinitely.
const FOR_EVER: Duration = Duration::from_secs(1 << 30);

/// The current model, shared with the calibration, which replaces it.
pub struct Clockwork {
    service: Mutex<Service>,
    compensation_ns: AtomicU64,
    last_arrival_ns: AtomicU64,
}

impl Clockwork {
    pub fn new(service: Service) -> Self {
        Clockwork {
            service: Mutex::new(service),
            compensation_ns: AtomicU64::new(0),
            last_arrival_ns: AtomicU64::new(0),
        }
    }

    /// Uses `service` from now on and sends replies `compensation_ns` early, to compensate for the path to the reader.
    pub fn set(&self, service: Service, compensation_ns: u64) {
        *self.service.lock().unwrap_or_else(PoisonError::into_inner) = service;
        self.compensation_ns
            .store(compensation_ns, Ordering::Relaxed);
    }

    /// CLOCK_MONOTONIC time at which the last request arrived.
    pub fn last_arrival_ns(&self) -> u64 {
        self.last_arrival_ns.load(Ordering::Relaxed)
    }

    fn reply_at_ns(&self, arrived_ns: u64, request: Request) -> u64 {
        self.last_arrival_ns.store(arrived_ns, Ordering::Relaxed);
        let mut service = self.service.lock().unwrap_or_else(PoisonError::into_inner);
        let complete_at_ns = service.complete_at_ns(arrived_ns, request);
        complete_at_ns.saturating_sub(self.compensation_ns.load(Ordering::Relaxed))
    }
}

/// Reuses buffers of past reads, so that a large read does not page-fault new memory each time.
#[derive(Clone, Default)]
struct Buffers(Arc<Mutex<Vec<Vec<u8>>>>);

impl Buffers {
    fn take(&self) -> Vec<u8> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .pop()
            .unwrap_or_default()
    }
    fn give_back(&self, buffer: Vec<u8>) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(buffer);
    }
}

pub struct OneFile {
    pub disk: MemoryDisk,
    pub clockwork: Arc<Clockwork>,
    pub completions: Completions,
    buffers: Buffers,
}

impl OneFile {
    pub fn new(disk: MemoryDisk, clockwork: Arc<Clockwork>, completions: Completions) -> Self {
        OneFile {
            disk,
            clockwork,
            completions,
            buffers: Buffers::default(),
        }
    }

    fn attributes(&self, inode: INodeNo) -> Result<FileAttr, Errno> {
        let (kind, perm, nlink, size) = match inode {
            ROOT => (FileType::Directory, 0o700, 2, 0),
            FILE => (FileType::RegularFile, 0o600, 1, self.disk.size_bytes()),
            _ => return Err(Errno::ENOENT),
        };
        Ok(FileAttr {
            ino: inode,
            size,
            blocks: size / 512,
            atime: UNIX_EPOCH,
            mtime: UNIX_EPOCH,
            ctime: UNIX_EPOCH,
            crtime: UNIX_EPOCH,
            kind,
            perm,
            nlink,
            uid: 0,
            gid: 0,
            rdev: 0,
            blksize: 4096,
            flags: 0,
        })
    }

    fn reply_attributes(&self, inode: INodeNo, reply: ReplyAttr) {
        match self.attributes(inode) {
            Ok(attributes) => reply.attr(&FOR_EVER, &attributes),
            Err(errno) => reply.error(errno),
        }
    }

    /// Answers a request without data at the time that the model says.
    fn reply_empty(
        &self,
        arrived_ns: u64,
        request: Request,
        done: io::Result<()>,
        reply: ReplyEmpty,
    ) {
        let deadline_ns = self.clockwork.reply_at_ns(arrived_ns, request);
        self.completions.at(deadline_ns, move || match done {
            Ok(()) => reply.ok(),
            Err(error) => reply.error(error.into()),
        });
    }
}

impl Filesystem for OneFile {
    fn init(&mut self, _: &fuser::Request, config: &mut KernelConfig) -> io::Result<()> {
        // Without this the loop driver would wait for each request before it sends the next.
        config
            .add_capabilities(InitFlags::FUSE_ASYNC_DIO)
            .map_err(|_| {
                io::Error::new(
                    io::ErrorKind::Unsupported,
                    "FUSE without asynchronous direct I/O",
                )
            })?;
        let too_large = |_| io::Error::from(io::ErrorKind::InvalidInput);
        config
            .set_max_write(LARGEST_TRANSFER_BYTES)
            .map_err(too_large)?;
        let too_many = |_| io::Error::from(io::ErrorKind::InvalidInput);
        config.set_max_background(128).map_err(too_many)?;
        config.set_congestion_threshold(128).map_err(too_many)?;
        Ok(())
    }

    fn destroy(&mut self) {
        self.completions.close();
    }

    fn lookup(&self, _: &fuser::Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        match self.attributes(FILE) {
            Ok(attributes) if parent == ROOT && name == FILE_NAME => {
                reply.entry(&FOR_EVER, &attributes, Generation(0));
            }
            _ => reply.error(Errno::ENOENT),
        }
    }

    fn getattr(&self, _: &fuser::Request, inode: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        self.reply_attributes(inode, reply);
    }

    /// Accepts and ignores times; the size is fixed.
    fn setattr(
        &self,
        _: &fuser::Request,
        inode: INodeNo,
        _: Option<u32>,
        _: Option<u32>,
        _: Option<u32>,
        size: Option<u64>,
        _: Option<TimeOrNow>,
        _: Option<TimeOrNow>,
        _: Option<std::time::SystemTime>,
        _: Option<FileHandle>,
        _: Option<std::time::SystemTime>,
        _: Option<std::time::SystemTime>,
        _: Option<std::time::SystemTime>,
        _: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        if size.is_some_and(|size| size != self.disk.size_bytes()) {
            return reply.error(Errno::EPERM);
        }
        self.reply_attributes(inode, reply);
    }

    fn open(&self, _: &fuser::Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        reply.opened(
            FileHandle(0),
            FopenFlags::FOPEN_DIRECT_IO | FopenFlags::FOPEN_PARALLEL_DIRECT_WRITES,
        );
    }

    fn read(
        &self,
        _: &fuser::Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let request = Request::Transfer {
            offset,
            bytes: u64::from(size),
        };
        let deadline_ns = self.clockwork.reply_at_ns(now_ns(), request);
        let mut buffer = self.buffers.take();
        let done = self.disk.read(offset, size as usize, &mut buffer);
        let buffers = self.buffers.clone();
        self.completions.at(deadline_ns, move || {
            match done {
                Ok(()) => reply.data(&buffer),
                Err(error) => reply.error(error.into()),
            }
            buffers.give_back(buffer);
        });
    }

    fn write(
        &self,
        _: &fuser::Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let bytes = data.len() as u64;
        let request = Request::Transfer { offset, bytes };
        let deadline_ns = self.clockwork.reply_at_ns(now_ns(), request);
        let done = self.disk.write(offset, data);
        self.completions.at(deadline_ns, move || match done {
            Ok(()) => reply.written(bytes as u32),
            Err(error) => reply.error(error.into()),
        });
    }

    /// Called at each close; nothing to do.
    fn flush(
        &self,
        _: &fuser::Request,
        _: INodeNo,
        _: FileHandle,
        _: LockOwner,
        reply: ReplyEmpty,
    ) {
        reply.ok();
    }

    /// Memory is as durable as it gets; only the duration is that of a real device.
    fn fsync(&self, _: &fuser::Request, _: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        self.reply_empty(now_ns(), Request::Flush, Ok(()), reply);
    }

    /// Discard and write-zeroes requests of the loop device arrive here.
    fn fallocate(
        &self,
        _: &fuser::Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        length: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        let arrived_ns = now_ns();
        let zeroing = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_ZERO_RANGE;
        if mode & zeroing == 0 || mode & !(zeroing | libc::FALLOC_FL_KEEP_SIZE) != 0 {
            return reply.error(Errno::EOPNOTSUPP);
        }
        let done = self.disk.zero(offset, length);
        self.reply_empty(arrived_ns, Request::Zero, done, reply);
    }
}
