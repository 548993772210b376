//! The owners' rows: reads, resets and recycles them.

use std::mem::offset_of;
use std::ops::Range;

use anyhow::Result;
use libbpf_rs::{MapCore, MapFlags};

use crate::mapped::{Line, MappedArray, Plain, bytes_of};
use crate::wire::{OWNER_CELLS, OWNER_LINES, OwnerHistogram, owner_asked, owner_stages};
use crate::{OwnerLatency, Tracer, owner, owner_key, owner_op};

impl Tracer {
    /// Number of owners that can be kept apart; their indices are below this, and 0 is `other`.
    pub fn owner_count(&self) -> usize {
        self.owners.len()
    }

    /// Whether the row is in use.
    pub fn is_owner(&self, index: usize) -> bool {
        let word = self
            .owners
            .word(index, offset_of!(owner, key) + offset_of!(owner_key, tgid));
        word >> 48 != 0 // tgid, slot, kind
    }

    pub fn owner(&self, index: usize) -> owner {
        self.owners.get(index)
    }

    /// The same, and resets its longest times.
    pub fn take_owner(&self, index: usize) -> owner {
        let mut row = self.owners.get(index);
        let take = |longest: &mut u64, offset| {
            // Most operations were never used.
            if *longest > 0 {
                *longest = self.owners.swap(index, offset, 0);
            }
        };
        for (place, op) in row.op.iter_mut().enumerate() {
            let first = offset_of!(owner, op) + place * size_of::<owner_op>();
            let offset = first + offset_of!(owner_op, q2d_max_ns);
            take(&mut op.q2d_max_ns, offset);
            let offset = first + offset_of!(owner_op, d2c_max_ns);
            take(&mut op.d2c_max_ns, offset);
        }
        take(&mut row.gap_max_ns, offset_of!(owner, gap_max_ns));
        row
    }

    /// Whether the owner has histograms; the table has room for fewer of them than owners.
    pub fn has_latency(&self, index: usize) -> bool {
        index < self.owner_latencies.len()
    }

    /// Appends the non-empty lines of one of the owner's histograms, of reads (0) or of writes (1); it must have
    /// histograms. Returns one bit for each line, ascending. Cells wrap at 2^32.
    pub fn owner_lines(
        &self,
        index: usize,
        (which, direction): (OwnerLatency, usize),
        lines: &mut Vec<Line>,
    ) -> u32 {
        match which.histogram(direction) {
            OwnerHistogram::Latency(histogram) => {
                let words = cells_at(histogram * OWNER_CELLS / 2);
                self.owner_latencies.lines(index, words, u32::MAX, lines)
            }
            OwnerHistogram::Stage(histogram) => {
                let cells = offset_of!(owner_stages, histograms);
                occupied_lines(&self.owner_stages, index, (histogram, cells), lines)
            }
            OwnerHistogram::Asked(histogram) => {
                let cells = offset_of!(owner_asked, histograms);
                occupied_lines(&self.owner_asked, index, (histogram, cells), lines)
            }
        }
    }

    /// Frees an owner's row for the next owner. Only for an owner whose process has ended and that has no request in
    /// flight; later writeback for it creates a new owner.
    pub fn recycle(&self, index: usize) -> Result<()> {
        let owner = self.owners.get(index);
        let maps = &self.skeleton.maps;
        maps.owner_index.delete(bytes_of(&owner.key))?;
        self.owners.clear(index);
        if index < self.owner_latencies.len() {
            self.owner_latencies.clear(index);
        }
        if index < self.owner_stages.len() {
            self.owner_stages.clear(index);
        }
        if index < self.owner_asked.len() {
            self.owner_asked.clear(index);
        }
        maps.free_owners
            .update(&[], &(index as u32).to_ne_bytes(), MapFlags::ANY)?;
        Ok(())
    }
}

/// The words of an owner's histogram that begins at word `first`.
fn cells_at(first: usize) -> Range<usize> {
    first..first + OWNER_CELLS / 2
}

/// Appends the non-empty lines of one histogram; the cells of all histograms begin at byte `cells` of an element. See
/// [`Tracer::owner_lines`].
fn occupied_lines<T: Plain>(
    map: &MappedArray<T>,
    index: usize,
    (histogram, cells): (usize, usize),
    lines: &mut Vec<Line>,
) -> u32 {
    let occupied = map.flags(index, histogram * OWNER_LINES / 8);
    let words = cells_at((cells + histogram * OWNER_CELLS * 4) / 8);
    map.lines(index, words, occupied, lines)
}
