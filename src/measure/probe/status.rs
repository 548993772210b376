//! Names of the statuses that requests complete with.

/// `blk_status_t` in the order of its numbers (include/linux/blk_types.h).
const BLK_STS: [&str; 20] = [
    "ok",
    "notsupp",
    "timeout",
    "nospc",
    "transport",
    "target",
    "resv_conflict",
    "medium",
    "protection",
    "resource",
    "ioerr",
    "dm_requeue",
    "again",
    "dev_resource",
    "zone_open_resource",
    "zone_active_resource",
    "offline",
    "duration_limit",
    "unknown_18",
    "inval",
];

/// Kernels before 5.16 report an errno instead. An unknown number is printed as it is.
pub(super) fn name(code: usize, is_errno: bool) -> String {
    if is_errno {
        return match rustix::io::Errno::from_raw_os_error(code as i32) {
            rustix::io::Errno::IO => "EIO".to_owned(),
            rustix::io::Errno::NODATA => "ENODATA".to_owned(),
            rustix::io::Errno::TIMEDOUT => "ETIMEDOUT".to_owned(),
            rustix::io::Errno::NOSPC => "ENOSPC".to_owned(),
            rustix::io::Errno::OPNOTSUPP => "EOPNOTSUPP".to_owned(),
            rustix::io::Errno::NOLINK => "ENOLINK".to_owned(),
            rustix::io::Errno::REMOTEIO => "EREMOTEIO".to_owned(),
            rustix::io::Errno::ILSEQ => "EILSEQ".to_owned(),
            _ => format!("errno_{code}"),
        };
    }
    BLK_STS
        .get(code)
        .map_or_else(|| format!("status_{code}"), |name| (*name).to_owned())
}
