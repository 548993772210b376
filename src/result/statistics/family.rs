//! The level at which each comparison of a family is judged, so that the family-wise error rate stays within one level.
//!
//! Comparisons share the reference, the blocks and often the cause, so their errors are correlated. Single-step minP
//! adjustment (Westfall and Young 1993): the signs of all residuals of a block are flipped together, and the smallest
//! p-value of the family is recorded for each flip. The level of each comparison is the `level` quantile of these
//! minima. It is exact where no arm differs and approximate where some do, and never below the Bonferroni level.

use std::sync::Arc;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use super::estimate;
use super::signed_rank;

/// Up to this number of blocks, all sign flips are enumerated.
const EXACT: usize = 12;
const DRAWS: usize = 6000;

/// One comparison: the index of each block that has a finite difference, and the difference.
pub type Member = Vec<(usize, f64)>;

/// The smallest p-value of the family for each sign flip.
pub struct Joint {
    size: usize,
    /// Ascending.
    smallest: Vec<f64>,
}

impl Joint {
    pub fn of(family: Vec<Member>) -> Joint {
        let size = family.len();
        let family: Vec<Member> = family.into_iter().filter(|of| !of.is_empty()).collect();
        let mut smallest = if family.len() < 2 {
            Vec::new()
        } else {
            smallest_p(&family)
        };
        smallest.sort_unstable_by(f64::total_cmp);
        Joint { size, smallest }
    }

    /// The level of each comparison for a family-wise error rate of `level`.
    pub fn level(&self, level: f64) -> f64 {
        if self.smallest.is_empty() {
            return level / self.size.max(1) as f64;
        }
        let share = level / self.size as f64;
        // The largest value such that the share of flips that reach it is within the level.
        let allowed = (level * self.smallest.len() as f64) as usize;
        let next = self.smallest.get(allowed).copied().unwrap_or(1.0);
        let within = self.smallest[..allowed].iter().rev().find(|p| **p < next);
        within.copied().unwrap_or(share).clamp(share, level)
    }

    /// The p-value `p` of one comparison, adjusted for the whole family (single-step).
    pub fn adjusted(&self, p: f64) -> f64 {
        if self.smallest.is_empty() {
            return (p * self.size.max(1) as f64).min(1.0);
        }
        let reached = self
            .smallest
            .partition_point(|smallest| *smallest <= p * (1.0 + 1e-9));
        (reached as f64 / self.smallest.len() as f64).max(p)
    }
}

/// For each sign flip, the smallest p-value of the family.
fn smallest_p(family: &[Member]) -> Vec<f64> {
    let blocks = 1 + family
        .iter()
        .flat_map(|member| member.iter().map(|(block, _)| *block))
        .max()
        .unwrap_or(0);
    let turned: Vec<Ranked> = family.iter().map(Ranked::of).collect();
    let of_turn = |turn: &[u64]| {
        let all = turned.iter().map(|member| member.p(turn));
        all.fold(1.0, f64::min)
    };
    if blocks <= EXACT {
        // Flipping all signs gives the same p, so the last block's sign stays fixed.
        return (0..1u64 << (blocks - 1))
            .map(|turn| of_turn(&[turn]))
            .collect();
    }
    let mut rng = ChaCha8Rng::seed_from_u64(20_240_601);
    let words = blocks.div_ceil(64);
    (0..DRAWS)
        .map(|_| of_turn(&(0..words).map(|_| rng.next_u64()).collect::<Vec<_>>()))
        .collect()
}

/// Ranks and signs of the residuals; a sign flip does not change the ranks.
struct Ranked {
    /// The sum of doubled ranks with a positive sign, by eight blocks and by how these eight are flipped.
    sums: Vec<[usize; 256]>,
    /// Two-sided, indexed by the doubled sum of ranks.
    cdf: Arc<[f64]>,
    total: usize,
}

impl Ranked {
    fn of(member: &Member) -> Ranked {
        let values: Vec<f64> = member.iter().map(|(_, d)| *d).collect();
        let centre = estimate::hodges_lehmann(&values).unwrap_or(0.0);
        let residuals: Vec<f64> = values.iter().map(|d| d - centre).collect();
        // Ties share a rank.
        let doubled_rank = |x: &f64| {
            let below = residuals.iter().filter(|y| y.abs() < x.abs()).count();
            let same = residuals
                .iter()
                .filter(|y| y.abs().total_cmp(&x.abs()).is_eq())
                .count();
            2 * below + same + 1
        };
        let blocks = member.iter().map(|(block, _)| block + 1).max().unwrap_or(0);
        let mut sums = vec![[0; 256]; blocks.div_ceil(8)];
        for ((block, _), x) in member.iter().zip(&residuals) {
            let (rank, is_positive) = (doubled_rank(x), *x > 0.0);
            for (flips, sum) in sums[block / 8].iter_mut().enumerate() {
                let is_flipped = flips >> (block % 8) & 1 == 1;
                if is_flipped != is_positive {
                    *sum += rank;
                }
            }
        }
        let n = member.len();
        Ranked {
            sums,
            cdf: signed_rank::cdf(n),
            total: n * (n + 1),
        }
    }

    fn p(&self, turn: &[u64]) -> f64 {
        let flips = turn.iter().flat_map(|word| word.to_le_bytes());
        let eights = self.sums.iter().zip(flips);
        let plus: usize = eights.map(|(sums, flips)| sums[usize::from(flips)]).sum();
        let smaller = plus.min(self.total - plus) / 2;
        self.cdf
            .get(smaller)
            .map_or(1.0, |tail| (2.0 * tail).min(1.0))
    }
}
