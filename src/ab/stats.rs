//! Estimates, exact intervals and p-values from one number a block: the difference of an arm to the reference.
//!
//! Promises: with the order inside the blocks drawn by lot, the signed-rank interval keeps its level whatever the noise
//! looks like; what the data cannot give is `None`, never infinite. Refuses single I/Os or seconds as replicates: the
//! functions see blocks only. All of them return `None` for empty or non-finite input.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, StudentsT};

/// Two-sided.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Interval {
    pub lower: f64,
    pub upper: f64,
    /// At least the level that was asked for; ranks are whole numbers.
    pub attained_confidence: f64,
}

impl Interval {
    pub fn contains(&self, x: f64) -> bool {
        self.lower <= x && x <= self.upper
    }
}

pub fn mean(d: &[f64]) -> Option<f64> {
    let mean = d.iter().sum::<f64>() / d.len() as f64;
    mean.is_finite().then_some(mean)
}

/// Sample standard deviation; `None` below two values.
pub fn sd(d: &[f64]) -> Option<f64> {
    let mean = mean(d)?;
    let squares: f64 = d.iter().map(|x| (x - mean).powi(2)).sum();
    let sd = (squares / (d.len() as f64 - 1.0)).sqrt();
    sd.is_finite().then_some(sd)
}

pub fn median(d: &[f64]) -> Option<f64> {
    usable(d).then(|| middle_of_sorted(&sorted(d.to_vec())))
}

/// The median of all means of two (and of one): as robust as a median, nearly as precise as a mean.
pub fn hodges_lehmann(d: &[f64]) -> Option<f64> {
    usable(d).then(|| middle_of_sorted(&walsh_averages(d)))
}

/// The values that the exact Wilcoxon signed-rank test does not reject at `alpha`.
/// `None` when there are fewer than [`blocks_needed`] differences.
pub fn signed_rank_interval(d: &[f64], alpha: f64) -> Option<Interval> {
    if !usable(d) {
        return None;
    }
    let cdf = signed_rank_cdf(d.len());
    let rejected = cdf.partition_point(|&p| p <= alpha / 2.0);
    let k = rejected.checked_sub(1)?;
    let walsh = walsh_averages(d);
    Some(Interval {
        lower: *walsh.get(k)?,
        upper: *walsh.get(walsh.len().checked_sub(1 + k)?)?,
        attained_confidence: 1.0 - 2.0 * cdf[k],
    })
}

/// The exact two-sided signed-rank p-value of "no difference".
///
/// Ties and zeros: Walsh averages that are exactly zero count for both sides. So `p <= alpha` if and only if the
/// interval at `alpha` leaves zero out, without ties it is the textbook value, and with them it errs to the safe side.
pub fn signed_rank_p(d: &[f64]) -> Option<f64> {
    if !usable(d) {
        return None;
    }
    let walsh = walsh_averages(d);
    let not_above = walsh.iter().filter(|&&w| w <= 0.0).count();
    let not_below = walsh.iter().filter(|&&w| w >= 0.0).count();
    let tail = signed_rank_cdf(d.len())
        .get(not_above.min(not_below))
        .copied();
    Some(tail.map_or(1.0, |tail| (2.0 * tail).min(1.0)))
}

/// The fewest blocks for which [`signed_rank_interval`] exists: 6 at 0.05, 10 at 0.00276.
/// `usize::MAX` when no number of them suffices (`alpha` is not positive).
pub fn blocks_needed(alpha: f64) -> usize {
    if alpha > 0.0 {
        (-(alpha / 2.0).log2()).ceil().max(1.0) as usize
    } else {
        usize::MAX
    }
}

/// Student's interval for the mean; `None` below two values.
pub fn student_interval(d: &[f64], alpha: f64) -> Option<Interval> {
    let (mean, sd) = (mean(d)?, sd(d)?);
    let half = student_quantile(alpha / 2.0, d.len() - 1)? * sd / (d.len() as f64).sqrt();
    Some(Interval {
        lower: mean - half,
        upper: mean + half,
        attained_confidence: 1.0 - alpha,
    })
}

/// `None` when all values are the same: there is no noise to compare with.
pub fn student_p(d: &[f64]) -> Option<f64> {
    let (mean, sd) = (mean(d)?, sd(d)?);
    let t = mean / (sd / (d.len() as f64).sqrt());
    let distribution = StudentsT::new(0.0, 1.0, (d.len() - 1) as f64).ok()?;
    t.is_finite().then(|| 2.0 * distribution.cdf(-t.abs()))
}

/// The effect that a run of so many blocks would have shown in four of five cases; `None` below two blocks.
pub fn minimum_detectable_effect(sd: f64, blocks: usize, alpha: f64) -> Option<f64> {
    let df = blocks.checked_sub(1)?;
    let t = student_quantile(alpha / 2.0, df)? + student_quantile(0.2, df)?;
    Some(t * sd / (blocks as f64).sqrt()).filter(|effect| effect.is_finite())
}

/// An interval for the mean that may be looked at after every block: the intersection, over all numbers of blocks so
/// far, of the intervals that a Gaussian mixture of t-tests does not reject (Wang and Ramdas, arXiv 2310.03722).
/// Exact for normal differences. `None` below [`always_valid_blocks_needed`], and when the intersection is empty,
/// which normal differences of one mean all but never give.
pub fn always_valid_interval(d: &[f64], alpha: f64) -> Option<Interval> {
    let of_first = |n: usize| {
        let (mean, sd) = (mean(&d[..n])?, sd(&d[..n])?);
        let half = always_valid_half_width(n, alpha)? * sd;
        Some((mean - half, mean + half))
    };
    let all = (2..=d.len()).filter_map(of_first);
    let (lower, upper) = all.reduce(|a, b| (a.0.max(b.0), a.1.min(b.1)))?;
    (lower <= upper).then_some(Interval {
        lower,
        upper,
        attained_confidence: 1.0 - alpha,
    })
}

/// The fewest blocks for which [`always_valid_interval`] exists: 5 at 0.05.
pub fn always_valid_blocks_needed(alpha: f64) -> usize {
    (2..10_000)
        .find(|&n| always_valid_half_width(n, alpha).is_some())
        .unwrap_or(usize::MAX)
}

/// [`minimum_detectable_effect`] of [`always_valid_interval`], without what its earlier looks add.
pub fn always_valid_detectable_effect(sd: f64, blocks: usize, alpha: f64) -> Option<f64> {
    let power = student_quantile(0.2, blocks.checked_sub(1)?)? / (blocks as f64).sqrt();
    let effect = (always_valid_half_width(blocks, alpha)? + power) * sd;
    Some(effect).filter(|effect| effect.is_finite())
}

/// In standard deviations of the differences. The mixture is over effects of one standard deviation.
fn always_valid_half_width(blocks: usize, alpha: f64) -> Option<f64> {
    const MIXTURE: f64 = 1.0;
    let n = blocks as f64;
    let spread = 1.0 + n * MIXTURE;
    let a = (spread.sqrt() / alpha).powf(2.0 / n);
    let half = ((n - 1.0) * (a - 1.0) / (1.0 - a / spread)).sqrt() / n.sqrt();
    (alpha > 0.0 && a < spread && half.is_finite()).then_some(half)
}

/// Holm's step-down adjustment; the order of the p-values is kept.
pub fn holm(p: &[f64]) -> Vec<f64> {
    let mut ranked: Vec<usize> = (0..p.len()).collect();
    ranked.sort_by(|&a, &b| p[a].total_cmp(&p[b]));
    let mut adjusted = vec![1.0; p.len()];
    let mut floor = 0.0f64;
    for (rank, &i) in ranked.iter().enumerate() {
        floor = floor.max(p[i] * (p.len() - rank) as f64).min(1.0);
        adjusted[i] = floor;
    }
    adjusted
}

/// Benjamini and Hochberg's false discovery rates; the order of the p-values is kept.
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

/// The level of each single look when a run may stop at 8, 12, 16 or 20 blocks and errs at most `alpha` altogether.
///
/// Pocock's constants, calibrated with four million simulated runs; between them interpolated on log scales. Beyond
/// the table on the safe side: below it a quarter of `alpha` (four looks), above it the last ratio, which grows.
pub fn pocock_level(alpha: f64) -> f64 {
    const TABLE: [(f64, f64); 9] = [
        (0.00417, 0.00133),
        (0.00556, 0.00181),
        (0.00625, 0.00205),
        (0.00833, 0.00276),
        (0.01, 0.00336),
        (0.0125, 0.00427),
        (0.01667, 0.00581),
        (0.025, 0.00898),
        (0.05, 0.01914),
    ];
    match TABLE.partition_point(|&(a, _)| a <= alpha) {
        0 => alpha / 4.0,
        n if n == TABLE.len() => alpha * TABLE[n - 1].1 / TABLE[n - 1].0,
        n => {
            let ((a0, c0), (a1, c1)) = (TABLE[n - 1], TABLE[n]);
            let slope = (c1 / c0).ln() / (a1 / a0).ln();
            c0 * (alpha / a0).powf(slope)
        }
    }
}

/// Jain's fairness index, from 1/n (one has all) to 1 (equal); `None` below two, or when nobody got anything.
pub fn jain(x: &[f64]) -> Option<f64> {
    let fit = x.len() > 1 && x.iter().all(|&v| v.is_finite() && v >= 0.0);
    let sum: f64 = x.iter().sum();
    let squares: f64 = x.iter().map(|v| v * v).sum();
    let index = sum * sum / (x.len() as f64 * squares);
    (fit && index.is_finite()).then_some(index)
}

/// Jain's index of `x[i] / weights[i]`; `None` also when the lengths differ or a weight is not positive.
pub fn jain_weighted(x: &[f64], weights: &[f64]) -> Option<f64> {
    if x.len() != weights.len() || !weights.iter().all(|&w| w > 0.0) {
        return None;
    }
    jain(
        &x.iter()
            .zip(weights)
            .map(|(x, w)| x / w)
            .collect::<Vec<_>>(),
    )
}

fn usable(d: &[f64]) -> bool {
    !d.is_empty() && d.iter().all(|x| x.is_finite())
}

fn sorted(mut values: Vec<f64>) -> Vec<f64> {
    values.sort_unstable_by(f64::total_cmp);
    values
}

fn middle_of_sorted(values: &[f64]) -> f64 {
    let half = values.len() / 2;
    f64::midpoint(values[(values.len() - 1) / 2], values[half])
}

/// `(d_i + d_j) / 2` for all `i <= j`, ascending.
fn walsh_averages(d: &[f64]) -> Vec<f64> {
    let pairs = d.iter().enumerate();
    let averages = pairs.flat_map(|(i, &a)| d[i..].iter().map(move |&b| f64::midpoint(a, b)));
    sorted(averages.collect())
}

/// `P(W+ <= w)` under the null for `w` in the lower half, where each rank 1..=n has a plus sign by the toss of a coin.
fn signed_rank_cdf(n: usize) -> Vec<f64> {
    let half = n * (n + 1) / 4;
    let mut p = vec![0.0; half + 1];
    p[0] = 1.0;
    for rank in 1..=n {
        for w in (0..=half).rev() {
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

/// The upper quantile: exceeded with probability `tail`.
pub fn student_quantile(tail: f64, df: usize) -> Option<f64> {
    let sane = tail > 0.0 && tail < 1.0 && df > 0;
    // From the lower tail, where a small probability keeps its digits.
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
