//! The data of results: nothing here computes a verdict.

pub mod arm; // ARM = [LABEL=]SCHEDULER[,SETTING=VALUE]...
pub mod between; // hours of the day
pub mod cold; // which caches are dropped before each round
pub mod controls; // what a negative control could have shown
pub mod decided; // when a verdict of an open run came
pub mod diagnostics; // drift, order and carry-over
pub mod disk_id; // which disk
pub mod environment; // everything except the scheduler that can change a result
pub mod file_system; // file systems that iosched makes
pub mod goals; // what the user wants
pub mod level; // whether the disks kept their level
pub mod limit; // whether an arm stays within a limit
pub mod live; // settings of a run on the existing load
pub mod noise; // the smallest effect that a machine can show
pub mod outcome; // what a workload did in a round
pub mod participant; // processes that ran before
pub mod plan; // the randomised schedule, recorded before the run
pub mod processes; // what each process got
pub mod queue; // the state of a request queue
pub mod raw; // what a program wrote as JSON
pub mod result; // the JSON of a comparison, read and written
pub mod scratch; // scratch devices
pub mod scratch_place; // where a workload has its files
pub mod times; // what the time of a round was spent on
pub mod washout; // whether the reference runs before each round
