//! The probe: BPF programs attached for a set of devices, read as [`Snapshot`]s. The only user of `iosched-bpf`.

use std::time::Duration;

use anyhow::Result;
use iosched_bpf::{
    Config, LATENCIES, Latency, NotPermitted, OPS, Target, Tracer, device_stats, owner,
};
use rustix::time::{ClockId, clock_gettime};

use crate::device::Device;
use crate::failure::Failure;
use crate::histogram::{DEVICE, Histogram, OWNER};
use crate::snapshot::{DeviceNumbers, Merges, Op, OwnerKey, OwnerNumbers, OwnerOp, Snapshot};

/// Owners kept apart: 7.6 KB each.
const OWNERS: u32 = 2048;
/// What the arrays of all devices together may take; above it CPUs share copies.
const DEVICE_BYTES: usize = 64 << 20;

pub struct Probe {
    tracer: Tracer,
    devices: Vec<String>,
    histograms: Vec<Wide>,
    owners: Vec<[Wide; 4]>,
}

impl Probe {
    /// Attaches to `devices`. `deepest` is the largest `nr_requests` that is going to be set, 0 if none is.
    pub fn attach(devices: &[Device], deepest: u32) -> Result<Probe> {
        let config = Config {
            targets: devices
                .iter()
                .map(|device| target(device, deepest))
                .collect(),
            owners: OWNERS,
            shards: shards(devices.len()),
        };
        Ok(Probe {
            tracer: Tracer::attach(config).map_err(refused)?,
            devices: devices.iter().map(|device| device.name.clone()).collect(),
            histograms: vec![Wide::new(DEVICE.cells); devices.len() * OPS * LATENCIES],
            owners: Vec::new(),
        })
    }

    /// What this kernel cannot tell.
    pub fn notes(&self) -> Vec<String> {
        self.tracer.abilities().notes()
    }

    /// Whether Q2G and so Q2D are measured here; else the queue wait is G2D.
    pub fn measures_q2g(&self) -> bool {
        let abilities = self.tracer.abilities();
        abilities.bio_queue.is_some() && abilities.task_storage
    }

    pub fn memory_bytes(&self) -> u64 {
        self.tracer.memory_bytes()
    }

    /// Everything counted so far. Cells are 32 bits wide in the kernel and widened here: call at least once in
    /// four billion I/Os.
    pub fn snapshot(&mut self) -> Result<Snapshot> {
        let raw = Raw::read(&self.tracer, self.devices.len());
        let devices = (0..self.devices.len())
            .map(|slot| self.device(slot, &raw))
            .collect::<Result<_>>()?;
        Ok(Snapshot {
            time_ns: raw.time_ns,
            devices,
            owners: self.owner_numbers(&raw.owners)?,
            skipped: self.tracer.skipped()?,
        })
    }

    fn device(&mut self, slot: usize, raw: &Raw) -> Result<DeviceNumbers> {
        let mut numbers = DeviceNumbers::new(&self.devices[slot]);
        for stats in &raw.stats[slot] {
            add_counters(&mut numbers, stats);
        }
        for (index, op) in numbers.ops.iter_mut().enumerate() {
            let mut widened = |latency: Latency| -> Vec<u64> {
                let row = histogram_row(slot, index, latency);
                self.histograms[row].advance(&raw.cells[row]).to_vec()
            };
            let direct = widened(Latency::Q2dDirect);
            let mut q2g = widened(Latency::Q2gWaited);
            q2g[0] += direct.iter().sum::<u64>();
            let g2d = sum(
                &direct,
                &sum(&widened(Latency::G2dWaited), &widened(Latency::G2dAlone)),
            );
            let q2d = sum(&direct, &widened(Latency::Q2dWaited));
            op.q2g = Histogram::from_counts(DEVICE, q2g)?;
            op.g2d = Histogram::from_counts(DEVICE, g2d)?;
            op.q2d = Histogram::from_counts(DEVICE, q2d)?;
            op.d2c = Histogram::from_counts(DEVICE, widened(Latency::D2c))?;
            op.q2c = Histogram::from_counts(DEVICE, widened(Latency::Q2c))?;
        }
        Ok(numbers)
    }

    fn owner_numbers(&mut self, rows: &[owner]) -> Result<Vec<OwnerNumbers>> {
        let fresh = || std::array::from_fn(|_| Wide::new(OWNER.cells));
        self.owners
            .resize_with(self.owners.len().max(rows.len()), fresh);
        rows.iter()
            .zip(&mut self.owners)
            .map(|(row, wide)| {
                let mut histogram = |place: usize, cells: &[u32]| {
                    Histogram::from_counts(OWNER, wide[place].advance(cells).to_vec())
                };
                let q2d = [
                    histogram(0, &row.q2d[0].cells)?,
                    histogram(1, &row.q2d[1].cells)?,
                ];
                let d2c = [
                    histogram(2, &row.d2c[0].cells)?,
                    histogram(3, &row.d2c[1].cells)?,
                ];
                Ok(owner_of(row, &self.devices, q2d, d2c))
            })
            .collect()
    }
}

/// The kernel's numbers, copied in one go before anything is made of them: they go on counting.
struct Raw {
    time_ns: u64,
    /// By slot, one record per shard.
    stats: Vec<Vec<device_stats>>,
    /// By [`histogram_row`].
    cells: Vec<Vec<u32>>,
    owners: Vec<owner>,
}

impl Raw {
    fn read(tracer: &Tracer, slots: usize) -> Raw {
        let time_ns = monotonic_ns();
        let stats = (0..slots)
            .map(|slot| tracer.device_stats(slot).collect())
            .collect();
        let owners = tracer.owners().map(|(_, row)| row).collect();
        let mut cells = Vec::with_capacity(slots * OPS * LATENCIES);
        for slot in 0..slots {
            for op in 0..OPS {
                cells.extend(Latency::ALL.map(|latency| tracer.histogram(slot, op, latency)));
            }
        }
        Raw {
            time_ns,
            stats,
            cells,
            owners,
        }
    }
}

fn histogram_row(slot: usize, op: usize, latency: Latency) -> usize {
    (slot * OPS + op) * LATENCIES + latency as usize
}

fn add_counters(numbers: &mut DeviceNumbers, stats: &device_stats) {
    for (op, counters) in numbers.ops.iter_mut().zip(stats.op) {
        op.ios += counters.ios;
        op.bytes += counters.bytes;
    }
    numbers.merges.back += stats.back_merges;
    numbers.merges.front += stats.front_merges;
    numbers.merges.rq += stats.rq_merges;
    let edges = &mut numbers.edges;
    edges.errors += stats.errors;
    edges.requeues += stats.requeues;
    edges.partial_completions += stats.partial_completions;
    edges.passthrough += stats.passthrough;
    edges.flush_requests += stats.flush_requests;
    let quality = &mut numbers.quality;
    quality.lost += stats.lost;
    quality.evicted += stats.evicted;
    quality.negative += stats.negative;
    quality.started_late += stats.started_late;
    quality.unseen += stats.unseen;
    quality.unissued += stats.unissued;
    quality.owner_overflow += stats.owner_overflow;
}

fn owner_of(
    row: &owner,
    devices: &[String],
    q2d: [Histogram; 2],
    d2c: [Histogram; 2],
) -> OwnerNumbers {
    let is_other = row.key.tgid == 0;
    let name: Vec<u8> = row
        .comm
        .iter()
        .map(|&byte| byte.cast_unsigned())
        .take_while(|&byte| byte != 0)
        .collect();
    OwnerNumbers {
        key: OwnerKey {
            device: if is_other {
                String::new()
            } else {
                devices[row.key.slot as usize].clone()
            },
            tgid: row.key.tgid,
            start_ns: row.key.start_ns,
            cgroup_id: row.key.cgroup_id,
        },
        comm: if is_other {
            "other".to_owned()
        } else {
            String::from_utf8_lossy(&name).into_owned()
        },
        is_kernel_thread: row.flags & 1 != 0,
        ops: Op::ALL
            .iter()
            .map(|&op| {
                let counters = &row.op[op as usize];
                OwnerOp {
                    ios: counters.ios,
                    bytes: counters.bytes,
                    waits: counters.waits,
                    q2d_sum_ns: counters.q2d_ns,
                    d2c_sum_ns: counters.d2c_ns,
                    q2c_sum_ns: counters.q2c_ns,
                    q2d_max_ns: Some(counters.q2d_max_ns).filter(|&ns| ns > 0),
                    d2c_max_ns: Some(counters.d2c_max_ns).filter(|&ns| ns > 0),
                }
            })
            .collect(),
        merges: Merges {
            back: row.back_merges,
            front: row.front_merges,
            rq: row.rq_merges,
        },
        q2d,
        d2c,
    }
}

fn sum(a: &[u64], b: &[u64]) -> Vec<u64> {
    a.iter().zip(b).map(|(a, b)| a + b).collect()
}

/// Widens the kernel's 32-bit cells, which may wrap.
#[derive(Clone)]
struct Wide {
    last: Vec<u32>,
    total: Vec<u64>,
}

impl Wide {
    fn new(cells: u32) -> Self {
        Wide {
            last: vec![0; cells as usize],
            total: vec![0; cells as usize],
        }
    }

    fn advance(&mut self, cells: &[u32]) -> &[u64] {
        for ((last, total), &cell) in self.last.iter_mut().zip(&mut self.total).zip(cells) {
            *total += u64::from(cell.wrapping_sub(*last));
            *last = cell;
        }
        &self.total
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

fn shards(devices: usize) -> u32 {
    let cpus = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let mut shards = cpus.next_power_of_two().min(8);
    let device_bytes = OPS * LATENCIES * DEVICE.cells as usize * 4;
    while shards > 1 && devices * shards * device_bytes > DEVICE_BYTES {
        shards /= 2;
    }
    shards as u32
}

/// The clock of the kernel side.
pub fn monotonic_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32).as_nanos() as u64
}
/// What is missing, in the place of libbpf's words; those only help who has all rights.
fn refused(error: anyhow::Error) -> anyhow::Error {
    match error.downcast_ref::<NotPermitted>() {
        None => error,
        Some(not_permitted) if !rustix::process::geteuid().is_root() => Failure::refused(
            not_permitted.to_string(),
            "run it with sudo: root, or CAP_BPF and CAP_PERFMON, is needed",
        ),
        Some(not_permitted) => Failure::refused(
            format!("{not_permitted}: {}", not_permitted.log.trim()),
            "the kernel's lockdown mode, or the container that this is in, must allow BPF",
        ),
    }
}
