//! Converts histograms to chart columns: the share of the values in each column of a time axis. Pure.

use iosched_result::measured::histogram::Histogram;

use crate::ui::state::axis::Axis;

impl Axis {
    /// The share of all values in each column. Values beyond the axis are in the first or last column, or in none if the
    /// user has chosen the axis: see [`Axis::beyond`].
    pub fn shares(self, histogram: &Histogram, columns: usize) -> Vec<f64> {
        let mut shares = vec![0.0; columns];
        let total = histogram.count() as f64;
        if columns == 0 || total == 0.0 {
            return shares;
        }
        let layout = histogram.layout();
        for (cell, count) in histogram.cells() {
            let (lower, upper) = (layout.lower_ns(cell) as f64, layout.upper_ns(cell) as f64);
            if self.is_chosen && (upper <= self.low_ns || lower >= self.high_ns) {
                continue;
            }
            let (first, last) = (self.column(lower, columns), self.column(upper, columns));
            for (column, share) in shares.iter_mut().enumerate().take(last + 1).skip(first) {
                let from = if column == first && !self.is_chosen {
                    lower
                } else {
                    self.at(column as f64 / columns as f64).max(lower)
                };
                let to = if column == last && !self.is_chosen {
                    upper
                } else {
                    self.at((column + 1) as f64 / columns as f64).min(upper)
                };
                *share += count as f64 / total * ((to - from) / (upper - lower)).clamp(0.0, 1.0);
            }
        }
        shares
    }

    /// The shares of the values that a chosen axis does not show: below and above it.
    pub fn beyond(self, histogram: &Histogram) -> [f64; 2] {
        let total = histogram.count() as f64;
        if !self.is_chosen || total == 0.0 {
            return [0.0; 2];
        }
        let layout = histogram.layout();
        let mut beyond = [0.0; 2];
        for (cell, count) in histogram.cells() {
            let (lower, upper) = (layout.lower_ns(cell) as f64, layout.upper_ns(cell) as f64);
            let part = |from: f64, to: f64| ((to - from) / (upper - lower)).clamp(0.0, 1.0);
            let share = count as f64 / total;
            beyond[0] += share * part(lower, self.low_ns.min(upper));
            beyond[1] += share * part(self.high_ns.max(lower), upper);
        }
        beyond
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iosched_result::measured::histogram::{DEVICE, OWNER};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn no_value_is_lost(values in prop::collection::vec(0u64..1 << 37, 1..50), columns in 1usize..200) {
            for layout in [DEVICE, OWNER] {
                let mut histogram = Histogram::new(layout);
                for &ns in &values { histogram.record(ns); }
                let shares = Axis::around([&histogram]).shares(&histogram, columns);
                let sum: f64 = shares.iter().sum();
                prop_assert!((sum - 1.0).abs() < 1e-6, "{sum}");
            }
        }

        #[test]
        fn what_a_chosen_axis_does_not_show_is_told(
            values in prop::collection::vec(0u64..1 << 37, 1..50), columns in 1usize..200,
            low in 100.0f64..1e9, decades in 0.6f64..6.0,
        ) {
            let axis = Axis { low_ns: low, high_ns: low * 10f64.powf(decades), is_chosen: true };
            for layout in [DEVICE, OWNER] {
                let mut histogram = Histogram::new(layout);
                for &ns in &values { histogram.record(ns); }
                let shown: f64 = axis.shares(&histogram, columns).iter().sum();
                let [below, above] = axis.beyond(&histogram);
                prop_assert!((shown + below + above - 1.0).abs() < 1e-6, "{below} + {shown} + {above}");
                let is_above = |ns: &&u64| **ns as f64 > axis.high_ns * 1.1;
                let least = values.iter().filter(is_above).count() as f64 / values.len() as f64;
                prop_assert!(above >= least - 1e-9, "{above} < {least}");
            }
        }
    }
}
