//! What each owner asked for and got. Pure.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::device::{InFlight, Merges, Op};
use crate::histogram::{self, Histogram};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OwnerKind {
    /// Everyone for whom the table had no room.
    Other,
    Process,
    /// A thread of the kernel: a journal's, for instance.
    KernelThread,
    /// The kernel's workers at one kind of work, by its name: `flush-8:0` (writeback), `loop3`.
    Workqueue,
    /// What a process has dirtied, written back by the kernel.
    Writeback,
}

/// One process on one device in one cgroup.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct OwnerKey {
    pub device: String,
    pub kind: OwnerKind,
    /// 0 where there is no single process: `other`, a workqueue, the sum of a cgroup.
    pub tgid: u32,
    /// Start of the process in milliseconds, CLOCK_BOOTTIME: tells it from a later one with the same number. Of a
    /// workqueue a number made from its name.
    pub start_ms: u64,
    /// Of the cgroup that pays for the I/O; for writeback the one that dirtied the pages.
    pub cgroup_id: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OwnerOp {
    pub ios: u64,
    pub bytes: u64,
    /// Bios in these requests, at least one each.
    pub bios: u64,
    /// I/Os whose queue wait is known.
    pub waits: u64,
    pub q2d_sum_ns: u64,
    pub d2c_sum_ns: u64,
    /// Q2D + D2C of the I/Os whose queue wait is known.
    pub q2c_sum_ns: u64,
    /// What writes waited for the flushes before and after their data, and empty flushes for all of their time; in none of
    /// the sums above.
    pub flush_sum_ns: u64,
    /// Exact in an interval between a snapshot and the next, and where it is the longest since the attach; else the end of
    /// its histogram cell (at most 6.3 % above). Absent where it is not known.
    pub q2d_max_ns: Option<u64>,
    pub d2c_max_ns: Option<u64>,
}

/// What an owner got of the device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OwnerFairness {
    /// Its part of the device's time: of a moment with n requests at the device each has 1/n.
    pub device_time_ns: u64,
    /// Time with at least one request asked for and not done.
    pub backlogged_ns: u64,
    /// The longest time in which a request of it waited and none was issued. Exact as [`OwnerOp::q2d_max_ns`] is,
    /// else to 25 %.
    pub starvation_max_ns: Option<u64>,
    /// Such times of 1.05 ms and more, that ended.
    pub starvation: Histogram,
    /// Such a time that had not ended when the snapshot was taken; its length until then.
    #[serde(default)]
    pub starving_ns: Option<u64>,
}

impl OwnerFairness {
    pub fn new() -> Self {
        OwnerFairness {
            device_time_ns: 0,
            backlogged_ns: 0,
            starvation_max_ns: None,
            starvation: Histogram::new(histogram::GAP),
            starving_ns: None,
        }
    }

    fn add(&mut self, other: &OwnerFairness) {
        self.device_time_ns += other.device_time_ns;
        // Of several processes together: at least one of them.
        self.backlogged_ns = self.backlogged_ns.max(other.backlogged_ns);
        self.starvation_max_ns = self.starvation_max_ns.max(other.starvation_max_ns);
        let _ = self.starvation.merge(&other.starvation);
        self.starving_ns = self.starving_ns.max(other.starving_ns);
    }
}

impl Default for OwnerFairness {
    fn default() -> Self {
        Self::new()
    }
}

/// The stages beside Q2D and D2C, of reads and of writes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OwnerStages {
    /// The part of the queue wait before the request existed; of those I/Os of which that is known.
    pub q2g: [Histogram; 2],
    /// The part after it.
    pub g2d: [Histogram; 2],
    /// From asking to done.
    pub q2c: [Histogram; 2],
    /// In the scheduler; of those that were inserted there, if that is measured.
    pub i2d: [Histogram; 2],
}

impl OwnerStages {
    fn add(&mut self, other: &OwnerStages) {
        add_pair(&mut self.q2g, &other.q2g);
        add_pair(&mut self.g2d, &other.g2d);
        add_pair(&mut self.q2c, &other.q2c);
        add_pair(&mut self.i2d, &other.i2d);
    }
}

/// As [`super::Asked`], of reads and of writes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OwnerAsked {
    pub a2q: [Histogram; 2],
    pub a2d: [Histogram; 2],
    pub a2c: [Histogram; 2],
}

impl OwnerAsked {
    fn add(&mut self, other: &OwnerAsked) {
        add_pair(&mut self.a2q, &other.a2q);
        add_pair(&mut self.a2d, &other.a2d);
        add_pair(&mut self.a2c, &other.a2c);
    }
}

impl Default for OwnerStages {
    fn default() -> Self {
        OwnerStages {
            q2g: empty_pair(),
            g2d: empty_pair(),
            q2c: empty_pair(),
            i2d: empty_pair(),
        }
    }
}

/// An empty histogram for reads and one for writes.
pub(super) fn empty_pair() -> [Histogram; 2] {
    [(); 2].map(|()| Histogram::new(histogram::OWNER))
}

fn add_pair(sums: &mut [Histogram; 2], others: &[Histogram; 2]) {
    for (sum, other) in sums.iter_mut().zip(others) {
        let _ = sum.merge(other); // the layouts are the same by construction
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OwnerNumbers {
    pub key: OwnerKey,
    pub comm: String,
    /// Some of the I/O came through io_uring's worker threads.
    pub has_io_workers: bool,
    /// I/O priority as the bios carry it: class (0 none, 1 real-time, 2 best-effort, 3 idle) and level (0 to 7).
    pub ioprio: (u8, u8),
    /// In the order of [`Op::ALL`].
    pub ops: Vec<OwnerOp>,
    pub merges: Merges,
    /// At the end of the interval; absent where its disk has too many tags to look through.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_flight: Option<InFlight>,
    /// False when the table had no room for this owner's, or 2^32 I/Os came, more than its cells can count: then they are empty.
    pub has_histograms: bool,
    /// Queue wait of reads and of writes.
    pub q2d: [Histogram; 2],
    /// Device time of reads and of writes.
    pub d2c: [Histogram; 2],
    /// Absent unless asked for, and where `has_histograms` is false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stages: Option<OwnerStages>,
    /// Absent unless asked for, and where `has_histograms` is false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<OwnerAsked>,
    /// How long its threads, with I/O under way, stood still for a request of the next, a sum.
    #[serde(default)]
    pub stalled_ns: u64,
    /// Its writes that waited for a flush before their data: they have no queue wait.
    #[serde(default)]
    pub waited_for_flush: u64,
    /// Absent unless asked for.
    pub fairness: Option<OwnerFairness>,
}

impl OwnerNumbers {
    /// Who has done nothing yet.
    pub fn new(key: OwnerKey, comm: &str) -> Self {
        OwnerNumbers {
            key,
            comm: comm.to_owned(),
            has_io_workers: false,
            ioprio: (0, 0),
            ops: vec![OwnerOp::default(); Op::ALL.len()],
            merges: Merges::default(),
            in_flight: None,
            has_histograms: true,
            q2d: empty_pair(),
            d2c: empty_pair(),
            stages: None,
            asked: None,
            stalled_ns: 0,
            waited_for_flush: 0,
            fairness: None,
        }
    }

    pub fn ios(&self) -> u64 {
        self.ops.iter().map(|op| op.ios).sum()
    }

    pub fn bytes(&self) -> u64 {
        self.ops.iter().map(|op| op.bytes).sum()
    }

    pub fn op(&self, op: Op) -> &OwnerOp {
        &self.ops[op as usize]
    }

    /// The command's name, in brackets where it is the kernel's, with what it is where that is not a process.
    pub fn label(&self) -> String {
        match self.key.kind {
            OwnerKind::Other => "other".to_owned(),
            OwnerKind::Process => self.comm.clone(),
            OwnerKind::KernelThread | OwnerKind::Workqueue => format!("[{}]", self.comm),
            OwnerKind::Writeback => format!("writeback of {}", self.comm),
        }
    }

    fn add(&mut self, other: &OwnerNumbers) {
        for (sum, op) in self.ops.iter_mut().zip(&other.ops) {
            sum.ios += op.ios;
            sum.bytes += op.bytes;
            sum.bios += op.bios;
            sum.waits += op.waits;
            sum.q2d_sum_ns += op.q2d_sum_ns;
            sum.d2c_sum_ns += op.d2c_sum_ns;
            sum.q2c_sum_ns += op.q2c_sum_ns;
            sum.flush_sum_ns += op.flush_sum_ns;
            sum.q2d_max_ns = sum.q2d_max_ns.max(op.q2d_max_ns);
            sum.d2c_max_ns = sum.d2c_max_ns.max(op.d2c_max_ns);
        }
        self.merges.back += other.merges.back;
        self.merges.front += other.merges.front;
        self.merges.rq += other.merges.rq;
        self.in_flight = self
            .in_flight
            .zip(other.in_flight)
            .map(|(sum, of)| sum.with(of));
        self.has_histograms &= other.has_histograms;
        if self.ioprio != other.ioprio {
            self.ioprio = (0, 0);
        }
        add_pair(&mut self.q2d, &other.q2d);
        add_pair(&mut self.d2c, &other.d2c);
        if let (Some(mine), Some(theirs)) = (&mut self.stages, &other.stages) {
            mine.add(theirs);
        }
        if let (Some(mine), Some(theirs)) = (&mut self.asked, &other.asked) {
            mine.add(theirs);
        }
        self.stalled_ns += other.stalled_ns;
        self.waited_for_flush += other.waited_for_flush;
        if let (Some(mine), Some(theirs)) = (&mut self.fairness, &other.fairness) {
            mine.add(theirs);
        }
    }
}

/// One row per device and cgroup: the processes in it added up. Such a row has no `tgid`, the I/O priority that all of them
/// have, or none, and histograms if all of them have some. `other` is nobody's.
pub fn by_cgroup<'a>(owners: impl IntoIterator<Item = &'a OwnerNumbers>) -> Vec<OwnerNumbers> {
    let mut groups: Vec<(OwnerNumbers, u32)> = Vec::new();
    for owner in owners {
        let is_other = |owner: &OwnerNumbers| owner.key.kind == OwnerKind::Other;
        let same = |group: &OwnerNumbers| {
            group.key.device == owner.key.device
                && group.key.cgroup_id == owner.key.cgroup_id
                && is_other(group) == is_other(owner)
        };
        match groups.iter_mut().find(|(group, _)| same(group)) {
            Some((group, processes)) => {
                group.add(owner);
                *processes += 1;
            }
            None => groups.push((owner.clone(), 1)),
        }
    }
    let named = groups.into_iter().map(|(mut group, processes)| {
        if group.key.kind == OwnerKind::Other {
            return group;
        }
        group.key.tgid = 0;
        group.key.start_ms = 0;
        group.key.kind = OwnerKind::Process;
        group.comm = format!(
            "{processes} process{}",
            if processes == 1 { "" } else { "es" }
        );
        if !group.has_histograms {
            // A part of them would be taken for the whole.
            (group.q2d, group.d2c) = (empty_pair(), empty_pair());
            (group.stages, group.asked) = (None, None);
        }
        group
    });
    named.collect()
}
