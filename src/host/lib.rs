//! Everything that iosched reads and changes on a machine, and what puts all back.
//!
//! Each module imports only from those above it.

pub mod system; // disks, mounts, loop devices, control groups and environment of this machine

pub mod scheduler; // reads, applies, verifies and restores a scheduler and its settings

pub mod places; // settings of arms that live elsewhere than in the disk's queue

pub mod safety; // journal, guardian, lock, privileges: restores all changes, drops capabilities

pub mod preflight; // checks before anything is changed
pub mod scratch; // scratch devices and scratch files

#[cfg(any(test, fuzzing))]
pub mod hostile; // properties of the parsers for any input, for tests and fuzz/
