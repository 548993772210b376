//! From rounds to conclusions: which count, what differs between arms, which is next. Pure.

pub mod budget; // how many blocks fit into a given time
pub mod conclude;
pub mod controls; // what work that no arm should change can tell
pub mod decided; // from rounds to verdicts
pub mod diagnostics; // warnings: drift, order and carry-over
mod difference; // what two rounds say of a metric
pub mod drift; // settings that changed during a run
pub mod early; // metrics and refusals that follow from the first rounds
pub mod exclusion; // whether a round counts
mod fixed_work; // whether an elapsed time is a result
pub mod identity;
mod inputs; // compares the machine and disks of two results
pub mod left; // how long a run goes on
mod level; // whether the disks kept their level
pub mod limits; // whether arms stay within what the user set
pub mod load; // warnings about busy CPUs and steal time
pub mod losses; // which values lost requests could change
pub mod no_ratio; // why blocks have no ratio
pub mod noise; // the smallest effect that a machine can show
mod one_answer; // what commands report means the same in all rounds
pub mod processes; // what each process got under each arm
pub mod shift; // the shift function: differences by decile
pub mod table; // the rounds that count, by block and arm
pub mod times; // ramp and window from a pilot
pub mod turn; // which round is next
pub mod values; // one round's numbers, by metric
pub mod washout; // whether the reference runs before each round
