//! Variance components of rounds, from blocks with two rounds of the same arm. Pure.

use super::estimate;

/// Standard deviations, on the metric's scale.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Components {
    /// Variation between the two rounds of a block.
    pub rounds: f64,
    /// Variation between blocks; differences within blocks do not contain it.
    pub blocks: f64,
}

impl Components {
    /// None with fewer than two blocks.
    pub fn of(pairs: &[(f64, f64)]) -> Option<Components> {
        let differences: Vec<f64> = pairs.iter().map(|(a, b)| a - b).collect();
        let means: Vec<f64> = pairs.iter().map(|(a, b)| f64::midpoint(*a, *b)).collect();
        let of_rounds = estimate::sd(&differences)?.powi(2) / 2.0;
        // The mean of a block contains half the variance of a round. The difference can be negative by chance.
        let of_blocks = estimate::sd(&means)?.powi(2) - of_rounds / 2.0;
        Some(Components {
            rounds: of_rounds.sqrt(),
            blocks: of_blocks.max(0.0).sqrt(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-12
    }

    #[test]
    fn blocks_and_rounds_are_told_apart() {
        // Blocks at 0 and 2, rounds 0.1 above and below them.
        let found = Components::of(&[(0.1, -0.1), (1.9, 2.1)]).unwrap();
        assert!(near(found.rounds.powi(2), 0.08 / 2.0), "{found:?}");
        assert!(near(found.blocks.powi(2), 2.0 - 0.02), "{found:?}");
        let same_blocks = Components::of(&[(1.0, -1.0), (-1.0, 1.0)]).unwrap();
        assert!(near(same_blocks.blocks, 0.0));
        assert_eq!(Components::of(&[(1.0, 2.0)]), None);
    }

    /// With 5000 blocks the estimates are close to the true values.
    #[test]
    fn the_truth_is_found() {
        use rand_chacha::ChaCha8Rng;
        use rand_chacha::rand_core::SeedableRng;
        use rand_distr::{Distribution, StandardNormal};
        let mut rng = ChaCha8Rng::seed_from_u64(20_240_601);
        let mut normal = || -> f64 { StandardNormal.sample(&mut rng) };
        let pairs: Vec<(f64, f64)> = (0..5000)
            .map(|_| {
                let block = 0.05 * normal();
                (block + 0.02 * normal(), block + 0.02 * normal())
            })
            .collect();
        let found = Components::of(&pairs).unwrap();
        assert!((found.rounds - 0.02).abs() < 0.001, "{found:?}");
        assert!((found.blocks - 0.05).abs() < 0.002, "{found:?}");
    }
}
