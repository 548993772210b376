//! The kernel side of iosched: loads and attaches the BPF programs, and reads their maps. Knows nothing about
//! schedulers, statistics or terminals. Times are in nanoseconds, counts are cumulative since the load.
//! Contains all C of the project and, except for a few ioctls, all unsafe Rust.

#![allow(unsafe_code)]
#![warn(clippy::undocumented_unsafe_blocks)]

mod abilities; // features of the running kernel
mod budget; // instructions processed by the verifier
mod config; // what to trace
mod end_functions; // what bios call at their end
mod in_flight; // requests in flight
mod loader; // selects and loads the programs
mod mapped; // arrays mapped into user space
mod maps; // sizes and initial content of the maps
mod owners; // rows of owners
mod programs; // run time and skipped runs of the programs
mod retarget; // another device after the attach
mod rings; // records of completed requests
mod sync; // waits in fsync, in the throttle of writers, for writeback
mod sync_wire; // sync_wire.h, in Rust
mod tracer; // the attached programs
mod under_way; // checks which requests are really in flight
mod wire; // wire.h, in Rust

#[allow(
    clippy::all,
    clippy::pedantic,
    clippy::undocumented_unsafe_blocks,
    dead_code,
    non_snake_case
)]
mod skeleton {
    include!(concat!(env!("OUT_DIR"), "/iosched.skel.rs"));
}

#[allow(
    clippy::all,
    clippy::pedantic,
    clippy::undocumented_unsafe_blocks,
    dead_code,
    non_snake_case
)]
mod sync_skeleton {
    include!(concat!(env!("OUT_DIR"), "/sync.skel.rs"));
}

pub use abilities::Abilities;
pub use budget::verified_instructions;
pub use config::{Config, Detail, Target, possible_cpus};
pub use in_flight::InFlightTable;
pub use loader::NotPermitted;
pub use rings::Rings;
pub use sync::SyncTracer;
pub use sync_wire::{
    bdi_of_place, sync_key, sync_kind, sync_losses, sync_row, sync_sleep, sync_sleep_key,
    sync_thread,
};
pub use tracer::Tracer;
pub use under_way::Blocked;
pub use wire::{
    DATA_OPS, OPS, POOLS, STATUSES, device_stats, enums, extra, file_path, inflight, op_counters,
    owner, owner_key, owner_op, record, waits,
};
