//! One process or control group in one interval of `iosched stat`, as in its JSON. Pure.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::Selection;
use super::asked::LiveAsked;
use super::latency::{LatencySummary, both};
use crate::measured::snapshot::{
    CauseShare, FileKey, InFlight, Merges, Op, OwnerKind, OwnerNumbers, OwnerOp, OwnerStages,
};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LiveFairness {
    /// Its share of the device time.
    pub device_time_share: Option<f64>,
    /// Its share of the bytes of all owners on the device.
    pub bytes_share: Option<f64>,
    /// Share of the interval with a request of its own in flight.
    pub backlogged_share: f64,
    /// The longest time in which a request of its own waited and none was issued.
    pub starvation_max_ns: Option<u64>,
    /// Ended starvation times of 100 ms or more. Counted by histogram cells: to 25 %.
    pub starved_100ms: u64,
    /// Ended starvation times of 1 s or more.
    pub starved_1s: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LiveProcess {
    /// Kernel name of the disk; empty for `other`, which sums over all disks.
    pub device: String,
    /// Kind of owner; `process` for the sum of a cgroup.
    pub kind: OwnerKind,
    /// Null if it is not a single process: `other`, for which the table had no room, a workqueue, the sum of a cgroup.
    pub pid: Option<u32>,
    /// Start of the process in milliseconds since boot (CLOCK_BOOTTIME): tells it from a later one with the same PID. Null
    /// where `pid` is.
    pub start_ms: Option<u64>,
    /// The command's name, in brackets for kernel threads; for the sum of a cgroup the number of its owners.
    pub comm: String,
    /// Some of its I/O was queued by worker threads of io_uring.
    pub has_io_workers: bool,
    /// I/O priority: class (0 none, 1 real-time, 2 best-effort, 3 idle) and level.
    pub ioprio: (u8, u8),
    /// The kernel's id of the cgroup that is charged for the I/O.
    pub cgroup_id: u64,
    /// Path of the cgroup below the root of its hierarchy; null if unknown.
    pub cgroup: Option<String>,
    /// The file that these I/Os belong to; only with `--by file`, and null for I/O without data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<LiveFile>,
    /// Completed reads.
    pub reads: u64,
    /// Completed writes, synchronous and asynchronous.
    pub writes: u64,
    /// The asynchronous writes among `writes`: writeback, for which nothing waits.
    pub async_writes: u64,
    /// Flushes that it waited for; several may share a command.
    pub flushes: u64,
    /// Completed discards.
    pub discards: u64,
    /// Zone operations, write zeroes and secure erase; `/sys/block/X/stat` counts them as writes.
    pub others: u64,
    /// The sum of all these, plus passthrough if it is measured.
    pub ios: u64,
    /// Bios in these requests, at least one each; includes bios of other owners that were merged into its requests.
    pub bios: u64,
    /// `ios` per second.
    pub iops: f64,
    /// Bytes of `ios`.
    pub bytes: u64,
    /// Bytes of `ios` per second.
    pub bytes_per_s: f64,
    /// Q2D of reads and writes. Percentiles are null if the table has no room for this process's histograms.
    pub queue_wait: LatencySummary,
    /// D2C of reads and writes; percentiles as in `queue_wait`.
    pub device_time: LatencySummary,
    /// As for the device, over its own threads.
    pub stalled_share: f64,
    /// Bios that a limit of its control group (io.max) held back before they were queued: in no queue wait.
    #[serde(default)]
    pub throttled: u64,
    /// For how long, on average; null without any.
    #[serde(default)]
    pub throttled_mean_ns: Option<f64>,
    /// What its I/Os wait for, the longest first.
    #[serde(default)]
    pub waits: Vec<CauseShare>,
    /// As for the device.
    pub without_queue_wait: u64,
    /// Its I/Os whose latencies are in no percentile, because their records came faster than they were read. Percentiles are
    /// null if they are more than one in a thousand.
    #[serde(default)]
    pub unrecorded: u64,
    /// Time that its writes waited for the flushes before and after their data, plus the whole time of its empty
    /// flushes.
    pub flush_wait_ns: u64,
    /// Its bios that were merged into any request, and its requests that were merged into another.
    pub merges: Merges,
    /// Share of its bios with data that were merged into a request; null without bios.
    pub merge_ratio: Option<f64>,
    /// Average bytes of its completed reads and writes, at their issue; null if none completed.
    pub mean_request_bytes: Option<f64>,
    /// Average bios in its completed reads and writes, including merged bios of other owners; null if none completed.
    pub bios_per_request: Option<f64>,
    /// Its requests in flight at the end of the interval, which may have been queued earlier; null if its disk has too
    /// many tags to read.
    #[serde(default)]
    pub in_flight: Option<InFlight>,
    /// Only with `--detail fairness`.
    pub fairness: Option<LiveFairness>,
    /// Only with `--detail stages`, and null if the table has no room for this process's histograms.
    pub stages: Option<LiveStages>,
    /// Only with `--detail asked`, and null if the table has no room for this process's histograms.
    pub asked: Option<LiveAsked>,
}

/// A file of a process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LiveFile {
    #[serde(flatten)]
    pub key: FileKey,
    /// Of a regular file, when it was first seen; null if it has no name. `...` stands for what had no room: a long name, or
    /// directories of a deep path.
    pub path: Option<String>,
}

impl LiveFile {
    /// Its path, or what else it is called.
    pub fn label(&self) -> String {
        self.path.clone().unwrap_or_else(|| self.key.label())
    }
}

/// The stages of a process's reads and writes other than `queue_wait` and `device_time`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LiveStages {
    /// Q2G, the part of the queue wait before the request existed, for requests of which it is known.
    pub q2g: LatencySummary,
    /// G2D, the part after it.
    pub g2d: LatencySummary,
    /// I2D, the part of G2D in the scheduler, for requests that went through it and were issued; some have not
    /// completed yet.
    pub i2d: LatencySummary,
    /// Q2C.
    pub total: LatencySummary,
}

impl LiveStages {
    fn of(stages: &OwnerStages) -> Self {
        let latency = |stage| LatencySummary::of_cells(&both(stage));
        LiveStages {
            q2g: latency(&stages.q2g),
            g2d: latency(&stages.g2d),
            i2d: latency(&stages.i2d),
            total: latency(&stages.q2c),
        }
    }
}

fn ratio(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| part / whole)
}

/// Totals over all owners of a device, listed or not: the denominators of their shares.
#[derive(Clone, Copy, Default)]
pub(super) struct Whole {
    device_time_ns: u64,
    bytes: u64,
}

pub(super) fn wholes(owners: &[OwnerNumbers]) -> HashMap<&str, Whole> {
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

pub(super) fn process(
    owner: &OwnerNumbers,
    whole: Whole,
    seconds: f64,
    selection: &dyn Selection,
) -> LiveProcess {
    let data = || Op::DATA.iter().map(|op| owner.op(*op));
    let sum = |part: fn(&OwnerOp) -> u64| data().map(part).sum::<u64>();
    let mean = |sum: u64, count: u64| ratio(sum as f64, count as f64);
    let (ios, known) = (sum(|op| op.ios), sum(|op| op.waits));
    let merging = owner.merging();
    let async_writes = owner.op(Op::WriteAsync).ios;
    LiveProcess {
        device: owner.key.device.clone(),
        kind: owner.key.kind,
        pid: Some(owner.key.tgid).filter(|&pid| pid > 0),
        start_ms: (owner.key.tgid > 0).then_some(owner.key.start_ms),
        comm: owner.label(),
        has_io_workers: owner.has_io_workers,
        ioprio: owner.ioprio,
        cgroup_id: owner.key.cgroup_id,
        cgroup: selection.cgroup_path(owner.key.cgroup_id),
        file: owner.key.file.map(|key| LiveFile {
            path: selection.file_path(&key),
            key,
        }),
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
        queue_wait: LatencySummary {
            count: known,
            ..LatencySummary::of(
                &both(&owner.q2d),
                mean(sum(|op| op.q2d_sum_ns), known),
                data()
                    .filter_map(|op| op.q2d_max_ns)
                    .max()
                    .map(|ns| ns as f64),
            )
        },
        device_time: LatencySummary {
            count: ios,
            ..LatencySummary::of(
                &both(&owner.d2c),
                mean(sum(|op| op.d2c_sum_ns), ios),
                data()
                    .filter_map(|op| op.d2c_max_ns)
                    .max()
                    .map(|ns| ns as f64),
            )
        },
        stalled_share: owner.stalled_ns as f64 / (seconds * 1e9),
        throttled: owner.throttled,
        throttled_mean_ns: (owner.throttled > 0)
            .then(|| owner.throttled_ns as f64 / owner.throttled as f64),
        waits: owner.causes(),
        unrecorded: owner.unrecorded,
        without_queue_wait: ios.saturating_sub(known + owner.waited_for_flush),
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
