//! How this program's allocator returns memory to the kernel.
#![allow(unsafe_code)]

/// A block of this size or larger goes back to the kernel as soon as it is freed. Without it glibc raises this limit to the
/// largest block that was ever freed, up to 32 MiB: a program that runs for hours keeps holes for which it has no use.
#[cfg(target_env = "gnu")]
pub fn return_large_blocks() {
    const LARGE_BYTES: libc::c_int = 1 << 20;
    // SAFETY: it changes a setting of the allocator, and refuses what it does not know.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE_BYTES);
    }
}

/// Other C libraries do so by themselves.
#[cfg(not(target_env = "gnu"))]
pub fn return_large_blocks() {}
