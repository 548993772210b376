//! The comparison: which arm runs when, and what the rounds allow to be said.

pub mod plan; // the schedule: who runs when, in a random order that is written down first
pub mod stats; // estimates, exact intervals and p-values from differences between blocks
pub mod verdict; // better, worse, equivalent or not decided
