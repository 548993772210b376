//! iosched measures in the kernel what a Linux I/O scheduler does to each process, and compares schedulers.
//!
//! The modules are listed from the machine to the verdict; each imports only from those above it.
//! `tests/architecture.rs` enforces this, docs/architecture.md explains it. The library is internal to the two programs: its API is not stable.

pub mod failure; // errors with a hint how to fix them, and their exit codes
pub mod interrupt; // signals, turned into an orderly end
mod random; // pseudo-random numbers from a seed
mod similar; // what a misspelled name may mean

pub mod files;
pub mod types; // the data of results // reads untrusted files up to a limit; writes files atomically

pub mod machine; // disks, mounts, loop devices, control groups and environment of this machine
pub mod measure; // attaches the BPF programs and reads what the kernel counted
pub mod scheduler; // arms; reads, applies, verifies and restores a scheduler and its settings

pub mod safety; // journal, guardian, lock, privileges: restores all changes, drops capabilities
pub mod scratch; // scratch devices and scratch files
pub mod workload; // runs fio or a command in control groups

pub mod preflight; // checks before anything is changed

pub mod ab; // plan, run, statistics, verdict, result
pub mod study; // studies: one comparison in many cells

pub mod report; // reports for people and machines, made from a result
pub mod stat; // one interval of `iosched stat`

pub mod history; // intervals that the terminal UI keeps, writes and replays

pub mod persist; // what makes the winner last: udev rules and the like

pub mod doctor; // checks each requirement and says how to fix it

#[cfg(any(test, fuzzing))]
pub mod hostile; // properties of the parsers for any input, for tests and fuzz/
