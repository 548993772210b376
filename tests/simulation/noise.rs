//! The noise of consecutive rounds, on the log scale: four worlds from friendly to hostile.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use std::f64::consts::TAU;

#[derive(Clone, Copy)]
pub struct World {
    /// A round, in a direction drawn once a run.
    slope: f64,
    /// Stationary standard deviation of an AR(1) process.
    wandering_sd: f64,
    wandering_rho: f64,
    white_sd: f64,
    /// The chance that from some round on everything is 15 % slower.
    step_chance: f64,
    /// Garbage collection: a sine of 2 to 8 rounds.
    sine: f64,
    /// The chance that a round is an outlier, downwards by the size of a normal of 0.25.
    outlier_chance: f64,
}

pub const IID: World = World {
    slope: 0.0,
    wandering_sd: 0.0,
    wandering_rho: 0.0,
    white_sd: 0.04,
    step_chance: 0.0,
    sine: 0.0,
    outlier_chance: 0.0,
};
pub const DRIFT: World = World {
    slope: 0.005,
    ..IID
};
pub const AUTOCORRELATED: World = World {
    wandering_sd: 0.05,
    wandering_rho: 0.8,
    white_sd: 0.03,
    ..IID
};
pub const HOSTILE: World = World {
    slope: 0.005,
    step_chance: 0.3,
    sine: 0.04,
    outlier_chance: 0.03,
    ..AUTOCORRELATED
};

impl World {
    pub fn rounds(&self, rng: &mut ChaCha8Rng, n: usize) -> Vec<f64> {
        let normal = |rng: &mut ChaCha8Rng| -> f64 { StandardNormal.sample(rng) };
        let slope = if rng.random() {
            self.slope
        } else {
            -self.slope
        };
        let step_at = if rng.random_bool(self.step_chance) {
            rng.random_range(0..n)
        } else {
            n
        };
        let (period, phase) = (rng.random_range(2.0..8.0), rng.random_range(0.0..TAU));
        let mut wandering = self.wandering_sd * normal(rng);
        let innovation = self.wandering_sd * (1.0 - self.wandering_rho.powi(2)).sqrt();
        (0..n)
            .map(|i| {
                let mut y = slope * i as f64 + wandering + self.white_sd * normal(rng);
                y += self.sine * (TAU * i as f64 / period + phase).sin();
                if i >= step_at {
                    y -= 0.15;
                }
                if rng.random_bool(self.outlier_chance) {
                    y -= (0.25 * normal(rng)).abs();
                }
                wandering = self.wandering_rho * wandering + innovation * normal(rng);
                y
            })
            .collect()
    }
}
