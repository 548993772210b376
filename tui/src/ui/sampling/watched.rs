//! A device as sysfs shows it at each sample: settings, counters, and the arm that is in force.

use std::time::{Duration, Instant};

use iosched_host::scheduler;
use iosched_host::system::device::{Device, IoStat};
use iosched_result::types::queue::State;

use super::sample::{Counters, Side};

/// Settings are read at this interval; the scheduler at every sample.
const SETTINGS_EVERY: Duration = Duration::from_secs(2);

pub struct Watched {
    pub device: Device,
    /// None if the device was removed.
    pub state: Option<State>,
    read_at: Instant,
    stat: IoStat,
    /// The arm in force: one of our labels, or the scheduler's name.
    pub label: String,
    /// The scheduler that should be active.
    expected: String,
    pub settled_at: Option<Instant>,
    /// We have switched, and the kernel side has not noticed it yet.
    is_switch_due: bool,
}

impl Watched {
    pub fn new(device: Device) -> Self {
        let state = read(&device);
        let active = state
            .as_ref()
            .map(|state| state.active.clone())
            .unwrap_or_default();
        Watched {
            stat: device.io_stat().unwrap_or_default(),
            device,
            state,
            read_at: Instant::now(),
            label: active.clone(),
            expected: active,
            settled_at: None,
            is_switch_due: false,
        }
    }

    /// Reads the state; returns (from, to) if another program has switched.
    pub fn look(&mut self) -> Option<(String, String)> {
        let active = scheduler::choice(&self.device)
            .map(|choice| choice.active)
            .ok();
        let known = self.state.as_ref().map(|state| &state.active);
        if active.as_ref() != known || self.read_at.elapsed() >= SETTINGS_EVERY {
            self.state = read(&self.device);
            self.read_at = Instant::now();
        }
        let active = active?;
        if active == self.expected {
            return None;
        }
        let from = std::mem::replace(&mut self.label, active.clone());
        self.expected.clone_from(&active);
        Some((from, active))
    }

    pub fn counters(&mut self, seconds: f64) -> Counters {
        let Ok(now) = self.device.io_stat() else {
            return Counters::default();
        };
        let before = std::mem::replace(&mut self.stat, now);
        let since = |field: fn(&IoStat) -> u64| field(&now).saturating_sub(field(&before)) as f64;
        let mean = |ticks: f64, ios: f64| (ios > 0.0).then(|| ticks / ios * 1e6);
        let (reads, writes) = (since(|s| s.reads), since(|s| s.writes));
        Counters {
            reads_per_s: reads / seconds,
            writes_per_s: writes / seconds,
            read_bytes_per_s: since(|s| s.read_sectors) * 512.0 / seconds,
            write_bytes_per_s: since(|s| s.write_sectors) * 512.0 / seconds,
            read_mean_ns: mean(since(|s| s.read_ticks_ms), reads),
            write_mean_ns: mean(since(|s| s.write_ticks_ms), writes),
            in_flight: now.in_flight,
            busy_share: (since(|s| s.io_ticks_ms) / 1e3 / seconds).min(1.0),
        }
    }

    /// To be called after a switch: samples count only after `settle`.
    pub fn expect(&mut self, label: &str, settle: Duration) {
        self.state = read(&self.device);
        self.read_at = Instant::now();
        if let Some(state) = &self.state {
            self.expected.clone_from(&state.active);
        }
        label.clone_into(&mut self.label);
        self.settled_at = Some(Instant::now() + settle);
        self.is_switch_due = true;
    }

    /// Which arm the interval from `since` to `now` belongs to.
    pub fn side(&mut self, is_foreign: bool, switches: u64, since: Instant, now: Instant) -> Side {
        if is_foreign {
            self.is_switch_due = false;
            return Side::Disturbed;
        }
        let is_settling = self.settled_at.is_some_and(|at| since < at);
        if self.settled_at.is_some_and(|at| now >= at) {
            self.settled_at = None;
        }
        // The kernel side notices a switch at the first request after it. Switches back and forth between two samples
        // are visible only there.
        let is_ours = std::mem::take(&mut self.is_switch_due);
        if switches > 0 && !is_ours && !is_settling {
            return Side::Disturbed;
        }
        self.is_switch_due = is_ours && switches == 0;
        if is_settling {
            return Side::Settling;
        }
        Side::Of(self.label.clone())
    }
}

/// None if the disk was removed. A loop device stays after `losetup -d`, but has no size, or belongs to another file.
fn read(device: &Device) -> Option<State> {
    let has_size = device.size_bytes().is_ok_and(|bytes| bytes > 0);
    (has_size && device.is_present())
        .then(|| scheduler::read(device).ok())
        .flatten()
}
