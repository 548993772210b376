//! Adds up the records of an owner. Pure.

use super::Scope;
use super::parts::Parts;
use super::stages::Stages;
use crate::measured::histogram::OWNER;
use crate::measured::record::Record;
use crate::measured::snapshot::{LINE_CELLS, Line, Op, OwnerLatency, OwnerTotals};

const DIRECTIONS: usize = 2;
/// Pairs of histograms that are always kept: Q2D and D2C.
const BASE: usize = 2;
const OWNER_CELLS: usize = OWNER.cells as usize;

/// The longest queue wait and D2C of each operation.
pub type Maxima = [(u64, u64); Op::ALL.len()];

#[derive(Default)]
pub struct OwnerBook {
    ops: [OpBook; Op::ALL.len()],
    rest: [OpRest; Op::ALL.len()],
    preflushes: u64,
    parts: Parts,
    /// Its histograms, one after another; empty before the first record.
    cells: Vec<u32>,
}

/// Sums that most records add to. They fill one cache line, because hundreds of owners evict each other.
#[derive(Clone, Copy, Default)]
#[repr(align(64))]
struct OpBook {
    ios: u64,
    bytes: u64,
    more_bios: u64,
    q2d_ns: u64,
    d2c_ns: u64,
    longest_wait_ns: u64,
    longest_d2c_ns: u64,
}

/// Sums that few records add to.
#[derive(Clone, Copy, Default)]
struct OpRest {
    unwaited: u64,
    unwaited_d2c_ns: u64,
    flush_ns: u64,
}

impl OwnerBook {
    pub fn add(&mut self, record: &Record, stages: &Stages) {
        let op = &mut self.ops[record.op as usize];
        let d2c_ns = stages.d2c.unwrap_or(0);
        op.ios += 1;
        op.bytes += u64::from(record.bytes);
        op.more_bios += u64::from(record.bios.saturating_sub(1));
        op.d2c_ns += d2c_ns;
        op.longest_d2c_ns = d2c_ns.max(op.longest_d2c_ns);
        if let Some(ns) = stages.queue_wait {
            op.q2d_ns += ns;
            op.longest_wait_ns = ns.max(op.longest_wait_ns);
            self.parts.add(stages, record.has_slept);
        } else {
            let rest = &mut self.rest[record.op as usize];
            rest.unwaited += 1;
            rest.unwaited_d2c_ns += d2c_ns;
        }
        if record.op == Op::Flush || record.is_preflush || record.is_postflush {
            self.add_flushes(record, stages);
        }
    }

    fn add_flushes(&mut self, record: &Record, stages: &Stages) {
        let rest = &mut self.rest[record.op as usize];
        if let Some(ns) = stages.flush_wait {
            self.preflushes += 1;
            rest.flush_ns += ns;
        }
        if record.is_postflush {
            rest.flush_ns += record.after_data_ns();
        }
        if record.op == Op::Flush {
            rest.flush_ns += stages.q2c.unwrap_or(0);
        }
    }

    /// Adds the latencies of a data operation.
    pub fn add_latencies(&mut self, record: &Record, stages: &Stages, scope: &Scope) {
        if self.cells.is_empty() {
            let has_more = scope.with_owner_stages || scope.with_asked;
            let pairs = if has_more { OwnerLatency::COUNT } else { BASE };
            self.cells.resize(pairs * DIRECTIONS * OWNER_CELLS, 0);
        }
        let direction = usize::from(record.op != Op::Read);
        let mut count = |latency, ns: Option<u64>| {
            if let Some(ns) = ns {
                let cell = &mut self.cells[first_cell(latency, direction) + OWNER.index(ns)];
                *cell = cell.wrapping_add(1);
            }
        };
        count(OwnerLatency::D2c, stages.d2c);
        // Without the other stages there is one histogram for all.
        if stages.q2g == Some(0) || !scope.with_owner_stages {
            count(OwnerLatency::Q2d, stages.queue_wait);
        } else if stages.queue_wait.is_some() {
            count(OwnerLatency::Q2dIndirect, stages.queue_wait);
            count(OwnerLatency::G2dIndirect, stages.g2d);
            count(OwnerLatency::Q2gIndirect, stages.q2g);
        }
        if scope.with_owner_stages {
            count(OwnerLatency::Q2c, stages.q2c);
            count(OwnerLatency::I2d, stages.i2d);
        }
        if let Some(asked) = &stages.asked {
            count(OwnerLatency::A2q, Some(asked.a2q));
            count(OwnerLatency::A2d, asked.a2d);
            count(OwnerLatency::A2c, Some(asked.a2c));
        }
    }

    pub fn add_to(&self, totals: &mut OwnerTotals) {
        let own = self.ops.iter().zip(&self.rest);
        for ((own, rest), op) in own.zip(&mut totals.ops) {
            op.ios += own.ios;
            op.bytes += own.bytes;
            op.more_bios += own.more_bios;
            op.q2d_ns += own.q2d_ns;
            op.d2c_ns += own.d2c_ns;
            op.unwaited += rest.unwaited;
            op.unwaited_d2c_ns += rest.unwaited_d2c_ns;
            op.flush_ns += rest.flush_ns;
        }
        totals.waited_for_flush += self.preflushes;
        self.parts.add_to(&mut totals.waits);
    }

    pub fn take_longest(&mut self) -> Maxima {
        self.ops.each_mut().map(|op| {
            let longest = (op.longest_wait_ns, op.longest_d2c_ns);
            (op.longest_wait_ns, op.longest_d2c_ns) = (0, 0);
            longest
        })
    }

    pub fn ios(&self) -> u64 {
        self.ops.iter().map(|op| op.ios).sum()
    }

    /// See [`super::Ledger::owner_lines`].
    pub fn lines(&self, (latency, direction): (OwnerLatency, usize), lines: &mut Vec<Line>) -> u32 {
        let first = first_cell(latency, direction);
        let Some(cells) = self.cells.get(first..first + OWNER_CELLS) else {
            return 0;
        };
        let mut occupied = 0;
        let (chunks, _) = cells.as_chunks::<LINE_CELLS>();
        for (place, line) in chunks.iter().enumerate() {
            if line.iter().fold(0, |all, count| all | count) != 0 {
                lines.push(*line);
                occupied |= 1 << place;
            }
        }
        occupied
    }
}

fn first_cell(latency: OwnerLatency, direction: usize) -> usize {
    (latency as usize * DIRECTIONS + direction) * OWNER_CELLS
}
