//! One device in one interval of `iosched stat`, as in its JSON. Pure.

use serde::{Deserialize, Serialize};

use super::DeviceState;
use super::asked::LiveAsked;
use super::latency::LatencySummary;
use super::order::LiveOrder;
use crate::measured::fairness::Fairness;
use crate::measured::snapshot::{
    CauseShare, DeviceNumbers, DeviceOp, Edges, Flushes, InFlight, Merges, Op, Quality, Stage,
    StatusCount,
};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
    /// Q2D; on kernels that do not show Q2G it is G2D, see `queue_wait_is_g2d`.
    pub queue_wait: LatencySummary,
    /// Q2G, the part of the queue wait before the request existed.
    pub q2g: LatencySummary,
    /// G2D, the part after it.
    pub g2d: LatencySummary,
    /// I2D, the part of G2D in the scheduler, for requests issued in the interval; only if requested.
    pub i2d: LatencySummary,
    /// D2C.
    pub device: LatencySummary,
    /// Q2C.
    pub total: LatencySummary,
    /// `queue_wait` of bios instead of requests; empty if that is G2D.
    pub queue_wait_per_bio: LatencySummary,
    /// D2C of bios instead of requests.
    pub device_per_bio: LatencySummary,
    /// Q2C of bios instead of requests.
    pub total_per_bio: LatencySummary,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LiveDevice {
    /// Kernel name: `sda`.
    pub device: String,
    /// The scheduler in sysfs at the end of the interval; null if the device is gone.
    pub scheduler: Option<String>,
    /// Requests that the device accepts at once; null if the kernel does not show it.
    pub hardware_depth: Option<u32>,
    /// Completed requests of all operations per second.
    pub iops: f64,
    /// Bytes of these requests per second.
    pub bytes_per_s: f64,
    /// Q2D of reads and writes together; see `queue_wait_is_g2d`.
    pub queue_wait: LatencySummary,
    /// D2C of reads and writes together.
    pub device_time: LatencySummary,
    /// Average number of reads and writes that waited: the sum of Q2D divided by the interval. If hardly any waits,
    /// there is nothing for a scheduler to decide.
    pub mean_waiting: f64,
    /// Average number of reads and writes at the device: the sum of D2C divided by the interval.
    pub mean_at_device: f64,
    /// Share of reads and writes whose queue wait was more than a tenth of the median device time.
    pub waited_share: Option<f64>,
    /// Time that threads with other I/O in flight were blocked until they got a request for the next one (no free tag,
    /// writeback throttling), divided by the interval; above 1 if several threads were blocked at once. I/O that they
    /// could not submit meanwhile appears in no queue wait.
    pub stalled_share: f64,
    /// What all I/Os wait for, the longest first.
    #[serde(default)]
    pub waits: Vec<CauseShare>,
    /// Completed reads and writes whose queue wait is unknown, not counting those that waited for a flush.
    pub without_queue_wait: u64,
    /// At the end of the interval; null for a device with too many tags to read.
    pub in_flight: Option<InFlight>,
    pub merges: Merges,
    /// Share of the bios with data that were merged into a request; null without bios.
    pub merge_ratio: Option<f64>,
    /// Average bytes of a completed read or write, at its issue; null if none completed.
    pub mean_request_bytes: Option<f64>,
    /// Average bios in a completed read or write, at least 1; null if none completed.
    pub bios_per_request: Option<f64>,
    /// Operations with at least one completed request.
    pub ops: Vec<LiveOp>,
    /// Synchronous writes other than `flushes.journal_writes`: the data that an fsync writes, and direct I/O.
    pub data_writes: u64,
    /// Sum of their D2C.
    pub data_write_ns: u64,
    /// Sum of the queue wait (Q2D) of all synchronous writes, of data and of the journal. With the device time of both and the waits
    /// for flushes it is what an fsync waits for in the block layer.
    #[serde(default)]
    pub sync_write_wait_ns: u64,
    pub flushes: Flushes,
    pub edges: Edges,
    /// Failed requests by status.
    pub statuses: Vec<StatusCount>,
    pub quality: Quality,
    /// Reads and writes together; only with `--detail asked`.
    pub asked: Option<LiveAsked>,
    /// Only with `--detail order`.
    pub order: Option<LiveOrder>,
    /// Fairness among the processes (or cgroups) of this interval; only with `--detail fairness`.
    pub fairness: Option<Fairness>,
}

/// Everything except fairness, which is computed from the owners.
pub(super) fn device(
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
        queue_wait: LatencySummary::of_cells(&queue_wait),
        device_time: LatencySummary::of_cells(&device_time),
        mean_waiting: sum(|op| op.q2d_sum_ns) as f64 / (seconds * 1e9),
        mean_at_device: sum(|op| op.d2c_sum_ns) as f64 / (seconds * 1e9),
        waited_share: median.and_then(|median| queue_wait.share_above((median / 10.0) as u64)),
        stalled_share: numbers.stalled_ns as f64 / (seconds * 1e9),
        waits: numbers.causes(),
        // The fields are read at slightly different moments.
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
        // The fields are read at slightly different moments.
        data_writes: sync.ios.saturating_sub(numbers.flushes.journal_writes),
        data_write_ns: sync.d2c_sum_ns.saturating_sub(numbers.flushes.journal_ns),
        sync_write_wait_ns: sync.q2d_sum_ns,
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
        Some(histogram) => LatencySummary::of_cells(&histogram),
        None => LatencySummary::nothing(),
    };
    LiveOp {
        op: op.op,
        ios: op.ios,
        iops: op.ios as f64 / seconds,
        bytes: op.bytes,
        bytes_per_s: op.bytes as f64 / seconds,
        bios: op.bios,
        queue_wait: LatencySummary::of_cells(op.stage(wait)),
        q2g: LatencySummary::of_cells(&op.q2g),
        g2d: LatencySummary::of_cells(&op.g2d),
        i2d: LatencySummary::of_cells(&op.i2d),
        device: LatencySummary::of_cells(&op.d2c),
        total: LatencySummary::of_cells(&op.q2c),
        queue_wait_per_bio: per_bio(wait),
        device_per_bio: per_bio(Stage::D2c),
        total_per_bio: per_bio(Stage::Q2c),
    }
}
