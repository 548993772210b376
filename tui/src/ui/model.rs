//! All that is on the screen, owned. No clock, no I/O, no lock.

use std::collections::VecDeque;

use iosched::report::live::LiveProcess;

use super::action::Screen;
use super::compare::{Scope, Seen, Stage, Statistic};
use super::heat::Column;
use super::palette::Palette;
use super::sample::{DeviceSample, Disk, Flip, Rotating, Sample};

/// Samples that are kept for pictures over time.
pub const HISTORY: usize = 600;

/// Seconds an interval can last.
pub const INTERVALS: [f64; 6] = [0.25, 0.5, 1.0, 2.0, 5.0, 10.0];

#[derive(Clone, Debug)]
pub struct Model {
    pub screen: Screen,
    /// Where Help goes back to.
    pub before_help: Screen,
    pub palette: Palette,
    /// Index into [`INTERVALS`].
    pub interval: usize,
    pub access: Access,
    pub notes: Vec<String>,
    pub devices: Vec<DeviceModel>,
    pub selected: usize,
    /// By name or by key; until then it is the busiest at the first look.
    pub is_selected: bool,
    /// What is shown while it is frozen.
    pub frozen: Option<Box<Frozen>>,
    pub last: Option<Box<Sample>>,
    pub rotating: Option<Rotating>,
    pub dialog: Option<Dialog>,
    pub table: TableView,
    pub compare: CompareView,
    pub help_row: usize,
    /// Chosen with `--arm`, to be offered beside the kernel's own.
    pub extra_arms: Vec<String>,
    pub message: Option<String>,
    pub demo: Option<String>,
}

#[derive(Clone, Debug)]
pub struct Frozen {
    pub devices: Vec<DeviceModel>,
    pub last: Option<Box<Sample>>,
}

/// Whether the kernel may be asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Access {
    Attaching,
    Full,
    /// Why not, and how to get it.
    Sysfs(String),
}

#[derive(Clone, Debug, Default)]
pub struct DeviceModel {
    pub disk: Disk,
    pub history: VecDeque<Moment>,
    pub seen: Seen,
    /// I/Os that the measurement missed, since the start.
    pub lost: u64,
    /// I/Os that it has seen.
    pub ios: u64,
    /// Changed by us, and whether it will be put back.
    pub modified: Option<bool>,
}

/// One sample as pictures over time need it.
#[derive(Clone, Debug)]
pub struct Moment {
    pub time: String,
    pub scheduler: String,
    /// The scheduler was changed in it, or begun afresh.
    pub is_flip: bool,
    pub is_settling: bool,
    pub column: Option<Column>,
    pub jain_device_time: Option<f64>,
    /// Of the device's time, by the row's name; the largest few.
    pub shares: Vec<(String, f64)>,
}

#[derive(Clone, Debug)]
pub enum Dialog {
    Flip {
        arms: Vec<String>,
        row: usize,
        put_back: bool,
    },
    Rotate {
        arms: Vec<(String, bool)>,
        row: usize,
        seconds: u64,
    },
    Filter,
    /// A flip's outcome, in words.
    Flipped(Flip),
}

#[derive(Clone, Debug)]
pub struct TableView {
    pub sort: Sort,
    pub reversed: bool,
    pub filter: String,
    pub row: usize,
    pub is_open: bool,
    pub by_cgroup: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    Ios,
    Bytes,
    Share,
    WaitP50,
    WaitP99,
    WaitMax,
    Stalled,
    Device,
    Merged,
    Starved,
    Name,
}

impl Sort {
    pub const ALL: [Sort; 11] = [
        Sort::Ios,
        Sort::Bytes,
        Sort::Share,
        Sort::WaitP50,
        Sort::WaitP99,
        Sort::WaitMax,
        Sort::Stalled,
        Sort::Device,
        Sort::Merged,
        Sort::Starved,
        Sort::Name,
    ];
}

#[derive(Clone, Copy, Debug)]
pub struct CompareView {
    pub stage: Stage,
    pub scope: Scope,
    pub statistic: Statistic,
    /// Among the arms seen.
    pub reference: usize,
    pub is_overlaid: bool,
    pub row: usize,
}

impl Model {
    pub fn new(disks: Vec<Disk>, palette: Palette, interval: usize) -> Self {
        let devices = disks.into_iter().map(|disk| DeviceModel {
            disk,
            ..DeviceModel::default()
        });
        Model {
            screen: Screen::Overview,
            before_help: Screen::Overview,
            palette,
            interval,
            access: Access::Attaching,
            notes: Vec::new(),
            devices: devices.collect(),
            selected: 0,
            is_selected: false,
            frozen: None,
            last: None,
            rotating: None,
            dialog: None,
            table: TableView {
                sort: Sort::Ios,
                reversed: false,
                filter: String::new(),
                row: 0,
                is_open: false,
                by_cgroup: false,
            },
            compare: CompareView {
                stage: Stage::Wait,
                scope: Scope::Reads,
                statistic: Statistic::Mean,
                reference: 0,
                is_overlaid: false,
                row: 0,
            },
            help_row: 0,
            extra_arms: Vec::new(),
            message: None,
            demo: None,
        }
    }

    /// The device on the screen, as it is or as it was when it was frozen.
    pub fn device(&self) -> &DeviceModel {
        let devices = self
            .frozen
            .as_ref()
            .map_or(&self.devices, |frozen| &frozen.devices);
        &devices[self.selected]
    }

    pub fn sample(&self) -> Option<&Sample> {
        match &self.frozen {
            Some(frozen) => frozen.last.as_deref(),
            None => self.last.as_deref(),
        }
    }

    pub fn device_sample(&self) -> Option<&DeviceSample> {
        self.sample()?.devices.get(self.selected)
    }

    pub fn interval_s(&self) -> f64 {
        INTERVALS[self.interval]
    }

    /// The rows of the table, with their places in the sample: filtered and sorted as the view says.
    pub fn processes(&self) -> Vec<(usize, &LiveProcess)> {
        let measured = self
            .device_sample()
            .and_then(|sample| sample.measured.as_deref());
        let Some(measured) = measured else {
            return Vec::new();
        };
        let wanted = self.table.filter.to_lowercase();
        let mut rows: Vec<(usize, &LiveProcess)> = measured
            .processes
            .iter()
            .enumerate()
            .filter(|(_, process)| wanted.is_empty() || text_of(process).contains(&wanted))
            .collect();
        if self.table.sort == Sort::Name {
            rows.sort_by(|(_, a), (_, b)| (&a.comm, a.pid).cmp(&(&b.comm, b.pid)));
        } else {
            rows.sort_by(|(_, a), (_, b)| {
                let (a_key, b_key) = (sort_key(a, self.table.sort), sort_key(b, self.table.sort));
                b_key.total_cmp(&a_key).then(a.pid.cmp(&b.pid))
            });
        }
        if self.table.reversed {
            rows.reverse();
        }
        rows
    }

    /// Labels of the arms that a flip can go to.
    pub fn arms(&self) -> Vec<String> {
        let sample = self
            .last
            .as_ref()
            .and_then(|last| last.devices.get(self.selected));
        let state = sample.and_then(|sample| sample.queue.as_ref());
        let mut arms = state
            .map(|state| state.available.clone())
            .unwrap_or_default();
        arms.extend(self.extra_arms.iter().cloned());
        arms.dedup();
        arms
    }
}

fn text_of(process: &LiveProcess) -> String {
    let pid = process.pid.map(|pid| pid.to_string()).unwrap_or_default();
    let cgroup = process.cgroup.as_deref().unwrap_or_default();
    format!("{} {pid} {cgroup}", process.comm).to_lowercase()
}

/// The more the higher up; what is not known comes last.
fn sort_key(process: &LiveProcess, sort: Sort) -> f64 {
    let fairness = process.fairness.as_ref();
    let known = |value: Option<f64>| value.unwrap_or(-1.0);
    match sort {
        Sort::Ios | Sort::Name => process.iops,
        Sort::Bytes => process.bytes_per_s,
        Sort::Share => known(fairness.and_then(|fairness| fairness.device_time_share)),
        Sort::WaitP50 => known(process.queue_wait.p50_ns),
        Sort::WaitP99 => known(process.queue_wait.p99_ns),
        Sort::WaitMax => known(process.queue_wait.max_ns),
        Sort::Stalled => process.stalled_share,
        Sort::Device => known(process.device_time.p50_ns),
        Sort::Merged => known(process.merge_ratio),
        Sort::Starved => known(
            fairness
                .and_then(|f| f.starvation_max_ns)
                .map(|ns| ns as f64),
        ),
    }
}
