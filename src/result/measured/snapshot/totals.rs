//! An owner's counts since the attach, as flat as in the kernel: thousands are copied at each read, and only those that
//! changed are converted to [`OwnerNumbers`]. Pure.

use anyhow::Result;

use super::lines::{Line, OwnerLatency, Place};
use super::longest::{Known, Longest, Span};
use super::owner::{
    OwnerAsked, OwnerFairness, OwnerKey, OwnerKind, OwnerNumbers, OwnerOp, OwnerStages, empty_pair,
};
use super::{FileKey, InFlight, Merges, Op, Waits};
use crate::measured::histogram::{GAP, Histogram};

/// Histograms, order and shares count as whole while no more than one of so many I/Os is missing.
const RECORDED_OF_EACH_LOST: u64 = 1000;

/// Whether what is made of single requests is whole although `unrecorded` of `ios` are missing.
pub(super) fn is_whole(ios: u64, unrecorded: u64) -> bool {
    unrecorded.saturating_mul(RECORDED_OF_EACH_LOST) <= ios
}

#[derive(Clone, Copy, Debug)]
pub struct OwnerTotals {
    pub id: OwnerId,
    pub row: OwnerRow,
    /// Terminated by its first 0.
    pub comm: [u8; 16],
    pub has_io_workers: bool,
    pub ioprio: (u8, u8),
    /// In the order of [`Op::ALL`].
    pub ops: [OpTotals; Op::ALL.len()],
    pub merges: Merges,
    /// Requests in flight at the snapshot; None if its disk has too many tags to read.
    pub in_flight: Option<InFlight>,
    /// For reads and for writes; None if the histograms were not read, or the table had no room for this owner's.
    pub lines: Option<[Place; 2]>,
    /// Whether they include the histograms of all stages.
    pub has_stages: bool,
    /// Whether they include those of the stages since the program asked.
    pub has_asked: bool,
    pub stalled_ns: u64,
    pub throttled: u64,
    /// See [`super::Quality::unrecorded`].
    pub unrecorded: u64,
    pub throttled_ns: u64,
    pub waits: Waits,
    pub requeued_ns: u64,
    pub waited_for_flush: u64,
    pub fairness: Option<FairnessTotals>,
}

/// The counts behind [`OwnerOp`]; they only grow.
#[derive(Clone, Copy, Debug, Default)]
pub struct OpTotals {
    pub ios: u64,
    pub bytes: u64,
    /// Bios beyond the first of each request.
    pub more_bios: u64,
    pub q2d_ns: u64,
    pub d2c_ns: u64,
    /// I/Os whose queue wait is unknown, and their sum of D2C.
    pub unwaited: u64,
    pub unwaited_d2c_ns: u64,
    pub flush_ns: u64,
    pub q2d_longest: Longest,
    pub d2c_longest: Longest,
}

/// Like [`OwnerKey`], with the index of the device in the snapshot; None for `other`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OwnerId {
    pub device: Option<usize>,
    pub kind: OwnerKind,
    pub tgid: u32,
    pub start_ms: u64,
    pub cgroup_id: u64,
    pub file: Option<FileKey>,
}

/// Where the kernel keeps an owner's numbers. An owner that ended, came back and started anew has another row or a
/// higher generation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OwnerRow {
    pub index: usize,
    /// How often the row was reassigned to another owner.
    pub generation: u32,
}

/// The counts behind [`OwnerFairness`].
#[derive(Clone, Copy, Debug)]
pub struct FairnessTotals {
    pub device_time_ns: u64,
    pub backlogged_ns: u64,
    pub starvation_longest: Longest,
    /// In the cells of [`GAP`].
    pub starvation: [u32; GAP.cells as usize],
    pub starving_ns: Option<u64>,
}

impl OwnerTotals {
    /// An owner without any I/O.
    pub fn new(id: OwnerId) -> Self {
        OwnerTotals {
            id,
            row: OwnerRow::default(),
            comm: [0; 16],
            has_io_workers: false,
            ioprio: (0, 0),
            ops: [OpTotals::default(); Op::ALL.len()],
            merges: Merges::default(),
            in_flight: None,
            lines: Some([Place::default(); 2]),
            has_stages: false,
            has_asked: false,
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

    fn ios(&self) -> u64 {
        self.ops.iter().map(|op| op.ios).sum()
    }

    /// Whether, as far as known, nothing was completed since `earlier` and nothing is pending. Flush commands in flight
    /// belong to no owner.
    pub(super) fn is_idle_since(&self, earlier: &OwnerTotals) -> bool {
        let is_starving = self
            .fairness
            .is_some_and(|fairness| fairness.starving_ns.is_some());
        let in_flight = self.in_flight.filter(|_| self.id.device.is_some());
        let waits = is_starving || in_flight.is_some_and(|now| !now.is_nothing());
        self.ios() == earlier.ios() && self.merges == earlier.merges && !waits
    }

    /// The numbers since `earlier`, with histograms where they are known.
    pub(super) fn since(
        &self,
        earlier: &OwnerTotals,
        span: Span,
        key: OwnerKey,
        histograms: Option<Latencies>,
    ) -> Result<OwnerNumbers> {
        let has_histograms = histograms.is_some();
        let is_whole = self.unrecorded == earlier.unrecorded;
        let Latencies {
            q2d,
            d2c,
            stages,
            asked,
        } = histograms.unwrap_or_default();
        let ops = Op::ALL.into_iter().map(|op| {
            let (now, past) = (&self.ops[op as usize], &earlier.ops[op as usize]);
            // One histogram counts both kinds of writes.
            let other = match op {
                Op::WriteSync => Op::WriteAsync,
                _ => Op::WriteSync,
            };
            let is_alone = || self.ops[other as usize].ios == earlier.ops[other as usize].ios;
            let latencies = [&q2d, &d2c].map(|pair| match op {
                Op::Read => Some(Known::Same(&pair[0])),
                Op::WriteSync | Op::WriteAsync if is_alone() => Some(Known::Same(&pair[1])),
                Op::WriteSync | Op::WriteAsync => Some(Known::More(&pair[1])),
                _ => None,
            });
            // The longest may be one of the requests that are in no histogram.
            now.since(
                past,
                span,
                latencies.map(|known| known.filter(|_| is_whole)),
            )
        });
        Ok(OwnerNumbers {
            comm: self.comm(),
            has_io_workers: self.has_io_workers,
            ioprio: self.ioprio,
            ops: ops.collect(),
            merges: self.merges - earlier.merges,
            in_flight: self.in_flight,
            has_histograms,
            fairness: match (&self.fairness, &earlier.fairness) {
                (Some(now), Some(past)) => Some(now.since(past, span)?),
                (Some(now), None) => Some(now.since(&FairnessTotals::default(), span)?),
                (None, _) => None,
            },
            key,
            q2d,
            d2c,
            stages,
            asked,
            // A thread that was ended while it waited takes its share along.
            stalled_ns: self.stalled_ns.saturating_sub(earlier.stalled_ns),
            throttled: self.throttled - earlier.throttled,
            unrecorded: self.unrecorded - earlier.unrecorded,
            throttled_ns: self.throttled_ns - earlier.throttled_ns,
            waits: self.waits.since(&earlier.waits),
            requeued_ns: self.requeued_ns - earlier.requeued_ns,
            waited_for_flush: self.waited_for_flush - earlier.waited_for_flush,
        })
    }

    /// The histograms since `earlier`; each state comes with its snapshot's lines. None where they lack requests that could
    /// change them.
    pub(super) fn latencies_since(
        &self,
        lines: &[Line],
        earlier: &OwnerTotals,
        before: &[Line],
    ) -> Option<Latencies> {
        let (now, past) = (self.lines?, earlier.lines?);
        let (ios, unrecorded) = (
            self.ios() - earlier.ios(),
            self.unrecorded - earlier.unrecorded,
        );
        // A cell may have wrapped to its old value.
        if ios > u64::from(u32::MAX) || !is_whole(ios, unrecorded) {
            return None;
        }
        let counted = |which| [0, 1].map(|of| now[of].since(lines, past[of], before, which));
        Some(Latencies::of(self.has_stages, self.has_asked, counted))
    }

    fn comm(&self) -> String {
        if self.id.kind == OwnerKind::Other {
            return "other".to_owned();
        }
        comm(&self.comm)
    }
}

/// The name up to its final NUL.
pub fn comm(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|&byte| byte == 0);
    String::from_utf8_lossy(&bytes[..end.unwrap_or(bytes.len())]).into_owned()
}

/// Histograms of reads and of writes.
pub(super) struct Latencies {
    q2d: [Histogram; 2],
    d2c: [Histogram; 2],
    stages: Option<OwnerStages>,
    asked: Option<OwnerAsked>,
}

impl Latencies {
    /// Assembles the stages from the ledger's counts; see [`OwnerLatency`].
    fn of(
        has_stages: bool,
        has_asked: bool,
        counted: impl Fn(OwnerLatency) -> [Histogram; 2],
    ) -> Self {
        use OwnerLatency::{
            A2c, A2d, A2q, D2c, G2dIndirect, I2d, Q2c, Q2d, Q2dIndirect, Q2gIndirect,
        };
        let (mut q2d, d2c) = (counted(Q2d), counted(D2c));
        let stages = has_stages.then(|| {
            let mut stages = OwnerStages {
                q2g: counted(Q2gIndirect),
                g2d: counted(G2dIndirect),
                q2c: counted(Q2c),
                i2d: counted(I2d),
            };
            for (which, indirect) in counted(Q2dIndirect).iter().enumerate() {
                let direct = &mut q2d[which];
                stages.q2g[which].record_n(0, direct.count());
                add(&mut stages.g2d[which], direct);
                add(direct, indirect);
            }
            stages
        });
        let asked = has_asked.then(|| OwnerAsked {
            a2q: counted(A2q),
            a2d: counted(A2d),
            a2c: counted(A2c),
        });
        Latencies {
            q2d,
            d2c,
            stages,
            asked,
        }
    }
}

fn add(sum: &mut Histogram, other: &Histogram) {
    let _ = sum.merge(other); // the layouts are always the same
}

impl Default for Latencies {
    fn default() -> Self {
        Latencies {
            q2d: empty_pair(),
            d2c: empty_pair(),
            stages: None,
            asked: None,
        }
    }
}

impl OwnerId {
    pub(super) fn key(&self, device: &str) -> OwnerKey {
        OwnerKey {
            device: device.to_owned(),
            kind: self.kind,
            tgid: self.tgid,
            start_ms: self.start_ms,
            cgroup_id: self.cgroup_id,
            file: self.file,
        }
    }
}

impl OpTotals {
    /// `latencies`: the interval's histograms of Q2D and D2C, where they exist.
    fn since(&self, earlier: &OpTotals, span: Span, latencies: [Option<Known<'_>>; 2]) -> OwnerOp {
        let ios = self.ios - earlier.ios;
        let q2d_sum_ns = self.q2d_ns - earlier.q2d_ns;
        let d2c_sum_ns = self.d2c_ns - earlier.d2c_ns;
        // The fields are read at slightly different moments.
        let waits = ios.saturating_sub(self.unwaited - earlier.unwaited);
        let unwaited_d2c_ns = self.unwaited_d2c_ns - earlier.unwaited_d2c_ns;
        let longest = |now: Longest, past: Longest, latency: Option<Known<'_>>| {
            let longest = now.since(past, span, latency);
            longest.filter(|_| ios > 0)
        };
        OwnerOp {
            ios,
            bytes: self.bytes - earlier.bytes,
            bios: ios + self.more_bios - earlier.more_bios,
            waits,
            q2d_sum_ns,
            d2c_sum_ns,
            q2c_sum_ns: (q2d_sum_ns + d2c_sum_ns).saturating_sub(unwaited_d2c_ns),
            flush_sum_ns: self.flush_ns - earlier.flush_ns,
            q2d_max_ns: longest(self.q2d_longest, earlier.q2d_longest, latencies[0]),
            d2c_max_ns: longest(self.d2c_longest, earlier.d2c_longest, latencies[1]),
        }
    }
}

impl FairnessTotals {
    fn since(&self, earlier: &FairnessTotals, span: Span) -> Result<OwnerFairness> {
        let counts: [u32; GAP.cells as usize] = std::array::from_fn(|cell| {
            self.starvation[cell].wrapping_sub(earlier.starvation[cell])
        });
        let starvation = Histogram::from_counts(GAP, &counts)?;
        let (now, past) = (self.starvation_longest, earlier.starvation_longest);
        let longest = now.since(past, span, Some(Known::Same(&starvation)));
        // Below the histogram's first cell only its upper limit is known.
        let is_short = starvation.is_empty() && span == Span::Other && now.ever_ns > 0;
        let limit = is_short.then(|| now.ever_ns.min(GAP.upper_ns(0)));
        Ok(OwnerFairness {
            device_time_ns: self.device_time_ns.saturating_sub(earlier.device_time_ns),
            backlogged_ns: self.backlogged_ns.saturating_sub(earlier.backlogged_ns),
            starvation_max_ns: longest.or(limit).max(self.starving_ns),
            starvation,
            starving_ns: self.starving_ns,
        })
    }
}

impl Default for FairnessTotals {
    fn default() -> Self {
        FairnessTotals {
            device_time_ns: 0,
            backlogged_ns: 0,
            starvation_longest: Longest::default(),
            starvation: [0; GAP.cells as usize],
            starving_ns: None,
        }
    }
}
