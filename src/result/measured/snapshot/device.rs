//! The numbers of a device: operations, counters, requests in flight, dispatch order, measurement losses. Pure.

use serde::{Deserialize, Serialize};

use super::counters::{Edges, Flushes, Merges, Quality};
use super::op::{Asked, DeviceOp, Op, Stage};
use super::order::Order;
use super::totals::is_whole;
use super::waits::Waits;
use crate::measured::histogram::Histogram;

/// Requests in flight at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct InFlight {
    /// Started, not yet issued to the driver.
    pub queued: u64,
    /// Issued to the driver, not yet completed.
    pub issued: u64,
    /// Threads that have queued a bio and wait for its request: for a tag, a throttle of the queue, or the end of a change
    /// of its scheduler. Absent if the kernel cannot tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocked: Option<u64>,
    /// Age of the oldest request whose start was seen, or of the bio of a blocked thread.
    pub oldest_ns: Option<u64>,
}

impl InFlight {
    #[must_use]
    pub fn with(self, other: InFlight) -> InFlight {
        InFlight {
            queued: self.queued + other.queued,
            issued: self.issued + other.issued,
            blocked: self.blocked.zip(other.blocked).map(|(a, b)| a + b),
            oldest_ns: self.oldest_ns.max(other.oldest_ns),
        }
    }

    pub fn is_nothing(self) -> bool {
        [self.queued, self.issued, self.blocked.unwrap_or(0)] == [0; 3]
    }
}

/// Number of requests that failed with one status of the block layer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StatusCount {
    /// Name of the status: `ioerr`, `timeout`; `status_N` or `errno_N` if it has no name here.
    pub status: String,
    /// Requests that failed with it.
    pub count: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DeviceNumbers {
    pub name: String,
    /// In the order of [`Op::ALL`].
    pub ops: Vec<DeviceOp>,
    pub merges: Merges,
    pub flushes: Flushes,
    pub edges: Edges,
    pub statuses: Vec<StatusCount>,
    pub quality: Quality,
    /// Time that threads with other I/O in flight were blocked until they got a request for the next one, summed over
    /// threads: I/O that they could not submit meanwhile appears in no queue wait.
    #[serde(default)]
    pub stalled_ns: u64,
    /// What its requests waited for before their issue.
    #[serde(default)]
    pub waits: Waits,
    /// Requests in flight at the end of the interval; absent for devices with too many tags to read.
    pub in_flight: Option<InFlight>,
    /// Only if requested, and absent if more than 1 of 1000 I/Os have no record.
    pub order: Option<Order>,
}

impl DeviceNumbers {
    pub fn new(name: &str) -> Self {
        DeviceNumbers {
            name: name.to_owned(),
            ops: Op::ALL.into_iter().map(DeviceOp::new).collect(),
            merges: Merges::default(),
            flushes: Flushes::default(),
            edges: Edges::default(),
            statuses: Vec::new(),
            quality: Quality::default(),
            stalled_ns: 0,
            waits: Waits::default(),
            in_flight: None,
            order: None,
        }
    }

    /// The histogram of one stage over the given operations, counting requests.
    pub fn stage(&self, stage: Stage, ops: &[Op]) -> Histogram {
        self.sum(ops.iter().map(|op| self.ops[*op as usize].stage(stage)))
    }

    /// The same counting bios; only Q2D, D2C and Q2C are known per bio.
    pub fn stage_per_bio(&self, stage: Stage, ops: &[Op]) -> Option<Histogram> {
        let more = |op: &Op| {
            let merged = &self.ops[*op as usize].merged_bios;
            match stage {
                Stage::Q2d => Some(&merged.q2d),
                Stage::D2c => Some(&merged.d2c),
                Stage::Q2c => Some(&merged.q2c),
                Stage::Q2g | Stage::G2d | Stage::I2d => None,
            }
        };
        let merged: Option<Vec<&Histogram>> = ops.iter().map(more).collect();
        let requests = ops.iter().map(|op| self.ops[*op as usize].stage(stage));
        Some(self.sum(requests.chain(merged?)))
    }

    /// The stages since the program asked; None unless they are measured.
    pub fn asked(&self, ops: &[Op]) -> Option<Asked> {
        let mut each = ops
            .iter()
            .filter_map(|op| self.ops[*op as usize].asked.as_ref());
        let mut sum = each.next()?.clone();
        each.for_each(|asked| sum.add(asked));
        Some(sum)
    }

    fn sum<'a>(&self, histograms: impl Iterator<Item = &'a Histogram>) -> Histogram {
        let mut sum = Histogram::new(self.ops[0].d2c.layout());
        for histogram in histograms {
            // The layouts are the same by construction.
            let _ = sum.merge(histogram);
        }
        sum
    }

    pub fn ios(&self) -> u64 {
        self.ops.iter().map(|op| op.ios).sum()
    }

    pub fn bytes(&self) -> u64 {
        self.ops.iter().map(|op| op.bytes).sum()
    }

    /// Whether what is made of single requests lacks too few since `earlier` to matter.
    pub(super) fn is_whole_since(&self, earlier: &DeviceNumbers) -> bool {
        let unrecorded = self.quality.unrecorded - earlier.quality.unrecorded;
        is_whole(self.ios().saturating_sub(earlier.ios()), unrecorded)
    }

    pub(super) fn since(
        &self,
        earlier: &DeviceNumbers,
        skipped: u64,
    ) -> anyhow::Result<DeviceNumbers> {
        let ops = self.ops.iter().zip(&earlier.ops);
        let mut before = earlier.edges;
        if self.edges.switches < before.switches {
            // Another disk has this number now, and its switches are counted from its beginning.
            before.switches = 0;
        }
        let quality = Quality {
            // An end that was taken for lost may have been seen after all.
            evicted: earlier.quality.evicted.min(self.quality.evicted),
            ..earlier.quality
        };
        Ok(DeviceNumbers {
            name: self.name.clone(),
            ops: ops
                .map(|(l, e)| l.since(e))
                .collect::<anyhow::Result<_>>()?,
            merges: self.merges - earlier.merges,
            flushes: self.flushes - earlier.flushes,
            edges: self.edges - before,
            statuses: new_statuses(&self.statuses, &earlier.statuses),
            quality: Quality {
                skipped,
                ..self.quality - quality
            },
            // A thread that was ended while it waited takes its share along.
            stalled_ns: self.stalled_ns.saturating_sub(earlier.stalled_ns),
            waits: self.waits.since(&earlier.waits),
            in_flight: self.in_flight,
            order: match (&self.order, &earlier.order) {
                (Some(later), Some(before)) if self.is_whole_since(earlier) => {
                    Some(later.since(before))
                }
                _ => None,
            },
        })
    }
}

fn new_statuses(later: &[StatusCount], earlier: &[StatusCount]) -> Vec<StatusCount> {
    let before = |status: &str| {
        let found = earlier.iter().find(|count| count.status == status);
        found.map_or(0, |found| found.count)
    };
    later
        .iter()
        .map(|now| StatusCount {
            status: now.status.clone(),
            count: now.count - before(&now.status),
        })
        .filter(|count| count.count > 0)
        .collect()
}
