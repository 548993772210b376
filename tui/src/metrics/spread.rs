//! A histogram of the probe in the two forms that Prometheus has. Pure.

use iosched_result::measured::histogram::Histogram;

#[derive(Clone, Debug, PartialEq)]
pub struct Spread {
    /// In seconds.
    pub sum: f64,
    pub count: u64,
    /// Upper bound and count of each classic bucket, by itself.
    pub buckets: Vec<(f64, u64)>,
    /// Index and count of each bucket of the native form, ascending: bucket `i` ends at `2^(i / 8)` seconds.
    pub native: Vec<(i32, u64)>,
}

/// Bounds of the classic buckets, in ns: powers of two, because the probe's cells have bounds there, so that no count is
/// split. From 1 us to 17 s.
const OCTAVES: std::ops::RangeInclusive<u32> = 10..=34;
/// Native buckets grow by 2^(1/8), 9 %: a cell, which is 1.6 % wide, is counted where its middle lies.
pub const SCHEMA: i32 = 3;

impl Spread {
    pub fn of(histogram: &Histogram, sum_ns: u64) -> Spread {
        let mut buckets: Vec<(f64, u64)> = OCTAVES
            .map(|octave| ((1_u64 << octave) as f64 / 1e9, 0))
            .chain([(f64::INFINITY, 0)])
            .collect();
        let mut native: Vec<(i32, u64)> = Vec::new();
        let layout = histogram.layout();
        for (cell, count) in histogram.cells() {
            // The last ns of the cell: its bounds are those of buckets, or within one.
            let last = layout.upper_ns(cell).saturating_sub(1).max(1);
            let octave = last.ilog2() + 1;
            let place = octave.saturating_sub(*OCTAVES.start()) as usize;
            let place = place.min(buckets.len() - 1);
            buckets[place].1 += count;

            let middle_s = layout.mid_ns(cell) / 1e9;
            let index = (middle_s.log2() * f64::from(1 << SCHEMA)).ceil() as i32;
            match native.last_mut() {
                Some((known, sum)) if *known == index => *sum += count,
                _ => native.push((index, count)),
            }
        }
        Spread {
            sum: sum_ns as f64 / 1e9,
            count: histogram.count(),
            buckets,
            native,
        }
    }

    /// The native buckets as the format has them: runs of neighbours, each with its distance from the one before, and the
    /// differences of all counts.
    pub fn spans_and_deltas(&self) -> (Vec<(i32, u32)>, Vec<i64>) {
        let (mut spans, mut deltas) = (Vec::<(i32, u32)>::new(), Vec::new());
        let (mut next, mut before) = (0, 0);
        for (index, count) in &self.native {
            match spans.last_mut() {
                Some((_, length)) if *index == next => *length += 1,
                _ => spans.push((index - next, 1)),
            }
            next = index + 1;
            let count = i64::try_from(*count).unwrap_or(i64::MAX);
            deltas.push(count - before);
            before = count;
        }
        (spans, deltas)
    }
}

#[cfg(test)]
mod tests {
    use iosched_result::measured::histogram::DEVICE;
    use proptest::prelude::*;

    use super::*;

    fn histogram(values: &[u64]) -> Histogram {
        let mut histogram = Histogram::new(DEVICE);
        for value in values {
            histogram.record(*value);
        }
        histogram
    }

    #[test]
    fn native_buckets_are_runs_with_distances() {
        let spread = Spread {
            sum: 0.0,
            count: 0,
            buckets: Vec::new(),
            native: vec![(-80, 3), (-79, 1), (-70, 4)],
        };
        // The distance of a later run is from the end of the one before.
        assert_eq!(
            spread.spans_and_deltas(),
            (vec![(-80, 2), (8, 1)], vec![3, -2, 3])
        );
    }

    proptest! {
        /// By counting the values themselves.
        #[test]
        fn buckets_hold_what_is_below_their_bounds(values in prop::collection::vec(0_u64..100_000_000_000, 0..200)) {
            let sum: u64 = values.iter().sum();
            let spread = Spread::of(&histogram(&values), sum);
            prop_assert_eq!(spread.count, values.len() as u64);
            let mut below = 0;
            for (bound, count) in &spread.buckets {
                below += count;
                let expected = values.iter().filter(|value| (**value as f64) < bound * 1e9 || bound.is_infinite());
                prop_assert_eq!(below, expected.count() as u64, "le {}", bound);
            }
        }

        /// Each value is in its native bucket, or by half of a cell beside it.
        #[test]
        fn native_buckets_are_those_of_the_values(value in 1000_u64..100_000_000_000) {
            let spread = Spread::of(&histogram(&[value]), value);
            let [(index, 1)] = spread.native[..] else { panic!("{spread:?}") };
            let (lower, upper) = (2_f64.powf(f64::from(index - 1) / 8.0), 2_f64.powf(f64::from(index) / 8.0));
            let value = value as f64 / 1e9;
            prop_assert!(value > lower * 0.99 && value <= upper * 1.01, "{value} {lower} {upper}");
        }
    }
}
