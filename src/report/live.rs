//! One interval of `iosched stat`, as it stands in its JSON Lines. Every other output is made from it. Pure.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::histogram::Histogram;
use crate::snapshot::{Edges, Interval, Merges, Op, OwnerNumbers, Quality, Stage};

pub const SCHEMA_VERSION: u32 = 1;

/// Latency of the requests that completed in the interval. Nanoseconds; null where nothing was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Latency {
    pub count: u64,
    pub mean_ns: Option<f64>,
    pub p50_ns: Option<f64>,
    pub p99_ns: Option<f64>,
    pub max_ns: Option<f64>,
}

impl Latency {
    fn of(histogram: &Histogram, mean_ns: Option<f64>, max_ns: Option<f64>) -> Self {
        Latency {
            count: histogram.count(),
            mean_ns,
            p50_ns: histogram.quantile_ns(0.5),
            p99_ns: histogram.quantile_ns(0.99),
            max_ns,
        }
    }

    /// Of a device's histogram: mean and maximum to within its cells (1.6 %).
    pub fn of_device(histogram: &Histogram) -> Self {
        let last = histogram.counts().iter().rposition(|&count| count > 0);
        let max = last.map(|cell| histogram.layout().upper_ns(cell) as f64);
        Self::of(histogram, histogram.mean_ns(), max)
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LiveOp {
    pub op: Op,
    pub ios: u64,
    pub iops: f64,
    pub bytes: u64,
    pub bytes_per_s: f64,
    /// Q2D; where the kernel does not tell Q2G, see `queue_wait_is_g2d`.
    pub queue_wait: Latency,
    /// Q2G, the part of the queue wait before the request existed.
    pub q2g: Latency,
    /// G2D, the part after it.
    pub g2d: Latency,
    /// D2C.
    pub device: Latency,
    /// Q2C.
    pub total: Latency,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LiveDevice {
    pub device: String,
    /// As sysfs says at the end of the interval; null if the device has gone.
    pub scheduler: Option<String>,
    pub hardware_depth: Option<u32>,
    pub iops: f64,
    pub bytes_per_s: f64,
    /// Reads and writes together.
    pub queue_wait: Latency,
    pub device_time: Latency,
    pub merges: Merges,
    /// Operations with at least one completed request.
    pub ops: Vec<LiveOp>,
    pub edges: Edges,
    pub quality: Quality,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LiveProcess {
    pub device: String,
    /// Null for `other`, the processes for which the table had no room, and for a row that adds up a cgroup.
    pub pid: Option<u32>,
    pub comm: String,
    pub is_kernel_thread: bool,
    pub cgroup_id: u64,
    pub cgroup: Option<String>,
    pub reads: u64,
    pub writes: u64,
    pub flushes: u64,
    pub discards: u64,
    pub others: u64,
    /// All completed requests.
    pub ios: u64,
    pub iops: f64,
    pub bytes: u64,
    pub bytes_per_s: f64,
    /// Of reads and writes.
    pub queue_wait: Latency,
    pub device_time: Latency,
    pub merges: Merges,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LiveRecord {
    pub schema_version: u32,
    /// End of the interval, RFC 3339.
    pub time: String,
    pub interval_s: f64,
    /// This kernel does not show when a bio was queued: queue waits are G2D alone.
    pub queue_wait_is_g2d: bool,
    pub devices: Vec<LiveDevice>,
    /// The busiest first.
    pub processes: Vec<LiveProcess>,
}

/// What sysfs adds to the counts of a device.
#[derive(Clone, Debug, Default)]
pub struct DeviceState {
    pub scheduler: Option<String>,
    pub hardware_depth: Option<u32>,
}

/// Which processes to list.
pub trait Selection {
    fn keeps(&self, owner: &OwnerNumbers) -> bool;
    fn cgroup_path(&self, id: u64) -> Option<String>;
}

pub fn record(
    interval: &Interval,
    time: String,
    queue_wait_is_g2d: bool,
    states: &[DeviceState],
    selection: &dyn Selection,
) -> LiveRecord {
    let seconds = interval.duration_s();
    let wait = if queue_wait_is_g2d {
        Stage::G2d
    } else {
        Stage::Q2d
    };
    let devices = interval
        .devices
        .iter()
        .zip(states)
        .map(|(numbers, state)| {
            let data = [Op::Read, Op::Write];
            let ios: u64 = numbers.ops.iter().map(|op| op.ios).sum();
            let bytes: u64 = numbers.ops.iter().map(|op| op.bytes).sum();
            LiveDevice {
                device: numbers.name.clone(),
                scheduler: state.scheduler.clone(),
                hardware_depth: state.hardware_depth,
                iops: ios as f64 / seconds,
                bytes_per_s: bytes as f64 / seconds,
                queue_wait: Latency::of_device(&numbers.stage(wait, &data)),
                device_time: Latency::of_device(&numbers.stage(Stage::D2c, &data)),
                merges: numbers.merges,
                ops: numbers
                    .ops
                    .iter()
                    .filter(|op| op.ios > 0 || op.q2c.count() > 0)
                    .map(|op| LiveOp {
                        op: op.op,
                        ios: op.ios,
                        iops: op.ios as f64 / seconds,
                        bytes: op.bytes,
                        bytes_per_s: op.bytes as f64 / seconds,
                        queue_wait: Latency::of_device(op.stage(wait)),
                        q2g: Latency::of_device(&op.q2g),
                        g2d: Latency::of_device(&op.g2d),
                        device: Latency::of_device(&op.d2c),
                        total: Latency::of_device(&op.q2c),
                    })
                    .collect(),
                edges: numbers.edges,
                quality: numbers.quality,
            }
        })
        .collect();
    let kept = interval
        .owners
        .iter()
        .filter(|owner| selection.keeps(owner));
    let mut processes: Vec<LiveProcess> = kept
        .map(|owner| process(owner, seconds, selection))
        .collect();
    processes.sort_by_key(|process| (std::cmp::Reverse(process.ios), process.pid));
    LiveRecord {
        schema_version: SCHEMA_VERSION,
        time,
        interval_s: seconds,
        queue_wait_is_g2d,
        devices,
        processes,
    }
}

fn process(owner: &OwnerNumbers, seconds: f64, selection: &dyn Selection) -> LiveProcess {
    let both = |pair: &[Histogram; 2]| {
        let mut sum = pair[0].clone();
        let _ = sum.merge(&pair[1]); // the layouts are the same by construction
        sum
    };
    let data = &owner.ops[..2];
    let mean = |sum: u64, count: u64| (count > 0).then(|| sum as f64 / count as f64);
    let longest = |values: [Option<u64>; 2]| values.into_iter().flatten().max().map(|ns| ns as f64);
    let (q2d, d2c) = (both(&owner.q2d), both(&owner.d2c));
    LiveProcess {
        device: owner.key.device.clone(),
        pid: Some(owner.key.tgid).filter(|&pid| pid > 0),
        comm: owner.comm.clone(),
        is_kernel_thread: owner.is_kernel_thread,
        cgroup_id: owner.key.cgroup_id,
        cgroup: selection.cgroup_path(owner.key.cgroup_id),
        reads: owner.ops[Op::Read as usize].ios,
        writes: owner.ops[Op::Write as usize].ios,
        flushes: owner.ops[Op::Flush as usize].ios,
        discards: owner.ops[Op::Discard as usize].ios,
        others: owner.ops[Op::Other as usize].ios,
        ios: owner.ios(),
        iops: owner.ios() as f64 / seconds,
        bytes: owner.bytes(),
        bytes_per_s: owner.bytes() as f64 / seconds,
        queue_wait: Latency::of(
            &q2d,
            mean(data.iter().map(|op| op.q2d_sum_ns).sum(), q2d.count()),
            longest([data[0].q2d_max_ns, data[1].q2d_max_ns]),
        ),
        device_time: Latency::of(
            &d2c,
            mean(data.iter().map(|op| op.d2c_sum_ns).sum(), d2c.count()),
            longest([data[0].d2c_max_ns, data[1].d2c_max_ns]),
        ),
        merges: owner.merges,
    }
}
