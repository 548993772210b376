//! Operation classes and stages, and the numbers of one class on a device. Pure.

use serde::{Deserialize, Serialize};

use crate::measured::histogram::{self, Histogram, Layout};

/// Operation classes, in the order of the kernel's counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Op {
    Read,
    /// Writes that a process waits for (`REQ_SYNC`).
    WriteSync,
    /// Writeback.
    WriteAsync,
    /// Flush commands; for an owner the flushes that it waited for (several may share one command).
    Flush,
    Discard,
    /// Zone management operations.
    Zone,
    Other,
    /// The driver's own commands and those of `SG_IO`: measured only if requested.
    Passthrough,
}

impl Op {
    /// In the order of their values.
    pub const ALL: [Op; 8] = [
        Op::Read,
        Op::WriteSync,
        Op::WriteAsync,
        Op::Flush,
        Op::Discard,
        Op::Zone,
        Op::Other,
        Op::Passthrough,
    ];
    /// Operations that move data and go through the scheduler.
    pub const DATA: [Op; 3] = [Op::Read, Op::WriteSync, Op::WriteAsync];
    pub const WRITES: [Op; 2] = [Op::WriteSync, Op::WriteAsync];

    pub fn name(self) -> &'static str {
        match self {
            Op::Read => "read",
            Op::WriteSync => "write_sync",
            Op::WriteAsync => "write_async",
            Op::Flush => "flush",
            Op::Discard => "discard",
            Op::Zone => "zone",
            Op::Other => "other",
            Op::Passthrough => "passthrough",
        }
    }
}

const _: () = {
    let mut index = 0;
    while index < Op::ALL.len() {
        assert!(Op::ALL[index] as usize == index);
        index += 1;
    }
};

/// Stages of a request's life, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// Waiting for a request: for a tag, for writeback throttling, for a frozen queue. 0 if the submitter did not
    /// sleep.
    Q2g,
    /// From the start of the request to its first issue.
    G2d,
    /// Queue wait: Q2G + G2D. For flushes: how long writes waited for the flush before their data.
    Q2d,
    /// Device and driver: from the first issue to the completion of the data. For flushes: the flush commands.
    D2c,
    /// Total: from queued to completed. For flushes: empty flushes.
    Q2c,
    /// The scheduler alone: from insert to the first issue. Measured only if requested.
    I2d,
}

impl Stage {
    pub const ALL: [Stage; 6] = [
        Stage::Q2g,
        Stage::G2d,
        Stage::Q2d,
        Stage::D2c,
        Stage::Q2c,
        Stage::I2d,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Stage::Q2g => "q2g",
            Stage::G2d => "g2d",
            Stage::Q2d => "q2d",
            Stage::D2c => "d2c",
            Stage::Q2c => "q2c",
            Stage::I2d => "i2d",
        }
    }
}

/// The second and later bios of requests with several. Added to a stage's histogram, they turn it into one of bios
/// instead of requests, by which schedulers that merge differently can be compared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MergedBios {
    pub q2d: Histogram,
    pub d2c: Histogram,
    pub q2c: Histogram,
}

/// Stages since the program asked, for I/Os whose Q is known; without a preceding system call or ring entry, A equals
/// Q.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Asked {
    /// From asked to queued.
    pub a2q: Histogram,
    /// From asked to first issued, for I/Os whose queue wait is known.
    pub a2d: Histogram,
    /// From asked to completed.
    pub a2c: Histogram,
}

impl Asked {
    pub fn new(layout: Layout) -> Self {
        let empty = || Histogram::new(layout);
        Asked {
            a2q: empty(),
            a2d: empty(),
            a2c: empty(),
        }
    }

    fn since(&self, earlier: &Asked) -> anyhow::Result<Asked> {
        Ok(Asked {
            a2q: self.a2q.subtract(&earlier.a2q)?,
            a2d: self.a2d.subtract(&earlier.a2d)?,
            a2c: self.a2c.subtract(&earlier.a2c)?,
        })
    }

    pub fn add(&mut self, other: &Asked) {
        // The layouts are always the same.
        let _ = self.a2q.merge(&other.a2q);
        let _ = self.a2d.merge(&other.a2d);
        let _ = self.a2c.merge(&other.a2c);
    }
}

/// Numbers of one operation class on a device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DeviceOp {
    pub op: Op,
    /// Completed requests.
    pub ios: u64,
    pub bytes: u64,
    /// Bios in these requests, at least one each.
    pub bios: u64,
    /// Requests whose queue wait is known.
    pub waits: u64,
    /// Sums of Q2D, D2C and Q2C.
    pub q2d_sum_ns: u64,
    pub d2c_sum_ns: u64,
    pub q2c_sum_ns: u64,
    pub q2g: Histogram,
    pub g2d: Histogram,
    pub q2d: Histogram,
    pub d2c: Histogram,
    pub q2c: Histogram,
    pub i2d: Histogram,
    pub merged_bios: MergedBios,
    /// Only if requested, and only for operations with data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<Asked>,
}

impl DeviceOp {
    pub fn new(op: Op) -> Self {
        let empty = || Histogram::new(histogram::DEVICE);
        DeviceOp {
            op,
            ios: 0,
            bytes: 0,
            bios: 0,
            waits: 0,
            q2d_sum_ns: 0,
            d2c_sum_ns: 0,
            q2c_sum_ns: 0,
            q2g: empty(),
            g2d: empty(),
            q2d: empty(),
            d2c: empty(),
            q2c: empty(),
            i2d: empty(),
            merged_bios: MergedBios {
                q2d: empty(),
                d2c: empty(),
                q2c: empty(),
            },
            asked: None,
        }
    }

    pub fn stage(&self, stage: Stage) -> &Histogram {
        match stage {
            Stage::Q2g => &self.q2g,
            Stage::G2d => &self.g2d,
            Stage::Q2d => &self.q2d,
            Stage::D2c => &self.d2c,
            Stage::Q2c => &self.q2c,
            Stage::I2d => &self.i2d,
        }
    }

    pub(super) fn since(&self, earlier: &DeviceOp) -> anyhow::Result<DeviceOp> {
        let (l, e) = (self, earlier);
        Ok(DeviceOp {
            op: l.op,
            ios: l.ios - e.ios,
            bytes: l.bytes - e.bytes,
            bios: l.bios - e.bios,
            waits: l.waits - e.waits,
            q2d_sum_ns: l.q2d_sum_ns - e.q2d_sum_ns,
            d2c_sum_ns: l.d2c_sum_ns - e.d2c_sum_ns,
            q2c_sum_ns: l.q2c_sum_ns - e.q2c_sum_ns,
            q2g: l.q2g.subtract(&e.q2g)?,
            g2d: l.g2d.subtract(&e.g2d)?,
            q2d: l.q2d.subtract(&e.q2d)?,
            d2c: l.d2c.subtract(&e.d2c)?,
            q2c: l.q2c.subtract(&e.q2c)?,
            i2d: l.i2d.subtract(&e.i2d)?,
            merged_bios: MergedBios {
                q2d: l.merged_bios.q2d.subtract(&e.merged_bios.q2d)?,
                d2c: l.merged_bios.d2c.subtract(&e.merged_bios.d2c)?,
                q2c: l.merged_bios.q2c.subtract(&e.merged_bios.q2c)?,
            },
            asked: match (&l.asked, &e.asked) {
                (Some(later), Some(earlier)) => Some(later.since(earlier)?),
                _ => None,
            },
        })
    }
}
