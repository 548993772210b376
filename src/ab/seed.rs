//! The seed of the schedule and of the workloads.

use std::time::SystemTime;

/// From the clock, if none is wanted.
pub fn seed(wanted: Option<u32>) -> u64 {
    let from_clock = || {
        SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .map_or(1, |now| now.subsec_nanos())
    };
    u64::from(wanted.unwrap_or_else(from_clock))
}
