//! The comparison: the schedule, the rounds and the conclusions from them.

pub mod conclude; // from rounds to verdicts
pub mod controls; // what work that no arm should change can tell
pub mod diagnostics; // warnings: drift, order and carry-over
mod difference; // what two rounds say of a metric
pub mod drift; // settings that changed during a run
pub mod early; // metrics and refusals that follow from the first rounds
pub mod exclusion; // whether a round counts
mod fixed_work; // whether an elapsed time is a result
pub mod gate; // whether a result passes, for CI
pub mod live; // switchback experiments on the existing load
pub mod load; // warnings about busy CPUs and steal time
pub mod losses; // which values lost requests could change
pub mod machine; // the interface between rounds and kernel, with a fake for tests
pub mod metric; // names: unit, scale, direction and margin
pub mod noise; // the smallest effect that a machine can show
mod one_answer; // what commands report means the same in all rounds
pub mod plan; // the randomised schedule, recorded before the run
pub mod processes; // what each process got under each arm
pub mod result; // the JSON of a comparison, read and written
pub mod rotation; // arms that rotate under any load
pub mod round; // one round: switch, verify, ramp, measure
pub mod run; // carries out the plan
pub mod shift; // the shift function: differences by decile
mod stall; // a disk that stands still
pub mod statistics; // from numbers to verdicts
pub mod table; // the rounds that count, by block and arm
pub mod turn; // which round is next
pub mod values; // one round's numbers, by metric
mod vigil; // whether the clock ran as expected
pub mod washout; // whether the reference runs before each round
