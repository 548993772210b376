//! What the exporter knows: the probe's counts since the start, of disks that come and go.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Result;
use iosched_files::input;
use iosched_host::scheduler;
use iosched_host::system::cgroup::names::Names;
use iosched_host::system::device::{Device, info};
use iosched_measure::probe::{Detail, Probe};
use iosched_result::measured::snapshot::{Interval, Snapshot};
use iosched_result::report::escape;

use super::families::{Disk, Family, Own, View, families};
use super::owners::{Key, Owners, of};

/// Who asks more often gets the same counts again.
const SHORTEST: Duration = Duration::from_millis(100);

pub struct Watch {
    probe: Probe,
    devices: Vec<Device>,
    /// New disks are measured, too.
    takes_all: bool,
    last: Snapshot,
    at: Instant,
    owners: Owners,
    names: RefCell<Names>,
    /// What does not change, by name of the disk.
    known: BTreeMap<String, Disk>,
    kernel: String,
}

impl Watch {
    /// `takes_all`: disks that appear later are measured, too, as far as there is room.
    pub fn begin(devices: Vec<Device>, takes_all: bool, most: usize) -> Result<Watch> {
        let detail = Detail::default();
        let mut probe = if takes_all {
            Probe::attach_with_room(&devices, 0, detail)?
        } else {
            Probe::attach(&devices, 0, detail)?
        };
        let last = probe.snapshot()?;
        let name = rustix::system::uname();
        let known = devices
            .iter()
            .map(|device| (device.name.clone(), about(device)));
        Ok(Watch {
            known: known.collect(),
            probe,
            devices,
            takes_all,
            last,
            at: Instant::now(),
            owners: Owners::new(most),
            names: RefCell::default(),
            kernel: name.release().to_string_lossy().into_owned(),
        })
    }

    pub fn notes(&self) -> Vec<String> {
        self.probe.notes()
    }

    /// Takes the counts up to now. Returns what is to be said.
    pub fn look(&mut self) -> Result<Vec<String>> {
        if self.at.elapsed() < SHORTEST {
            return Ok(Vec::new());
        }
        let begun = Instant::now();
        let now = self.probe.snapshot()?;
        let interval = Interval::between(&self.last, &now)?;
        let names = &self.names;
        let each = interval.owners.iter().map(|owner| {
            let process = owner.key.kind.label(&owner.comm);
            let cgroup = names.borrow_mut().path(owner.key.cgroup_id);
            let key = Key {
                process,
                cgroup: cgroup.unwrap_or_default(),
            };
            (key, of(owner))
        });
        self.owners.add(interval.duration_s(), each);
        self.at = begun;
        self.probe.recycle()?;
        self.probe.reuse(std::mem::replace(&mut self.last, now));
        self.take_new()
    }

    /// A name may belong to another disk by now, which the probe then measures in the place of the first.
    fn take_new(&mut self) -> Result<Vec<String>> {
        let mut news = Vec::new();
        let now = if self.takes_all {
            Device::lowest()?.devices
        } else {
            // A disk that was named may come back.
            let names = self.devices.iter().map(|device| device.name.as_str());
            let names: Vec<String> = names.map(str::to_owned).collect();
            let here = names.iter().filter_map(|name| Device::by_name(name).ok()?);
            here.filter(|device| device.has_requests() && device.size_bytes().unwrap_or(0) > 0)
                .collect()
        };
        for device in now {
            if self.devices.contains(&device) {
                continue;
            }
            let name = escape::line(&device.name);
            if self.probe.add(&device)?.is_some() {
                news.push(format!("{name} was added"));
                self.known.insert(device.name.clone(), about(&device));
            } else {
                news.push(format!(
                    "{name} was added and is not measured: there is no room; restart the exporter to include it"
                ));
            }
            self.devices.retain(|known| known.name != device.name);
            self.devices.push(device);
        }
        Ok(news)
    }

    pub fn families(&self) -> Vec<Family> {
        let present: Vec<&Device> = self.devices.iter().filter(|it| it.is_present()).collect();
        let disks: BTreeMap<&str, Disk> = present
            .into_iter()
            .map(|device| {
                let known = self.known.get(&device.name).cloned().unwrap_or_default();
                (device.name.as_str(), with_state(device, known))
            })
            .collect();
        let of_present = self.last.devices.iter();
        let of_present = of_present.filter_map(|numbers| {
            let disk = disks.get(numbers.name.as_str())?;
            Some((numbers, disk))
        });
        families(&View {
            version: env!("CARGO_PKG_VERSION"),
            kernel: &self.kernel,
            disks: of_present.collect(),
            owners: &self.owners,
            own: self.own(),
        })
    }

    fn own(&self) -> Own {
        let run_time = self.probe.run_time_ns().ok().filter(|ns| *ns > 0);
        let used = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
        Own {
            cpu_s: Some(used.tv_sec as f64 + used.tv_nsec as f64 / 1e9),
            resident_bytes: resident_bytes(),
            bpf_s: run_time.map(|ns| ns as f64 / 1e9),
            probe_bytes: self.probe.memory_bytes(),
        }
    }
}

fn about(device: &Device) -> Disk {
    let info = info::of(device, None);
    Disk {
        identity: info.identity,
        model: info.model,
        firmware: info.firmware,
        ..Disk::default()
    }
}

fn with_state(device: &Device, disk: Disk) -> Disk {
    let Ok(state) = scheduler::read(device) else {
        return disk;
    };
    let numeric = state.settings.iter();
    let numeric = numeric.filter_map(|(name, value)| Some((name.clone(), value.parse().ok()?)));
    Disk {
        scheduler: Some(state.active),
        settings: numeric.collect(),
        ..disk
    }
}

const STATM_LIMIT: u64 = 4096;

/// Absent where /proc does not say it.
fn resident_bytes() -> Option<u64> {
    let text = input::read_text(Path::new("/proc/self/statm"), STATM_LIMIT).ok()?;
    let pages: u64 = text.split_whitespace().nth(1)?.parse().ok()?;
    Some(pages * rustix::param::page_size() as u64)
}
