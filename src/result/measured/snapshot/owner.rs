//! The numbers of each owner. Pure.

use serde::{Deserialize, Serialize};

use super::counters::Merges;
use super::device::InFlight;
use super::file::FileKey;
use super::op::Op;
use super::waits::Waits;
use crate::measured::histogram::{self, Histogram};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum OwnerKind {
    /// All owners for which the table had no room.
    Other,
    Process,
    /// A kernel thread, for example that of a journal.
    KernelThread,
    /// The kernel's workers for one kind of work, by its name: `flush-8:0` (writeback), `loop3`.
    Workqueue,
    /// Pages that a process dirtied and the kernel wrote back.
    Writeback,
}

impl OwnerKind {
    /// The command's name; kernel threads are in brackets, and other owners are named by their kind.
    pub fn label(self, comm: &str) -> String {
        match self {
            OwnerKind::Other => "other".to_owned(),
            OwnerKind::Process => comm.to_owned(),
            OwnerKind::KernelThread | OwnerKind::Workqueue => format!("[{comm}]"),
            OwnerKind::Writeback => format!("writeback of {comm}"),
        }
    }
}

/// One process on one device in one cgroup.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OwnerKey {
    pub device: String,
    pub kind: OwnerKind,
    /// 0 if it is not a single process: `other`, a workqueue, the sum of a cgroup.
    pub tgid: u32,
    /// Start of the process in milliseconds, CLOCK_BOOTTIME: distinguishes it from a later process with the same PID.
    /// For a workqueue a number derived from its name.
    pub start_ms: u64,
    /// The cgroup that is charged for the I/O; for writeback the one that dirtied the pages.
    pub cgroup_id: u64,
    /// The file of its I/O, where the probe tells files apart; absent for I/O without data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<FileKey>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OwnerOp {
    pub ios: u64,
    pub bytes: u64,
    /// Bios in these requests, at least one each.
    pub bios: u64,
    /// I/Os whose queue wait is known.
    pub waits: u64,
    pub q2d_sum_ns: u64,
    pub d2c_sum_ns: u64,
    /// Sum of Q2D + D2C over the I/Os whose queue wait is known.
    pub q2c_sum_ns: u64,
    /// Time that writes waited for the flushes before and after their data, and the whole time of empty flushes; not
    /// part of the sums above.
    pub flush_sum_ns: u64,
    /// Exact in an interval between consecutive snapshots, in a window of the probe, and if it is the longest since the
    /// attach; otherwise the end of its histogram cell (at most 6.3 % above). Absent if unknown.
    pub q2d_max_ns: Option<u64>,
    pub d2c_max_ns: Option<u64>,
}

/// An owner's share of the device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OwnerFairness {
    /// Its share of the device time: at a moment with n requests at the device each has 1/n.
    pub device_time_ns: u64,
    /// Time with at least one of its requests queued or in flight.
    pub backlogged_ns: u64,
    /// The longest time in which a request of the owner waited and none was issued. As exact as
    /// [`OwnerOp::q2d_max_ns`], otherwise to 25 %.
    pub starvation_max_ns: Option<u64>,
    /// Starvation times of 1.05 ms or more that have ended.
    pub starvation: Histogram,
    /// A starvation time that had not ended at the snapshot; its length so far.
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
        // For several processes: a lower bound of the time in which at least one was backlogged.
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

/// The stages other than Q2D and D2C, for reads and for writes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OwnerStages {
    /// The part of the queue wait before the request existed, for I/Os of which it is known.
    pub q2g: [Histogram; 2],
    /// The part after it.
    pub g2d: [Histogram; 2],
    /// From queued to completed.
    pub q2c: [Histogram; 2],
    /// Time in the scheduler, for requests that were inserted there; only if it is measured.
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

/// Like [`super::Asked`], for reads and for writes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
        let _ = sum.merge(other); // the layouts are always the same
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OwnerNumbers {
    pub key: OwnerKey,
    pub comm: String,
    /// Some of its I/O was queued by worker threads of io_uring.
    pub has_io_workers: bool,
    /// I/O priority of its bios: class (0 none, 1 real-time, 2 best-effort, 3 idle) and level (0 to 7).
    pub ioprio: (u8, u8),
    /// In the order of [`Op::ALL`].
    pub ops: Vec<OwnerOp>,
    pub merges: Merges,
    /// Requests in flight at the end of the interval; absent if its disk has too many tags to read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_flight: Option<InFlight>,
    /// False if the table had no room for this owner's histograms, or if 2^32 or more I/Os came, which overflow a cell:
    /// then they are empty.
    pub has_histograms: bool,
    /// Queue wait of reads and of writes.
    pub q2d: [Histogram; 2],
    /// Device time of reads and of writes.
    pub d2c: [Histogram; 2],
    /// Only if requested, and absent if `has_histograms` is false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stages: Option<OwnerStages>,
    /// Only if requested, and absent if `has_histograms` is false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<OwnerAsked>,
    /// Time that its threads, with other I/O in flight, were blocked until they got a request for the next one, summed
    /// over threads.
    #[serde(default)]
    pub stalled_ns: u64,
    /// Its bios that a limit of its control group held back before they were queued.
    #[serde(default)]
    pub throttled: u64,
    /// Its I/Os that are in all counts, bytes and sums, and in no histogram: their records came faster than they were
    /// read.
    #[serde(default)]
    pub unrecorded: u64,
    /// How long they were held back, summed, in ns.
    #[serde(default)]
    pub throttled_ns: u64,
    /// What its requests waited for before their issue.
    #[serde(default)]
    pub waits: Waits,
    /// Time that its requests waited to be issued again, in ns; a part of D2C.
    #[serde(default)]
    pub requeued_ns: u64,
    /// Its writes that waited for a flush before their data: they have no queue wait.
    #[serde(default)]
    pub waited_for_flush: u64,
    /// Only if requested, and absent if more than 1 of 1000 I/Os of its device have no record.
    pub fairness: Option<OwnerFairness>,
}

impl OwnerNumbers {
    /// An owner without any I/O.
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
            throttled: 0,
            unrecorded: 0,
            throttled_ns: 0,
            waits: Waits::default(),
            requeued_ns: 0,
            waited_for_flush: 0,
            fairness: None,
        }
    }

    pub fn ios(&self) -> u64 {
        self.ops.iter().map(|op| op.ios).sum()
    }

    /// Reads and writes: no flushes, no discards.
    pub fn data_ios(&self) -> u64 {
        let data = Op::DATA.iter().filter_map(|op| self.ops.get(*op as usize));
        data.map(|op| op.ios).sum()
    }

    pub fn bytes(&self) -> u64 {
        self.ops.iter().map(|op| op.bytes).sum()
    }

    pub fn op(&self, op: Op) -> &OwnerOp {
        &self.ops[op as usize]
    }

    /// See [`OwnerKind::label`].
    pub fn label(&self) -> String {
        self.key.kind.label(&self.comm)
    }

    /// Adds a later interval of the same owner.
    pub(super) fn extend(&mut self, later: &OwnerNumbers) {
        let backlogged_ns = self.fairness.as_ref().map_or(0, |of| of.backlogged_ns);
        self.add(later);
        self.in_flight = later.in_flight;
        if let (Some(mine), Some(theirs)) = (&mut self.fairness, &later.fairness) {
            // One interval after the other, where the sum of several owners is one beside the other.
            mine.backlogged_ns = backlogged_ns + theirs.backlogged_ns;
            mine.starving_ns = theirs.starving_ns;
        }
        self.drop_partial_histograms();
    }

    /// Partial histograms would be taken for complete ones.
    fn drop_partial_histograms(&mut self) {
        if !self.has_histograms {
            (self.q2d, self.d2c) = (empty_pair(), empty_pair());
            (self.stages, self.asked) = (None, None);
        }
    }

    /// Has nothing under way any more.
    pub(super) fn come_to_rest(&mut self) {
        self.in_flight = self.in_flight.map(|_| InFlight::default());
        if let Some(fairness) = &mut self.fairness {
            fairness.starving_ns = None;
        }
    }

    /// Adds the numbers of another owner, or of a later interval.
    pub fn add(&mut self, other: &OwnerNumbers) {
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
        self.merges += other.merges;
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
        self.throttled += other.throttled;
        self.unrecorded += other.unrecorded;
        self.throttled_ns += other.throttled_ns;
        self.waits += other.waits;
        self.requeued_ns += other.requeued_ns;
        self.waited_for_flush += other.waited_for_flush;
        if let (Some(mine), Some(theirs)) = (&mut self.fairness, &other.fairness) {
            mine.add(theirs);
        }
    }
}

/// One row per device and cgroup, the sum of its processes. Such a row has no `tgid`; it has the processes' I/O
/// priority if all have the same, and histograms if all have them. `other` belongs to no group.
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
        group.key.file = None;
        group.key.kind = OwnerKind::Process;
        group.comm = format!(
            "{processes} process{}",
            if processes == 1 { "" } else { "es" }
        );
        group.drop_partial_histograms();
        group
    });
    named.collect()
}
