//! Everything that the screens show, owned. No clock, no I/O, no lock.

use std::collections::VecDeque;
use std::path::PathBuf;

use iosched_measure::history::buffer::{self, Buffer};
use iosched_result::measured::snapshot::Quality;
use iosched_result::types::queue::State;

use super::action::Screen;
use super::appearance::Palette;
use super::axis::Axis;
use super::chosen::{Page, RowId};
use super::compare::{Scope, Seen, ShownStage, Statistic, metric};
use super::heat::HeatColumn;
use super::keymap::Keymap;
use super::load::Load;
use super::past::{Fold, Frozen, Replay};
use super::rows::Places;
use crate::ui::sampling::parts::PartName;
use crate::ui::sampling::request::present_label;
use crate::ui::sampling::sample::{DeviceSample, Disk, Flip, Rotating, Sample};

/// Number of samples that the pictures over time keep.
pub const HISTORY: usize = buffer::MOST as usize;

/// The intervals to choose from, in seconds.
pub const INTERVALS: [f64; 6] = [0.25, 0.5, 1.0, 2.0, 5.0, 10.0];

#[derive(Clone, Debug)]
pub struct Model {
    pub screen: Screen,
    /// The screen to return to from Help.
    pub before_help: Screen,
    pub palette: Palette,
    pub keys: Keymap,
    /// The axis of times on all screens, if the user has chosen one.
    pub axis: Option<Axis>,
    /// Index into [`INTERVALS`].
    pub interval: usize,
    pub access: Access,
    pub notes: Vec<String>,
    pub devices: Vec<DeviceModel>,
    pub selected: usize,
    /// Whether the user has selected a device; if not, the first sample selects the busiest.
    pub is_selected: bool,
    /// The state that is shown while the screen is frozen.
    pub frozen: Option<Box<Frozen>>,
    pub last: Option<Box<Sample>>,
    /// The intervals that can be gone back to.
    pub kept: Buffer,
    /// Whether intervals are kept at all.
    pub has_history: bool,
    pub fold: Fold,
    pub replay: Option<Replay>,
    pub rotating: Option<Rotating>,
    pub dialog: Option<Dialog>,
    pub table: TableView,
    pub compare: CompareView,
    pub help_row: usize,
    /// The disk of the cursor on Disks, see [`super::load::order`].
    pub disk_row: usize,
    /// Labels of the arms from `--arm`, offered in place of the kernel's schedulers.
    pub named_arms: Vec<String>,
    pub message: Option<String>,
    pub demo: Option<String>,
    /// The directory of the files that are written.
    pub directory: PathBuf,
    /// The files that were written.
    pub written: Vec<PathBuf>,
}

/// Whether the BPF programs are attached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Access {
    Attaching,
    Full,
    /// Only sysfs is available: why, and how to fix it.
    Sysfs(String),
}

#[derive(Clone, Debug, Default)]
pub struct DeviceModel {
    pub disk: Disk,
    /// It appeared after the start.
    pub is_new: bool,
    pub history: VecDeque<Moment>,
    pub seen: Seen,
    /// Losses of the measurement since the start.
    pub quality: Quality,
    /// I/Os that were measured since the start.
    pub ios: u64,
    /// Whether we have changed the device; true if it will be restored.
    pub modified: Option<bool>,
    /// The process whose page is open.
    pub page: Option<Page>,
    /// The rows of Processes, while the device is on the screen.
    pub places: Places,
    pub load: Load,
}

/// One sample, reduced to what the pictures over time need.
#[derive(Clone, Debug)]
pub struct Moment {
    /// Number of its interval in the history, if it was kept.
    pub number: Option<u64>,
    pub time: String,
    pub scheduler: String,
    /// The scheduler was switched, or started anew, in this sample.
    pub is_flip: bool,
    pub is_settling: bool,
    pub column: Option<HeatColumn>,
    pub jain_device_time: Option<f64>,
    /// The share of the time with an I/O in flight.
    pub busy_share: f64,
    pub seconds: f64,
    /// Up to here, see [`DeviceModel`].
    pub quality: Quality,
    pub ios: u64,
    /// The largest shares of the device's time, with the row's name.
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
    /// Whose I/O is compared.
    Whose {
        parts: Vec<(PartName, bool)>,
        row: usize,
    },
    Filter,
    /// Whether to end, while something is changed or recorded.
    Quit,
    /// The result of a switch.
    Flipped(Flip),
}

#[derive(Clone, Debug)]
pub struct TableView {
    pub sort: Sort,
    pub reversed: bool,
    pub filter: String,
    /// The row where the cursor was last; the chosen process may have moved to another.
    pub row: usize,
    /// None: the first row, whatever it is.
    pub chosen: Option<RowId>,
    pub is_open: bool,
    /// The user's columns, by their names; empty: as many as fit.
    pub columns: Vec<&'static str>,
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

#[derive(Clone, Debug)]
pub struct CompareView {
    pub stage: ShownStage,
    pub scope: Scope,
    pub statistic: Statistic,
    /// Index into the arms seen.
    pub reference: usize,
    pub is_overlaid: bool,
    pub row: usize,
    /// The pictures show the I/O of these programs beside each other, at most four; where there are none, that of the whole device.
    pub whose: Vec<PartName>,
}

impl CompareView {
    /// The metric of the table, with its name in iosched-ab.
    pub fn metric(&self) -> String {
        metric(self.stage, self.scope, self.statistic)
    }
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
            keys: Keymap::default(),
            axis: None,
            interval,
            access: Access::Attaching,
            notes: Vec::new(),
            devices: devices.collect(),
            selected: 0,
            is_selected: false,
            frozen: None,
            last: None,
            kept: Buffer::default(),
            has_history: true,
            fold: Fold::default(),
            replay: None,
            rotating: None,
            dialog: None,
            table: TableView {
                sort: Sort::Ios,
                reversed: false,
                filter: String::new(),
                row: 0,
                chosen: None,
                is_open: false,
                columns: Vec::new(),
                by_cgroup: false,
            },
            compare: CompareView {
                stage: ShownStage::Wait,
                scope: Scope::Reads,
                statistic: Statistic::Mean,
                reference: 0,
                is_overlaid: false,
                row: 0,
                whose: Vec::new(),
            },
            help_row: 0,
            disk_row: 0,
            named_arms: Vec::new(),
            message: None,
            demo: None,
            directory: PathBuf::new(),
            written: Vec::new(),
        }
    }

    /// As they were, if the screen is frozen.
    pub fn shown_devices(&self) -> &[DeviceModel] {
        let frozen = self.frozen.as_ref();
        frozen.map_or(&self.devices, |frozen| &frozen.devices)
    }

    /// The device on the screen.
    pub fn device(&self) -> &DeviceModel {
        &self.shown_devices()[self.selected]
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

    /// Labels of the arms that can be switched to.
    pub fn arms(&self) -> Vec<String> {
        if !self.named_arms.is_empty() {
            return self.named_arms.clone();
        }
        let queue = self.queue();
        queue
            .map(|queue| queue.available.clone())
            .unwrap_or_default()
    }

    /// Labels of the arms that can take turns, and whether they do unless the user says otherwise. The first is the
    /// settings in force; the same scheduler with the kernel's defaults is an arm of its own.
    pub fn arms_of_rotation(&self) -> Vec<(String, bool)> {
        let active = self.queue().map(|queue| queue.active.as_str());
        let present = active.map(present_label);
        let others = self
            .arms()
            .into_iter()
            .filter(|arm| Some(arm) != present.as_ref());
        let others = others.map(|arm| {
            let is_default_of_active = self.named_arms.is_empty() && Some(&*arm) == active;
            (arm, !is_default_of_active)
        });
        let present = present.clone().map(|label| (label, true));
        present.into_iter().chain(others).collect()
    }

    fn queue(&self) -> Option<&State> {
        let sample = self.last.as_ref()?.devices.get(self.selected)?;
        sample.queue.as_ref()
    }
}
