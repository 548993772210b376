//! A completed request as the kernel side records it. Pure.

use super::snapshot::Op;

/// Times are CLOCK_MONOTONIC in nanoseconds; 0 where it was not seen or is not measured.
#[allow(clippy::struct_excessive_bools)] // independent facts
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// When the program asked for it; 0 if that was at Q, and [`Record::A_UNKNOWN`] if it was before.
    pub a_ns: u64,
    /// Its first bio was queued.
    pub q_ns: u64,
    /// It was allocated, and got its tag; Q unless the thread slept in between.
    pub g_ns: u64,
    /// It was inserted into the scheduler.
    pub i_ns: u64,
    /// It was issued to the driver for the first time.
    pub d_ns: u64,
    /// Its data was complete.
    pub data_ns: u64,
    /// It ended: after its data only if a flush followed.
    pub c_ns: u64,
    /// Address on the disk in sectors of 512 bytes.
    pub sector: u64,
    pub bytes: u32,
    /// Row of its owner; 0 for `other`.
    pub owner: u32,
    /// Place among the snapshot's devices.
    pub device: u16,
    pub hardware_queue: u16,
    /// Bios that were merged into it, with the first one.
    pub bios: u16,
    pub op: Op,
    /// It waited for a flush before its data was issued.
    pub is_preflush: bool,
    /// A flush followed its data.
    pub is_postflush: bool,
    /// It is a file system's metadata or journal.
    pub is_journal: bool,
    /// It began before the last change of the scheduler: it counts on no side.
    pub is_straddler: bool,
    /// It goes by the scheduler: neither a flush nor a write with one, nor one of the driver's own commands.
    pub is_scheduled: bool,
    /// The command that the kernel sends for one or more flushes, which are records of their own.
    pub is_flush_command: bool,
    /// Its thread slept between Q and G.
    pub has_slept: bool,
}

impl Record {
    pub const A_UNKNOWN: u64 = 1;

    /// A request of which nothing but these is known.
    pub fn issued(op: Op, d_ns: u64, c_ns: u64) -> Record {
        Record {
            a_ns: 0,
            q_ns: 0,
            g_ns: 0,
            i_ns: 0,
            d_ns,
            data_ns: c_ns,
            c_ns,
            sector: 0,
            bytes: 0,
            owner: 0,
            device: 0,
            hardware_queue: 0,
            bios: 1,
            op,
            is_preflush: false,
            is_postflush: false,
            is_journal: false,
            is_straddler: false,
            is_scheduled: false,
            is_flush_command: false,
            has_slept: false,
        }
    }

    /// When it was first seen as a request.
    pub fn seen_ns(&self) -> u64 {
        match self.g_ns {
            0 => self.d_ns,
            ns => ns,
        }
    }

    /// The first of its moments that was seen.
    pub fn begun_ns(&self) -> u64 {
        let moments = [self.q_ns, self.seen_ns()];
        moments.into_iter().find(|ns| *ns > 0).unwrap_or(self.c_ns)
    }

    /// Q, or G where Q was not seen.
    pub fn queued_ns(&self) -> u64 {
        match self.q_ns {
            0 => self.g_ns,
            ns => ns,
        }
    }

    /// How long it waited for the flush that followed its data.
    pub fn after_data_ns(&self) -> u64 {
        self.c_ns.saturating_sub(self.data_ns)
    }
}
