//! Abilities of the running kernel that the probe uses.

use anyhow::Result;
use iosched_bpf::Abilities;

use super::locked_memory;

/// A tracepoint that the probe uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tracepoint {
    pub name: &'static str,
    pub is_there: bool,
    /// Without it nothing can be measured.
    pub is_needed: bool,
}

/// Which of these tracepoints the running kernel has, as the loader sees it.
pub fn tracepoints() -> Result<Vec<Tracepoint>> {
    let found = Abilities::of_running_kernel()?;
    let tracepoint = |name, is_there, is_needed| Tracepoint {
        name,
        is_there,
        is_needed,
    };
    Ok(vec![
        tracepoint("block_bio_queue", found.bio_queue.is_some(), false),
        tracepoint("block_bio_backmerge", found.back_merge.is_some(), false),
        tracepoint("block_bio_frontmerge", found.front_merge.is_some(), false),
        tracepoint("block_rq_merge", found.rq_merge.is_some(), false),
        tracepoint("block_io_start", found.io_start.is_some(), false),
        tracepoint("block_rq_insert", found.insert.is_some(), false),
        tracepoint("block_rq_issue", found.issue.is_some(), true),
        tracepoint("block_rq_requeue", found.requeue.is_some(), false),
        tracepoint("block_rq_complete", found.complete.is_some(), true),
        tracepoint(
            found.writeback_dirty.unwrap_or("writeback_dirty_folio"),
            found.writeback_dirty.is_some(),
            false,
        ),
    ])
}

/// RLIMIT_MEMLOCK in bytes, if the kernel charges the probe's maps against it.
pub fn memlock_bytes() -> Option<u64> {
    let found = Abilities::of_running_kernel().ok()?;
    found.counts_locked_memory.then(locked_memory::limit_bytes)
}

/// Whether this kernel shows when programs asked for their I/O; see [`super::Detail::asked`].
pub fn can_tell_since_when() -> bool {
    let has = |found: Abilities| {
        found.bio_queue.is_some() && (found.syscalls || found.uring_submit.is_some())
    };
    Abilities::of_running_kernel().is_ok_and(has)
}
