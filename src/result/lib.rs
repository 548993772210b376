//! The results of iosched: what a run, a study or an interval measured, and everything that follows from it.
//!
//! Pure: no files, no processes, no clocks; compiles for any platform. Each module imports only from those above it. The API
//! is that of the programs, and not stable.

pub mod failure; // errors with a hint how to fix them, and their exit codes
pub mod head; // which schema a file has
pub mod random; // pseudo-random numbers from a seed
pub mod text; // names, patterns, numbers and units in texts

pub mod statistics; // from numbers to verdicts

pub mod measured; // what the kernel counted, and the numbers that follow
pub mod why; // who waits behind whom

pub mod metric; // names: unit, scale, direction and margin

pub mod types; // the data of results

pub mod analysis; // the rounds that count, what differs between arms, what runs next

pub mod gate; // whether a result passes, for CI

pub mod decision; // what to do with a result
pub mod merge; // one answer from the results of many hosts
pub mod read; // reads and checks an untrusted result
pub mod study; // the result of a study, and what holds over its cells
pub mod tune; // a search for the best arm, and fresh rounds that judge it

pub mod stat; // one interval of `iosched stat`

pub mod report; // reports for people and machines

pub mod persist; // what makes the winner last: udev rules and the like

#[cfg(any(test, feature = "fixture"))]
pub mod odd; // input that is not as expected, for tests of parsers

#[cfg(any(test, fuzzing))]
pub mod hostile; // properties of the parsers for any input, for tests and fuzz/
