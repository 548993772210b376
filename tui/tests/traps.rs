//! The traps of docs/traps.md that take a disk to fall into. Root only:
//! `cargo test -p iosched-tui --test traps -- --ignored --test-threads=1`.

#[path = "traps/crowds.rs"]
mod crowds; // more processes than there is room for
#[path = "traps/edges.rs"]
mod edges; // flips, parts of requests, passthrough
#[path = "watch/exact.rs"]
mod exact;
#[path = "traps/fsync.rs"]
mod fsync; // and its parts
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
#[allow(dead_code)] // each test binary uses its part
mod watch;
#[path = "traps/work.rs"]
mod work; // fio, dd and what was seen of them

const BINARY: &str = env!("CARGO_BIN_EXE_iosched");
const SCHEDULERS: [&str; 4] = ["none", "mq-deadline", "kyber", "bfq"];
const MIB: u64 = 1 << 20;
