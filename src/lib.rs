//! iosched: what a Linux I/O scheduler does to each process, measured in the kernel, and which one is right.
//!
//! The map of the house, from the kernel's numbers to the verdict:

pub mod failure; // errors with a remedy, and their exit codes
pub mod guardian; // the process that puts things back when this one cannot
pub mod input; // files from outside, up to a limit
pub mod interrupt; // signals as an orderly end
pub mod journal; // what was changed and must be put back
pub mod lock; // one writer of a disk's scheduler at a time
pub mod output; // files written whole, and directories that only their owner may enter
pub mod privileges; // what a watch gives up

pub mod arm; // ARM = [LABEL=]SCHEDULER[,ATTRIBUTE=VALUE]...
pub mod device; // a block device and what sysfs says of it
pub mod doctor; // each requirement, and how to mend it
pub mod environment; // everything else that can change a result
pub mod preflight; // what must hold before anything is touched
pub mod scheduler; // read, apply, verify and put back a scheduler and its settings

pub mod cgroups; // the names of control groups
pub mod fairness; // who got how much, and Jain's index
pub mod histogram; // cells, merge, subtract, quantiles
pub mod order; // dispatch order of a burst, exactly
pub mod probe; // the BPF programs, attached
pub mod snapshot; // what they counted, and the difference of two

pub mod scratch; // a device of our own with a known service time
pub mod scratch_file; // a file of our own on a mounted disk, to be written instead of the raw node
pub mod workload; // fio, commands, and their control group

pub mod ab; // plan, run, statistics, verdict
pub mod report; // what people and machines read

#[cfg(any(test, fuzzing))]
pub mod hostile; // what must hold of any input; the tests and fuzz/ ask it
