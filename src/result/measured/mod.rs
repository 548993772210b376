//! Counts of the kernel, and the numbers that follow.

pub mod blame; // behind whom requests wait
pub mod fairness; // shares of owners, and Jain's index
pub mod histogram; // cells, merge, subtract, quantiles
pub mod ledger; // where records become histograms
pub mod order; // exact dispatch order of a burst
pub mod record; // a completed request
pub mod snapshot; // counts since the attach, and the difference of two such states
pub mod stalls; // how long submitters were blocked, by direction of their I/O
pub mod syncs; // waits in fsync, in the throttle of writers, for writeback
pub mod timeline; // what depends on the order of events
pub mod trace; // every request of a short time on its own
