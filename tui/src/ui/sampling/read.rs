//! Reads intervals from the probe and sysfs: counts between two moments, assigned to an arm.

use std::cell::RefCell;
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result};
use iosched_host::system::cgroup::names::Names;
use iosched_host::system::device::Device;
use iosched_measure::history::frame::{DeviceFrame, Flip, Frame, Group, MOST_DISPATCHES, Newcomer};
use iosched_measure::probe::Probe;
use iosched_result::measured::order::Dispatch;
use iosched_result::measured::snapshot::{Interval, OwnerNumbers, Snapshot};
use iosched_result::stat::Selection;
use iosched_result::why::RoundWhy;

use super::blame::Blame;
use super::devices;
use super::request::Wanted;
use super::rotation::TimedRotation;
use super::watched::Watched;

/// How often weights are read again and ended processes are removed.
const TIDY_EVERY: Duration = Duration::from_secs(2);

pub struct Reader {
    pub by_cgroup: bool,
    /// The last rotation of each device, kept for its export.
    pub finished: Vec<TimedRotation>,
    probe: Option<Probe>,
    earlier: Option<Snapshot>,
    earlier_at: Instant,
    tidied_at: Instant,
    devices: Vec<Watched>,
    /// The user named the disks: others that appear are not watched.
    were_named: bool,
    /// Disks that appeared after the start, for which the probe has no room.
    newcomers: Vec<Watched>,
    /// Disks that appeared and are measured from the next interval on, with their place; or why one is not.
    added: Vec<Result<(usize, Device)>>,
    names: Everyone,
    blame: Blame,
}

impl Reader {
    pub fn new(
        devices: Vec<Device>,
        were_named: bool,
        mut probe: Option<Probe>,
        labels: Vec<(u64, String)>,
    ) -> Self {
        let earlier = probe.as_mut().and_then(|probe| probe.snapshot().ok());
        Reader {
            by_cgroup: false,
            finished: Vec::new(),
            probe,
            earlier,
            earlier_at: Instant::now(),
            tidied_at: Instant::now(),
            devices: devices.into_iter().map(Watched::new).collect(),
            were_named,
            newcomers: Vec::new(),
            added: Vec::new(),
            names: Everyone {
                labels,
                ..Everyone::default()
            },
            blame: Blame::default(),
        }
    }

    /// The disks that the next interval has, and this one has not, or not yet under their name; or why one is not measured.
    pub fn take_added(&mut self) -> Vec<Result<(usize, Device)>> {
        std::mem::take(&mut self.added)
    }

    pub fn device(&self, index: usize) -> &Device {
        &self.devices[index].device
    }

    pub fn label(&self, index: usize) -> &str {
        &self.devices[index].label
    }

    /// The earliest moment at which a new scheduler has settled.
    pub fn settled_at(&self) -> Option<Instant> {
        self.devices
            .iter()
            .filter_map(|watched| watched.settled_at)
            .min()
    }

    /// From the last snapshot on, the probe keeps the longest times, independent of samples. There is only one such
    /// window.
    pub fn begin_window(&mut self, has_blame: bool) -> Option<Snapshot> {
        if let Some(probe) = &mut self.probe {
            probe.begin_window();
            if has_blame {
                self.blame.begin_window(probe);
            }
        }
        self.earlier.clone()
    }

    /// Who waited behind whom on this disk since [`Reader::begin_window`], if that was kept.
    pub fn end_blame(&mut self, index: usize) -> Result<Option<RoundWhy>> {
        match &mut self.probe {
            Some(probe) => self.blame.end_window(probe, &self.devices[index]),
            None => Ok(None),
        }
    }

    pub fn last_snapshot(&self) -> Option<Snapshot> {
        self.earlier.clone()
    }

    /// The probe and the device, for a rotation.
    pub fn probe(&self, index: usize) -> Result<(&Probe, &Device)> {
        let probe = self
            .probe
            .as_ref()
            .context("a comparison needs the BPF programs, which are not attached")?;
        Ok((probe, &self.devices[index].device))
    }

    /// Knows the weights of control groups.
    pub fn names(&self) -> &dyn Selection {
        &self.names
    }

    /// To be called after a switch: I/O in flight belongs to no side, and new I/O counts only after `settle`.
    pub fn expect(&mut self, index: usize, label: &str, settle: Duration) {
        if let Some(probe) = &self.probe {
            probe.begin_epoch();
        }
        self.devices[index].expect(label, settle);
    }

    /// The interval since the last call. The switches of other programs are among its flips.
    pub fn read(&mut self, wanted: Wanted) -> Result<Frame> {
        let started = Instant::now();
        let interval = self.interval(wanted)?;
        let elapsed = started.duration_since(self.earlier_at).as_secs_f64();
        let time = humantime::format_rfc3339_millis(SystemTime::now()).to_string();
        let mut flips = Vec::new();
        let mut devices = Vec::with_capacity(self.devices.len());
        for (index, watched) in self.devices.iter_mut().enumerate() {
            let foreign = watched.look();
            let switches = interval
                .as_ref()
                .map_or(0, |interval| interval.devices[index].edges.switches);
            let side = watched.side(foreign.is_some(), switches, self.earlier_at, started);
            flips.extend(foreign.map(|(from, to)| Flip {
                device: index,
                time: time_of_day(),
                from,
                to,
                by_us: false,
                switch_ns: None,
                changes: Vec::new(),
            }));
            devices.push(DeviceFrame {
                queue: watched.state.clone(),
                side,
                counters: watched.counters(elapsed.max(1e-6)),
                dispatches: Vec::new(),
                why: None,
            });
        }
        if let (Some(probe), Some(interval)) = (&self.probe, &interval)
            && wanted.order
        {
            for (device, watched) in devices.iter_mut().zip(&self.devices) {
                device.dispatches = probe.dispatches(&watched.device.name);
                let its = |dispatch: &Dispatch| dispatch.issue_ns >= interval.start_ns;
                device.dispatches.retain(its);
                let more = device.dispatches.len().saturating_sub(MOST_DISPATCHES);
                device.dispatches.drain(..more);
            }
        }
        let whys = self
            .blame
            .take(&mut self.probe, &self.devices, wanted.why)?;
        for (device, why) in devices.iter_mut().zip(whys) {
            device.why = Some(Box::new(why));
        }
        let owners = interval.as_ref().map(|interval| &*interval.owners);
        let groups = Group::by_cgroup(owners.unwrap_or_default(), &self.names);
        let newcomers = self.newcomers(elapsed.max(1e-6));
        if self.tidied_at.elapsed() >= TIDY_EVERY {
            self.tidy()?;
        }
        self.earlier_at = started;
        let seconds = interval.as_ref().map_or(elapsed, Interval::duration_s);
        Ok(Frame {
            time,
            interval_s: seconds.max(1e-6),
            intervals: 1,
            measures_q2g: self.probe.as_ref().is_some_and(Probe::measures_q2g),
            interval,
            devices,
            groups,
            flips,
            newcomers,
        })
    }

    /// Sysfs counters of the disks that appeared after the start.
    fn newcomers(&mut self, seconds: f64) -> Vec<Newcomer> {
        let newcomers = self.newcomers.iter_mut();
        let counted = newcomers.filter_map(|watched| {
            watched.look();
            let counters = watched.counters(seconds);
            // It may be gone again.
            let scheduler = watched.state.as_ref()?.active.clone();
            Some(Newcomer {
                name: watched.device.name.clone(),
                scheduler,
                counters,
            })
        });
        counted.collect()
    }

    /// All disks; if the user named them, those of their names that are gone, and may have come back.
    fn disks_now(&self) -> Option<Vec<Device>> {
        if !self.were_named {
            return Some(Device::lowest().ok()?.devices);
        }
        let gone = self
            .devices
            .iter()
            .filter(|watched| watched.state.is_none());
        let names = gone.map(|watched| &watched.device.name);
        let found = names.filter_map(|name| {
            let devices = Device::measured(name).ok()?.devices;
            devices.into_iter().find(|device| device.name == *name)
        });
        Some(found.collect())
    }

    fn look_for_newcomers(&mut self) {
        let Some(now) = self.disks_now() else {
            return;
        };
        (self.newcomers).retain(|watched| now.contains(&watched.device));
        let known = self.devices.iter().chain(&self.newcomers);
        let known: Vec<Device> = known.map(|watched| watched.device.clone()).collect();
        for device in now {
            if known.contains(&device) {
                continue;
            }
            match self.add(&device) {
                Ok(Some(place)) => self.added.push(Ok((place, device))),
                other => {
                    // Listed all the same, and not tried again.
                    self.added.extend(other.err().map(Err));
                    self.newcomers.push(Watched::new(device));
                }
            }
        }
    }

    /// Watches a disk that appeared. Its place, which is that of a disk of the same name that is gone; None if the probe
    /// has no room.
    fn add(&mut self, device: &Device) -> Result<Option<usize>> {
        let place = if let Some(probe) = &mut self.probe {
            let Some((place, numbers)) = probe.add(device)? else {
                return Ok(None);
            };
            // The next interval begins at a snapshot that lacks it.
            let earlier = self.earlier.iter_mut().map(|earlier| &mut earlier.devices);
            for devices in earlier.filter(|devices| devices.len() == place) {
                devices.push(numbers.clone());
            }
            place
        } else {
            let mut watched = self.devices.iter();
            let same_name = watched.position(|watched| watched.device.name == device.name);
            same_name.unwrap_or(self.devices.len())
        };
        devices::put(&mut self.devices, place, Watched::new(device.clone()));
        Ok(Some(place))
    }

    /// Work that needs a file per process or group, and so is not done at every sample.
    fn tidy(&mut self) -> Result<()> {
        self.tidied_at = Instant::now();
        self.names.groups.borrow_mut().forget_weights();
        self.look_for_newcomers();
        if let Some(probe) = &mut self.probe {
            probe.recycle()?;
        }
        Ok(())
    }

    fn interval(&mut self, wanted: Wanted) -> Result<Option<Interval>> {
        let Some(probe) = &mut self.probe else {
            return Ok(None);
        };
        let later = if wanted.owner_histograms {
            probe.snapshot()?
        } else {
            probe.snapshot_of_counters()?
        };
        let interval = match &self.earlier {
            Some(earlier) => Some(Interval::between(earlier, &later)?),
            None => None,
        };
        if let Some(old) = self.earlier.replace(later) {
            probe.reuse(old);
        }
        Ok(interval)
    }
}

pub fn time_of_day() -> String {
    let now = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    now.get(11..19).unwrap_or_default().to_owned()
}

/// Selects every process, and names its control group.
#[derive(Default)]
struct Everyone {
    groups: RefCell<Names>,
    /// Labels of our own control groups, by id.
    labels: Vec<(u64, String)>,
}

impl Selection for Everyone {
    fn keeps(&self, _: &OwnerNumbers) -> bool {
        true
    }

    fn cgroup_path(&self, id: u64) -> Option<String> {
        let label = self.labels.iter().find(|(known, _)| *known == id);
        label
            .map(|(_, label)| label.clone())
            .or_else(|| self.groups.borrow_mut().path(id))
    }

    fn cgroup_weight(&self, id: u64, device: &str) -> f64 {
        self.groups.borrow_mut().weight(id, device)
    }
}
