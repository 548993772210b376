//! The traps of docs/traps.md that need a disk. Root only: `cargo test -p iosched-tui --test traps -- --ignored
//! --test-threads=1`.

#[path = "traps/crowds.rs"]
mod crowds; // more processes than the table holds
#[path = "traps/edges.rs"]
mod edges; // switches, requests in parts, passthrough
#[path = "watch/exact.rs"]
mod exact;
#[path = "traps/fsync.rs"]
mod fsync; // the parts of an fsync
#[path = "traps/kernel_threads.rs"]
mod kernel_threads; // writeback, journals, workers
#[path = "traps/levels.rs"]
mod levels; // partitions, stacked devices
#[path = "traps/owners.rs"]
mod owners; // whose request is it?
#[path = "traps/requests.rs"]
mod requests; // which request is it?
#[path = "../../tests/support/mod.rs"]
mod support;
#[allow(dead_code)] // each test binary uses a part of it
mod watch;
#[path = "traps/work.rs"]
mod work; // fio, dd, and what was measured

const BINARY: &str = support::under_test!("iosched");
const SCHEDULERS: [&str; 4] = ["none", "mq-deadline", "kyber", "bfq"];
const MIB: u64 = 1 << 20;
