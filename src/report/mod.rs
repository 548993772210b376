//! What people and machines read. Types and pure functions; nothing here touches the machine.

pub mod benchfmt; // Go's benchmark format, for benchstat
pub mod bmf; // Bencher
pub mod csv; // a row per round
mod device; // the disks of a result
pub mod escape; // names from outside
pub mod gate; // what a gate found
pub mod github_benchmark; // github-action-benchmark
pub mod junit; // JUnit's XML
pub mod ktap; // the kernel's test protocol
pub mod live; // one interval of `iosched stat`
mod live_asked;
mod live_order; // its part on dispatch order
pub mod markdown; // for code hosts
pub mod openmetrics; // Prometheus
pub mod read; // a result file from outside
pub mod result; // the result of an A/B: the JSON
pub mod text; // the result as a text table
pub mod units; // numbers as people read them
pub mod words; // comparisons as people read them

#[cfg(test)]
pub mod fixture; // a made-up run
