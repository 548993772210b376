//! The commands that only read results: report, gate, evidence, merge, persist and metrics. `iosched-ab` has them too.
//!
//! Runs on any Unix. Each module imports only from those above it.

pub mod choice; // options that take a row of a table
pub mod fit; // sentences, as wide as a terminal
pub mod messages; // what is said on stderr beside results and errors

pub mod input; // results of runs and of studies, from files
pub mod print; // to standard output, or into a file

pub mod evidence; // results as blocks of text
pub mod gate; // turns verdicts into an exit code
pub mod merge; // one answer from the results of many hosts
pub mod metrics; // what iosched measures
pub mod persist; // what makes the winner last
pub mod report; // a result as a report

pub mod program; // how a program begins and ends
