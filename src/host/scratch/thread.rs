//! Properties of a thread that serves a block device of this machine: punctual, never blocked on the device that it
//! serves, and with its own descriptor table.
#![allow(unsafe_code)]

use std::io;
use std::num::NonZeroU64;

/// Above every normal process and below the kernel's own real-time threads (50).
const PRIORITY: i32 = 10;

/// Gives the calling thread, and the threads that it will start, their own descriptor table with only 0 to 2. Then
/// /dev/fuse closes as soon as these threads end, and the kernel fails every pending request. In the process's table it
/// would stay open after SIGKILL: a thread in uninterruptible sleep on this very device would hold it open and sleep
/// forever.
pub fn own_descriptors() -> io::Result<()> {
    // SAFETY: with CLOSE_RANGE_UNSHARE the table is copied first, so that no descriptor that another thread
    // owns is closed; and the calling thread has just begun and owns none.
    let result = unsafe {
        libc::syscall(
            libc::SYS_close_range,
            3_u32,
            u32::MAX,
            libc::CLOSE_RANGE_UNSHARE,
        )
    };
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Makes the calling thread, and the threads that it will start, wake up on time. False: real-time priority was
/// refused, so on a busy machine the device will be late.
pub fn become_punctual() -> bool {
    // Real-time threads have exact timers anyway; this is for the case that real-time priority is refused.
    let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
    let parameters = libc::sched_param {
        sched_priority: PRIORITY,
    };
    // SAFETY: thread 0 is the calling one; the kernel only reads the parameters, which live on this stack.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameters) == 0 }
}

/// Prevents memory reclaim of the calling thread, and of the threads that it will start, from waiting for the device
/// that it serves. Needs Linux 5.6 and CAP_SYS_RESOURCE.
pub fn never_wait_for_writeback() -> io::Result<()> {
    rustix::process::configure_io_flusher_behavior(true).map_err(Into::into)
}
