//! Estimates, intervals, p-values and verdicts from numbers alone: no text, no JSON, no machine.

pub mod beyond; // how many samples a percentile needs
pub mod carry_over; // what an arm leaves behind for the rounds after its own
mod censored; // rounds without a value, and whether what ran before may have caused them
pub mod change_point; // where a series of runs changes its level
pub mod components; // the variance of rounds and of blocks
pub mod covariate; // adjustment for what came before a round
mod doubts; // what keeps a verdict from being said
pub mod estimate; // means, Student's and always-valid intervals
pub mod family; // the level that comparisons share (family-wise error rate)
pub mod layout; // rounds in their places, and position effects
pub mod least_squares; // regression with the covariance of its estimates
pub mod leftover; // what a comparison must allow for
pub mod power; // the effects that a number of blocks can show
pub mod random_effects; // one estimate from those of several hosts
pub mod rows; // all comparisons of an experiment
pub mod scale; // how two values are compared, and which is better
pub mod serial; // a rate over time: when it has settled, how windows of it differ
pub mod signed_rank; // exact intervals and p-values, with censored blocks
pub mod stalls; // blocks far outside the rest
pub mod stopping; // when a run ends, and what that costs its intervals
pub mod student; // means, for readers who expect a t-interval
pub mod trend; // whether values keep a level
pub mod verdict; // better, worse, equivalent or inconclusive
