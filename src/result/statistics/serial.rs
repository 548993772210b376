//! A rate or a mean over time, in bins: when it has settled, and how much two windows of it differ. Pure.

use statrs::distribution::{ContinuousCDF, StudentsT};

use super::estimate;
use super::scale::Scale;

/// One-sided: noise that remembers looks like a transient to a test of independent seconds.
const SURE: f64 = 0.995;

/// Quotients of sums over equal bins: I/Os over seconds, or the sum of times over their number.
#[derive(Clone, Debug, Default)]
pub struct Serial {
    /// Numerator and denominator of each bin.
    pub bins: Vec<(f64, f64)>,
}

impl Serial {
    /// Its value over a range of bins on the metric's scale; None without an event.
    fn over(&self, from: usize, bins: usize, scale: Scale) -> Option<f64> {
        let part = self.bins.get(from..from + bins)?;
        let (sum, weight) = part
            .iter()
            .fold((0.0, 0.0), |sum, bin| (sum.0 + bin.0, sum.1 + bin.1));
        let value = sum / weight;
        match scale {
            Scale::Log => (value > 0.0).then(|| value.ln()),
            Scale::Identity => Some(value),
        }
        .filter(|value| value.is_finite())
    }

    /// Whether the `bins` after `ramp` have the level of the second half: the difference is below `tolerance`, or chance explains
    /// it. `unit`: so many bins are one observation of the second half. None: too short to say, or silent.
    pub fn has_settled(
        &self,
        ramp: usize,
        bins: usize,
        unit: usize,
        tolerance: f64,
        scale: Scale,
    ) -> Option<bool> {
        let half = self.bins.len() / 2;
        // A missing bin or two leave fewer before that half.
        let bins = bins.min(half.checked_sub(ramp)?);
        if bins < unit {
            return None;
        }
        let late: Option<Vec<f64>> = (half..)
            .step_by(unit)
            .take_while(|from| from + unit <= self.bins.len())
            .map(|from| self.over(from, unit, scale))
            .collect();
        let late = late?;
        let sd = estimate::sd(&late)?;
        let level = late.iter().sum::<f64>() / late.len() as f64;
        let early = self.over(ramp, bins, scale)?;
        let off = (early - level).abs();
        let standard_error = sd * (unit as f64 / bins as f64 + 1.0 / late.len() as f64).sqrt();
        let t = StudentsT::new(0.0, 1.0, late.len() as f64 - 1.0).ok()?;
        Some(off <= tolerance || off <= t.inverse_cdf(SURE) * standard_error)
    }

    /// Mean square of the difference of two windows with a gap between them: the variance of a pair of rounds where nothing
    /// differs. None where the series is too short for one pair, or where a window has no value: a silent load is not a quiet one.
    pub fn pair_variance(
        &self,
        from: usize,
        window: usize,
        gap: usize,
        scale: Scale,
    ) -> Option<f64> {
        let step = window + gap;
        let last = self.bins.len().checked_sub(step + window)?;
        let squares: Option<Vec<f64>> = (from..=last)
            .map(|start| {
                let first = self.over(start, window, scale)?;
                let second = self.over(start + step, window, scale)?;
                Some((second - first).powi(2))
            })
            .collect();
        let squares = squares?;
        let count = squares.len() as f64;
        (count > 0.0).then(|| squares.iter().sum::<f64>() / count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A linear congruential generator: uniform in -1 to 1.
    fn noise(n: usize) -> Vec<f64> {
        let mut state = 1u64;
        let mut next = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
        };
        (0..n).map(|_| next()).collect()
    }

    fn rate(values: impl IntoIterator<Item = f64>) -> Serial {
        Serial {
            bins: values.into_iter().map(|value| (value, 1.0)).collect(),
        }
    }

    #[test]
    fn a_transient_is_seen_until_it_is_over() {
        let values = noise(40).into_iter().enumerate();
        let slow = rate(values.map(|(bin, x)| if bin < 6 { 50.0 } else { 100.0 } + x));
        let settled = |ramp| slow.has_settled(ramp, 8, 4, 0.025, Scale::Log);
        assert_eq!(
            [settled(0), settled(4), settled(8)],
            [Some(false), Some(false), Some(true)]
        );
        assert_eq!(
            settled(18),
            None,
            "the second half cannot be compared with itself"
        );
        let level = rate(noise(40).into_iter().map(|x| 100.0 + 30.0 * x));
        assert_eq!(level.has_settled(0, 8, 4, 0.025, Scale::Log), Some(true));
    }

    /// Of independent bins a window twice as long has half of the variance; of a drift none is lost.
    #[test]
    fn the_variance_of_a_pair_is_that_of_its_windows() {
        let white = rate(noise(40_000).into_iter().map(|x| 100.0 + x));
        let of = |window| white.pair_variance(0, window, 3, Scale::Identity).unwrap();
        // Uniform in -1 to 1: a variance of a third, and two windows.
        for window in [1, 4, 16] {
            let expected = 2.0 / 3.0 / window as f64;
            assert!(
                (of(window) / expected - 1.0).abs() < 0.05,
                "{window}: {}",
                of(window)
            );
        }
        let drift = rate((0..100).map(f64::from));
        assert_eq!(drift.pair_variance(0, 5, 5, Scale::Identity), Some(100.0));
        assert_eq!(drift.pair_variance(0, 40, 30, Scale::Identity), None);
    }

    #[test]
    fn a_mean_weighs_its_bins() {
        let mean = Serial {
            bins: vec![(10.0, 1.0), (0.0, 0.0), (90.0, 9.0)],
        };
        assert_eq!(mean.over(0, 3, Scale::Identity), Some(10.0));
        assert_eq!(mean.over(1, 1, Scale::Log), None);
    }
}
