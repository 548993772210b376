//! Latency histograms with log-linear cells, the only form in which latencies leave the kernel.
//!
//! Promises: adding and subtracting are exact and never mix layouts; a quantile is off by at most one cell, which is
//! `2^-sub_bits` of its value (1.6 % for [`DEVICE`]) or one unit near zero. Refuses: averages of percentiles (there is
//! no such function here; add the counts), and layouts whose cells do not nest.

use crate::failure::Failure;
use anyhow::Result;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How nanoseconds fall into cells. With `v = ns >> unit_shift`: below `2^(sub_bits+1)` every `v` has its own cell,
/// above there are `2^sub_bits` cells an octave; the last cell catches the rest.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "LayoutFields")]
pub struct Layout {
    pub unit_shift: u32,
    pub sub_bits: u32,
    pub cells: u32,
}

/// Per device, operation and stage, the layout under every verdict: 16 ns to 137 s, 1.6 % wide.
pub const DEVICE: Layout = Layout {
    unit_shift: 4,
    sub_bits: 6,
    cells: 1792,
};

/// Per owner, for live rows: 64 ns to 137 s, 6.3 % wide.
pub const OWNER: Layout = Layout {
    unit_shift: 6,
    sub_bits: 4,
    cells: 448,
};

/// Of times without service: 1.05 ms to 137 s, 25 % wide.
pub const GAP: Layout = Layout {
    unit_shift: 20,
    sub_bits: 2,
    cells: 64,
};

impl Layout {
    pub const fn index(self, ns: u64) -> usize {
        let v = ns >> self.unit_shift;
        let cell = if v < 2 << self.sub_bits {
            v
        } else {
            let shift = v.ilog2() - self.sub_bits;
            ((shift as u64) << self.sub_bits) + (v >> shift)
        };
        if cell < self.cells as u64 {
            cell as usize
        } else {
            self.cells as usize - 1
        }
    }

    /// The smallest value of cell `i`.
    pub const fn lower_ns(self, i: usize) -> u64 {
        let octave = i >> self.sub_bits;
        if octave < 2 {
            return (i as u64) << self.unit_shift;
        }
        let within = (i & ((1 << self.sub_bits) - 1)) | (1 << self.sub_bits);
        (within as u64) << (octave - 1) << self.unit_shift
    }

    /// The first value above cell `i`. For the last cell this is where the layout ends; larger values are in it too.
    pub const fn upper_ns(self, i: usize) -> u64 {
        self.lower_ns(i + 1)
    }

    pub const fn mid_ns(self, i: usize) -> f64 {
        f64::midpoint(self.lower_ns(i) as f64, self.upper_ns(i) as f64)
    }
}

/// A layout as it stands in a file, before it is known to make sense.
#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "Layout")]
struct LayoutFields {
    unit_shift: u32,
    sub_bits: u32,
    cells: u32,
}

impl TryFrom<LayoutFields> for Layout {
    type Error = String;

    /// Bounds keep every shift below 64 bits and a hostile file from asking for gigabytes.
    fn try_from(f: LayoutFields) -> Result<Self, String> {
        let top_octave = u64::from(f.cells) >> f.sub_bits.min(10);
        let bits = u64::from(f.unit_shift) + u64::from(f.sub_bits) + top_octave;
        if f.cells == 0 || f.sub_bits > 10 || bits > 63 {
            return Err(format!(
                "no such histogram layout: unit_shift {}, sub_bits {}, cells {}",
                f.unit_shift, f.sub_bits, f.cells
            ));
        }
        Ok(Layout {
            unit_shift: f.unit_shift,
            sub_bits: f.sub_bits,
            cells: f.cells,
        })
    }
}

/// Counts by cell. In JSON only the cells that hold something are listed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "Sparse", into = "Sparse")]
pub struct Histogram {
    layout: Layout,
    counts: Vec<u64>,
}

impl Histogram {
    pub fn new(layout: Layout) -> Self {
        Histogram {
            layout,
            counts: vec![0; layout.cells as usize],
        }
    }

    /// Counts as the kernel keeps them, one a cell. Refuses another number of cells.
    pub fn from_counts(layout: Layout, counts: Vec<u64>) -> Result<Self> {
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
        Ok(Histogram { layout, counts })
    }

    pub fn layout(&self) -> Layout {
        self.layout
    }

    pub fn counts(&self) -> &[u64] {
        &self.counts
    }

    pub fn record(&mut self, ns: u64) {
        self.record_n(ns, 1);
    }

    pub fn record_n(&mut self, ns: u64, n: u64) {
        let cell = &mut self.counts[self.layout.index(ns)];
        *cell = cell.saturating_add(n);
    }

    pub fn count(&self) -> u64 {
        self.counts.iter().fold(0, |sum, &n| sum.saturating_add(n))
    }

    /// Values in the last cell, which has no upper end: a quantile that lands there is a lower bound.
    pub fn count_in_last_cell(&self) -> u64 {
        self.counts.last().copied().unwrap_or(0)
    }

    /// Adds the other's counts: exact, in any order.
    pub fn merge(&mut self, other: &Histogram) -> Result<()> {
        self.counts = self.cellwise(other, u64::checked_add)?;
        Ok(())
    }

    /// What was counted after `earlier`, a former state of the same cumulative histogram.
    pub fn subtract(&self, earlier: &Histogram) -> Result<Histogram> {
        let counts = self.cellwise(earlier, u64::checked_sub)?;
        Ok(Histogram {
            layout: self.layout,
            counts,
        })
    }

    fn cellwise(&self, other: &Histogram, op: fn(u64, u64) -> Option<u64>) -> Result<Vec<u64>> {
        if self.layout != other.layout {
            return Err(Failure::invalid(
                format!(
                    "histograms of different layouts met: {:?} and {:?}",
                    self.layout, other.layout
                ),
                "coarsen the finer one first",
            ));
        }
        let counts = self.counts.iter().zip(&other.counts);
        counts.map(|(&a, &b)| op(a, b)).collect::<Option<_>>().ok_or_else(|| {
            Failure::invalid(
                "a histogram cell ran backwards or over",
                "the two are not states of one cumulative histogram, in this order; measure again",
            )
        })
    }

    /// The same values in wider cells, exactly. Refuses a layout whose cells cut through ours or that reaches further.
    pub fn coarsen(&self, to: Layout) -> Result<Histogram> {
        let mut coarse = Histogram::new(to);
        let last = self.counts.len() - 1;
        for (i, &n) in self.counts.iter().enumerate() {
            let target = to.index(self.layout.lower_ns(i));
            let end = to.index(self.layout.upper_ns(i) - 1);
            if target != end || (i == last && target != coarse.counts.len() - 1) {
                return Err(Failure::invalid(
                    format!("{:?} cannot be coarsened to {to:?}", self.layout),
                    "choose a layout with wider cells and no longer range",
                ));
            }
            coarse.counts[target] = coarse.counts[target].saturating_add(n);
        }
        Ok(coarse)
    }

    /// The value below which the share `p` of all values lies, spread evenly inside its cell.
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
                return Some(lower + width * (wanted - below) / n);
            }
            below += n;
        }
        // Reached only when rounding of counts above 2^53 leaves the sum short of `wanted`.
        self.occupied()
            .last()
            .map(|(i, _)| self.layout.upper_ns(i) as f64)
    }

    /// Whether the tail beyond `p` holds the 100 values below which a percentile of a round is not worth reporting.
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
                std::cmp::Ordering::Less => 0.0,
                std::cmp::Ordering::Greater => n,
                std::cmp::Ordering::Equal => {
                    let (lower, upper) = (self.layout.lower_ns(i), self.layout.upper_ns(i));
                    n * upper.saturating_sub(ns) as f64 / (upper - lower) as f64
                }
            })
            .sum();
        let total = self.count() as f64;
        (total > 0.0).then(|| above / total)
    }

    fn occupied(&self) -> impl Iterator<Item = (usize, f64)> + '_ {
        let counts = self.counts.iter().enumerate();
        counts.filter(|(_, n)| **n > 0).map(|(i, n)| (i, *n as f64))
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
        let cells = (0u32..).zip(h.counts).filter(|(_, n)| *n > 0).collect();
        Sparse {
            layout: h.layout,
            cells,
        }
    }
}

impl TryFrom<Sparse> for Histogram {
    type Error = String;

    fn try_from(sparse: Sparse) -> Result<Self, String> {
        let mut h = Histogram::new(sparse.layout);
        if !sparse.cells.is_sorted_by(|a, b| a.0 < b.0) {
            return Err("histogram cells are not in ascending order".into());
        }
        for (i, n) in sparse.cells {
            let cell = h.counts.get_mut(i as usize);
            *cell.ok_or_else(|| format!("histogram cell {i} is outside its layout"))? = n;
        }
        Ok(h)
    }
}

#[cfg(test)]
mod tests;
