//! A non-empty cell in one word: there are thousands of histograms with about a hundred cells each, and most of the
//! time is spent bringing them into the CPU cache.

use std::fmt;

/// 48 bits for the count: at a million I/Os per second in one cell they last for nine years.
const COUNT_BITS: u32 = 48;
pub const MAX_COUNT: u64 = (1 << COUNT_BITS) - 1;
/// The remaining bits hold the cell's index in the layout.
pub const MAX_CELLS: u32 = 1 << (64 - COUNT_BITS);

#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Cell(u64);

impl Cell {
    /// `None` for a count beyond [`MAX_COUNT`]. The place must be below [`MAX_CELLS`].
    #[inline]
    pub fn new(place: u32, count: u64) -> Option<Cell> {
        debug_assert!(place < MAX_CELLS);
        (count <= MAX_COUNT).then_some(Cell(u64::from(place) << COUNT_BITS | count))
    }

    /// As `new`; a larger count saturates.
    #[inline]
    pub fn saturating(place: u32, count: u64) -> Cell {
        Cell(u64::from(place) << COUNT_BITS | count.min(MAX_COUNT))
    }

    #[inline]
    pub fn place(self) -> u32 {
        (self.0 >> COUNT_BITS) as u32
    }

    #[inline]
    pub fn count(self) -> u64 {
        self.0 & MAX_COUNT
    }
}

impl fmt::Debug for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place(), self.count())
    }
}
