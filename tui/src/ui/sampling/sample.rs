//! Data that the sampling thread sends: owned, complete, never shared.

use iosched_measure::history::buffer::Block;
pub use iosched_measure::history::file::Disk;
pub use iosched_measure::history::frame::{Counters, Flip, Newcomer, Side};
use iosched_measure::history::frame::{DeviceFrame, Frame};
use iosched_result::measured::histogram::{DEVICE, Histogram};
use iosched_result::measured::order::Dispatch;
use iosched_result::measured::snapshot::{
    self, DeviceNumbers, Edges, Interval, Op, OwnerNumbers, Stage,
};
use iosched_result::measured::stalls::Stalls;
use iosched_result::stat::{self, Burst, DeviceState, LiveDevice, LiveProcess};
use iosched_result::types::queue::State;
use iosched_result::why::WhyDevice;

use super::score::{Score, bytes_of};

/// One interval of all devices, as the screens show it.
#[derive(Clone, Debug)]
pub struct Sample {
    /// Time of day in UTC: `HH:MM:SS`.
    pub time: String,
    pub seconds: f64,
    pub devices: Vec<DeviceSample>,
    /// Switches since the previous interval.
    pub flips: Vec<Flip>,
    pub newcomers: Vec<Newcomer>,
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

#[derive(Clone, Debug)]
pub struct Measured {
    pub live: LiveDevice,
    pub queue_wait_is_g2d: bool,
    pub edges: Edges,
    pub stages: Stages,
    /// Bytes of reads and of writes.
    pub bytes: [f64; 2],
    pub stalls: Stalls,
    /// The busiest first.
    pub processes: Vec<LiveProcess>,
    /// The owners of `processes` with their histograms, in any order.
    pub owners: Vec<OwnerNumbers>,
    /// Only while the screen Order is open.
    pub dispatches: Vec<Dispatch>,
    /// Who waited behind whom, only while the screen Fairness or Processes is open.
    pub why: Option<Box<WhyDevice>>,
}

impl Sample {
    /// The screens follow from the interval alone, be it of now, of the history, or of a file.
    pub fn of(mut frame: Frame, by_cgroup: bool) -> Sample {
        let measured = frame.interval.take().map(|mut interval| {
            // Stalls of processes, whatever the rows are.
            let stalls = interval.devices.iter().map(|device| {
                let owners = interval.owners.iter();
                Stalls::of(
                    device,
                    &owners.filter(|owner| owner.key.device == device.name),
                )
            });
            let stalls: Vec<Stalls> = stalls.collect();
            if by_cgroup {
                interval.owners = snapshot::by_cgroup(&interval.owners);
            }
            measured(interval, &stalls, &frame)
        });
        let mut measured = measured.into_iter().flatten();
        let time = frame.time_of_day().to_owned();
        let devices = frame.devices.into_iter().map(|device| DeviceSample {
            queue: device.queue,
            side: device.side,
            counters: device.counters,
            measured: measured.next().map(|mut measured| {
                measured.dispatches = device.dispatches;
                measured.why = device.why;
                Box::new(measured)
            }),
        });
        Sample {
            time,
            seconds: frame.interval_s,
            devices: devices.collect(),
            flips: frame.flips,
            newcomers: frame.newcomers,
        }
    }
}

/// Measurements of each device, without what is about single requests.
fn measured(mut interval: Interval, stalls: &[Stalls], frame: &Frame) -> Vec<Measured> {
    let state = |device: &DeviceFrame| {
        let depth = device.queue.as_ref().and_then(|queue| queue.hardware_depth);
        DeviceState {
            scheduler: device.queue.as_ref().map(|queue| queue.active.clone()),
            hardware_depth: depth.map(|depth| depth.depth),
            burst: Burst::of(&device.dispatches),
        }
    };
    let states: Vec<DeviceState> = frame.devices.iter().map(state).collect();
    let mut record = stat::record(
        &interval,
        String::new(),
        !frame.measures_q2g,
        &states,
        frame,
    );
    let wait = if frame.measures_q2g {
        Stage::Q2d
    } else {
        Stage::G2d
    };
    let count = interval.devices.len();
    let lives = record.devices.into_iter().enumerate();
    let devices =
        lives
            .zip(&interval.devices)
            .zip(stalls)
            .map(|(((place, live), numbers), stalls)| {
                let is_last = place + 1 == count;
                let own = |process: &mut LiveProcess| process.device == numbers.name;
                let processes = of_one(&mut record.processes, is_last, own);
                let owned = |owner: &mut OwnerNumbers| owner.key.device == numbers.name;
                let owners = of_one(&mut interval.owners, is_last, owned);
                Measured {
                    live,
                    queue_wait_is_g2d: !frame.measures_q2g,
                    edges: numbers.edges,
                    stages: Stages::measured(numbers, wait),
                    bytes: bytes_of(numbers),
                    processes,
                    stalls: *stalls,
                    owners,
                    dispatches: Vec::new(),
                    why: None,
                }
            });
    devices.collect()
}

/// Takes those of a device out of `all`. What is left for the last device stays where it is: hundreds of rows are large.
fn of_one<T>(all: &mut Vec<T>, is_last: bool, mut is_its: impl FnMut(&mut T) -> bool) -> Vec<T> {
    if is_last {
        all.retain_mut(is_its);
        return std::mem::take(all);
    }
    all.extract_if(.., &mut is_its).collect()
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

impl Rotating {
    /// About how long a block takes, with its switches.
    pub fn block_s(&self) -> f64 {
        self.arms.len() as f64 * (self.seconds as f64 + 1.0)
    }
}

/// All messages from the sampling thread.
#[derive(Debug)]
pub enum SamplerReport {
    /// The programs are attached, or why not and what to do.
    Attached {
        notes: Vec<String>,
        refused: Option<String>,
    },
    /// The interval's screens, and what the history keeps of it.
    Sample(Box<Sample>, Vec<Block>),
    /// A disk appeared, and is measured from the next interval on: after all others, or in the place of one of its name.
    Added {
        place: usize,
        disk: Disk,
    },
    Flipped(Flip),
    Rotating(Option<Rotating>),
    /// The score of a rotation's rounds so far.
    Score(Box<Score>),
    /// Whether the device will be restored at the end.
    Modified {
        device: usize,
        put_back: bool,
    },
    Said(String),
}
