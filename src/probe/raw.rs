//! The kernel's numbers, copied in one go before anything is made of them: they go on counting.

use iosched_bpf::{ROWS, Tracer, device_stats, inflight, order_stats, owner, owner_latency};

/// Above so many tags a device's requests under way are not looked through.
const MAX_INFLIGHT: usize = 32_768;
/// Owners' places are handed out in order; the few that two threads fought over are left empty for the time being.
const HOLES: usize = 64;

pub(super) struct RawDevice {
    /// A record per shard.
    pub stats: Vec<device_stats>,
    pub order: Vec<order_stats>,
    /// By row; none where nothing has been counted yet.
    pub cells: Vec<Option<Vec<u32>>>,
    /// None where there are too many tags.
    pub inflight: Option<Vec<inflight>>,
    pub switches: u64,
    pub time_ns: u64,
}

pub(super) struct RawOwner {
    pub index: usize,
    pub row: owner,
    pub latency: Option<Box<owner_latency>>,
}

pub(super) struct Raw {
    /// CLOCK_MONOTONIC.
    pub time_ns: u64,
    pub devices: Vec<RawDevice>,
    pub owners: Vec<RawOwner>,
}

impl Raw {
    /// `high`: above it no owner was seen so far.
    pub fn read(tracer: &Tracer, slots: usize, high: &mut usize) -> Raw {
        let time_ns = super::monotonic_ns();
        let mut devices: Vec<RawDevice> = (0..slots)
            .map(|slot| RawDevice {
                stats: tracer.device_stats(slot).collect(),
                order: tracer.order(slot).collect(),
                cells: vec![None; ROWS],
                inflight: (tracer.inflight_elements(slot) <= MAX_INFLIGHT)
                    .then(|| tracer.inflight(slot).collect()),
                switches: tracer.switches(slot),
                time_ns,
            })
            .collect();
        let owners = read_owners(tracer, high);
        for (slot, device) in devices.iter_mut().enumerate() {
            read_cells(tracer, slot, device);
        }
        Raw {
            time_ns,
            devices,
            owners,
        }
    }
}

fn read_owners(tracer: &Tracer, high: &mut usize) -> Vec<RawOwner> {
    let mut owners = Vec::new();
    let mut holes = 0;
    for index in 0..tracer.owner_count() {
        if index > 0 && !tracer.is_owner(index) {
            holes += usize::from(index > *high);
            if holes > HOLES {
                break;
            }
            continue;
        }
        *high = index.max(*high);
        owners.push(RawOwner {
            index,
            row: tracer.owner(index),
            latency: tracer.owner_latency(index),
        });
    }
    owners
}

/// Only the rows of operations that have been seen: most devices never see most of them.
fn read_cells(tracer: &Tracer, slot: usize, device: &mut RawDevice) {
    for op in 0..iosched_bpf::OPS {
        let is_flush = op == crate::snapshot::Op::Flush as usize;
        let seen = device.stats.iter().any(|stats| {
            stats.op[op].ios > 0 || (is_flush && stats.flush_requests + stats.preflushes > 0)
        });
        if !seen {
            continue;
        }
        for latency in iosched_bpf::Latency::ALL {
            if let Some(row) = iosched_bpf::row(op, latency) {
                device.cells[row] = Some(tracer.histogram(slot, row));
            }
        }
    }
}

/// Widens the kernel's 32-bit cells, which may wrap.
#[derive(Clone)]
pub(super) struct Wide {
    last: Vec<u32>,
    pub total: Vec<u64>,
}

impl Wide {
    pub fn new(cells: u32) -> Self {
        Wide {
            last: vec![0; cells as usize],
            total: vec![0; cells as usize],
        }
    }

    pub fn advance(&mut self, cells: &[u32]) {
        for ((last, total), &cell) in self.last.iter_mut().zip(&mut self.total).zip(cells) {
            *total += u64::from(cell.wrapping_sub(*last));
            *last = cell;
        }
    }
}
