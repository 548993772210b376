//! Latency histograms with log-linear cells.
//!
//! Adding and subtracting are exact and never mix layouts; a quantile is off by at most one cell, which is
//! `2^-sub_bits` of its value (1.6 % for [`DEVICE`]) or one unit near zero. Percentiles are never averaged (there is no
//! function for it; add the counts), and layouts are merged only if their cells nest.

mod cell;
mod estimates; // quantiles, means and shares
mod json;
mod layout;

use std::cmp::Ordering;

use anyhow::Result;
use serde::Deserialize;

use crate::failure::Failure;
use cell::Cell;
use json::Sparse;
pub use layout::{DEVICE, GAP, Layout, OWNER};

/// Stores only the non-empty cells: few of the 1792 are ever used, and there are thousands of histograms.
#[derive(PartialEq, Eq, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(into = "Sparse"))]
#[serde(try_from = "Sparse")]
pub struct Histogram {
    layout: Layout,
    /// Ascending, without empty cells.
    cells: Vec<Cell>,
}

impl Clone for Histogram {
    fn clone(&self) -> Self {
        Histogram {
            layout: self.layout,
            cells: self.cells.clone(),
        }
    }

    /// Reuses the memory of `self`.
    fn clone_from(&mut self, other: &Self) {
        self.layout = other.layout;
        self.cells.clone_from(&other.cells);
    }
}

impl Histogram {
    pub fn new(layout: Layout) -> Self {
        Histogram {
            layout,
            cells: Vec::new(),
        }
    }

    /// An empty histogram with room for this many non-empty cells.
    pub fn with_capacity(layout: Layout, cells: usize) -> Self {
        Histogram {
            layout,
            cells: Vec::with_capacity(cells),
        }
    }

    /// From one count per cell, as the kernel keeps them. Rejects any other number of cells.
    pub fn from_counts(layout: Layout, counts: &[u32]) -> Result<Self> {
        if counts.len() != layout.cells as usize {
            return Err(Failure::invalid(
                format!(
                    "a histogram of {} cells has {} counts",
                    layout.cells,
                    counts.len()
                ),
                "the probe and this program have different versions; rebuild both",
            ));
        }
        let cells = (0..).zip(counts).filter(|&(_, &n)| n > 0);
        Ok(Histogram {
            layout,
            cells: cells.map(|(i, &n)| Cell::saturating(i, n.into())).collect(),
        })
    }

    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// The non-empty cells, ascending.
    pub fn cells(&self) -> impl DoubleEndedIterator<Item = (usize, u64)> + '_ {
        self.cells
            .iter()
            .map(|cell| (cell.place() as usize, cell.count()))
    }

    pub fn record(&mut self, ns: u64) {
        self.record_n(ns, 1);
    }

    pub fn record_n(&mut self, ns: u64, n: u64) {
        self.add_to_cell(self.layout.index(ns), n);
    }

    /// Appends the counts of neighbouring cells above all non-empty ones.
    pub fn append(&mut self, first: usize, counts: &[u32]) {
        debug_assert!(first + counts.len() <= self.layout.cells as usize);
        // Branch-free compaction, because the empty cells are unpredictable: write every cell, advance past the
        // non-zero ones.
        let mut at = self.cells.len();
        self.cells.resize(at + counts.len(), Cell::default());
        for (place, &count) in (first as u32..).zip(counts) {
            self.cells[at] = Cell::saturating(place, count.into());
            at += usize::from(count > 0);
        }
        self.cells.truncate(at);
    }

    /// For changes of many cells in ascending order.
    pub fn ascending(&mut self) -> Ascending<'_> {
        Ascending {
            histogram: self,
            at: 0,
        }
    }

    /// A cell outside the layout is counted as the last one.
    pub fn add_to_cell(&mut self, cell: usize, n: u64) {
        if n == 0 {
            return;
        }
        let cell = cell.min(self.layout.cells as usize - 1) as u32;
        match self.cells.binary_search_by_key(&cell, |cell| cell.place()) {
            Ok(at) => {
                let count = self.cells[at].count().saturating_add(n);
                self.cells[at] = Cell::saturating(cell, count);
            }
            Err(at) => self.cells.insert(at, Cell::saturating(cell, n)),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    pub fn count(&self) -> u64 {
        let counts = self.cells.iter().map(|cell| cell.count());
        counts.fold(0, u64::saturating_add)
    }

    /// Upper end of the last non-empty cell: no value is larger, except for those in the layout's last cell.
    pub fn end_ns(&self) -> Option<u64> {
        let last = self.cells.last()?;
        Some(self.layout.upper_ns(last.place() as usize))
    }

    /// Adds the other's counts, exactly and in any order. An empty histogram takes over the other's layout.
    pub fn merge(&mut self, other: &Histogram) -> Result<()> {
        if other.is_empty() {
            return Ok(());
        }
        if self.is_empty() {
            self.clone_from(other);
            return Ok(());
        }
        self.refuse_other_layout(other)?;
        let mut cells = Vec::with_capacity(self.cells.len().max(other.cells.len()));
        let (mut mine, mut theirs) = (&self.cells[..], &other.cells[..]);
        while let (Some((&a, my_rest)), Some((&b, their_rest))) =
            (mine.split_first(), theirs.split_first())
        {
            let (i, j) = (a.place(), b.place());
            cells.push(match i.cmp(&j) {
                Ordering::Less => a,
                Ordering::Greater => b,
                Ordering::Equal => Cell::new(i, a.count() + b.count()).ok_or_else(broken)?,
            });
            if i <= j {
                mine = my_rest;
            }
            if j <= i {
                theirs = their_rest;
            }
        }
        cells.extend_from_slice(mine);
        cells.extend_from_slice(theirs);
        self.cells = cells;
        Ok(())
    }

    /// The counts since `earlier`, an earlier state of the same cumulative histogram.
    pub fn subtract(&self, earlier: &Histogram) -> Result<Histogram> {
        self.refuse_other_layout(earlier)?;
        let mut cells = Vec::with_capacity(self.cells.len());
        let mut before = &earlier.cells[..];
        for &cell in &self.cells {
            let known = match before.split_first() {
                Some((&known, rest)) if known.place() == cell.place() => {
                    before = rest;
                    known.count()
                }
                _ => 0,
            };
            match cell.count().checked_sub(known).ok_or_else(broken)? {
                0 => {}
                count => cells.push(Cell::saturating(cell.place(), count)),
            }
        }
        if !before.is_empty() {
            return Err(broken());
        }
        Ok(Histogram {
            layout: self.layout,
            cells,
        })
    }

    fn refuse_other_layout(&self, other: &Histogram) -> Result<()> {
        if self.layout == other.layout {
            return Ok(());
        }
        Err(Failure::invalid(
            format!(
                "histograms have different layouts: {} and {}",
                self.layout, other.layout
            ),
            "coarsen the finer one first",
        ))
    }

    /// The same values in wider cells, exactly. Rejects a layout whose cells do not contain whole cells of this one, or
    /// whose range is longer.
    pub fn coarsen(&self, to: Layout) -> Result<Histogram> {
        let (cells, last) = (self.layout.cells as usize, to.cells as usize - 1);
        for i in 0..cells {
            let target = to.index(self.layout.lower_ns(i));
            let end = to.index(self.layout.upper_ns(i) - 1);
            if target != end || (i == cells - 1 && target != last) {
                return Err(Failure::invalid(
                    format!("{} cannot be coarsened to {to}", self.layout),
                    "choose a layout with wider cells and a range that is not longer",
                ));
            }
        }
        let mut coarse = Histogram::new(to);
        for (i, n) in self.cells() {
            coarse.add_to_cell(to.index(self.layout.lower_ns(i)), n);
        }
        Ok(coarse)
    }
}

fn broken() -> anyhow::Error {
    Failure::invalid(
        "a histogram cell decreased or overflowed",
        "the two are not an earlier and a later state of one cumulative histogram; measure again",
    )
}

/// Walks through the cells instead of searching for each.
pub struct Ascending<'a> {
    histogram: &'a mut Histogram,
    at: usize,
}

impl Ascending<'_> {
    /// Replaces the count of a cell, which must be above those before, with the result of `count`, which must not be 0.
    #[inline]
    pub fn update(&mut self, cell: usize, count: impl FnOnce(u64) -> u64) {
        let cell = cell.min(self.histogram.layout.cells as usize - 1) as u32;
        let cells = &mut self.histogram.cells;
        while cells.get(self.at).is_some_and(|at| at.place() < cell) {
            self.at += 1;
        }
        match cells.get_mut(self.at) {
            Some(at) if at.place() == cell => *at = Cell::saturating(cell, count(at.count())),
            _ => cells.insert(self.at, Cell::saturating(cell, count(0))),
        }
    }
}

#[cfg(test)]
mod tests;
