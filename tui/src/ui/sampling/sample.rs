//! What the sampling thread sends: owned, complete, never shared.

use iosched::measure::histogram::{DEVICE, Histogram};
use iosched::measure::order::Dispatch;
use iosched::measure::snapshot::{DeviceNumbers, Edges, Op, OwnerNumbers, Stage};
use iosched::measure::stalls::Stalls;
use iosched::scheduler::State;
use iosched::stat::{LiveDevice, LiveProcess};

use super::score::Score;

/// Properties that do not change while we watch.
#[derive(Clone, Debug, Default)]
pub struct Disk {
    pub name: String,
    pub model: Option<String>,
    pub size_bytes: Option<u64>,
    pub rotational: Option<bool>,
    pub hardware_queues: usize,
}

/// Which arm an interval belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Side {
    /// The whole interval was under this arm, after it had settled.
    Of(String),
    /// The interval contains a switch by us, or the new scheduler was settling.
    Settling,
    /// Another program changed the scheduler.
    Disturbed,
}

/// One interval of all devices.
#[derive(Clone, Debug)]
pub struct Sample {
    /// Time of day in UTC: `HH:MM:SS`.
    pub time: String,
    pub seconds: f64,
    pub devices: Vec<DeviceSample>,
}

#[derive(Clone, Debug)]
pub struct DeviceSample {
    /// Absent if the disk was removed.
    pub queue: Option<State>,
    pub side: Side,
    pub counters: Counters,
    /// Absent without the privileges to load BPF programs.
    pub measured: Option<Box<Measured>>,
}

/// Counters from sysfs, which every user can read.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counters {
    pub reads_per_s: f64,
    pub writes_per_s: f64,
    pub read_bytes_per_s: f64,
    pub write_bytes_per_s: f64,
    /// Mean time from request start to completion; absent if none completed.
    pub read_mean_ns: Option<f64>,
    pub write_mean_ns: Option<f64>,
    pub in_flight: u64,
    pub busy_share: f64,
}

#[derive(Clone, Debug)]
pub struct Measured {
    pub live: LiveDevice,
    pub queue_wait_is_g2d: bool,
    pub edges: Edges,
    pub stages: Stages,
    /// Of reads and of writes.
    pub bytes: [f64; 2],
    pub stalls: Stalls,
    /// The busiest first.
    pub processes: Vec<LiveProcess>,
    /// The owners of `processes` with their histograms, in any order.
    pub owners: Vec<OwnerNumbers>,
    /// Only while the screen Order is open.
    pub dispatches: Vec<Dispatch>,
}

/// Each pair is reads and writes.
#[derive(Clone, Debug)]
pub struct Stages {
    pub wait: [Histogram; 2],
    pub device: [Histogram; 2],
    pub total: [Histogram; 2],
}

impl Stages {
    pub fn new() -> Self {
        let empty = || [Histogram::new(DEVICE), Histogram::new(DEVICE)];
        Stages {
            wait: empty(),
            device: empty(),
            total: empty(),
        }
    }

    /// `wait`: the stage that this kernel shows as queue wait.
    pub fn measured(numbers: &DeviceNumbers, wait: Stage) -> Self {
        let pair = |stage| [&[Op::Read][..], &Op::WRITES].map(|ops| numbers.stage(stage, ops));
        Stages {
            wait: pair(wait),
            device: pair(Stage::D2c),
            total: pair(Stage::Q2c),
        }
    }

    pub fn add(&mut self, other: &Stages) {
        let mine = [&mut self.wait, &mut self.device, &mut self.total];
        let theirs = [&other.wait, &other.device, &other.total];
        for (mine, theirs) in mine.into_iter().zip(theirs) {
            for (mine, theirs) in mine.iter_mut().zip(theirs) {
                let _ = mine.merge(theirs); // the layouts are the same by construction
            }
        }
    }
}

/// A switch of the scheduler, by us or by another program.
#[derive(Clone, Debug, PartialEq)]
pub struct Flip {
    pub device: usize,
    pub time: String,
    pub from: String,
    pub to: String,
    pub by_us: bool,
    /// How long the queue was frozen.
    pub switch_ns: Option<u64>,
    /// What else changed, according to sysfs.
    pub changes: Vec<String>,
}

/// Progress of the rotation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rotating {
    pub device: usize,
    pub arms: Vec<String>,
    pub round: usize,
    pub rounds: usize,
    /// The block of the present round, or of the last one, from 1; 0 before the first.
    pub block: usize,
    pub seconds: u64,
    /// Index of the arm in force, and of the one after it if it is known.
    pub now: Option<usize>,
    pub next: Option<usize>,
    /// Until the next switch.
    pub left_s: u64,
    pub is_paused: bool,
}

/// All messages from the sampling thread.
#[derive(Debug)]
pub enum SamplerReport {
    /// The programs are attached, or why not and what to do.
    Attached {
        notes: Vec<String>,
        refused: Option<String>,
    },
    Sample(Box<Sample>),
    Flipped(Flip),
    Rotating(Option<Rotating>),
    /// What the rounds of a rotation say so far.
    Score(Box<Score>),
    /// Whether the device will be restored at the end.
    Modified {
        device: usize,
        put_back: bool,
    },
    Said(String),
}
