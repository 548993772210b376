//! The exact signed-rank test with its interval and estimate. Blocks may be censored.
//!
//!
//! The order within each block is drawn independently with probability 1/2. So under "no difference" the sign of each
//! block's difference is a fair coin for any distribution of the noise, and the null distribution of the signed ranks
//! is exact; from 1001 blocks on it is approximated.

use std::sync::{Arc, Mutex};

use statrs::distribution::{Continuous, ContinuousCDF, Normal};

use super::estimate::{self, ConfidenceInterval, middle, sorted};

/// The difference of one block between arm and reference, on the metric's scale. A number when both values were
/// measured; bounds, possibly infinite, when an arm's own behaviour prevented a measurement.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Difference {
    pub lower: f64,
    pub upper: f64,
}

impl Difference {
    pub const UNKNOWN: Difference = Difference {
        lower: f64::NEG_INFINITY,
        upper: f64::INFINITY,
    };

    pub fn exact(d: f64) -> Difference {
        Difference { lower: d, upper: d }
    }

    #[must_use]
    /// Smaller by `bias`; a bound at infinity stays there.
    pub fn without(self, bias: f64) -> Difference {
        Difference {
            lower: self.lower - bias,
            upper: self.upper - bias,
        }
    }

    /// The number, if it is one and finite.
    pub fn finite(self) -> Option<f64> {
        Some(self.lower).filter(|d| self.is_point() && d.is_finite())
    }

    /// A number or an infinity, not a range.
    pub fn is_point(self) -> bool {
        self.lower.total_cmp(&self.upper).is_eq()
    }

    pub fn is_censored(self) -> bool {
        self.finite().is_none()
    }
}

/// No conclusion below this number of blocks: the smallest p-value of six blocks is 2^-5.
pub const FEWEST_BLOCKS: usize = 6;

/// The median of the pairwise means. None without blocks, and when too many are censored.
pub fn hodges_lehmann(d: &[Difference]) -> Option<f64> {
    let known: Vec<f64> = d.iter().filter(|d| d.is_point()).map(|d| d.lower).collect();
    if known.is_empty() {
        return None;
    }
    let averages = averages_of_pairs(&known, 0.0);
    Some(middle(averages)).filter(|estimate| estimate.is_finite())
}

/// The values that the exact test does not reject at `alpha`. None with fewer than [`blocks_needed`] blocks.
pub fn interval(d: &[Difference], alpha: f64) -> Option<ConfidenceInterval> {
    let cdf = cdf(d.len());
    let rejected = cdf.partition_point(|&p| p <= alpha / 2.0 * (1.0 + 1e-9));
    let k = rejected.checked_sub(1)?;
    let (low, high) = averages(d)?;
    Some(ConfidenceInterval {
        lower: *low.get(k)?,
        upper: *high.get(high.len().checked_sub(1 + k)?)?,
        attained_confidence: 1.0 - 2.0 * cdf[k],
    })
}

/// For blocks too few for the rank test to reach `alpha`: all differences must have the same sign, and Student's
/// interval at `alpha` must exclude zero too. The stated confidence is that of the ranks alone.
pub fn interval_of_few(d: &[Difference], alpha: f64) -> Option<ConfidenceInterval> {
    if d.len() < FEWEST_BLOCKS {
        return None;
    }
    let widest = interval(d, 2.0 * 0.5f64.powi(d.len() as i32))?;
    let finite: Option<Vec<f64>> = d.iter().map(|d| d.finite()).collect();
    // Without a finite mean there is no Student's interval; only the ranks are used.
    let Some(finite) = finite else {
        return Some(ConfidenceInterval {
            lower: f64::NEG_INFINITY,
            upper: f64::INFINITY,
            ..widest
        });
    };
    let student = estimate::student_interval(&finite, alpha)?;
    Some(ConfidenceInterval {
        lower: widest.lower.min(student.lower),
        upper: widest.upper.max(student.upper),
        ..widest
    })
}

/// The exact two-sided p-value of "no difference".
///
///
/// Walsh averages that are exactly zero count for both sides. So `p <= alpha` if and only if the interval at `alpha`
/// excludes zero. Without ties this is the textbook value; with ties it is conservative.
pub fn p(d: &[Difference]) -> Option<f64> {
    let (low, high) = averages(d)?;
    let not_above = low.iter().filter(|&&w| w <= 0.0).count();
    let not_below = high.iter().filter(|&&w| w >= 0.0).count();
    let tail = cdf(d.len()).get(not_above.min(not_below)).copied();
    Some(tail.map_or(1.0, |tail| (2.0 * tail).min(1.0)))
}

/// The smallest number of blocks for which [`interval`] exists: 6 at 0.05, 10 at 0.00276. `usize::MAX` when none
/// suffices (`alpha` is not positive).
pub fn blocks_needed(alpha: f64) -> usize {
    if alpha > 0.0 {
        (-(alpha / 2.0).log2()).ceil().max(1.0) as usize
    } else {
        usize::MAX
    }
}

/// Walsh averages of the lower and of the upper bounds.
fn averages(d: &[Difference]) -> Option<(Vec<f64>, Vec<f64>)> {
    let is_usable = !d.is_empty() && d.iter().all(|d| d.lower <= d.upper);
    is_usable.then(|| {
        let low = walsh_averages(d.iter().map(|d| d.lower), f64::NEG_INFINITY);
        let high = walsh_averages(d.iter().map(|d| d.upper), f64::INFINITY);
        (low, high)
    })
}

/// `(d_i + d_j) / 2` for all `i <= j`, ascending; `undefined` replaces the average of opposite infinities.
fn walsh_averages(d: impl Iterator<Item = f64>, undefined: f64) -> Vec<f64> {
    sorted(averages_of_pairs(&d.collect::<Vec<_>>(), undefined))
}

/// The same in any order.
pub(super) fn averages_of_pairs(d: &[f64], undefined: f64) -> Vec<f64> {
    let pairs = d.iter().enumerate();
    let averages = pairs.flat_map(|(i, &a)| {
        d[i..].iter().map(move |&b| {
            let average = f64::midpoint(a, b);
            if average.is_nan() { undefined } else { average }
        })
    });
    averages.collect()
}

/// `P(W+ <= w)` under the null hypothesis for `w` in the lower half: each rank 1..=n has a positive sign with
/// probability 1/2. The rows of a run have the same number of blocks, so the last one is kept: it takes n³ steps.
pub(super) fn cdf(n: usize) -> Arc<[f64]> {
    static LAST: Mutex<Option<(usize, Arc<[f64]>)>> = Mutex::new(None);
    let last = LAST.lock().ok().and_then(|last| last.clone());
    if let Some((_, known)) = last.filter(|(of, _)| *of == n) {
        return known;
    }
    let found: Arc<[f64]> = match n {
        n if n <= MOST_EXACT => computed_cdf(n).into(),
        n => approximate_cdf(n).into(),
    };
    if let Ok(mut last) = LAST.lock() {
        *last = Some((n, Arc::clone(&found)));
    }
    found
}

/// From here on the distribution is approximated: an open run of days has more blocks.
const MOST_EXACT: usize = 1000;

/// The normal distribution with Edgeworth's term of the fourth cumulant; there is no third one. At a thousand blocks it is within 1 %
/// of the exact tail down to a probability of 1e-7.
fn approximate_cdf(n: usize) -> Vec<f64> {
    let half = n * (n + 1) / 4;
    let ranks = || (1..=n).map(|rank| rank as f64);
    let mean = ranks().sum::<f64>() / 2.0;
    let variance = ranks().map(|rank| rank.powi(2)).sum::<f64>() / 4.0;
    let fourth = -ranks().map(|rank| rank.powi(4)).sum::<f64>() / 8.0;
    let excess = fourth / variance.powi(2);
    let normal = Normal::standard();
    let at = |w: usize| {
        let x = (w as f64 + 0.5 - mean) / variance.sqrt();
        let correction = normal.pdf(x) * excess / 24.0 * (x.powi(3) - 3.0 * x);
        (normal.cdf(x) - correction).max(0.0)
    };
    (0..=half).map(at).collect()
}

fn computed_cdf(n: usize) -> Vec<f64> {
    let half = n * (n + 1) / 4;
    let mut p = vec![0.0; half + 1];
    p[0] = 1.0;
    for rank in 1..=n {
        // The ranks so far have no larger sum.
        for w in (0..=half.min(rank * (rank + 1) / 2)).rev() {
            let with = if w >= rank { p[w - rank] } else { 0.0 };
            p[w] = 0.5 * (p[w] + with);
        }
    }
    let mut sum = 0.0;
    for value in &mut p {
        sum += *value;
        *value = sum;
    }
    p
}

#[cfg(test)]
mod tests;
