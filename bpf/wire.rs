//! The interface between the programs and user space, with the names that user space uses. Structures and enumerations
//! are generated from wire.h; none of its values is repeated here.

use std::mem::offset_of;

use crate::Detail;
use crate::mapped::Plain;
use crate::skeleton::types::{self, asked_latency, layout, limits, owner_histogram, owner_stage};
pub use crate::skeleton::types::{
    blocked, device_histogram, device_stats, dispatch, inflight, op_counters, order_stats, owner,
    owner_asked, owner_key, owner_latency, owner_op, owner_stages, queue, target, trace_event,
};

/// The enumerations, with their names in wire.h.
pub mod enums {
    pub use crate::skeleton::types::{
        dispatch_kind, inflight_flags, op, owner_flags, owner_kind, trace_kind,
    };
}

pub const OPS: usize = enums::op::OP_COUNT.0 as usize;
/// The operations below this move data and have all histograms.
pub const DATA_OPS: usize = enums::op::DATA_OPS.0 as usize;

pub const DEVICE_UNIT_SHIFT: u32 = layout::DEVICE_UNIT_SHIFT.0;
pub const DEVICE_SUB_BITS: u32 = layout::DEVICE_SUB_BITS.0;
pub const DEVICE_CELLS: usize = layout::DEVICE_CELLS.0 as usize;
pub const OWNER_UNIT_SHIFT: u32 = layout::OWNER_UNIT_SHIFT.0;
pub const OWNER_SUB_BITS: u32 = layout::OWNER_SUB_BITS.0;
pub const OWNER_CELLS: usize = layout::OWNER_CELLS.0 as usize;
pub const GAP_UNIT_SHIFT: u32 = layout::GAP_UNIT_SHIFT.0;
pub const GAP_SUB_BITS: u32 = layout::GAP_SUB_BITS.0;
pub const GAP_CELLS: usize = layout::GAP_CELLS.0 as usize;
pub const LOG2_CELLS: usize = layout::LOG2_CELLS.0 as usize;
/// Number of histograms of the owners' layout in the space of a device's histogram.
pub(crate) const COARSE: usize = layout::COARSE.0 as usize;

pub const DISPATCHES: usize = limits::DISPATCHES.0 as usize;
pub const CLOCK_SHIFT: u32 = limits::CLOCK_SHIFT.0;
pub const STATUSES: usize = limits::STATUSES.0 as usize;
pub(crate) const QUEUE_IDS: usize = limits::QUEUE_IDS.0 as usize;
pub(crate) const THREADS: u32 = limits::THREADS.0;

/// Histograms of a data operation, and of any other operation.
const LATENCIES: usize = types::latency::LATENCY_COUNT.0 as usize;
const OTHER_LATENCIES: usize = types::latency::OTHER_LATENCIES.0 as usize;
const ASKED: usize = asked_latency::ASKED_COUNT.0 as usize;
/// Histograms of a device, without and with those since the program asked.
const ROWS: usize = types::latency::HISTOGRAM_ROWS.0 as usize;
pub const ALL_ROWS: usize = ROWS + asked_latency::ASKED_ROWS.0 as usize;

/// Histograms of an owner in each of the structures that contain some.
pub(crate) const OWNER_STAGES: usize = owner_stage::OWNER_STAGES.0 as usize;
/// Bytes of `occupied` per histogram: one per line, rounded up.
pub(crate) const OWNER_LINES: usize = owner_stage::OWNER_LINES.0 as usize;

const _: () = assert!(
    size_of::<inflight>() == 64,
    "a request's state fills a cache line"
);

/// Index of a histogram of a device and operation; see `enum latency`, followed by `enum asked_latency`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd)]
#[repr(usize)]
pub enum Latency {
    Q2dDirect = types::latency::Q2D_DIRECT.0 as usize,
    D2c = types::latency::D2C.0 as usize,
    Q2c = types::latency::Q2C.0 as usize,
    // Only for data operations:
    Q2dWaited = types::latency::Q2D_WAITED.0 as usize,
    Q2gWaited = types::latency::Q2G_WAITED.0 as usize,
    G2dWaited = types::latency::G2D_WAITED.0 as usize,
    G2dAlone = types::latency::G2D_ALONE.0 as usize,
    I2d = types::latency::I2D.0 as usize,
    Q2dMerged = types::latency::Q2D_MERGED.0 as usize,
    D2cMerged = types::latency::D2C_MERGED.0 as usize,
    Q2cMerged = types::latency::Q2C_MERGED.0 as usize,
    /// Only if requested:
    A2q = LATENCIES + asked_latency::A2Q.0 as usize,
    A2d = LATENCIES + asked_latency::A2D.0 as usize,
    A2c = LATENCIES + asked_latency::A2C.0 as usize,
}

impl Latency {
    /// In the order of their indices.
    pub const ALL: [Latency; LATENCIES + ASKED] = [
        Latency::Q2dDirect,
        Latency::D2c,
        Latency::Q2c,
        Latency::Q2dWaited,
        Latency::Q2gWaited,
        Latency::G2dWaited,
        Latency::G2dAlone,
        Latency::I2d,
        Latency::Q2dMerged,
        Latency::D2cMerged,
        Latency::Q2cMerged,
        Latency::A2q,
        Latency::A2d,
        Latency::A2c,
    ];
}

/// Bytes of the histograms for reads and for writes.
const PAIR_BYTES: usize = 2 * size_of::<owner_histogram>();
/// Pairs in each of the structures that contain some.
const BASE: usize = size_of::<owner_latency>() / PAIR_BYTES;
const STAGES: usize = OWNER_STAGES / 2;

/// Index of a pair of `enum owner_stage` among all pairs.
const fn stage(first: owner_stage) -> usize {
    BASE + first.0 as usize / 2
}

/// Pairs of an owner's histograms, for reads and for writes. If all stages are requested, Q2D counts only requests that
/// did not wait for their start, and `Q2dIndirect` all others; see wire.h.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum OwnerLatency {
    Q2d = offset_of!(owner_latency, q2d) / PAIR_BYTES,
    D2c = offset_of!(owner_latency, d2c) / PAIR_BYTES,
    // In `owner_stages`:
    Q2dIndirect = stage(owner_stage::OWNER_Q2D_INDIRECT),
    Q2gIndirect = stage(owner_stage::OWNER_Q2G_INDIRECT),
    G2dIndirect = stage(owner_stage::OWNER_G2D_INDIRECT),
    Q2c = stage(owner_stage::OWNER_Q2C),
    I2d = stage(owner_stage::OWNER_I2D),
    // These three are in `owner_asked`:
    A2q = BASE + STAGES + asked_latency::A2Q.0 as usize,
    A2d = BASE + STAGES + asked_latency::A2D.0 as usize,
    A2c = BASE + STAGES + asked_latency::A2C.0 as usize,
}

impl OwnerLatency {
    pub const COUNT: usize = BASE + STAGES + ASKED;
    /// In the order of their indices.
    pub const ALL: [OwnerLatency; Self::COUNT] = [
        OwnerLatency::Q2d,
        OwnerLatency::D2c,
        OwnerLatency::Q2dIndirect,
        OwnerLatency::Q2gIndirect,
        OwnerLatency::G2dIndirect,
        OwnerLatency::Q2c,
        OwnerLatency::I2d,
        OwnerLatency::A2q,
        OwnerLatency::A2d,
        OwnerLatency::A2c,
    ];

    /// The histograms that are counted with this detail, in the order of their indices.
    pub fn counted(detail: Detail) -> impl Iterator<Item = OwnerLatency> {
        let (base, rest) = Self::ALL.split_at(BASE);
        let (stages, asked) = rest.split_at(STAGES);
        let wanted = |is_wanted: bool, latencies: &'static [OwnerLatency]| {
            latencies.iter().take_while(move |_| is_wanted).copied()
        };
        wanted(true, base)
            .chain(wanted(detail.owner_stages, stages))
            .chain(wanted(detail.asked, asked))
    }

    /// Where the histogram of reads (0) or of writes (1) is stored.
    pub(crate) fn histogram(self, direction: usize) -> OwnerHistogram {
        assert!(direction < 2);
        let histogram = self as usize * 2 + direction;
        match histogram.checked_sub(2 * BASE) {
            None => OwnerHistogram::Latency(histogram),
            Some(stage) => match stage.checked_sub(OWNER_STAGES) {
                None => OwnerHistogram::Stage(stage),
                Some(asked) => OwnerHistogram::Asked(asked),
            },
        }
    }
}

/// The structure that contains a histogram of an owner, and its index there.
pub(crate) enum OwnerHistogram {
    Latency(usize),
    Stage(usize),
    Asked(usize),
}

const _: () = {
    let mut index = 0;
    while index < Latency::ALL.len() {
        assert!(Latency::ALL[index] as usize == index);
        index += 1;
    }
    index = 0;
    while index < OwnerLatency::ALL.len() {
        assert!(OwnerLatency::ALL[index] as usize == index);
        index += 1;
    }
};

/// Number of histograms of a device with this detail.
pub fn rows(detail: Detail) -> usize {
    if detail.asked { ALL_ROWS } else { ROWS }
}

/// Index of a histogram among a device's [`ALL_ROWS`]; None if the operation has no such histogram.
pub fn row(op: usize, latency: Latency) -> Option<usize> {
    let latency = latency as usize;
    if latency >= LATENCIES {
        (op < DATA_OPS).then(|| ROWS + op * ASKED + latency - LATENCIES)
    } else if op < DATA_OPS {
        Some(op * LATENCIES + latency)
    } else {
        (latency < OTHER_LATENCIES)
            .then(|| DATA_OPS * LATENCIES + (op - DATA_OPS) * OTHER_LATENCIES + latency)
    }
}

macro_rules! plain {
    ($($type:ty),* $(,)?) => {
        $(
            const _: () = assert!(size_of::<$type>().is_multiple_of(8));
            // SAFETY: integers only, generated from wire.h without padding: bpf/tests/sources.rs.
            unsafe impl Plain for $type {}
        )*
    };
}

plain!(
    blocked,
    device_histogram,
    device_stats,
    dispatch,
    inflight,
    order_stats,
    owner,
    owner_asked,
    owner_key,
    owner_latency,
    owner_stages,
    queue,
    target,
    trace_event,
    u64,
);
