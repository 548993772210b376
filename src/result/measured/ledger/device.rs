//! Adds up the records of a device. Pure.

use super::cells::Cells;
use super::parts::Parts;
use super::stages::Stages;
use crate::measured::histogram::Layout;
use crate::measured::record::Record;
use crate::measured::snapshot::{Asked, DeviceNumbers, DeviceOp, Flushes, Op};

#[derive(Default)]
pub struct DeviceBook {
    ops: [OpBook; Op::ALL.len()],
    flushes: Flushes,
    parts: Parts,
    straddlers: u64,
    straddler_bytes: u64,
    negative: u64,
    unissued: u64,
    owner_overflow: u64,
}

#[derive(Default)]
struct OpBook {
    ios: u64,
    bytes: u64,
    more_bios: u64,
    waits: u64,
    queue_wait_ns: u64,
    d2c_ns: u64,
    q2c_ns: u64,
    /// Q2D of requests that got their tag at once: it equals G2D, and Q2G is 0. Most do, and are added here only.
    direct: Cells,
    q2g: Cells,
    g2d: Cells,
    q2d: Cells,
    d2c: Cells,
    q2c: Cells,
    i2d: Cells,
    merged_q2d: Cells,
    merged_d2c: Cells,
    merged_q2c: Cells,
    a2q: Cells,
    a2d: Cells,
    a2c: Cells,
}

impl DeviceBook {
    pub fn add_straddler(&mut self, record: &Record) {
        self.straddlers += 1;
        self.straddler_bytes += u64::from(record.bytes);
    }

    pub fn add(&mut self, record: &Record, stages: &Stages, layout: Layout) {
        self.negative += stages.negative;
        if !record.is_flush_command {
            self.add_flushes(record, stages, layout);
        }
        let op = &mut self.ops[record.op as usize];
        op.d2c.add(layout, stages.d2c);
        op.d2c_ns += stages.d2c.unwrap_or(0);
        if record.is_flush_command {
            op.ios += 1;
            return;
        }
        self.unissued += u64::from(record.d_ns == 0 && record.bytes > 0);
        self.owner_overflow += u64::from(record.owner == 0 && record.g_ns > 0);
        // The flush command counts as the I/O.
        if record.op != Op::Flush {
            op.ios += 1;
            op.bytes += u64::from(record.bytes);
        }
        op.more_bios += u64::from(record.bios.saturating_sub(1));
        op.waits += u64::from(stages.queue_wait.is_some());
        op.queue_wait_ns += stages.queue_wait.unwrap_or(0);
        if stages.queue_wait.is_some() {
            self.parts.add(stages, record.has_slept);
        }
        op.q2c.add(layout, stages.q2c);
        op.q2c_ns += stages.q2c.unwrap_or(0);
        if !Op::DATA.contains(&record.op) {
            if stages.q2g.is_some() {
                op.q2d.add(layout, stages.queue_wait);
            }
            return;
        }
        op.add_waits(stages, layout);
        let more = u64::from(record.bios.saturating_sub(1));
        if more > 0 {
            op.merged_q2d.add_n(layout, stages.queue_wait, more);
            op.merged_d2c.add_n(layout, stages.d2c, more);
            op.merged_q2c.add_n(layout, stages.q2c, more);
        }
        if let Some(asked) = &stages.asked {
            op.a2q.add(layout, Some(asked.a2q));
            op.a2d.add(layout, asked.a2d);
            op.a2c.add(layout, Some(asked.a2c));
        }
    }

    fn add_flushes(&mut self, record: &Record, stages: &Stages, layout: Layout) {
        let flushes = &mut self.flushes;
        flushes.asked += u64::from(record.op == Op::Flush);
        if let Some(ns) = stages.flush_wait {
            flushes.before_data += 1;
            flushes.before_data_ns += ns;
            self.ops[Op::Flush as usize].q2d.add(layout, Some(ns));
        }
        if record.is_postflush {
            flushes.after_data += 1;
            flushes.after_data_ns += record.after_data_ns();
        }
        if record.is_journal && record.op == Op::WriteSync {
            flushes.journal_writes += 1;
            flushes.journal_ns += stages.d2c.unwrap_or(0);
        }
    }

    pub fn add_to(&mut self, numbers: &mut DeviceNumbers, layout: Layout, with_asked: bool) {
        for (book, op) in self.ops.iter_mut().zip(&mut numbers.ops) {
            book.add_to(op, layout, with_asked);
        }
        numbers.flushes += self.flushes;
        self.parts.add_to(&mut numbers.waits);
        numbers.edges.straddlers += self.straddlers;
        numbers.edges.straddler_bytes += self.straddler_bytes;
        numbers.quality.negative += self.negative;
        numbers.quality.unissued += self.unissued;
        numbers.quality.owner_overflow += self.owner_overflow;
    }
}

impl OpBook {
    /// Adds the waits of a data operation.
    fn add_waits(&mut self, stages: &Stages, layout: Layout) {
        self.i2d.add(layout, stages.i2d);
        if stages.q2g == Some(0) {
            self.direct.add(layout, stages.queue_wait);
            return;
        }
        self.g2d.add(layout, stages.g2d);
        if stages.q2g.is_some() {
            self.q2g.add(layout, stages.q2g);
            self.q2d.add(layout, stages.queue_wait);
        }
    }

    fn add_to(&mut self, op: &mut DeviceOp, layout: Layout, with_asked: bool) {
        op.ios += self.ios;
        op.bytes += self.bytes;
        op.bios += self.ios + self.more_bios;
        op.waits += self.waits;
        op.q2d_sum_ns += self.queue_wait_ns;
        op.d2c_sum_ns += self.d2c_ns;
        op.q2c_sum_ns += self.q2c_ns;
        let direct = self.direct.total(layout);
        op.q2g.clone_from(self.q2g.total(layout));
        op.q2g.record_n(0, direct.count());
        op.g2d.clone_from(self.g2d.total(layout));
        op.q2d.clone_from(self.q2d.total(layout));
        for all in [&mut op.g2d, &mut op.q2d] {
            // The layouts are the same by construction.
            let _ = all.merge(direct);
        }
        op.d2c.clone_from(self.d2c.total(layout));
        op.q2c.clone_from(self.q2c.total(layout));
        op.i2d.clone_from(self.i2d.total(layout));
        let merged = &mut op.merged_bios;
        merged.q2d.clone_from(self.merged_q2d.total(layout));
        merged.d2c.clone_from(self.merged_d2c.total(layout));
        merged.q2c.clone_from(self.merged_q2c.total(layout));
        if with_asked && Op::DATA.contains(&op.op) {
            op.asked = Some(Asked {
                a2q: self.a2q.total(layout).clone(),
                a2d: self.a2d.total(layout).clone(),
                a2c: self.a2c.total(layout).clone(),
            });
        }
    }
}
