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
        interval: stats::always_valid_interval(&differences, alpha)
            .map(|interval| (interval.lower.exp(), interval.upper.exp())),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

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
