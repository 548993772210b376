//! The result of a study: the same comparison in many cells, each a workload, all under the same arms.

pub mod exact; // counts that every round must have
pub mod gate; // every cell held to the rules. Pure
pub mod joint; // what holds over all cells together. Pure
pub mod original; // the published comparisons, judged by their own data
pub mod pareto; // arms that no other beats. Pure
pub mod read; // reads and checks an untrusted one
pub mod result; // the result file of a study
pub mod schema1; // results of the version before. Pure
pub mod times; // of its rounds, and what it had no time for

/// The studies that iosched brings.
pub const BUILT_IN: [&str; 18] = [
    "record-size",
    "oltp-web",
    "read-buffer",
    "fsync",
    "oltp-dss",
    "interference",
    "startup",
    "fairness",
    "fill",
    "wbt",
    "nvme-era",
    "device-ladder",
    "kyber-targets",
    "isolation",
    "cgroup",
    "dirty",
    "etcd",
    "blame",
];
