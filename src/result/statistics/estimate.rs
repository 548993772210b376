//! Estimates, exact intervals and p-values from one number per block: the difference between an arm and the reference.
//!
//!
//! The order within blocks is randomised, so the signed-rank interval keeps its level for any distribution of the
//! noise. A result that the data cannot determine is `None`, never infinite. The functions take blocks only: single
//! I/Os or seconds are not independent replicates. All return `None` for empty or non-finite input.

use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, StudentsT};

/// Two-sided. An end without a bound is infinite here and null in JSON. Where the whole interval lies beyond every number,
/// its nearer end is the last one that JSON has.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ConfidenceInterval {
    #[serde(serialize_with = "lower_end", deserialize_with = "below_all")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<f64>"))]
    pub lower: f64,
    #[serde(serialize_with = "upper_end", deserialize_with = "above_all")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<f64>"))]
    pub upper: f64,
    /// At least the requested level; exact levels of rank tests are discrete.
    pub attained_confidence: f64,
}

impl ConfidenceInterval {
    pub fn contains(&self, x: f64) -> bool {
        self.lower <= x && x <= self.upper
    }
}

// Serde hands over a reference.
#[allow(clippy::trivially_copy_pass_by_ref)]
fn lower_end<S: serde::Serializer>(end: &f64, output: S) -> Result<S::Ok, S::Error> {
    output.serialize_f64(end.min(f64::MAX))
}

#[allow(clippy::trivially_copy_pass_by_ref)]
fn upper_end<S: serde::Serializer>(end: &f64, output: S) -> Result<S::Ok, S::Error> {
    output.serialize_f64(end.max(f64::MIN))
}

fn below_all<'de, D: serde::Deserializer<'de>>(input: D) -> Result<f64, D::Error> {
    let end = Option::deserialize(input)?.unwrap_or(f64::NEG_INFINITY);
    Ok(if end >= f64::MAX { f64::INFINITY } else { end })
}

fn above_all<'de, D: serde::Deserializer<'de>>(input: D) -> Result<f64, D::Error> {
    let end = Option::deserialize(input)?.unwrap_or(f64::INFINITY);
    Ok(if end <= f64::MIN {
        f64::NEG_INFINITY
    } else {
        end
    })
}

pub fn mean(d: &[f64]) -> Option<f64> {
    let mean = d.iter().sum::<f64>() / d.len() as f64;
    mean.is_finite().then_some(mean)
}

/// Sample standard deviation; `None` with fewer than two values.
pub fn sd(d: &[f64]) -> Option<f64> {
    let mean = mean(d)?;
    let squares: f64 = d.iter().map(|x| (x - mean).powi(2)).sum();
    let sd = (squares / (d.len() as f64 - 1.0)).sqrt();
    sd.is_finite().then_some(sd)
}

pub fn median(d: &[f64]) -> Option<f64> {
    usable(d).then(|| middle(d.to_vec()))
}

/// The median of the pairwise means (Walsh averages): as robust as a median, nearly as efficient as a mean.
pub fn hodges_lehmann(d: &[f64]) -> Option<f64> {
    usable(d).then(|| middle(super::signed_rank::averages_of_pairs(d, 0.0)))
}

/// Student's interval for the mean; `None` with fewer than two values.
pub fn student_interval(d: &[f64], alpha: f64) -> Option<ConfidenceInterval> {
    let (mean, sd) = (mean(d)?, sd(d)?);
    let half = student_quantile(alpha / 2.0, d.len() - 1)? * sd / (d.len() as f64).sqrt();
    Some(ConfidenceInterval {
        lower: mean - half,
        upper: mean + half,
        attained_confidence: 1.0 - alpha,
    })
}

/// `None` when all values are equal: there is no noise to compare with.
pub fn student_p(d: &[f64]) -> Option<f64> {
    let (mean, sd) = (mean(d)?, sd(d)?);
    let t = mean / (sd / (d.len() as f64).sqrt());
    let distribution = StudentsT::new(0.0, 1.0, (d.len() - 1) as f64).ok()?;
    t.is_finite().then(|| 2.0 * distribution.cdf(-t.abs()))
}

/// An always-valid interval for the mean, which may be inspected after every block: the intersection, over all block
/// counts so far, of the intervals that a Gaussian mixture of t-tests does not reject (Wang and Ramdas, arXiv
/// 2310.03722). Exact for normal differences. `None` below [`always_valid_blocks_needed`], and when the intersection is
/// empty, which is very unlikely for normal differences with a constant mean.
pub fn always_valid_interval(d: &[f64], alpha: f64) -> Option<ConfidenceInterval> {
    let of_first = |n: usize| {
        let (mean, sd) = (mean(&d[..n])?, sd(&d[..n])?);
        let half = always_valid_half_width(n, alpha)? * sd;
        Some((mean - half, mean + half))
    };
    let all = (2..=d.len()).filter_map(of_first);
    let (lower, upper) = all.reduce(|a, b| (a.0.max(b.0), a.1.min(b.1)))?;
    (lower <= upper).then_some(ConfidenceInterval {
        lower,
        upper,
        attained_confidence: 1.0 - alpha,
    })
}

/// The smallest number of blocks for which [`always_valid_interval`] exists: 5 at 0.05.
pub fn always_valid_blocks_needed(alpha: f64) -> usize {
    (2..10_000)
        .find(|&n| always_valid_half_width(n, alpha).is_some())
        .unwrap_or(usize::MAX)
}

/// In standard deviations of the differences: the effect that [`always_valid_interval`] misses after `blocks` blocks
/// with probability `miss`. Ignores the small contribution of earlier looks.
pub fn always_valid_reach(blocks: usize, alpha: f64, miss: f64) -> Option<f64> {
    let power = student_quantile(miss, blocks.checked_sub(1)?)? / (blocks as f64).sqrt();
    Some(always_valid_half_width(blocks, alpha)? + power)
}

/// In standard deviations of the differences. The mixing distribution has a standard deviation of one.
fn always_valid_half_width(blocks: usize, alpha: f64) -> Option<f64> {
    const MIXTURE: f64 = 1.0;
    let n = blocks as f64;
    let spread = 1.0 + n * MIXTURE;
    let a = (spread.sqrt() / alpha).powf(2.0 / n);
    let half = ((n - 1.0) * (a - 1.0) / (1.0 - a / spread)).sqrt() / n.sqrt();
    (alpha > 0.0 && a < spread && half.is_finite()).then_some(half)
}

/// Benjamini and Hochberg's adjusted p-values, in the order of the input.
pub fn benjamini_hochberg(p: &[f64]) -> Vec<f64> {
    let mut ranked: Vec<usize> = (0..p.len()).collect();
    ranked.sort_by(|&a, &b| p[b].total_cmp(&p[a]));
    let mut adjusted = vec![1.0; p.len()];
    let mut ceiling = 1.0f64;
    for (from_last, &i) in ranked.iter().enumerate() {
        let rank = p.len() - from_last;
        ceiling = ceiling.min(p[i] * p.len() as f64 / rank as f64);
        adjusted[i] = ceiling;
    }
    adjusted
}

fn usable(d: &[f64]) -> bool {
    !d.is_empty() && d.iter().all(|x| x.is_finite())
}

pub(super) fn sorted(mut values: Vec<f64>) -> Vec<f64> {
    values.sort_unstable_by(f64::total_cmp);
    values
}

/// The median of at least one value; without sorting, of which a run of thousands of rounds would need much.
pub(super) fn middle(mut values: Vec<f64>) -> f64 {
    let (half, is_even) = (values.len() / 2, values.len().is_multiple_of(2));
    let (below, upper, _) = values.select_nth_unstable_by(half, f64::total_cmp);
    let lower = below.iter().copied().max_by(f64::total_cmp);
    f64::midpoint(lower.filter(|_| is_even).unwrap_or(*upper), *upper)
}

/// The upper quantile, exceeded with probability `tail`.
pub fn student_quantile(tail: f64, df: usize) -> Option<f64> {
    let sane = tail > 0.0 && tail < 1.0 && df > 0;
    // Computed from the lower tail, where small probabilities keep their precision.
    let quantile =
        || -> Option<f64> { Some(-StudentsT::new(0.0, 1.0, df as f64).ok()?.inverse_cdf(tail)) };
    if sane {
        quantile().filter(|q| q.is_finite())
    } else {
        None
    }
}

#[cfg(test)]
mod tests;
