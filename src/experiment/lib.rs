//! Experiments: workloads, rounds, runs, studies, rotations under any load, and the doctor.
//!
//! Each module imports only from those above it.

pub mod stall; // a disk that stands still
pub mod workload; // runs fio or a command in control groups

pub mod machine; // the interface between rounds and kernel, with a fake for tests

pub mod saved; // the result file of an experiment that goes on

pub mod session; // what an experiment holds on the real machine, journal first

pub mod clock_watch; // whether the clock ran as expected
pub mod live; // switchback experiments on the existing load

pub mod round; // one round: switch, verify, ramp, measure

pub mod rotation; // arms that rotate under any load
pub mod run; // carries out the plan

pub mod study; // all cells of a study
pub mod tune; // a search for the best arm, and its referee

pub mod doctor; // checks each requirement and says how to fix it

#[cfg(any(test, fuzzing))]
pub mod hostile; // properties of the parsers for any input, for tests and fuzz/
