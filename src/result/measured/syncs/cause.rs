//! What a thread in fsync sleeps for, by the kernel functions on its stack. Pure.

use serde::{Deserialize, Serialize};

/// What a process waits for in fsync and its like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SyncCause {
    /// In the throttle of writers.
    Throttle,
    /// For a tag or a throttle of the queue, while it submits.
    Request,
    /// For a flush of the device's cache.
    Flush,
    /// For the journal: the commit of its transaction, which holds the changes of others too, or room in it.
    Journal,
    /// For the writeback of pages: those of the file, or of all files.
    Data,
    /// For a read of the file system's metadata.
    Read,
    /// For a lock: of the file, or of the file system.
    Lock,
    /// For something else.
    Other,
    /// No stack was had.
    Unknown,
    /// Not asleep: the thread ran, or waited for a CPU before it slept.
    Running,
}

impl SyncCause {
    /// A few words, as in "73 % journal".
    pub fn name(self) -> &'static str {
        match self {
            SyncCause::Throttle => "throttle",
            SyncCause::Request => "request",
            SyncCause::Flush => "flush",
            SyncCause::Journal => "journal",
            SyncCause::Data => "writeback",
            SyncCause::Read => "read",
            SyncCause::Lock => "lock",
            SyncCause::Other => "other",
            SyncCause::Unknown => "unknown",
            SyncCause::Running => "running",
        }
    }
}

/// Functions by what is waited for below them.
struct Functions {
    cause: SyncCause,
    /// It decides wherever on the stack it is. Of the others the innermost does.
    always: bool,
    names: &'static [&'static str],
}

/// The journal comes before the data, because btrfs waits for the pages of its log as others do for those of a file.
const FUNCTIONS: [Functions; 7] = [
    Functions {
        cause: SyncCause::Throttle,
        always: true,
        names: &[
            "balance_dirty_pages",
            "balance_dirty_pages_ratelimited",
            "balance_dirty_pages_ratelimited_flags",
        ],
    },
    Functions {
        cause: SyncCause::Request,
        always: true,
        names: &[
            "blk_mq_get_tag",
            "rq_qos_wait",
            "__rq_qos_throttle",
            "blk_queue_enter",
            "__bio_queue_enter",
            "__blk_throtl_bio",
            "md_write_start",
            "raid5_get_active_stripe",
        ],
    },
    Functions {
        cause: SyncCause::Flush,
        always: true,
        names: &[
            "blkdev_issue_flush",
            "xfs_blkdev_issue_flush",
            "write_all_supers",
            "f2fs_issue_flush",
        ],
    },
    Functions {
        cause: SyncCause::Journal,
        always: true,
        names: &[
            "jbd2_log_wait_commit",
            "jbd2_complete_transaction",
            "jbd2_journal_force_commit",
            "jbd2_journal_flush",
            "jbd2_fc_begin_commit",
            "jbd2_fc_wait_bufs",
            "ext4_fc_commit",
            "__jbd2_log_wait_for_space",
            "start_this_handle",
            "wait_transaction_locked",
            "add_transaction_credits",
            "do_get_write_access",
            "xfs_log_force",
            "xfs_log_force_seq",
            "xfs_log_force_lsn",
            "__xfs_log_force_lsn",
            "xlog_cil_force_seq",
            "xlog_cil_force_lsn",
            "xlog_wait_on_iclog",
            "xlog_grant_head_wait",
            "xlog_grant_head_check",
            "xfs_log_reserve",
            "btrfs_sync_log",
            "btrfs_log_dentry_safe",
            "btrfs_wait_tree_log_extents",
            "btrfs_commit_transaction",
            "wait_for_commit",
            "wait_current_trans",
            "f2fs_issue_checkpoint",
            "f2fs_write_checkpoint",
            "f2fs_fsync_node_pages",
            "f2fs_wait_on_node_pages_writeback",
        ],
    },
    Functions {
        cause: SyncCause::Data,
        always: false,
        names: &[
            "folio_wait_writeback",
            "folio_wait_writeback_killable",
            "wait_on_page_writeback",
            "wait_on_page_writeback_killable",
            "folio_wait_stable",
            "wait_for_stable_page",
            "__filemap_fdatawait_range",
            "filemap_fdatawait_range",
            "filemap_fdatawait_keep_errors",
            "file_write_and_wait_range",
            "filemap_write_and_wait_range",
            "btrfs_wait_ordered_range",
            "btrfs_wait_ordered_extents",
            "btrfs_start_ordered_extent",
            "btrfs_start_ordered_extent_nowriteback",
            "wait_on_extent_buffer_writeback",
            "wb_wait_for_completion",
            "sync_inodes_sb",
            "wait_sb_inodes",
            "writeback_single_inode",
            "inode_wait_for_writeback",
            "__inode_wait_for_writeback",
            "f2fs_wait_on_page_writeback",
            "sync_mapping_buffers",
            "fsync_buffers_list",
            "__sync_dirty_buffer",
        ],
    },
    Functions {
        cause: SyncCause::Read,
        always: false,
        names: &[
            "__bread_gfp",
            "ext4_read_bh",
            "ext4_wait_block_bitmap",
            "ext4_read_inode_bitmap",
            "xfs_buf_iowait",
            "read_extent_buffer_pages",
            "filemap_read_folio",
        ],
    },
    Functions {
        cause: SyncCause::Lock,
        always: false,
        names: &[
            "rwsem_down_read_slowpath",
            "rwsem_down_write_slowpath",
            "rwbase_write_lock",
            "__rwbase_read_lock",
            "rt_mutex_slowlock",
            "__mutex_lock",
            "__mutex_lock_slowpath",
            "mutex_lock",
            "down_read",
            "down_write",
            "__down",
            "inode_dio_wait",
        ],
    },
];

/// Whether a function says what is waited for.
pub fn is_named(function: &str) -> bool {
    FUNCTIONS.iter().any(|of| of.has(function))
}

impl Functions {
    fn has(&self, function: &str) -> bool {
        self.names.contains(&without_suffix(function))
    }
}

/// The compiler names copies of a function after it: `xfs_log_force.part.0`.
fn without_suffix(function: &str) -> &str {
    function.split('.').next().unwrap_or(function)
}

/// What a stack waits for, by those of its functions that say so, the innermost first.
pub fn cause_of(stack: &[&str]) -> SyncCause {
    let decides = FUNCTIONS
        .iter()
        .find(|of| of.always && stack.iter().any(|function| of.has(function)));
    let of_function = |function: &&str| FUNCTIONS.iter().find(|of| of.has(function));
    let innermost = || stack.iter().find_map(of_function);
    decides
        .or_else(innermost)
        .map_or(SyncCause::Other, |of| of.cause)
}
