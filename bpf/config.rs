//! Choice of what to trace, in which detail, and how much memory to use.

use crate::Abilities;
use crate::inflight;
use crate::maps::inflight_elements;

/// A device to trace, with the size of its tag space.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    pub major: u32,
    pub minor: u32,
    pub hardware_queues: u32,
    /// Tags per hardware queue: the larger of the driver's and any scheduler's.
    pub depth: u32,
    /// Number of the device that passes its bios on to this one as they are, and where alone they are queued (Q): the
    /// visible disk of NVMe multipath.
    pub head: Option<(u32, u32)>,
}

impl Target {
    /// Room for a device that is not known yet, with at most this many tags and hardware queues together: see
    /// [`crate::Tracer::retarget`].
    pub fn spare(elements: u32) -> Target {
        Target {
            major: 0,
            minor: 0,
            hardware_queues: 1,
            depth: elements.saturating_sub(1),
            head: None,
        }
    }

    pub(crate) fn is_spare(&self) -> bool {
        (self.major, self.minor) == (0, 0)
    }

    /// The key in the map of targets: the kernel's own form of the number.
    pub(crate) fn dev(&self) -> u32 {
        dev(self.major, self.minor)
    }

    pub(crate) fn head_dev(&self) -> Option<u32> {
        self.head.map(|(major, minor)| dev(major, minor))
    }
}

fn dev(major: u32, minor: u32) -> u32 {
    (major << 20) | minor
}

#[derive(Clone, Debug)]
pub struct Config {
    pub targets: Vec<Target>,
    /// Number of owners kept apart; all others are charged to `other` and counted.
    pub owners: u32,
    /// Copies of each device's numbers, a power of two; more on machines with many CPUs.
    pub shards: u32,
    /// Records that each CPU's ring holds, a power of two. Kernels before 6.1 divide them among several rings.
    pub ring_records: u32,
    pub detail: Detail,
}

impl Config {
    /// Kernel memory of the in-flight table, which grows with a disk's hardware queues and tags.
    pub fn inflight_bytes(&self) -> u64 {
        let elements = |target| u64::from(inflight_elements(target, self.detail));
        let all: u64 = self.targets.iter().map(elements).sum();
        all * size_of::<inflight>() as u64
    }
}

/// Optional measurements, because each costs time per I/O.
#[allow(clippy::struct_excessive_bools)] // independent switches
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Detail {
    /// Measure only the device time of each disk, with two programs per I/O: no owners, queue waits, merges or orders. All
    /// other options are off.
    pub light: bool,
    /// Do not measure Q2G, which saves the program at `block_bio_queue`.
    pub without_q2g: bool,
    /// Reordering, seeks and runs. The kernel side does nothing for it.
    pub order: bool,
    /// Device time, backlog and starvation per owner. The kernel side does nothing for it.
    pub fairness: bool,
    /// I2D, from insert to issue: the scheduler alone.
    pub i2d: bool,
    /// A2Q, A2D and A2C, since the program asked. Its programs run at every system call of the machine.
    pub asked: bool,
    /// All stages per owner, not only Q2D and D2C. The kernel side does nothing for it.
    pub owner_stages: bool,
    /// The driver's own commands.
    pub passthrough: bool,
    /// Charge writeback to the process that dirtied the pages.
    pub writeback: bool,
    /// Tell the files of a process apart: each is an owner.
    pub files: bool,
}

impl Detail {
    /// Whether the program at `block_bio_queue` is loaded.
    pub fn sees_bios(&self, abilities: &Abilities) -> bool {
        abilities.bio_queue.is_some() && !self.without_q2g && !self.light
    }
}

/// The number of possible CPUs: all CPU numbers are below it.
pub fn possible_cpus() -> usize {
    libbpf_rs::num_possible_cpus().unwrap_or(1)
}
