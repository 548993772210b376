//! What `iosched stat --light` shows of an interval. Pure.

use serde::{Deserialize, Serialize};

use super::{DeviceState, LatencySummary};
use crate::measured::snapshot::{DeviceNumbers, DeviceOp, Interval, Op, Stage, StatusCount};

pub const LIGHT_SCHEMA_VERSION: u32 = 1;
/// File name of the schema in `docs/`.
pub const LIGHT_SCHEMA: &str = "stat-light-1.schema.json";

/// An interval in which only issues and completions were seen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LightRecord {
    /// Version of this format; raised when a field is removed or changes its meaning.
    pub schema_version: u32,
    /// End of the interval, RFC 3339.
    pub time: String,
    /// Length of the interval in seconds.
    pub interval_s: f64,
    /// The watched devices, with or without I/O.
    pub devices: Vec<LightDevice>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LightDevice {
    /// Its kernel name.
    pub device: String,
    /// The active scheduler; null if the device is gone.
    pub scheduler: Option<String>,
    /// Requests that the device takes at once; null if unknown.
    pub hardware_depth: Option<u32>,
    /// Completed requests of all operations per second.
    pub iops: f64,
    /// Bytes of completed requests per second.
    pub bytes_per_s: f64,
    /// D2C of reads and writes together.
    pub device_time: LatencySummary,
    /// Average number of reads and writes at the device: the sum of D2C divided by the interval.
    pub mean_at_device: f64,
    /// Requests at the device at the end of the interval; null for a device with too many tags to read.
    pub at_device: Option<u64>,
    /// Operations with at least one completed request.
    pub ops: Vec<LightOp>,
    /// The driver's own commands that were issued; they are in no other number.
    pub passthrough: u64,
    /// How often the driver returned a request.
    pub requeues: u64,
    /// Requests that ended with an error.
    pub errors: u64,
    /// Failed requests by status.
    pub statuses: Vec<StatusCount>,
    /// What the numbers lack.
    pub losses: LightLosses,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LightOp {
    /// The operation.
    pub op: Op,
    /// Completed requests.
    pub ios: u64,
    /// Their bytes, at their issue.
    pub bytes: u64,
    /// D2C of those that were issued in view of iosched.
    pub device_time: LatencySummary,
}

/// What the numbers lack. See the table of losses in `docs/measurement.md`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LightLosses {
    /// Requests whose tag is outside the table.
    pub lost: u64,
    /// Requests whose end was not seen.
    pub evicted: u64,
    /// Requests that were in flight at the attach, or whose issue was not seen: they are in no other number.
    pub unseen: u64,
    /// Device times that were negative, and left out.
    pub negative: u64,
    /// In all counts, bytes and means, and in no percentile.
    pub unrecorded: u64,
    /// Runs of programs that the kernel skipped, of all devices.
    pub skipped: u64,
}

/// `states`: of the devices, in their order.
pub fn light(interval: &Interval, time: String, states: &[DeviceState]) -> LightRecord {
    let seconds = interval.duration_s();
    let devices = interval.devices.iter().zip(states);
    LightRecord {
        schema_version: LIGHT_SCHEMA_VERSION,
        time,
        interval_s: seconds,
        devices: devices
            .map(|(numbers, state)| device(numbers, state, seconds))
            .collect(),
    }
}

fn device(numbers: &DeviceNumbers, state: &DeviceState, seconds: f64) -> LightDevice {
    let data = Op::DATA.iter().map(|op| &numbers.ops[*op as usize]);
    let d2c_sum_ns: u64 = data.map(|op| op.d2c_sum_ns).sum();
    let quality = numbers.quality;
    LightDevice {
        device: numbers.name.clone(),
        scheduler: state.scheduler.clone(),
        hardware_depth: state.hardware_depth,
        iops: numbers.ios() as f64 / seconds,
        bytes_per_s: numbers.bytes() as f64 / seconds,
        device_time: LatencySummary::of_cells(&numbers.stage(Stage::D2c, &Op::DATA)),
        mean_at_device: d2c_sum_ns as f64 / (seconds * 1e9),
        at_device: numbers.in_flight.map(|now| now.issued),
        ops: numbers.ops.iter().filter(|op| op.ios > 0).map(op).collect(),
        passthrough: numbers.edges.passthrough,
        requeues: numbers.edges.requeues,
        errors: numbers.edges.errors,
        statuses: numbers.statuses.clone(),
        losses: LightLosses {
            lost: quality.lost,
            evicted: quality.evicted,
            unseen: quality.unseen,
            negative: quality.negative,
            unrecorded: quality.unrecorded,
            skipped: quality.skipped,
        },
    }
}

fn op(op: &DeviceOp) -> LightOp {
    LightOp {
        op: op.op,
        ios: op.ios,
        bytes: op.bytes,
        device_time: LatencySummary::of_cells(&op.d2c),
    }
}
