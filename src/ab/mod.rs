//! The comparison: which arm runs when, and what the rounds allow to be said.

pub mod analysis; // from rounds to verdicts
pub mod diagnostics; // drift, order and carry-over: warnings
pub mod drift; // settings that changed
pub mod exclusion; // whether a round counts
pub mod gate; // whether a result may pass
pub mod identity; // whether two measurements were made on the same thing
pub mod load; // CPUs too busy to tell
pub mod max_t; // p-values of a family of comparisons
pub mod metric; // names: unit, scale, direction and margin
pub mod noise; // how small an effect a machine can show
pub mod plan; // the schedule: who runs when, in a random order that is written down first
pub mod round; // one round: switch, verify, ramp, measure
pub mod run; // carries out the plan
pub mod stats; // estimates, exact intervals and p-values from differences between blocks
pub mod stopping; // when a run ends, and what that costs its intervals
pub mod turn; // what is to be run next
pub mod values; // one round's numbers, by metric
pub mod verdict; // better, worse, equivalent or not decided
mod vigil; // whether time went by as it should
