//! The probe: BPF programs attached for a set of devices, read as [`Snapshot`]s. The only user of `iosched-bpf`.

mod locked_memory;
mod numbers;
mod owners;
mod raw;
mod status;
mod wide;

use std::collections::HashMap;
use std::time::Duration;

use anyhow::Result;
use iosched_bpf::{ALL_ROWS, Abilities, Config, NotPermitted, OwnerLatency, Target, Tracer};
use rustix::time::{ClockId, clock_gettime};

pub use iosched_bpf::Detail;

use crate::device::Device;
use crate::failure::Failure;
use crate::histogram::{DEVICE, Histogram, Layout, OWNER};
use crate::snapshot::{DeviceNumbers, Op, Snapshot};
use locked_memory::Refusal;
use owners::{Context, Owners};
use raw::RawDevice;
use wide::Wide;

/// Owners kept apart: 1.3 KB each.
const OWNERS: u32 = 16_384;
/// Of these so many have histograms: 7.2 KB each, and 18.2 KB more with all stages.
const OWNER_HISTOGRAMS: u32 = 2048;
/// What the arrays of all devices together may take; above it CPUs share copies.
const DEVICE_BYTES: usize = 64 << 20;
const MAX_SHARDS: usize = 64;
/// What the requests under way may take, of all devices.
const MAX_INFLIGHT_BYTES: u64 = 1 << 30;

pub struct Probe {
    tracer: Tracer,
    devices: Vec<String>,
    detail: Detail,
    histograms: Vec<Wide>,
    owners: Owners,
    snapshots: u64,
    knows_all_processes: bool,
}

impl Probe {
    /// Attaches to `devices`. `deepest` is the largest `nr_requests` that is going to be set, 0 if none is.
    pub fn attach(devices: &[Device], deepest: u32, detail: Detail) -> Result<Probe> {
        let layout = layout(devices.len(), iosched_bpf::rows(detail));
        let config = Config {
            targets: devices
                .iter()
                .map(|device| target(device, deepest))
                .collect(),
            owners: OWNERS,
            owner_histograms: OWNER_HISTOGRAMS,
            shards: shards(
                devices.len(),
                iosched_bpf::rows(detail),
                iosched_bpf::possible_cpus(),
            ),
            coarse: layout == OWNER,
            detail,
        };
        is_bounded(&config)?;
        Ok(Probe {
            tracer: load(config)?,
            devices: devices.iter().map(|device| device.name.clone()).collect(),
            detail,
            histograms: vec![Wide::new(layout); devices.len() * ALL_ROWS],
            owners: Owners::default(),
            snapshots: 0,
            knows_all_processes: owners::knows_all_processes(),
        })
    }

    /// What this kernel cannot tell.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = self.tracer.abilities().notes();
        if !self.knows_all_processes {
            notes.push(
                "in a PID namespace of its own: the places of processes that end are not given to others".to_owned(),
            );
        }
        notes
    }

    pub fn detail(&self) -> Detail {
        self.detail
    }

    /// Whether Q2G and so Q2D are measured here; else the queue wait is G2D.
    pub fn measures_q2g(&self) -> bool {
        self.tracer.abilities().bio_queue.is_some() && !self.detail.without_q2g
    }

    /// Memory of the kernel that the probe takes, fixed at the attach.
    pub fn memory_bytes(&self) -> u64 {
        self.tracer.memory_bytes()
    }

    /// What its programs ran so far, while `kernel.bpf_stats_enabled` was on.
    pub fn run_time_ns(&self) -> Result<u64> {
        self.tracer.run_time_ns()
    }

    /// Everything counted so far. A device's cells are 32 bits wide in the kernel and widened here: call at least once in
    /// four billion I/Os.
    pub fn snapshot(&mut self) -> Result<Snapshot> {
        self.snapshot_with(true)
    }

    /// The same but for the owners' histograms, which are most of the work when many are busy. An interval has them
    /// only if both of its snapshots do.
    pub fn snapshot_of_counters(&mut self) -> Result<Snapshot> {
        self.snapshot_with(false)
    }

    /// An old snapshot's memory goes into the next one.
    pub fn reuse(&mut self, old: Snapshot) {
        self.owners.reuse(old.owners, old.lines);
    }

    fn snapshot_with(&mut self, has_histograms: bool) -> Result<Snapshot> {
        let time_ns = monotonic_ns();
        let devices: Vec<RawDevice> = (0..self.devices.len())
            .map(|slot| RawDevice::read(&self.tracer, slot))
            .collect();
        let context = Context {
            time_ns,
            has_histograms,
            latencies: OwnerLatency::counted(self.detail).collect(),
            detail: self.detail,
            in_flight: numbers::in_flight_of_owners(&devices),
            knows_in_flight: devices.iter().map(|raw| raw.inflight.is_some()).collect(),
            oldest_ns: if self.detail.fairness {
                let under_way = devices.iter().filter_map(|raw| raw.inflight.as_ref());
                owners::oldest_ns(under_way.flatten())
            } else {
                HashMap::new()
            },
        };
        let (owners, lines) = self.owners.read(&self.tracer, &context);
        self.snapshots += 1;
        Ok(Snapshot {
            time_ns,
            number: self.snapshots,
            devices: devices
                .iter()
                .enumerate()
                .map(|(slot, raw)| self.device(slot, raw))
                .collect::<Result<_>>()?,
            owners,
            lines,
            skipped: self.tracer.skipped()?,
        })
    }

    /// Requests that were asked for before now and are still under way belong to no side of a comparison from here on.
    pub fn begin_epoch(&self) {
        let now = monotonic_ns();
        for slot in 0..self.devices.len() {
            self.tracer.begin_epoch(slot, now);
        }
    }

    /// Gives the places of owners that have gone to new ones. What they did must have been read: their numbers vanish.
    /// Returns how many; none where the processes' numbers are not the kernel's.
    pub fn recycle(&mut self) -> Result<usize> {
        if !self.knows_all_processes {
            return Ok(0);
        }
        self.owners.recycle(&self.tracer, self.devices.len())
    }

    /// The last issues of a device, the oldest first; none unless order is measured.
    pub fn dispatches(&self, device: &str) -> Vec<crate::order::Dispatch> {
        let slot = self.devices.iter().position(|name| name == device);
        slot.map_or_else(Vec::new, |slot| {
            numbers::dispatches(self.tracer.dispatches(slot))
        })
    }

    fn device(&mut self, slot: usize, raw: &RawDevice) -> Result<DeviceNumbers> {
        let rows = &mut self.histograms[slot * ALL_ROWS..][..ALL_ROWS];
        raw.advance(&self.tracer, slot, self.detail.asked, rows);
        let is_errno = self.tracer.abilities().status_is_errno;
        let mut numbers = numbers::device(&self.devices[slot], raw, is_errno);
        for (index, op) in numbers.ops.iter_mut().enumerate() {
            let nothing = Histogram::new(rows[0].total.layout());
            let of =
                |latency| iosched_bpf::row(index, latency).map_or(&nothing, |row| &rows[row].total);
            numbers::fill_stages(op, &of)?;
            if self.detail.asked && Op::DATA.contains(&op.op) {
                op.asked = Some(numbers::asked(&of));
            }
        }
        Ok(numbers)
    }
}

fn target(device: &Device, deepest: u32) -> Target {
    let nr_requests = device
        .optional_attribute("queue/nr_requests")
        .and_then(|text| text.parse().ok());
    let tags = device
        .hardware_depth()
        .map(|hardware| hardware.depth + device.reserved_tags());
    // A scheduler brings twice the driver's tags, at least 256 of them, unless told otherwise.
    let depth = [nr_requests, tags, Some(deepest), Some(256)]
        .into_iter()
        .flatten()
        .max()
        .unwrap_or(256);
    Target {
        major: device.major,
        minor: device.minor,
        hardware_queues: device.hardware_queues().max(1) as u32,
        depth,
    }
}

/// As many copies of a device's numbers as there are CPUs, as far as the memory for them goes.
fn shards(devices: usize, rows: usize, cpus: usize) -> u32 {
    let mut shards = cpus.next_power_of_two().min(MAX_SHARDS);
    while shards > 1 && devices * shards * histogram_bytes(DEVICE, rows) > DEVICE_BYTES {
        shards /= 2;
    }
    shards as u32
}

/// What follows the requests under way has room.
fn is_bounded(config: &Config) -> Result<()> {
    let bytes = config.inflight_bytes();
    if bytes <= MAX_INFLIGHT_BYTES {
        return Ok(());
    }
    Err(Failure::refused(
        format!(
            "to follow the requests of {} disks takes {} MiB of the kernel's memory, by their hardware queues and \
             tags; the limit is {} MiB",
            config.targets.len(),
            bytes >> 20,
            MAX_INFLIGHT_BYTES >> 20
        ),
        "name fewer disks",
    ))
}

/// The owners' layout for hundreds of devices, in a quarter of the memory.
fn layout(devices: usize, rows: usize) -> Layout {
    if devices * histogram_bytes(DEVICE, rows) > DEVICE_BYTES {
        OWNER
    } else {
        DEVICE
    }
}

/// Of a device.
const fn histogram_bytes(layout: Layout, rows: usize) -> usize {
    rows * layout.cells as usize * 4
}

/// One of those that the probe uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tracepoint {
    pub name: &'static str,
    pub is_there: bool,
    /// Without it nothing can be measured.
    pub is_needed: bool,
}

/// What the running kernel has of them, as the loader sees it.
pub fn tracepoints() -> Result<Vec<Tracepoint>> {
    let found = Abilities::of_running_kernel()?;
    let tracepoint = |name, is_there, is_needed| Tracepoint {
        name,
        is_there,
        is_needed,
    };
    Ok(vec![
        tracepoint("block_bio_queue", found.bio_queue.is_some(), false),
        tracepoint("block_bio_backmerge", found.back_merge.is_some(), false),
        tracepoint("block_bio_frontmerge", found.front_merge.is_some(), false),
        tracepoint("block_rq_merge", found.rq_merge.is_some(), false),
        tracepoint("block_io_start", found.io_start.is_some(), false),
        tracepoint("block_rq_insert", found.insert.is_some(), false),
        tracepoint("block_rq_issue", found.issue.is_some(), true),
        tracepoint("block_rq_requeue", found.requeue.is_some(), false),
        tracepoint("block_rq_complete", found.complete.is_some(), true),
        tracepoint(
            found.writeback_dirty.unwrap_or("writeback_dirty_folio"),
            found.writeback_dirty.is_some(),
            false,
        ),
    ])
}

/// Bytes that may be locked, where the kernel counts the probe's maps as such.
pub fn memlock_bytes() -> Option<u64> {
    let found = Abilities::of_running_kernel().ok()?;
    found.counts_locked_memory.then(locked_memory::limit_bytes)
}

/// Whether this kernel tells since when programs wait; see [`Detail::asked`].
pub fn can_tell_since_when() -> bool {
    let has = |found: Abilities| {
        found.bio_queue.is_some() && (found.syscalls || found.uring_submit.is_some())
    };
    Abilities::of_running_kernel().is_ok_and(has)
}

/// The clock of the kernel side.
pub fn monotonic_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32).as_nanos() as u64
}

/// Once more with a higher limit, where that may have been too low.
fn load(config: Config) -> Result<Tracer> {
    let error = match Tracer::attach(config.clone()) {
        Ok(tracer) => return Ok(tracer),
        Err(error) => error,
    };
    let Some(refused) = error.downcast_ref::<NotPermitted>() else {
        return Err(error);
    };
    if refused.locked_bytes.is_some() && locked_memory::raise() {
        return Tracer::attach(config).map_err(explain);
    }
    Err(explain(error))
}

fn explain(error: anyhow::Error) -> anyhow::Error {
    match error.downcast_ref::<NotPermitted>() {
        None => error,
        Some(refused) => Refusal::of(refused).explain(refused),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::{Kind, kind_of};

    #[test]
    fn the_memory_of_a_thousand_devices_is_bounded_whatever_the_cpus() {
        for cpus in [1, 2, 3, 64, 256, 4096] {
            for devices in 1..=1000 {
                let rows = iosched_bpf::rows(Detail::default());
                let layout = layout(devices, rows);
                let shards = shards(devices, rows, cpus) as usize;
                assert!(shards.is_power_of_two() && shards <= MAX_SHARDS);
                let bytes = devices * shards * histogram_bytes(layout, rows);
                // The coarse layout, one copy each: 83 KiB a device.
                let most = if layout == OWNER {
                    90 << 20
                } else {
                    DEVICE_BYTES
                };
                assert!(bytes <= most, "{devices} devices, {cpus} CPUs: {bytes}");
            }
        }
        assert_eq!(shards(1, iosched_bpf::rows(Detail::default()), 256), 64);
    }

    fn config(disks: usize, hardware_queues: u32, depth: u32) -> Config {
        let target = Target {
            major: 8,
            minor: 0,
            hardware_queues,
            depth,
        };
        Config {
            targets: vec![target; disks],
            owners: OWNERS,
            owner_histograms: OWNER_HISTOGRAMS,
            shards: 1,
            coarse: false,
            detail: Detail::default(),
        }
    }

    #[test]
    fn what_follows_requests_grows_with_the_tags_and_has_a_limit() {
        assert_eq!(config(1, 1, 256).inflight_bytes(), 257 * 64);
        for (disks, hardware_queues) in [(1, 1), (1000, 1), (60, 256)] {
            is_bounded(&config(disks, hardware_queues, 1023)).expect("room");
        }
        let refused = is_bounded(&config(1000, 256, 1023)).unwrap_err();
        let says = "of 1000 disks takes 16000 MiB of the kernel's memory";
        assert!(refused.to_string().contains(says), "{refused}");
        assert_eq!(kind_of(&refused), Kind::Refused);
    }
}
