//! The four ioctls of the loop driver that no safe crate offers.
#![allow(unsafe_code)]

use std::fs::File;
use std::os::fd::{AsRawFd, BorrowedFd};

use rustix::io::Result;
use rustix::ioctl::{IntegerSetter, NoArg, Opcode, Setter, ioctl};

const LOOP_CONFIGURE: Opcode = 0x4C0A;
const LOOP_CLR_FD: Opcode = 0x4C01;
const LOOP_CTL_ADD: Opcode = 0x4C80;
const LOOP_CTL_REMOVE: Opcode = 0x4C81;

const LO_FLAGS_DIRECT_IO: u32 = 16;

/// `struct loop_info64` of linux/loop.h.
#[repr(C)]
struct LoopInfo64 {
    device: u64,
    inode: u64,
    rdevice: u64,
    offset: u64,
    sizelimit: u64,
    number: u32,
    encrypt_type: u32,
    encrypt_key_size: u32,
    flags: u32,
    file_name: [u8; 64],
    crypt_name: [u8; 64],
    encrypt_key: [u8; 32],
    init: [u64; 2],
}

/// `struct loop_config` of linux/loop.h.
#[repr(C)]
struct LoopConfig {
    fd: u32,
    block_size: u32,
    info: LoopInfo64,
    reserved: [u64; 8],
}

const _: () = assert!(size_of::<LoopInfo64>() == 232 && size_of::<LoopConfig>() == 304);

/// Creates loop device `number`; fails with EEXIST if it exists.
pub fn add(control: &File, number: u32) -> Result<()> {
    // SAFETY: LOOP_CTL_ADD takes its number by value.
    unsafe {
        ioctl(
            control,
            IntegerSetter::<LOOP_CTL_ADD>::new_usize(number as usize),
        )
    }
}

/// Removes loop device `number`; fails with EBUSY while it is open or bound, with ENODEV if it does not exist.
pub fn remove(control: &File, number: u32) -> Result<()> {
    // SAFETY: LOOP_CTL_REMOVE takes its number by value.
    unsafe {
        ioctl(
            control,
            IntegerSetter::<LOOP_CTL_REMOVE>::new_usize(number as usize),
        )
    }
}

/// Binds `device` to a part of `backing`: `bytes` from `offset` on.
pub fn configure(
    device: &File,
    backing: BorrowedFd<'_>,
    (offset, bytes): (u64, u64),
    block_size: u32,
    direct_io: bool,
) -> Result<()> {
    let config = LoopConfig {
        fd: backing.as_raw_fd() as u32,
        block_size,
        info: LoopInfo64 {
            device: 0,
            inode: 0,
            rdevice: 0,
            offset,
            sizelimit: bytes,
            number: 0,
            encrypt_type: 0,
            encrypt_key_size: 0,
            flags: if direct_io { LO_FLAGS_DIRECT_IO } else { 0 },
            file_name: [0; 64],
            crypt_name: [0; 64],
            encrypt_key: [0; 32],
            init: [0; 2],
        },
        reserved: [0; 8],
    };
    // SAFETY: LOOP_CONFIGURE reads one `struct loop_config`, whose layout and size LoopConfig has.
    unsafe { ioctl(device, Setter::<LOOP_CONFIGURE, LoopConfig>::new(config)) }
}

/// Unbinds `device` at once or, if other processes have it open, at their last close.
pub fn clear(device: &File) -> Result<()> {
    // SAFETY: LOOP_CLR_FD ignores its argument.
    unsafe { ioctl(device, NoArg::<LOOP_CLR_FD>::new()) }
}
