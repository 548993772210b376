//! What a device did: its operations, merges, edges, order, and how well it was measured. Pure.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::order::Order;
use crate::histogram::{self, Histogram, Layout};

/// Operation classes, in the order of their indices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Op {
    Read,
    /// Writes that someone waits for (`REQ_SYNC`).
    WriteSync,
    /// Writeback.
    WriteAsync,
    /// Flush commands; for an owner, the flushes that it waited for (several may share a command).
    Flush,
    Discard,
    /// Operations on zones.
    Zone,
    Other,
    /// The driver's own commands, and those of `SG_IO`: measured only if asked for.
    Passthrough,
}

impl Op {
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
    /// Those that move data, and go through the scheduler.
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

/// Stages of a request's life, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// Waiting for a request: a tag, a throttle, a frozen queue. 0 when the submitter did not have to sleep.
    Q2g,
    /// Request started to first issued.
    G2d,
    /// Queue wait: Q2G + G2D. For flushes: what writes waited for the flush before their data.
    Q2d,
    /// Device and driver: first issue to completion of the data. For flushes: the flush commands.
    D2c,
    /// Total. For flushes: empty ones, from asking to done.
    Q2c,
    /// The scheduler alone: inserted to first issued. Measured only if asked for.
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

/// As the kernel counts them; a request stays its first owner's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Merges {
    /// Bios that joined a request at its end.
    pub back: u64,
    /// Bios that joined a request at its start.
    pub front: u64,
    /// A request that joined another one.
    pub rq: u64,
}

impl Merges {
    /// Bios that joined a request.
    pub fn bios(self) -> u64 {
        self.back + self.front
    }
}

/// The further bios of requests with several. Added to a stage's histogram they make it one of bios instead of
/// requests, which is what schedulers that merge differently can be compared by.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MergedBios {
    pub q2d: Histogram,
    pub d2c: Histogram,
    pub q2c: Histogram,
}

/// Since the program asked, of those I/Os of which Q is known; without a call or an entry of a ring before it, A is Q.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Asked {
    /// Asked to queued.
    pub a2q: Histogram,
    /// Asked to first issued; of those whose queue wait is known.
    pub a2d: Histogram,
    /// Asked to completed.
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
        // The layouts are the same by construction.
        let _ = self.a2q.merge(&other.a2q);
        let _ = self.a2d.merge(&other.a2d);
        let _ = self.a2c.merge(&other.a2c);
    }
}

/// One operation class of a device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeviceOp {
    pub op: Op,
    /// Completed requests.
    pub ios: u64,
    pub bytes: u64,
    /// Bios in these requests, at least one each.
    pub bios: u64,
    /// Requests whose queue wait is known.
    pub waits: u64,
    /// Sums of Q2D, of D2C, of Q2C.
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
    /// Absent unless asked for, and of operations without data.
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

    fn since(&self, earlier: &DeviceOp) -> anyhow::Result<DeviceOp> {
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

/// What an fsync waits for besides its data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Flushes {
    /// Empty flushes asked for. The kernel joins several into one command.
    pub asked: u64,
    /// Writes that waited for a flush before their data.
    pub before_data: u64,
    /// Sum of these waits.
    pub before_data_ns: u64,
    /// Writes that waited for a flush after their data.
    pub after_data: u64,
    /// Sum of these waits.
    pub after_data_ns: u64,
    /// Of the synchronous writes those of metadata and the journal (`REQ_META`).
    pub journal_writes: u64,
    /// Sum of their D2C.
    pub journal_ns: u64,
}

/// What happened to requests besides completing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Edges {
    /// Requests that failed.
    pub errors: u64,
    /// Requests that the driver gave back, each time.
    pub requeues: u64,
    /// From a requeue to the issue after it; part of G2D before the first issue, else of D2C.
    pub requeued_ns: u64,
    /// Completions of a part of a request, with more to come.
    pub partial_completions: u64,
    /// Issued but not measured: the driver's own commands and `SG_IO`.
    pub passthrough: u64,
    /// Asked for under one scheduler, completed under another: in no other I/Os, bytes or latencies.
    pub straddlers: u64,
    /// Bytes of these.
    pub straddler_bytes: u64,
    /// Changes of the scheduler seen, by whomever.
    pub switches: u64,
    /// Bios that must not sleep (`REQ_NOWAIT`) and found no tag free. io_uring asks for each again, from a worker thread.
    #[serde(default)]
    pub nowait_failures: u64,
}

/// What the measurement itself missed. All zero is a clean measurement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Quality {
    /// Requests outside the in-flight table, counted at their end.
    pub lost: u64,
    /// Requests whose completion was never seen.
    pub evicted: u64,
    /// Stages with a negative time, left out.
    pub negative: u64,
    /// Requests first seen at their issue: they have no queue wait.
    pub started_late: u64,
    /// Requests first seen at their completion: in flight when the probe was attached, or lost before.
    pub unseen: u64,
    /// Requests with data that completed without an issue seen.
    pub unissued: u64,
    /// I/Os charged to the owner `other`, because the table of owners is full.
    pub owner_overflow: u64,
    /// Runs of the probe's programs that the kernel skipped (`recursion_misses`); of all devices together.
    pub skipped: u64,
}

impl Quality {
    /// Requests that a histogram lacks because of us, without those in flight at the attach.
    pub fn lost_events(&self) -> u64 {
        self.losses().iter().map(|(count, _)| count).sum()
    }

    /// The same by their causes, in words that follow a count.
    pub fn losses(&self) -> [(u64, &'static str); 6] {
        [
            (self.lost, "with tags outside the table"),
            (self.evicted, "whose end was not seen"),
            (self.negative, "with a negative stage"),
            (self.started_late, "whose start was not seen"),
            (self.unissued, "whose issue was not seen"),
            (self.skipped, "at which the kernel skipped a program"),
        ]
    }

    /// Those causes that there were, with their counts; empty where nothing was lost.
    pub fn losses_in_words(&self) -> String {
        let losses = self.losses().into_iter().filter(|(count, _)| *count > 0);
        let words: Vec<String> = losses
            .map(|(count, cause)| format!("{count} {cause}"))
            .collect();
        words.join(", ")
    }
}

/// Requests under way at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InFlight {
    /// Started, not yet issued to the driver.
    pub queued: u64,
    /// Issued to the driver, not yet completed.
    pub issued: u64,
    /// Age of the oldest of them whose start was seen.
    pub oldest_ns: Option<u64>,
}

impl InFlight {
    #[must_use]
    pub fn with(self, other: InFlight) -> InFlight {
        InFlight {
            queued: self.queued + other.queued,
            issued: self.issued + other.issued,
            oldest_ns: self.oldest_ns.max(other.oldest_ns),
        }
    }

    pub fn is_nothing(self) -> bool {
        self.queued + self.issued == 0
    }
}

/// How many requests failed with a status of the block layer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StatusCount {
    /// Its name: `ioerr`, `timeout`; `status_N` or `errno_N` where it has none here.
    pub status: String,
    /// Requests that failed with it.
    pub count: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeviceNumbers {
    pub name: String,
    /// In the order of [`Op::ALL`].
    pub ops: Vec<DeviceOp>,
    pub merges: Merges,
    pub flushes: Flushes,
    pub edges: Edges,
    pub statuses: Vec<StatusCount>,
    pub quality: Quality,
    /// How long threads with I/O under way stood still for a request of the next, a sum: what they would have asked for
    /// meanwhile is in no queue wait.
    #[serde(default)]
    pub stalled_ns: u64,
    /// At the end of the interval; absent for devices with too many tags to look through.
    pub in_flight: Option<InFlight>,
    /// Absent unless asked for.
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
            in_flight: None,
            order: None,
        }
    }

    /// The histogram of a stage over the given operations, of requests.
    pub fn stage(&self, stage: Stage, ops: &[Op]) -> Histogram {
        self.sum(ops.iter().map(|op| self.ops[*op as usize].stage(stage)))
    }

    /// The same of bios; only Q2D, D2C and Q2C are known per bio.
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

    /// Since the asking; none unless that is measured.
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

    pub(super) fn since(
        &self,
        earlier: &DeviceNumbers,
        skipped: u64,
    ) -> anyhow::Result<DeviceNumbers> {
        let ops = self.ops.iter().zip(&earlier.ops);
        Ok(DeviceNumbers {
            name: self.name.clone(),
            ops: ops
                .map(|(l, e)| l.since(e))
                .collect::<anyhow::Result<_>>()?,
            merges: self.merges - earlier.merges,
            flushes: self.flushes - earlier.flushes,
            edges: self.edges - earlier.edges,
            statuses: new_statuses(&self.statuses, &earlier.statuses),
            quality: Quality {
                skipped,
                ..self.quality - earlier.quality
            },
            stalled_ns: self.stalled_ns - earlier.stalled_ns,
            in_flight: self.in_flight,
            order: match (&self.order, &earlier.order) {
                (Some(later), Some(earlier)) => Some(later.since(earlier)),
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

/// Field by field; of structures that hold nothing but counters.
macro_rules! counters {
    ($type:ident { $($field:ident),* $(,)? }) => {
        impl std::ops::Sub for $type {
            type Output = $type;
            fn sub(self, earlier: $type) -> $type {
                $type { $($field: self.$field - earlier.$field),* }
            }
        }
        impl std::ops::AddAssign for $type {
            fn add_assign(&mut self, other: $type) {
                $(self.$field += other.$field;)*
            }
        }
    };
}

counters!(Merges { back, front, rq });
counters!(Flushes {
    asked,
    before_data,
    before_data_ns,
    after_data,
    after_data_ns,
    journal_writes,
    journal_ns,
});
counters!(Edges {
    errors,
    requeues,
    requeued_ns,
    partial_completions,
    passthrough,
    straddlers,
    straddler_bytes,
    switches,
    nowait_failures,
});
counters!(Quality {
    lost,
    evicted,
    negative,
    started_late,
    unseen,
    unissued,
    owner_overflow,
    skipped,
});
