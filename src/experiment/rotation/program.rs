//! A program that is compared beside the disk.

/// How many may be compared.
pub const MOST_PROGRAMS: usize = 4;

/// A program, or a control group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Prefix of its metrics.
    pub label: String,
    pub reads: bool,
    pub writes: bool,
}

impl Program {
    /// How long its requests wait, for each direction in which it has I/O, and how much it gets done.
    pub(super) fn metrics(&self) -> Vec<String> {
        let wait = |is: bool, direction: &str| {
            is.then(|| format!("{}.{direction}_queue_wait_mean", self.label))
        };
        let waits = [wait(self.reads, "read"), wait(self.writes, "write")];
        let throughput = format!("{}.throughput", self.label);
        waits.into_iter().flatten().chain([throughput]).collect()
    }
}
