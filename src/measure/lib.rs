//! Attaches the BPF programs, reads what the kernel counted, and keeps intervals as a history.

mod agreement; // constants that the kernel side has, too

pub mod probe; // attaches and reads the BPF programs
pub mod syncs; // the same above the block layer: fsync, the throttle of writers, writeback

pub mod history; // intervals that the terminal UI keeps, writes and replays

#[cfg(any(test, fuzzing))]
pub mod hostile; // properties of the parsers for any input, for tests and fuzz/
