//! Latency histograms with log-linear cells, the only form in which latencies leave the kernel.
//!
//! Promises: adding and subtracting are exact and never mix layouts; a quantile is off by at most one cell, which is
//! `2^-sub_bits` of its value (1.6 % for [`DEVICE`]) or one unit near zero. Refuses: averages of percentiles (there is
//! no such function here; add the counts), and layouts whose cells do not nest.

mod cell;
mod layout;

use std::cmp::Ordering;

use anyhow::Result;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::failure::Failure;
use cell::{Cell, MAX_COUNT};
pub use layout::{DEVICE, GAP, Layout, OWNER};

/// Cells of layouts with at most so many `sub_bits` are wide: a quantile is their middle, at most half of one off.
const MIDDLE_BITS: u32 = 5;

/// Counts by cell, of those that hold something: few of the 1792 ever do, and there are thousands of histograms.
#[derive(PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "Sparse", into = "Sparse")]
pub struct Histogram {
    layout: Layout,
    /// Ascending, without empty ones.
    cells: Vec<Cell>,
}

impl Clone for Histogram {
    fn clone(&self) -> Self {
        Histogram {
            layout: self.layout,
            cells: self.cells.clone(),
        }
    }

    /// Into the memory that is there.
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

    /// With room for so many cells that hold something.
    pub fn with_capacity(layout: Layout, cells: usize) -> Self {
        Histogram {
            layout,
            cells: Vec::with_capacity(cells),
        }
    }

    /// Counts as the kernel keeps them, one a cell. Refuses another number of cells.
    pub fn from_counts(layout: Layout, counts: &[u32]) -> Result<Self> {
        if counts.len() != layout.cells as usize {
            return Err(Failure::invalid(
                format!(
                    "a histogram of {} cells came with {} counts",
                    layout.cells,
                    counts.len()
                ),
                "the probe and this program are of different versions; rebuild both",
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

    /// Those that hold something, ascending.
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

    /// The counts of neighbouring cells, which are above all that hold something.
    pub fn append(&mut self, first: usize, counts: &[u32]) {
        debug_assert!(first + counts.len() <= self.layout.cells as usize);
        // Which of them are zero nobody can foresee: all are written, the next over one that is.
        let mut at = self.cells.len();
        self.cells.resize(at + counts.len(), Cell::default());
        for (place, &count) in (first as u32..).zip(counts) {
            self.cells[at] = Cell::saturating(place, count.into());
            at += usize::from(count > 0);
        }
        self.cells.truncate(at);
    }

    /// To change many cells, the lower ones first.
    pub fn ascending(&mut self) -> Ascending<'_> {
        Ascending {
            histogram: self,
            at: 0,
        }
    }

    /// A cell outside the layout counts as the last one.
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

    /// Values in the last cell, which has no upper end: a quantile that lands there is a lower bound.
    pub fn count_in_last_cell(&self) -> u64 {
        let last = self.cells.last();
        let last = last.filter(|cell| cell.place() + 1 == self.layout.cells);
        last.map_or(0, |cell| cell.count())
    }

    /// Where the occupied cells end: no value is larger, but for those in the layout's last cell.
    pub fn end_ns(&self) -> Option<u64> {
        let last = self.cells.last()?;
        Some(self.layout.upper_ns(last.place() as usize))
    }

    /// Adds the other's counts: exact, in any order. An empty one takes the other's layout.
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

    /// What was counted after `earlier`, a former state of the same cumulative histogram.
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
                "histograms of different layouts met: {:?} and {:?}",
                self.layout, other.layout
            ),
            "coarsen the finer one first",
        ))
    }

    /// The same values in wider cells, exactly. Refuses a layout whose cells cut through ours or that reaches further.
    pub fn coarsen(&self, to: Layout) -> Result<Histogram> {
        let (cells, last) = (self.layout.cells as usize, to.cells as usize - 1);
        for i in 0..cells {
            let target = to.index(self.layout.lower_ns(i));
            let end = to.index(self.layout.upper_ns(i) - 1);
            if target != end || (i == cells - 1 && target != last) {
                return Err(Failure::invalid(
                    format!("{:?} cannot be coarsened to {to:?}", self.layout),
                    "choose a layout with wider cells and no longer range",
                ));
            }
        }
        let mut coarse = Histogram::new(to);
        for (i, n) in self.cells() {
            coarse.add_to_cell(to.index(self.layout.lower_ns(i)), n);
        }
        Ok(coarse)
    }

    /// The value below which the share `p` of all values lies, to 1.6 % in the layout [`DEVICE`] and to 3.2 % in [`OWNER`]:
    /// values are spread evenly inside a cell, but where cells are wide every value counts as the middle of its cell.
    /// `None` when empty, or when `p` is not in 0..=1.
    pub fn quantile_ns(&self, p: f64) -> Option<f64> {
        let total = self.count();
        if total == 0 || !(0.0..=1.0).contains(&p) {
            return None;
        }
        let wanted = p * total as f64;
        let mut below = 0.0;
        for (i, n) in self.occupied() {
            if below + n >= wanted {
                let lower = self.layout.lower_ns(i) as f64;
                let width = self.layout.upper_ns(i) as f64 - lower;
                let within = match self.layout.sub_bits {
                    0..=MIDDLE_BITS => 0.5,
                    _ => (wanted - below) / n,
                };
                return Some(lower + width * within);
            }
            below += n;
        }
        // Reached only when rounding of counts above 2^53 leaves the sum short of `wanted`.
        self.occupied()
            .last()
            .map(|(i, _)| self.layout.upper_ns(i) as f64)
    }

    /// Whether the tail beyond `p` holds the 100 values below which a percentile of a round is not worth reporting, and one
    /// of an interval is marked.
    pub fn supports_quantile(&self, p: f64) -> bool {
        // 10,000 * (1 - 0.99) is 100.00000000000009 and 1,000 * (1 - 0.9) is 99.99999999999997.
        self.count() as f64 * (1.0 - p) >= 100.0 * (1.0 - 1e-9)
    }

    /// Whether the percentile stands on a cliff: two standard errors of rank around `p` move it by more than half.
    /// Typical of two populations (cache hits and misses) whose border lies near `p`. `None` when empty.
    pub fn quantile_is_fragile(&self, p: f64) -> Option<bool> {
        let reach = 2.0 * (p * (1.0 - p) / self.count() as f64).sqrt();
        let low = self.quantile_ns((p - reach).max(0.0))?;
        let high = self.quantile_ns((p + reach).min(1.0))?;
        Some(high > 1.5 * low)
    }

    /// An estimate: every value counts as the middle of its cell.
    pub fn mean_ns(&self) -> Option<f64> {
        let total = self.count() as f64;
        let sum: f64 = self
            .occupied()
            .map(|(i, n)| n * self.layout.mid_ns(i))
            .sum();
        (total > 0.0).then(|| sum / total)
    }

    /// An estimate from the middles of the cells, like the mean. `None` below two values.
    pub fn sd_ns(&self) -> Option<f64> {
        let total = self.count() as f64;
        let mean = self.mean_ns()?;
        let squares = |(i, n): (usize, f64)| n * (self.layout.mid_ns(i) - mean).powi(2);
        (total > 1.0).then(|| (self.occupied().map(squares).sum::<f64>() / (total - 1.0)).sqrt())
    }

    /// The share of values above `ns`; the cell that holds `ns` is split evenly. `None` when empty.
    pub fn share_above(&self, ns: u64) -> Option<f64> {
        let split = self.layout.index(ns);
        let above: f64 = self
            .occupied()
            .map(|(i, n)| match i.cmp(&split) {
                Ordering::Less => 0.0,
                Ordering::Greater => n,
                Ordering::Equal => {
                    let (lower, upper) = (self.layout.lower_ns(i), self.layout.upper_ns(i));
                    n * upper.saturating_sub(ns) as f64 / (upper - lower) as f64
                }
            })
            .sum();
        let total = self.count() as f64;
        (total > 0.0).then(|| above / total)
    }

    fn occupied(&self) -> impl Iterator<Item = (usize, f64)> + '_ {
        self.cells().map(|(i, n)| (i, n as f64))
    }
}

fn broken() -> anyhow::Error {
    Failure::invalid(
        "a histogram cell ran backwards or over",
        "the two are not states of one cumulative histogram, in this order; measure again",
    )
}

/// Walks over the cells instead of looking for each.
pub struct Ascending<'a> {
    histogram: &'a mut Histogram,
    at: usize,
}

impl Ascending<'_> {
    /// Puts what `count` makes of it in the place of the count of a cell above those before; it must not be 0.
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

/// The JSON form: `[[cell, count], ...]`, ascending, without the empty cells.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Histogram")]
struct Sparse {
    layout: Layout,
    cells: Vec<(u32, u64)>,
}

impl From<Histogram> for Sparse {
    fn from(h: Histogram) -> Self {
        Sparse {
            layout: h.layout,
            cells: h
                .cells
                .iter()
                .map(|cell| (cell.place(), cell.count()))
                .collect(),
        }
    }
}

impl TryFrom<Sparse> for Histogram {
    type Error = String;

    fn try_from(sparse: Sparse) -> Result<Self, String> {
        let Sparse { layout, mut cells } = sparse;
        if !cells.is_sorted_by(|a, b| a.0 < b.0) {
            return Err("histogram cells are not in ascending order".into());
        }
        if let Some((i, _)) = cells.last().filter(|cell| cell.0 >= layout.cells) {
            return Err(format!("histogram cell {i} is outside its layout"));
        }
        cells.retain(|cell| cell.1 > 0);
        let cells = cells
            .into_iter()
            .map(|(i, n)| {
                Cell::new(i, n).ok_or_else(|| {
                    format!(
                        "histogram cell {i} counts {n}, more than the {MAX_COUNT} of its 48 bits"
                    )
                })
            })
            .collect::<Result<_, _>>()?;
        Ok(Histogram { layout, cells })
    }
}

#[cfg(test)]
mod tests;
