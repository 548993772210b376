//! Converts histograms to chart columns: a logarithmic time axis, and the share of values in each column. Pure.

use iosched::measure::histogram::Histogram;

/// A logarithmic axis from `low_ns` to `high_ns`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Axis {
    pub low_ns: f64,
    pub high_ns: f64,
}

impl Axis {
    /// An axis that covers all histograms except 0.01 % at either end, and ends at 1, 2 or 5 times a power of ten.
    pub fn around<'a>(histograms: impl IntoIterator<Item = &'a Histogram>) -> Axis {
        let mut axis: Option<Axis> = None;
        for histogram in histograms {
            let ends = histogram
                .quantile_ns(0.0001)
                .zip(histogram.quantile_ns(0.9999));
            if let Some((low, high)) = ends {
                let so_far = axis.unwrap_or(Axis {
                    low_ns: low,
                    high_ns: high,
                });
                axis = Some(Axis {
                    low_ns: so_far.low_ns.min(low),
                    high_ns: so_far.high_ns.max(high),
                });
            }
        }
        let Axis { low_ns, high_ns } = axis.unwrap_or(Axis {
            low_ns: 1e4,
            high_ns: 1e7,
        });
        let low_ns = round_down(low_ns.max(100.0));
        Axis {
            low_ns,
            high_ns: round_up(high_ns.max(low_ns * 10.0)),
        }
    }

    /// 0 at the low end, 1 at the high end.
    pub fn place(self, ns: f64) -> f64 {
        (ns.max(1.0) / self.low_ns).ln() / (self.high_ns / self.low_ns).ln()
    }

    fn at(self, place: f64) -> f64 {
        self.low_ns * (self.high_ns / self.low_ns).powf(place)
    }

    /// The column of a time; times beyond the axis are in the first or last column.
    pub fn column(self, ns: f64, columns: usize) -> usize {
        let column = (self.place(ns) * columns as f64).max(0.0) as usize;
        column.min(columns.saturating_sub(1))
    }

    /// The share of all values in each column; values beyond the axis are in the first or last column.
    pub fn shares(self, histogram: &Histogram, columns: usize) -> Vec<f64> {
        let mut shares = vec![0.0; columns];
        let total = histogram.count() as f64;
        if columns == 0 || total == 0.0 {
            return shares;
        }
        let layout = histogram.layout();
        for (cell, count) in histogram.cells() {
            let (lower, upper) = (layout.lower_ns(cell) as f64, layout.upper_ns(cell) as f64);
            let (first, last) = (self.column(lower, columns), self.column(upper, columns));
            for (column, share) in shares.iter_mut().enumerate().take(last + 1).skip(first) {
                let from = if column == first {
                    lower
                } else {
                    self.at(column as f64 / columns as f64)
                };
                let to = if column == last {
                    upper
                } else {
                    self.at((column + 1) as f64 / columns as f64)
                };
                *share += count as f64 / total * ((to - from) / (upper - lower)).clamp(0.0, 1.0);
            }
        }
        shares
    }

    /// Every power of ten on the axis: 1, 10, 100 us ...
    pub fn decades(self) -> Vec<f64> {
        let first = self.low_ns.log10().ceil() as i32;
        let last = self.high_ns.log10().floor() as i32;
        (first..=last).map(|power| 10f64.powi(power)).collect()
    }
}

fn round_down(ns: f64) -> f64 {
    let decade = 10f64.powf(ns.log10().floor());
    let lead = ns / decade;
    decade
        * [5.0, 2.0]
            .into_iter()
            .find(|&step| lead >= step)
            .unwrap_or(1.0)
}

fn round_up(ns: f64) -> f64 {
    let decade = 10f64.powf(ns.log10().floor());
    let lead = ns / decade;
    decade
        * [1.0, 2.0, 5.0]
            .into_iter()
            .find(|&step| lead <= step)
            .unwrap_or(10.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use iosched::measure::histogram::{DEVICE, OWNER};
    use proptest::prelude::*;

    #[test]
    fn the_axis_holds_all_and_ends_on_round_numbers() {
        let mut histogram = Histogram::new(DEVICE);
        histogram.record_n(130_000, 50);
        histogram.record_n(7_100_000, 50);
        let axis = Axis::around([&histogram]);
        assert!((axis.low_ns - 100_000.0).abs() < 1.0, "{axis:?}");
        assert!((axis.high_ns - 1e7).abs() < 1.0, "{axis:?}");
        assert_eq!(axis.decades().len(), 3);
        let shares = axis.shares(&histogram, 40);
        assert!((shares[axis.column(130_000.0, 40)] - 0.5).abs() < 0.2);
    }

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
    }
}
