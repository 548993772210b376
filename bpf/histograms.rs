//! A device's histograms: the cells that grew since the last read.

use crate::Tracer;
use crate::wire::{COARSE, DEVICE_CELLS, OWNER_CELLS, rows};

impl Tracer {
    /// The cells of one histogram (see [`crate::row`]) of the device in `slot` that grew since `last` was read, with
    /// their increments. Cells wrap at 2^32.
    pub fn new_counts(
        &self,
        (slot, shard, row): (usize, usize, usize),
        last: &mut Cells,
        each: impl FnMut(usize, u32),
    ) {
        let index = (slot * self.config.shards as usize + shard) * rows(self.config.detail) + row;
        let (element, first, cells) = if self.config.coarse {
            let within = index % COARSE * OWNER_CELLS;
            (index / COARSE, within / 2, OWNER_CELLS)
        } else {
            (index, 0, DEVICE_CELLS)
        };
        let words = last.words(cells);
        self.histograms
            .changes(element, first, words, each_cell(each));
    }
}

/// The kernel's cells of one histogram when they were last read.
#[derive(Clone, Default)]
pub struct Cells(Vec<u64>);

impl Cells {
    /// Two cells per word. Allocates memory at the first read.
    fn words(&mut self, cells: usize) -> &mut [u64] {
        self.0.resize(cells / 2, 0);
        &mut self.0
    }
}

/// Maps changed words to the changed cells in them.
fn each_cell(mut each: impl FnMut(usize, u32)) -> impl FnMut(usize, u64, u64) {
    move |word, was, is| {
        for (half, (was, is)) in halves(was).into_iter().zip(halves(is)).enumerate() {
            if was != is {
                each(word * 2 + half, is.wrapping_sub(was));
            }
        }
    }
}

/// The two cells of a word, in memory order.
pub(crate) fn halves(word: u64) -> [u32; 2] {
    let bytes = word.to_ne_bytes();
    let cell =
        |at: usize| u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    [cell(0), cell(4)]
}
