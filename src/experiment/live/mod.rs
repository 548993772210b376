//! Switchback experiments on the existing load: how long a round must be, when an arm is stopped, and when a round
//! waits.

pub mod condition; // `read_queue_wait_p99 > 50ms for 3s`
pub mod guard; // checks a condition every second
pub mod load; // what was asked for in a window
pub mod memory; // the load's autocorrelation time, and the window length from it

/// Metrics that a live run decides on if the user names nothing else.
pub const METRICS: [&str; 2] = ["total_mean", "total_p99"];
