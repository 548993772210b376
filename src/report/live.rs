//! One interval of `iosched stat`, as it stands in its JSON Lines. Every other output is made from it. Pure.

use std::borrow::Cow;
use std::collections::HashMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::fairness::{Fairness, Flow, fairness, weight_of_ioprio};
use crate::histogram::Histogram;
use crate::snapshot::{
    DeviceNumbers, DeviceOp, Edges, Flushes, InFlight, Interval, Merges, Op, OwnerKind,
    OwnerNumbers, OwnerOp, OwnerStages, Quality, Stage, StatusCount, by_cgroup,
};

pub use super::live_asked::LiveAsked;
pub use super::live_order::{Burst, HardwareQueue, LiveOrder};

pub const SCHEMA_VERSION: u32 = 2;
/// In docs/.
pub const SCHEMA: &str = "stat-2.schema.json";

/// Latency of the requests that completed in the interval. Nanoseconds; null where nothing was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Latency {
    /// Requests (in those per bio, bios) that were measured.
    pub count: u64,
    /// Arithmetic mean: exact for `queue_wait` and `device_time` of a process, else to within the histogram's cells.
    pub mean_ns: Option<f64>,
    /// Median; not above `max_ns`.
    pub p50_ns: Option<f64>,
    /// 99th percentile; not above `max_ns`.
    pub p99_ns: Option<f64>,
    /// Fewer than 100 of those measured lie beyond the median, so that single ones move it; text marks it with `~`.
    #[serde(default)]
    pub p50_is_of_few: bool,
    /// The same of the 99th percentile: fewer than 10,000 were measured.
    #[serde(default)]
    pub p99_is_of_few: bool,
    /// The longest: exact where the mean is, else the end of its histogram's cell.
    pub max_ns: Option<f64>,
}

impl Latency {
    fn nothing() -> Self {
        Latency {
            count: 0,
            mean_ns: None,
            p50_ns: None,
            p99_ns: None,
            p50_is_of_few: false,
            p99_is_of_few: false,
            max_ns: None,
        }
    }

    fn of(histogram: &Histogram, mean_ns: Option<f64>, max_ns: Option<f64>) -> Self {
        // A quantile is known to a cell, and the longest may be exact: none is above it.
        let quantile = |p| {
            let ns = histogram.quantile_ns(p)?;
            Some(max_ns.map_or(ns, |max| ns.min(max)))
        };
        let is_of_few = |p| !histogram.is_empty() && !histogram.supports_quantile(p);
        Latency {
            count: histogram.count(),
            mean_ns,
            p50_ns: quantile(0.5),
            p99_ns: quantile(0.99),
            p50_is_of_few: is_of_few(0.5),
            p99_is_of_few: is_of_few(0.99),
            max_ns,
        }
    }

    /// Mean and maximum to within the histogram's cells (a device's: 1.6 %, an owner's: 6.3 %).
    pub fn of_cells(histogram: &Histogram) -> Self {
        let max_ns = histogram.end_ns().map(|end| end as f64);
        Self::of(histogram, histogram.mean_ns(), max_ns)
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LiveOp {
    pub op: Op,
    /// Completed requests.
    pub ios: u64,
    /// Completed requests per second.
    pub iops: f64,
    /// Bytes of these requests.
    pub bytes: u64,
    /// Bytes of these requests per second.
    pub bytes_per_s: f64,
    /// Bios in these requests.
    pub bios: u64,
    /// Q2D; where the kernel does not tell Q2G, see `queue_wait_is_g2d`.
    pub queue_wait: Latency,
    /// Q2G, the part of the queue wait before the request existed.
    pub q2g: Latency,
    /// G2D, the part after it.
    pub g2d: Latency,
    /// I2D, the part of G2D in the scheduler; of requests that were issued in the interval, and only if asked for.
    pub i2d: Latency,
    /// D2C.
    pub device: Latency,
    /// Q2C.
    pub total: Latency,
    /// `queue_wait` of bios instead of requests; nothing where that is G2D.
    pub queue_wait_per_bio: Latency,
    /// D2C of bios instead of requests.
    pub device_per_bio: Latency,
    /// Q2C of bios instead of requests.
    pub total_per_bio: Latency,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LiveDevice {
    /// The kernel's name: `sda`.
    pub device: String,
    /// As sysfs says at the end of the interval; null if the device has gone.
    pub scheduler: Option<String>,
    /// Requests that the device takes at once; null where the kernel does not say.
    pub hardware_depth: Option<u32>,
    /// Completed requests of all operations per second.
    pub iops: f64,
    /// Bytes of these requests per second.
    pub bytes_per_s: f64,
    /// Q2D of reads and writes together; see `queue_wait_is_g2d`.
    pub queue_wait: Latency,
    /// D2C of reads and writes together.
    pub device_time: Latency,
    /// Reads and writes that waited, on average over the interval: the sum of Q2D over its length. Where hardly any
    /// waits there is nothing for a scheduler to decide.
    pub mean_waiting: f64,
    /// Reads and writes at the device, on average over the interval: the sum of D2C over its length.
    pub mean_at_device: f64,
    /// Share of reads and writes whose queue wait was more than a tenth of the median device time.
    pub waited_share: Option<f64>,
    /// How long threads with I/O under way stood still for a request of the next (a tag, a throttle), over the
    /// interval's length; above 1 where several did. What they would have asked for meanwhile is in no queue wait.
    pub stalled_share: f64,
    /// Completed reads and writes of which the queue wait is not known, and which waited for no flush.
    pub without_queue_wait: u64,
    /// At the end of the interval; null for a device with too many tags to look through.
    pub in_flight: Option<InFlight>,
    pub merges: Merges,
    /// Share of the bios with data that joined a request; null where there were none.
    pub merge_ratio: Option<f64>,
    /// Bytes of a completed read or write on average, at its issue; null where none completed.
    pub mean_request_bytes: Option<f64>,
    /// Bios in a completed read or write on average, at least 1; null where none completed.
    pub bios_per_request: Option<f64>,
    /// Operations with at least one completed request.
    pub ops: Vec<LiveOp>,
    /// Synchronous writes that are no journal's (`flushes.journal_writes`): the data that an fsync writes, and direct I/O.
    pub data_writes: u64,
    /// Sum of their D2C.
    pub data_write_ns: u64,
    pub flushes: Flushes,
    pub edges: Edges,
    /// Failed requests by status.
    pub statuses: Vec<StatusCount>,
    pub quality: Quality,
    /// Of reads and writes together; only with `--detail asked`.
    pub asked: Option<LiveAsked>,
    /// Only with `--detail order`.
    pub order: Option<LiveOrder>,
    /// Of the processes (or cgroups) of this interval; only with `--detail fairness`.
    pub fairness: Option<Fairness>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LiveFairness {
    /// Of the device's time, its part.
    pub device_time_share: Option<f64>,
    /// Of the bytes of all on the device, its part.
    pub bytes_share: Option<f64>,
    /// Share of the interval with a request under way.
    pub backlogged_share: f64,
    /// The longest time in which a request waited and none was issued.
    pub starvation_max_ns: Option<u64>,
    /// Such times of 100 ms and more, that ended. Counted by cells: to 25 %.
    pub starved_100ms: u64,
    /// Those of 1 s and more of them.
    pub starved_1s: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LiveProcess {
    /// The kernel's name of the disk; empty for `other`, which has those of all.
    pub device: String,
    /// What kind of owner it is; of a cgroup's sum `process`.
    pub kind: OwnerKind,
    /// Null where no single process is meant: `other`, for whom the table had no room, a workqueue, a cgroup's sum.
    pub pid: Option<u32>,
    /// The command's name, of the kernel's threads in brackets; of a cgroup's sum how many owners are in it.
    pub comm: String,
    /// Some of the I/O came through io_uring's worker threads.
    pub has_io_workers: bool,
    /// I/O priority: class (0 none, 1 real-time, 2 best-effort, 3 idle) and level.
    pub ioprio: (u8, u8),
    /// Of the cgroup that pays for the I/O, the kernel's number.
    pub cgroup_id: u64,
    /// Its path below the root of the cgroups; null where it is not known.
    pub cgroup: Option<String>,
    /// Completed reads.
    pub reads: u64,
    /// Completed writes, synchronous and asynchronous.
    pub writes: u64,
    /// Those of them that nobody waits for: writeback.
    pub async_writes: u64,
    /// Flushes that it waited for; several may share a command.
    pub flushes: u64,
    /// Completed discards.
    pub discards: u64,
    /// Operations on zones, writes of zeroes and secure erases; `/sys/block/X/stat` counts them as writes.
    pub others: u64,
    /// All of these, and passthrough where it is measured.
    pub ios: u64,
    /// Bios in these requests, at least one each; those of others that joined its requests are among them.
    pub bios: u64,
    /// `ios` per second.
    pub iops: f64,
    /// Bytes of `ios`.
    pub bytes: u64,
    /// Bytes of `ios` per second.
    pub bytes_per_s: f64,
    /// Q2D of reads and writes. Percentiles are null where the table has no room for this process' histograms.
    pub queue_wait: Latency,
    /// D2C of reads and writes; percentiles as of `queue_wait`.
    pub device_time: Latency,
    /// As of the device, of its threads.
    pub stalled_share: f64,
    /// As of the device.
    pub without_queue_wait: u64,
    /// What its writes waited for the flushes before and after their data, and all the time of its flushes without data.
    pub flush_wait_ns: u64,
    /// Bios of its own that joined a request, whosever; and requests of its own that joined another.
    pub merges: Merges,
    /// Share of its bios with data that joined a request; null where there were none.
    pub merge_ratio: Option<f64>,
    /// Bytes of its completed reads and writes on average, at their issue; null where none completed.
    pub mean_request_bytes: Option<f64>,
    /// Bios in its completed reads and writes on average, those of others that joined included; null without any.
    pub bios_per_request: Option<f64>,
    /// Its requests at the end of the interval, which need not be of this interval; null where its disk has too many tags to
    /// look through.
    #[serde(default)]
    pub in_flight: Option<InFlight>,
    /// Only with `--detail fairness`.
    pub fairness: Option<LiveFairness>,
    /// Only with `--detail stages`, and null where the table has no room for this process' histograms.
    pub stages: Option<LiveStages>,
    /// Only with `--detail asked`, and null where the table has no room for this process' histograms.
    pub asked: Option<LiveAsked>,
}

/// The stages of a process' reads and writes beside `queue_wait` and `device_time`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LiveStages {
    /// Q2G, the part of the queue wait before the request existed; of those requests of which it is known.
    pub q2g: Latency,
    /// G2D, the part after it.
    pub g2d: Latency,
    /// I2D, the part of G2D in the scheduler; of requests that went through it and were issued, not all completed yet.
    pub i2d: Latency,
    /// Q2C.
    pub total: Latency,
}

impl LiveStages {
    fn of(stages: &OwnerStages) -> Self {
        let latency = |stage| Latency::of_cells(&both(stage));
        LiveStages {
            q2g: latency(&stages.q2g),
            g2d: latency(&stages.g2d),
            i2d: latency(&stages.i2d),
            total: latency(&stages.q2c),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LiveRecord {
    /// Of this form; raised when a field goes or changes its meaning.
    pub schema_version: u32,
    /// End of the interval, RFC 3339.
    pub time: String,
    /// Its length in seconds.
    pub interval_s: f64,
    /// This kernel does not show when a bio was queued: queue waits are G2D alone.
    pub queue_wait_is_g2d: bool,
    /// Those watched, with or without I/O.
    pub devices: Vec<LiveDevice>,
    /// Who did I/O or has some under way, the busiest first.
    pub processes: Vec<LiveProcess>,
}

/// What others add to the counts of a device.
#[derive(Clone, Debug, Default)]
pub struct DeviceState {
    pub scheduler: Option<String>,
    pub hardware_depth: Option<u32>,
    /// The last successive issues; none unless order is measured.
    pub burst: Option<Burst>,
}

/// What the rows of a record are of. Shares and fairness compare control groups where those are the rows, else processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rows {
    Processes,
    Cgroups,
    Nothing,
}

/// Which processes to list, and what is known of their control groups.
pub trait Selection {
    fn rows(&self) -> Rows {
        Rows::Processes
    }

    fn keeps(&self, _: &OwnerNumbers) -> bool {
        true
    }
    fn cgroup_path(&self, _id: u64) -> Option<String> {
        None
    }
    /// What the cgroup is due of the device, 100 where nothing is set.
    fn cgroup_weight(&self, _id: u64, _device: &str) -> f64 {
        100.0
    }
}

/// All of them, and nothing.
impl Selection for () {}

pub fn record(
    interval: &Interval,
    time: String,
    queue_wait_is_g2d: bool,
    states: &[DeviceState],
    selection: &dyn Selection,
) -> LiveRecord {
    let seconds = interval.duration_s();
    let kept = interval
        .owners
        .iter()
        .filter(|owner| selection.keeps(owner));
    let (all_groups, groups);
    let (flows, rows): (&[OwnerNumbers], Vec<&OwnerNumbers>) = match selection.rows() {
        Rows::Processes => (&interval.owners, kept.collect()),
        Rows::Cgroups => {
            (all_groups, groups) = (by_cgroup(&interval.owners), by_cgroup(kept));
            (&all_groups, groups.iter().collect())
        }
        Rows::Nothing => (&interval.owners, Vec::new()),
    };
    let devices = interval
        .devices
        .iter()
        .zip(states)
        .map(|(numbers, state)| {
            let owners: Vec<&OwnerNumbers> = flows
                .iter()
                .filter(|owner| owner.key.device == numbers.name)
                .collect();
            LiveDevice {
                fairness: fairness_of(&owners, seconds, selection),
                ..device(numbers, state, seconds, queue_wait_is_g2d)
            }
        })
        .collect();
    let wholes = wholes(&interval.owners);
    let mut processes: Vec<LiveProcess> = rows
        .into_iter()
        .map(|owner| process(owner, wholes[&*owner.key.device], seconds, selection))
        .collect();
    processes.sort_by_cached_key(|process| (std::cmp::Reverse(process.ios), process.pid));
    LiveRecord {
        schema_version: SCHEMA_VERSION,
        time,
        interval_s: seconds,
        queue_wait_is_g2d,
        devices,
        processes,
    }
}

fn ratio(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| part / whole)
}

fn device(
    numbers: &DeviceNumbers,
    state: &DeviceState,
    seconds: f64,
    queue_wait_is_g2d: bool,
) -> LiveDevice {
    let wait = if queue_wait_is_g2d {
        Stage::G2d
    } else {
        Stage::Q2d
    };
    let data = || Op::DATA.iter().map(|op| &numbers.ops[*op as usize]);
    let sum = |part: fn(&DeviceOp) -> u64| data().map(part).sum::<u64>();
    let merging = numbers.merging();
    let sync = &numbers.ops[Op::WriteSync as usize];
    let queue_wait = numbers.stage(wait, &Op::DATA);
    let device_time = numbers.stage(Stage::D2c, &Op::DATA);
    let median = device_time.quantile_ns(0.5);
    LiveDevice {
        device: numbers.name.clone(),
        scheduler: state.scheduler.clone(),
        hardware_depth: state.hardware_depth,
        iops: numbers.ios() as f64 / seconds,
        bytes_per_s: numbers.bytes() as f64 / seconds,
        queue_wait: Latency::of_cells(&queue_wait),
        device_time: Latency::of_cells(&device_time),
        mean_waiting: sum(|op| op.q2d_sum_ns) as f64 / (seconds * 1e9),
        mean_at_device: sum(|op| op.d2c_sum_ns) as f64 / (seconds * 1e9),
        waited_share: median.and_then(|median| queue_wait.share_above((median / 10.0) as u64)),
        stalled_share: numbers.stalled_ns as f64 / (seconds * 1e9),
        // Words are read moments apart.
        without_queue_wait: sum(|op| op.ios)
            .saturating_sub(sum(|op| op.waits) + numbers.flushes.before_data),
        in_flight: numbers.in_flight,
        merges: numbers.merges,
        merge_ratio: merging.merge_ratio,
        mean_request_bytes: merging.mean_request_bytes,
        bios_per_request: merging.bios_per_request,
        ops: numbers
            .ops
            .iter()
            .filter(|op| op.ios > 0 || op.q2c.count() > 0)
            .map(|op| live_op(op, numbers, wait, seconds))
            .collect(),
        // Words are read moments apart.
        data_writes: sync.ios.saturating_sub(numbers.flushes.journal_writes),
        data_write_ns: sync.d2c_sum_ns.saturating_sub(numbers.flushes.journal_ns),
        flushes: numbers.flushes,
        edges: numbers.edges,
        statuses: numbers.statuses.clone(),
        quality: numbers.quality,
        asked: numbers.asked(&Op::DATA).as_ref().map(LiveAsked::of_device),
        order: numbers
            .order
            .as_ref()
            .map(|order| LiveOrder::of(order, state.burst.clone())),
        fairness: None,
    }
}

fn live_op(op: &DeviceOp, numbers: &DeviceNumbers, wait: Stage, seconds: f64) -> LiveOp {
    let per_bio = |stage: Stage| match numbers.stage_per_bio(stage, &[op.op]) {
        Some(histogram) => Latency::of_cells(&histogram),
        None => Latency::nothing(),
    };
    LiveOp {
        op: op.op,
        ios: op.ios,
        iops: op.ios as f64 / seconds,
        bytes: op.bytes,
        bytes_per_s: op.bytes as f64 / seconds,
        bios: op.bios,
        queue_wait: Latency::of_cells(op.stage(wait)),
        q2g: Latency::of_cells(&op.q2g),
        g2d: Latency::of_cells(&op.g2d),
        i2d: Latency::of_cells(&op.i2d),
        device: Latency::of_cells(&op.d2c),
        total: Latency::of_cells(&op.q2c),
        queue_wait_per_bio: per_bio(wait),
        device_per_bio: per_bio(Stage::D2c),
        total_per_bio: per_bio(Stage::Q2c),
    }
}

/// Of one device's owners, and only if it was measured.
fn fairness_of(
    owners: &[&OwnerNumbers],
    seconds: f64,
    selection: &dyn Selection,
) -> Option<Fairness> {
    let flows: Option<Vec<Flow>> = owners
        .iter()
        .map(|owner| {
            let measured = owner.fairness.as_ref()?;
            let key = &owner.key;
            let cgroup = selection.cgroup_weight(key.cgroup_id, &key.device) / 100.0;
            Some(Flow {
                bytes: owner.bytes() as f64,
                ios: owner.ios() as f64,
                device_time_ns: measured.device_time_ns as f64,
                backlogged: measured.backlogged_ns as f64 / (seconds * 1e9),
                weight: weight_of_ioprio(owner.ioprio).map(|weight| weight * cgroup),
            })
        })
        .collect();
    flows
        .filter(|flows| !flows.is_empty())
        .map(|flows| fairness(&flows))
}

/// Of all owners of a device, kept or not: what their shares are of.
#[derive(Clone, Copy, Default)]
struct Whole {
    device_time_ns: u64,
    bytes: u64,
}

fn wholes(owners: &[OwnerNumbers]) -> HashMap<&str, Whole> {
    let mut wholes: HashMap<&str, Whole> = HashMap::new();
    for owner in owners {
        let whole = wholes.entry(&owner.key.device).or_default();
        whole.device_time_ns += owner.fairness.as_ref().map_or(0, |f| f.device_time_ns);
        whole.bytes += owner.bytes();
    }
    wholes
}

fn live_fairness(owner: &OwnerNumbers, whole: Whole, seconds: f64) -> Option<LiveFairness> {
    let own = owner.fairness.as_ref()?;
    let at_least = |ns: u64| {
        let first = own.starvation.layout().index(ns);
        let long = own.starvation.cells().filter(|cell| cell.0 >= first);
        long.map(|cell| cell.1).sum()
    };
    Some(LiveFairness {
        device_time_share: ratio(own.device_time_ns as f64, whole.device_time_ns as f64),
        bytes_share: ratio(owner.bytes() as f64, whole.bytes as f64),
        backlogged_share: own.backlogged_ns as f64 / (seconds * 1e9),
        starvation_max_ns: own.starvation_max_ns,
        starved_100ms: at_least(100_000_000),
        starved_1s: at_least(1_000_000_000),
    })
}

/// Of reads and of writes; most processes do one of them.
pub(super) fn both([reads, writes]: &[Histogram; 2]) -> Cow<'_, Histogram> {
    if writes.is_empty() {
        return Cow::Borrowed(reads);
    }
    let mut sum = reads.clone();
    let _ = sum.merge(writes); // the layouts are the same by construction
    Cow::Owned(sum)
}

fn process(
    owner: &OwnerNumbers,
    whole: Whole,
    seconds: f64,
    selection: &dyn Selection,
) -> LiveProcess {
    let data = || Op::DATA.iter().map(|op| owner.op(*op));
    let sum = |part: fn(&OwnerOp) -> u64| data().map(part).sum::<u64>();
    let mean = |sum: u64, count: u64| ratio(sum as f64, count as f64);
    let (ios, waits) = (sum(|op| op.ios), sum(|op| op.waits));
    let merging = owner.merging();
    let async_writes = owner.op(Op::WriteAsync).ios;
    LiveProcess {
        device: owner.key.device.clone(),
        kind: owner.key.kind,
        pid: Some(owner.key.tgid).filter(|&pid| pid > 0),
        comm: owner.label(),
        has_io_workers: owner.has_io_workers,
        ioprio: owner.ioprio,
        cgroup_id: owner.key.cgroup_id,
        cgroup: selection.cgroup_path(owner.key.cgroup_id),
        reads: owner.op(Op::Read).ios,
        writes: owner.op(Op::WriteSync).ios + async_writes,
        async_writes,
        flushes: owner.op(Op::Flush).ios,
        discards: owner.op(Op::Discard).ios,
        others: owner.op(Op::Zone).ios + owner.op(Op::Other).ios,
        ios: owner.ios(),
        bios: owner.ops.iter().map(|op| op.bios).sum(),
        iops: owner.ios() as f64 / seconds,
        bytes: owner.bytes(),
        bytes_per_s: owner.bytes() as f64 / seconds,
        queue_wait: Latency {
            count: waits,
            ..Latency::of(
                &both(&owner.q2d),
                mean(sum(|op| op.q2d_sum_ns), waits),
                data()
                    .filter_map(|op| op.q2d_max_ns)
                    .max()
                    .map(|ns| ns as f64),
            )
        },
        device_time: Latency {
            count: ios,
            ..Latency::of(
                &both(&owner.d2c),
                mean(sum(|op| op.d2c_sum_ns), ios),
                data()
                    .filter_map(|op| op.d2c_max_ns)
                    .max()
                    .map(|ns| ns as f64),
            )
        },
        stalled_share: owner.stalled_ns as f64 / (seconds * 1e9),
        without_queue_wait: ios.saturating_sub(waits + owner.waited_for_flush),
        flush_wait_ns: owner.ops.iter().map(|op| op.flush_sum_ns).sum(),
        merges: owner.merges,
        merge_ratio: merging.merge_ratio,
        mean_request_bytes: merging.mean_request_bytes,
        bios_per_request: merging.bios_per_request,
        in_flight: owner.in_flight,
        fairness: live_fairness(owner, whole, seconds),
        stages: owner.stages.as_ref().map(LiveStages::of),
        asked: owner.asked.as_ref().map(LiveAsked::of_process),
    }
}

#[cfg(test)]
#[path = "live_tests.rs"]
mod tests;
