//! The probe: BPF programs attached for a set of devices, read as [`Snapshot`]s. Only this module loads the programs of
//! `iosched-bpf`.

mod blocked; // threads that wait for a request
mod books; // records of completed requests
mod files; // paths of files
mod in_flight; // requests in flight as records
mod kernel; // tracepoints and limits of the running kernel
mod locked_memory;
mod memory; // memory of the maps
mod numbers;
pub(crate) mod owners;
mod raw;
mod rows; // of owners
mod status;
mod stretch;
mod trace;
mod waits; // what requests waited for

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use iosched_bpf::{Config, NotPermitted, Tracer};
use rustix::time::{ClockId, clock_gettime};

pub use books::converted;
pub use iosched_bpf::Detail;
pub use kernel::{Tracepoint, can_tell_since_when, memlock_bytes, tracepoints};

use blocked::Waits;
use books::{Bookkeeper, Books};
use iosched_host::system::device::Device;
use iosched_result::measured::ledger::{Ledger, Scope};
use iosched_result::measured::snapshot::{DeviceNumbers, FileKey, Snapshot};
use iosched_result::measured::timeline::{Kept, Timeline};
use iosched_result::why::Requests;
use locked_memory::Refusal;
use memory::{OWNER_HISTOGRAMS, OWNERS};
use owners::{Context, Owners};
use raw::RawDevice;

pub struct Probe {
    /// Ends before the rings that it reads.
    bookkeeper: Bookkeeper,
    tracer: Tracer,
    devices: Vec<String>,
    /// Number of slots; those beyond `devices` are spare.
    slots: usize,
    deepest: u32,
    /// A disk was added since the last call of [`Probe::recycle`].
    has_new: bool,
    detail: Detail,
    owners: Owners,
    snapshots: u64,
    /// Number of the snapshot that began the window.
    window: u64,
    knows_all_processes: bool,
    /// While a trace is taken.
    trace: Option<trace::Begun>,
    /// While a stretch is recorded.
    stretch: Option<stretch::Begun>,
    /// Memory of an old stretch, for reuse.
    spare_requests: Option<Requests>,
}

impl Probe {
    /// Attaches to `devices`. `deepest`: the largest `nr_requests` that will be set, 0 if none.
    pub fn attach(devices: &[Device], deepest: u32, detail: Detail) -> Result<Probe> {
        Probe::attach_with(devices, 0, deepest, detail)
    }

    /// The same with room for disks that are plugged in later.
    pub fn attach_with_room(devices: &[Device], deepest: u32, detail: Detail) -> Result<Probe> {
        let spares = memory::spares(devices.len(), iosched_bpf::possible_cpus());
        Probe::attach_with(devices, spares, deepest, detail)
    }

    fn attach_with(
        devices: &[Device],
        spares: usize,
        deepest: u32,
        detail: Detail,
    ) -> Result<Probe> {
        let cpus = iosched_bpf::possible_cpus();
        let slots = devices.len() + spares;
        let known = devices.iter().map(|device| memory::target(device, deepest));
        let spare = std::iter::repeat_n(memory::spare(cpus), spares);
        let config = Config {
            targets: known.chain(spare).collect(),
            owners: if detail.light { 1 } else { OWNERS },
            shards: memory::shards(slots, cpus),
            ring_records: memory::ring_records(cpus),
            detail,
        };
        match memory::is_bounded(&config) {
            Err(_) if spares > 0 => return Probe::attach_with(devices, 0, deepest, detail),
            bounded => bounded?,
        }
        let mut tracer = retried(|| Tracer::attach(config.clone()))?;
        let rings = tracer.take_rings().context("the rings of a new tracer")?;
        let scope = Scope {
            layout: memory::layout(slots),
            with_q: detail.sees_bios(tracer.abilities()),
            with_asked: detail.asked,
            with_owner_stages: detail.owner_stages,
            owner_rows: OWNER_HISTOGRAMS,
        };
        let kept = Kept {
            order: detail.order,
            fairness: detail.fairness,
        };
        let books = Books::new(
            rings,
            Arc::clone(tracer.in_flight()),
            Ledger::new(slots, scope),
            Timeline::new(slots, kept),
            slots,
        );
        Ok(Probe {
            bookkeeper: Bookkeeper::start(books)?,
            tracer,
            devices: devices.iter().map(|device| device.name.clone()).collect(),
            slots,
            deepest,
            has_new: false,
            detail,
            owners: Owners::default(),
            snapshots: 0,
            window: 0,
            knows_all_processes: owners::knows_all_processes(),
            trace: None,
            stretch: None,
            spare_requests: None,
        })
    }

    /// Measures another disk from now on: in the slot of a disk of the same name, which is gone, or else in a spare one,
    /// after all others. Returns its place among the devices of later snapshots, and its counts so far, with which earlier
    /// snapshots can be completed. None if there is no room for it.
    pub fn add(&mut self, device: &Device) -> Result<Option<(usize, DeviceNumbers)>> {
        let known = self.devices.iter().position(|name| *name == device.name);
        let slot = known.unwrap_or(self.devices.len());
        let target = memory::target(device, self.deepest);
        if slot >= self.slots || !self.tracer.retarget(slot, target)? {
            return Ok(None);
        }
        self.has_new = true;
        if known.is_none() {
            self.devices.push(device.name.clone());
        }
        let raw = RawDevice::read(&self.tracer, slot);
        let mut books = self.bookkeeper.books();
        books.look();
        Ok(Some((slot, self.device(slot, &raw, &mut books))))
    }

    /// Notes on what cannot be measured on this kernel.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = self.tracer.abilities().notes();
        if !self.knows_all_processes {
            notes.push(
                "iosched runs in its own PID namespace: rows of processes that have ended cannot be reused".to_owned(),
            );
        }
        notes
    }

    pub fn detail(&self) -> Detail {
        self.detail
    }

    /// Whether Q2G, and thus Q2D, is measured; otherwise the queue wait is G2D.
    pub fn measures_q2g(&self) -> bool {
        self.detail.sees_bios(self.tracer.abilities())
    }

    /// Kernel memory of the probe, fixed at the attach.
    pub fn memory_bytes(&self) -> u64 {
        self.tracer.memory_bytes()
    }

    /// Run time of its programs so far, counted while `kernel.bpf_stats_enabled` was on.
    pub fn run_time_ns(&self) -> Result<u64> {
        self.tracer.run_time_ns()
    }

    /// Everything counted so far.
    pub fn snapshot(&mut self) -> Result<Snapshot> {
        self.snapshot_with(true)
    }

    /// The same without the owners' histograms, which are most of the work if many owners are busy. An interval has
    /// them only if both of its snapshots do.
    pub fn snapshot_of_counters(&mut self) -> Result<Snapshot> {
        self.snapshot_with(false)
    }

    /// Reuses the memory of an old snapshot for the next one.
    pub fn reuse(&mut self, old: Snapshot) {
        self.owners.reuse(old.owners, old.lines);
    }

    fn snapshot_with(&mut self, has_histograms: bool) -> Result<Snapshot> {
        self.bookkeeper.ensure_runs()?;
        // So that few records are left to enter after this moment.
        self.bookkeeper.books().enter();
        let time_ns = monotonic_ns();
        let devices: Vec<RawDevice> = (0..self.devices.len())
            .map(|slot| RawDevice::read(&self.tracer, slot))
            .collect();
        let waits = Waits::of(self.tracer.blocked()?, time_ns);
        let mut books = self.bookkeeper.books();
        books.look();
        let context = Context {
            time_ns,
            has_histograms,
            latencies: books.ledger().owner_latencies().collect(),
            detail: self.detail,
            in_flight: numbers::in_flight_of_owners(&devices),
            waits,
            told: self.told(),
            knows_in_flight: devices.iter().map(|raw| raw.inflight.is_some()).collect(),
            oldest_ns: if self.detail.fairness {
                let under_way = devices.iter().filter_map(|raw| raw.inflight.as_ref());
                owners::oldest_ns(under_way.flatten())
            } else {
                HashMap::new()
            },
        };
        let mut numbers = Vec::with_capacity(devices.len());
        for (slot, raw) in devices.iter().enumerate() {
            let mut device = self.device(slot, raw, &mut books);
            context.waits.add_to(&mut device, slot, time_ns);
            numbers.push(device);
        }
        let (owners, lines) = self.owners.read(&self.tracer, &mut books, &context);
        self.snapshots += 1;
        Ok(Snapshot {
            time_ns,
            number: self.snapshots,
            window: self.window,
            devices: numbers,
            owners,
            lines,
            skipped: self.tracer.skipped()?,
        })
    }

    /// From now until the next window begins, the owners' longest times between the last snapshot and any later one are
    /// exact, no matter which snapshots are taken in between.
    pub fn begin_window(&mut self) {
        self.window = self.snapshots;
        self.owners.begin_window();
    }

    /// Requests that started before now and are still in flight belong to no side of a comparison from here on.
    pub fn begin_epoch(&self) {
        let now = monotonic_ns();
        for slot in 0..self.devices.len() {
            self.tracer.begin_epoch(slot, now);
        }
    }

    /// Gives the rows of owners that have ended to new owners. Read their numbers first: they are lost. Returns the
    /// number of rows; none if PIDs here differ from the kernel's.
    pub fn recycle(&mut self) -> Result<usize> {
        if std::mem::take(&mut self.has_new) {
            self.tracer.resolve_untraced();
        }
        if !self.knows_all_processes {
            return Ok(0);
        }
        let mut books = self.bookkeeper.books();
        self.owners
            .recycle(&self.tracer, &mut books, self.devices.len())
    }

    /// The path of a file when it was first seen; None if it is no regular file, or has no name.
    pub fn file_path(&self, file: &FileKey) -> Option<&str> {
        self.owners.files.path(file)
    }

    /// The last issues of a device, oldest first; empty unless dispatch order is measured.
    pub fn dispatches(&self, device: &str) -> Vec<iosched_result::measured::order::Dispatch> {
        let slot = self.devices.iter().position(|name| name == device);
        slot.map_or_else(Vec::new, |slot| {
            self.bookkeeper.books().timeline.dispatches(slot)
        })
    }

    fn told(&self) -> waits::Told {
        waits::Told::by(self.tracer.abilities(), self.detail)
    }

    fn device(&self, slot: usize, raw: &RawDevice, books: &mut Books) -> DeviceNumbers {
        let is_errno = self.tracer.abilities().status_is_errno;
        let mut numbers = numbers::device(&self.devices[slot], raw, is_errno, self.told());
        books.ledger().add_to_device(slot, &mut numbers);
        numbers.order = books.timeline.order(slot);
        numbers
    }
}

/// The clock that the BPF programs use.
pub fn monotonic_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32).as_nanos() as u64
}

/// Retries with a higher limit if the limit may have been too low.
pub(crate) fn retried<T>(attach: impl Fn() -> Result<T>) -> Result<T> {
    let error = match attach() {
        Ok(attached) => return Ok(attached),
        Err(error) => error,
    };
    let Some(refused) = error.downcast_ref::<NotPermitted>() else {
        return Err(error);
    };
    if refused.locked_bytes.is_some() && locked_memory::raise() {
        return attach().map_err(explain);
    }
    Err(explain(error))
}

fn explain(error: anyhow::Error) -> anyhow::Error {
    match error.downcast_ref::<NotPermitted>() {
        None => error,
        Some(refused) => Refusal::of(refused).explain(refused),
    }
}
