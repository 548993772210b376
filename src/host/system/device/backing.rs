//! The backing file or device of a loop device, by number: its name may be removed or reused while the device is in
//! use.
#![allow(unsafe_code)]

use std::fs::{self, File};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use rustix::ioctl::{Getter, Opcode, ioctl};

use super::resolve::backing_file;

const LOOP_GET_STATUS64: Opcode = 0x4C05;

/// The suffix that the kernel prints after the path of a deleted file.
const DELETED: &[u8] = b" (deleted)";

/// `struct loop_info64` of linux/loop.h, of which only the first fields are used.
#[repr(C)]
struct LoopInfo64 {
    device: u64,
    inode: u64,
    rdevice: u64,
    rest: [u64; 26],
}

const _: () = assert!(size_of::<LoopInfo64>() == 232);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Backing {
    /// A block device, by device number.
    Device(u64),
    /// A regular file, by file system and inode number.
    File { dev: u64, ino: u64 },
    /// The kernel does not disclose it to this user.
    Unknown,
}

/// None if `name` is not a bound loop device.
pub(crate) fn backing(name: &str) -> Option<Backing> {
    let path = backing_file(name)?;
    Some(status(name).unwrap_or_else(|| by_path(path)))
}

fn status(name: &str) -> Option<Backing> {
    let node = Path::new("/dev").join(name.replace('!', "/"));
    let file = File::options()
        .read(true)
        .custom_flags(OFlags::NONBLOCK.bits() as i32)
        .open(node)
        .ok()?;
    // SAFETY: LOOP_GET_STATUS64 fills one `struct loop_info64`, whose layout and size LoopInfo64 has.
    let info = unsafe { ioctl(&file, Getter::<LOOP_GET_STATUS64, LoopInfo64>::new()) }.ok()?;
    // The kernel's encoding of device numbers equals user space's as long as majors have 12 bits, and they do.
    Some(match info.rdevice {
        0 => Backing::File {
            dev: info.device,
            ino: info.inode,
        },
        rdevice => Backing::Device(rdevice),
    })
}

/// The fallback for users that may not open the device.
fn by_path(path: PathBuf) -> Backing {
    if path.as_os_str().as_encoded_bytes().ends_with(DELETED) {
        return Backing::Unknown;
    }
    match fs::metadata(path) {
        Ok(metadata) if metadata.file_type().is_block_device() => Backing::Device(metadata.rdev()),
        Ok(metadata) => Backing::File {
            dev: metadata.dev(),
            ino: metadata.ino(),
        },
        Err(_) => Backing::Unknown,
    }
}
