//! A round of a rotation, small enough to keep hundreds, and the comparison of rounds. Pure.

use std::collections::BTreeMap;

use iosched::ab::result;
use iosched::ab::statistics::estimate;
use iosched::ab::statistics::scale::Scale;
use iosched::measure::stalls::Stalls;

/// The time of one arm between two switches of a rotation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LiveRound {
    pub device: usize,
    pub block: usize,
    pub arm: String,
    pub ios: u64,
    pub window_s: f64,
    pub stalls: Stalls,
    /// Values by metric, with the names of iosched-ab: `read_queue_wait_p99`.
    pub metrics: BTreeMap<String, f64>,
    /// Percentiles with too few I/Os beyond them.
    pub insufficient_tail: Vec<String>,
    /// The reason, if the round does not count.
    pub problem: Option<String>,
}

impl LiveRound {
    pub fn of(device: usize, round: result::Round) -> LiveRound {
        let numbers = &round.evidence.device;
        LiveRound {
            device,
            block: round.block,
            arm: round.arm,
            ios: numbers.ios(),
            window_s: round.window_s,
            stalls: Stalls::of(numbers, &round.evidence.owners.iter()),
            metrics: round.metrics,
            insufficient_tail: round.evidence.insufficient_tail,
            problem: round.problem,
        }
    }
}

/// The ratio of a metric between an arm and the reference, over the blocks that have both.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Against {
    pub blocks: usize,
    pub ratio: f64,
    /// Valid at any time, however often it is looked at; absent until there are enough blocks.
    pub interval: Option<(f64, f64)>,
}

/// `alpha` is the error rate of this comparison alone.
pub fn against(
    rounds: &[LiveRound],
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
        .filter_map(|block| {
            let both = value(block, arm).zip(value(block, reference))?;
            Scale::Log.difference(both.0, both.1)?.finite()
        })
        .collect();
    let mean = estimate::mean(&differences)?;
    Some(Against {
        blocks: differences.len(),
        ratio: mean.exp(),
        interval: estimate::always_valid_interval(&differences, alpha)
            .map(|interval| (interval.lower.exp(), interval.upper.exp())),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_blocks_with_both_arms_count() {
        let round = |block, arm: &str, value: f64| LiveRound {
            block,
            arm: arm.into(),
            metrics: [("m".to_owned(), value)].into(),
            ..LiveRound::default()
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
