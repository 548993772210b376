//! What the sampling thread hands over: owned, complete, and never shared.

use iosched::histogram::Histogram;
use iosched::order::Dispatch;
use iosched::report::live::{LiveDevice, LiveProcess};
use iosched::scheduler::State;
use iosched::snapshot::{Edges, OwnerNumbers};

use super::round::Round;

/// What does not change while we look.
#[derive(Clone, Debug, Default)]
pub struct Disk {
    pub name: String,
    pub model: Option<String>,
    pub size_bytes: Option<u64>,
    pub rotational: Option<bool>,
    pub hardware_queues: usize,
}

/// Whose numbers an interval's are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Side {
    /// The whole interval under one arm, and not at its beginning.
    Of(String),
    /// The switch itself, and what the new scheduler needs to settle.
    Settling,
    /// The scheduler changed meanwhile, and not by us.
    Disturbed,
}

/// One interval of all devices.
#[derive(Clone, Debug)]
pub struct Sample {
    /// Local to nobody: `HH:MM:SS` in UTC.
    pub time: String,
    pub seconds: f64,
    pub devices: Vec<DeviceSample>,
}

#[derive(Clone, Debug)]
pub struct DeviceSample {
    /// Absent when the disk is gone.
    pub queue: Option<State>,
    pub side: Side,
    pub counters: Counters,
    /// Absent without the right to load BPF programs.
    pub measured: Option<Box<Measured>>,
}

/// What sysfs tells anybody.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counters {
    pub reads_per_s: f64,
    pub writes_per_s: f64,
    pub read_bytes_per_s: f64,
    pub write_bytes_per_s: f64,
    /// Request started to completed; absent where none completed.
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
    /// The busiest first.
    pub processes: Vec<LiveProcess>,
    /// The same with their histograms, in any order.
    pub owners: Vec<OwnerNumbers>,
    /// Only while the screen of their order is open.
    pub dispatches: Vec<Dispatch>,
}

/// Reads and writes of each stage.
#[derive(Clone, Debug)]
pub struct Stages {
    pub wait: [Histogram; 2],
    pub device: [Histogram; 2],
    pub total: [Histogram; 2],
}

/// A change of the scheduler, by whomever.
#[derive(Clone, Debug, PartialEq)]
pub struct Flip {
    pub device: usize,
    pub time: String,
    pub from: String,
    pub to: String,
    pub by_us: bool,
    /// How long the queue stood still.
    pub switch_ns: Option<u64>,
    /// What else changed, as read back.
    pub changes: Vec<String>,
}

/// Where the rotation stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rotating {
    pub device: usize,
    pub arms: Vec<String>,
    pub round: usize,
    pub rounds: usize,
    pub seconds: u64,
}

/// All that comes from the sampling thread.
#[derive(Debug)]
pub enum Report {
    /// Attached, or why not and what to do.
    Attached {
        notes: Vec<String>,
        refused: Option<String>,
    },
    Sample(Box<Sample>),
    Flipped(Flip),
    Rotating(Option<Rotating>),
    Round(Box<Round>),
    /// Of a device: whether it is to be put back at the end.
    Modified {
        device: usize,
        put_back: bool,
    },
    Said(String),
}
