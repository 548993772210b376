//! Properties of a workload, as far as they are known before it runs.

use std::time::Duration;

use iosched_result::metric::profile::Profile;
use iosched_result::types::outcome::Fixed;

#[allow(clippy::struct_excessive_bools)] // each is a question of its own
#[derive(Clone, Debug, PartialEq)]
pub struct Properties {
    /// It writes to its target: the device itself, or a scratch file.
    pub writes: bool,
    /// It may open the raw device exclusively, as `mkfs` does: iosched then does not hold it exclusively.
    pub may_claim_the_device: bool,
    pub fixed: Fixed,
    /// It is what the machine does anyway.
    pub is_live: bool,
    /// It is known to submit I/Os without waiting for earlier ones.
    pub is_asynchronous: bool,
    /// Why it does not report the latency of its I/Os, if it does not.
    pub without_latency: Option<String>,
    /// It may report metrics of its own, whose names only its first block tells.
    pub may_report: bool,
    /// It ends after a time that its arguments set: then its elapsed time is no result.
    pub ends_by_the_clock: bool,
    /// Why its I/O is known to go through the page cache, if it does.
    pub through_page_cache: Option<String>,
    /// Time from `start` to the beginning of the ramp, for processes that start before the measured one.
    pub lead: Duration,
    /// Its actions, and the names of its parts.
    pub profile: Profile,
}

impl Properties {
    /// Properties of a workload that only reads, by itself, and of which nothing more is known.
    pub fn new(fixed: Fixed) -> Properties {
        Properties {
            writes: false,
            may_claim_the_device: false,
            fixed,
            is_live: false,
            is_asynchronous: false,
            without_latency: None,
            may_report: false,
            ends_by_the_clock: false,
            through_page_cache: None,
            lead: Duration::ZERO,
            profile: Profile::default(),
        }
    }
}
