//! The logarithmic axis of times: it follows the I/Os, or is the one that the user has chosen for all screens. Pure.

use iosched_result::measured::histogram::Histogram;

/// From `low_ns` to `high_ns`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Axis {
    pub low_ns: f64,
    pub high_ns: f64,
    /// By the user: it does not follow the I/Os.
    pub is_chosen: bool,
}

/// The shortest time that the measurement can tell apart, and more than any I/O takes.
const LOWEST_NS: f64 = 100.0;
const HIGHEST_NS: f64 = 1e12;
/// The ratio of the ends of the shortest axis.
const SHORTEST: f64 = 4.0;
/// The part of the axis by which one step moves it.
const STEP: f64 = 0.25;

impl Axis {
    /// An axis that covers all histograms except 0.01 % at either end, and ends at 1, 2 or 5 times a power of ten.
    pub fn around<'a>(histograms: impl IntoIterator<Item = &'a Histogram>) -> Axis {
        let mut ends: Option<(f64, f64)> = None;
        for histogram in histograms {
            let its = histogram
                .quantile_ns(0.0001)
                .zip(histogram.quantile_ns(0.9999));
            if let Some((low, high)) = its {
                let (lowest, highest) = ends.unwrap_or((low, high));
                ends = Some((lowest.min(low), highest.max(high)));
            }
        }
        let (low_ns, high_ns) = ends.unwrap_or((1e4, 1e7));
        let low_ns = round_down(low_ns.max(LOWEST_NS));
        Axis {
            low_ns,
            high_ns: round_up(high_ns.max(low_ns * 10.0)),
            is_chosen: false,
        }
    }

    /// 0 at the low end, 1 at the high end.
    pub fn place(self, ns: f64) -> f64 {
        (ns.max(1.0) / self.low_ns).ln() / (self.high_ns / self.low_ns).ln()
    }

    pub fn at(self, place: f64) -> f64 {
        self.low_ns * (self.high_ns / self.low_ns).powf(place)
    }

    /// The column of a time; times beyond the axis are in the first or last column.
    pub fn column(self, ns: f64, columns: usize) -> usize {
        let column = (self.place(ns) * columns as f64).max(0.0) as usize;
        column.min(columns.saturating_sub(1))
    }

    /// Half or twice as long, so that the time at `place` stays there.
    pub fn zoomed(self, is_in: bool, place: f64) -> Axis {
        let length = (self.high_ns / self.low_ns).ln();
        let wanted = if is_in { length / 2.0 } else { length * 2.0 };
        let most = (HIGHEST_NS / LOWEST_NS).ln();
        let wanted = wanted.clamp(SHORTEST.ln(), most);
        let low = self.low_ns.ln() + (length - wanted) * place;
        within(low, wanted)
    }

    /// A part of its length to shorter times, or to longer ones.
    pub fn moved(self, is_right: bool) -> Axis {
        let length = (self.high_ns / self.low_ns).ln();
        let step = if is_right { STEP } else { -STEP };
        within(self.low_ns.ln() + length * step, length)
    }

    /// The times to label: powers of ten, and on a short axis 2 and 5 times these.
    pub fn ticks(self) -> Vec<f64> {
        let steps: &[f64] = if self.high_ns / self.low_ns > 50.0 {
            &[1.0]
        } else {
            &[1.0, 2.0, 5.0]
        };
        let first = self.low_ns.log10().floor() as i32;
        let last = self.high_ns.log10().floor() as i32;
        let all =
            (first..=last).flat_map(|power| steps.iter().map(move |step| step * 10f64.powi(power)));
        // The ends are computed; a label at an end may be off by its last bit.
        let is_on = |ns: &f64| *ns >= self.low_ns * 0.999_999 && *ns <= self.high_ns * 1.000_001;
        all.filter(is_on).collect()
    }
}

/// An axis that the user chose, of this length from here on; logarithms. Moved so that it ends within the limits.
fn within(low: f64, length: f64) -> Axis {
    let low = low.min(HIGHEST_NS.ln() - length).max(LOWEST_NS.ln());
    Axis {
        low_ns: low.exp(),
        high_ns: (low + length).exp(),
        is_chosen: true,
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
    use iosched_result::measured::histogram::DEVICE;
    use proptest::prelude::*;

    #[test]
    fn the_axis_holds_all_and_ends_on_round_numbers() {
        let mut histogram = Histogram::new(DEVICE);
        histogram.record_n(130_000, 50);
        histogram.record_n(7_100_000, 50);
        let axis = Axis::around([&histogram]);
        assert!((axis.low_ns - 100_000.0).abs() < 1.0, "{axis:?}");
        assert!((axis.high_ns - 1e7).abs() < 1.0, "{axis:?}");
        assert_eq!(axis.ticks().len(), 3);
        let shares = axis.shares(&histogram, 40);
        assert!((shares[axis.column(130_000.0, 40)] - 0.5).abs() < 0.2);
    }

    fn from(low_ns: f64, high_ns: f64) -> Axis {
        Axis {
            low_ns,
            high_ns,
            is_chosen: false,
        }
    }

    #[test]
    fn zooming_keeps_the_place_and_moving_the_length() {
        let axis = from(1e4, 1e8);
        let closer = axis.zoomed(true, 0.5);
        let is = |axis: Axis, low: f64, high: f64| {
            (axis.low_ns / low - 1.0).abs() < 1e-9 && (axis.high_ns / high - 1.0).abs() < 1e-9
        };
        assert!(is(closer, 1e5, 1e7) && closer.is_chosen, "{closer:?}");
        assert!(is(closer.zoomed(false, 0.5), 1e4, 1e8));
        assert!(is(axis.zoomed(true, 0.0), 1e4, 1e6));
        assert!(is(axis.moved(true), 1e5, 1e9));
        assert!(is(axis.moved(false), 1e3, 1e7));
        assert_eq!(from(1e6, 5e6).ticks(), [1e6, 2e6, 5e6]);
    }

    proptest! {
        #[test]
        fn every_axis_stays_within_the_limits(
            low in 100.0f64..1e9, decades in 1.0f64..3.0, steps in prop::collection::vec(0u8..4, 0..60),
        ) {
            let mut axis = from(low, low * 10f64.powf(decades));
            for step in steps {
                axis = match step {
                    0 => axis.zoomed(true, 0.3),
                    1 => axis.zoomed(false, 0.9),
                    2 => axis.moved(false),
                    _ => axis.moved(true),
                };
                prop_assert!(axis.low_ns >= LOWEST_NS * 0.99 && axis.high_ns <= HIGHEST_NS * 1.01, "{axis:?}");
                prop_assert!(axis.high_ns / axis.low_ns >= SHORTEST * 0.99, "{axis:?}");
                prop_assert!(!axis.ticks().is_empty(), "{axis:?}");
            }
        }
    }
}
