//! Estimates from the counts: quantiles and their reliability, means and shares. Pure.

use crate::statistics::beyond;
use std::cmp::Ordering;

use super::Histogram;

/// Layouts with at most this many `sub_bits` have wide cells: a quantile is the middle of its cell, off by at most half
/// a cell.
const MIDDLE_BITS: u32 = 5;

impl Histogram {
    /// The `p`-quantile, to 1.6 % in the layout `DEVICE` and to 3.2 % in `OWNER`: it is interpolated inside its cell,
    /// or in wide cells the middle of the cell. `None` if empty, or if `p` is not in 0..=1.
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
        // Reached only if rounding of counts above 2^53 leaves the sum below `wanted`.
        self.occupied()
            .last()
            .map(|(i, _)| self.layout.upper_ns(i) as f64)
    }

    /// Whether at least 100 values lie beyond `p`. A percentile with fewer is not reported for a round, and marked for
    /// an interval.
    pub fn supports_quantile(&self, p: f64) -> bool {
        beyond::has(self.count() as f64, p, beyond::TO_REPORT)
    }

    /// The `p`-quantile, if enough values lie beyond it.
    pub fn supported_quantile_ns(&self, p: f64) -> Option<f64> {
        self.quantile_ns(p).filter(|_| self.supports_quantile(p))
    }

    /// The middles of the first and of the last cell with a value.
    pub fn outermost_ns(&self) -> impl Iterator<Item = f64> {
        let mut cells = self.occupied().map(|(cell, _)| self.layout.mid_ns(cell));
        let first = cells.next();
        first.into_iter().chain(cells.last())
    }

    /// Whether the percentile is at a cliff: moving its rank by two standard errors changes it by more than half.
    /// Typical of two populations (cache hits and misses) whose border is near `p`. `None` if empty.
    pub fn quantile_is_fragile(&self, p: f64) -> Option<bool> {
        let reach = 2.0 * (p * (1.0 - p) / self.count() as f64).sqrt();
        let low = self.quantile_ns((p - reach).max(0.0))?;
        let high = self.quantile_ns((p + reach).min(1.0))?;
        Some(high > 1.5 * low)
    }

    /// An estimate: every value is taken as the middle of its cell.
    pub fn mean_ns(&self) -> Option<f64> {
        let total = self.count() as f64;
        let sum: f64 = self
            .occupied()
            .map(|(i, n)| n * self.layout.mid_ns(i))
            .sum();
        (total > 0.0).then(|| sum / total)
    }

    /// An estimate from the middles of the cells. `None` with fewer than two values.
    pub fn sd_ns(&self) -> Option<f64> {
        let total = self.count() as f64;
        let mean = self.mean_ns()?;
        let squares = |(i, n): (usize, f64)| n * (self.layout.mid_ns(i) - mean).powi(2);
        (total > 1.0).then(|| (self.occupied().map(squares).sum::<f64>() / (total - 1.0)).sqrt())
    }

    /// Share of values above `ns`; values are spread evenly in the cell that contains `ns`. `None` if empty.
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
