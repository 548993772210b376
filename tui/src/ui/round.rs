//! A round of a rotation, small enough to keep hundreds, and what the rounds together allow to be said. Pure.

use std::collections::BTreeMap;

use iosched::ab::stats;
use iosched::ab::verdict::Scale;

/// One arm's time between two flips of a rotation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Round {
    pub device: usize,
    pub block: usize,
    pub arm: String,
    pub ios: u64,
    /// By name, as an A/B has them: `read_queue_wait_p99`.
    pub metrics: BTreeMap<String, f64>,
    /// Percentiles with too few I/Os beyond them.
    pub insufficient_tail: Vec<String>,
    /// Why it does not count.
    pub problem: Option<String>,
}

/// An arm against the reference: the ratio of a metric, from the blocks in which both have it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Against {
    pub blocks: usize,
    pub ratio: f64,
    /// Holds at every moment, however often it is looked at; absent until there are blocks enough.
    pub interval: Option<(f64, f64)>,
}

/// `alpha`: of this comparison alone.
pub fn against(
    rounds: &[Round],
    metric: &str,
    arm: &str,
    reference: &str,
    alpha: f64,
) -> Option<Against> {
    let value = |block: usize, arm: &str| {
        let found = rounds
            .iter()
            .find(|round| round.block == block && round.arm == arm && round.problem.is_none());
        found?.metrics.get(metric).copied()
    };
    let blocks = rounds.iter().map(|round| round.block + 1).max()?;
    let differences: Vec<f64> = (0..blocks)
        .filter_map(|block| Scale::Log.difference(value(block, arm), value(block, reference)))
        .collect();
    let mean = stats::mean(&differences)?;
    Some(Against {
        blocks: differences.len(),
        ratio: mean.exp(),
        interval: always_valid(&differences, alpha).map(|(low, high)| (low.exp(), high.exp())),
    })
}

/// The interval for the mean difference that may be looked at after every block: the inverted Gaussian-mixture t
/// test, intersected over all looks so far (docs/measurement.md). None below three blocks, or where it is without end.
/// To be replaced by the one of `iosched::ab::stats` as soon as there is one.
pub fn always_valid(differences: &[f64], alpha: f64) -> Option<(f64, f64)> {
    let looks = (3..=differences.len()).filter_map(|n| one_look(&differences[..n], alpha));
    let (low, high) = looks.reduce(|all, one| (all.0.max(one.0), all.1.min(one.1)))?;
    // Drifting data can leave nothing in common; then the last look alone stands.
    if low <= high {
        Some((low, high))
    } else {
        one_look(differences, alpha)
    }
}

/// The fewest blocks for which there is an interval.
pub fn blocks_needed(alpha: f64) -> usize {
    let is_bounded = |n: &usize| {
        let n = *n as f64;
        ((1.0 + n).sqrt() / alpha).powf(2.0 / n) < 1.0 + n
    };
    (3..1000).find(is_bounded).unwrap_or(1000)
}

fn one_look(differences: &[f64], alpha: f64) -> Option<(f64, f64)> {
    let n = differences.len() as f64;
    let (mean, sd) = (stats::mean(differences)?, stats::sd(differences)?);
    let spread = 1.0 + n; // the mixture's variance is one
    let a = (spread.sqrt() / alpha).powf(2.0 / n);
    if a >= spread {
        return None;
    }
    let half = sd / n.sqrt() * ((n - 1.0) * (a - 1.0) / (1.0 - a / spread)).sqrt();
    half.is_finite().then_some((mean - half, mean + half))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_is_the_formula_and_narrows() {
        let d: Vec<f64> = (0..12).map(|i| 0.1 + f64::from(i % 3 - 1) * 0.02).collect();
        assert_eq!(always_valid(&d[..2], 0.05), None);
        assert_eq!(blocks_needed(0.05), 5);
        assert_eq!(
            (always_valid(&d[..4], 0.05), blocks_needed(0.05 / 3.0)),
            (None, 6)
        );
        // n = 5: A = (sqrt(6)/0.05)^(2/5) = 4.746.. < 6
        let (mean, sd) = (stats::mean(&d[..5]).unwrap(), stats::sd(&d[..5]).unwrap());
        let a = (6f64.sqrt() / 0.05).powf(0.4);
        let half = sd / 5f64.sqrt() * (4.0 * (a - 1.0) / (1.0 - a / 6.0)).sqrt();
        let (low, high) = one_look(&d[..5], 0.05).unwrap();
        assert!((low - (mean - half)).abs() < 1e-12 && (high - (mean + half)).abs() < 1e-12);
        let (low, high) = always_valid(&d, 0.05).unwrap();
        assert!(low < 0.1 && 0.1 < high && high - low < 2.0 * half);
    }

    #[test]
    fn it_errs_seldom_though_looked_at_after_every_block() {
        // A generator of its own: no clock, no chance. 400 runs without a difference, each looked at 28 times.
        let mut state = 7u64;
        let mut uniform = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        let mut wrong = 0;
        for _ in 0..400 {
            let noise: Vec<f64> = (0..30)
                .map(|_| (0..12).map(|_| uniform()).sum::<f64>() - 6.0)
                .collect();
            let excludes = |n: usize| {
                always_valid(&noise[..n], 0.05).is_some_and(|(low, high)| low > 0.0 || high < 0.0)
            };
            wrong += usize::from((3..=30).any(excludes));
        }
        assert!(wrong <= 20, "{wrong} of 400");
    }

    #[test]
    fn only_blocks_with_both_arms_count() {
        let round = |block, arm: &str, value: f64| Round {
            block,
            arm: arm.into(),
            metrics: [("m".to_owned(), value)].into(),
            ..Round::default()
        };
        let mut rounds = vec![
            round(0, "a", 2.0),
            round(0, "b", 1.0),
            round(1, "b", 1.0),
            round(2, "a", 8.0),
        ];
        let found = against(&rounds, "m", "a", "b", 0.05).unwrap();
        assert_eq!((found.blocks, found.interval), (1, None));
        assert!((found.ratio - 2.0).abs() < 1e-12);
        rounds[0].problem = Some("disturbed".into());
        assert_eq!(against(&rounds, "m", "a", "b", 0.05), None);
        assert_eq!(against(&rounds, "other", "a", "b", 0.05), None);
    }
}
