//! Adjusted p-values of a family by flipping the signs of whole blocks: comparisons that share blocks, and the
//! reference, are not independent, and this uses it. Needs fewer blocks than a share of the level for each. Pure.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// Up to so many blocks all flips are tried, which is exact.
const EXACT: usize = 14;
const DRAWS: u64 = 20_000;

/// `family` has for each comparison its differences in the same blocks. Single-step: each p-value is the share of
/// flips in which the largest |t| of the whole family is at least that of the comparison. None below two blocks.
pub fn max_t(family: &[Vec<f64>]) -> Option<Vec<f64>> {
    let blocks = family.first()?.len();
    let finite = family.iter().flatten().all(|x| x.is_finite());
    if blocks < 2 || !finite || family.iter().any(|d| d.len() != blocks) {
        return None;
    }
    let squares: Vec<f64> = family
        .iter()
        .map(|d| d.iter().map(|x| x * x).sum())
        .collect();
    let statistics = |flips: u64| {
        family.iter().zip(&squares).map(move |(d, squares)| {
            let signed = d.iter().enumerate().map(|(block, x)| {
                if flips >> (block % 64) & 1 == 1 {
                    -x
                } else {
                    *x
                }
            });
            t(signed.sum(), *squares, blocks)
        })
    };
    let found: Vec<f64> = statistics(0).collect();
    let mut hits = vec![0u64; family.len()];
    let mut count = |flips: u64| {
        let largest = statistics(flips).fold(0.0, f64::max);
        for (hits, found) in hits.iter_mut().zip(&found) {
            // The same sum in another order is the same.
            *hits += u64::from(largest >= found * (1.0 - 1e-9));
        }
    };
    let all = if blocks <= EXACT {
        // The last block's sign may stay: all signs turned give the same |t|.
        let all = 1 << (blocks - 1);
        (0..all).for_each(&mut count);
        all
    } else {
        let mut rng = ChaCha8Rng::seed_from_u64(20_240_601);
        count(0);
        (0..DRAWS).for_each(|_| count(rng.next_u64()));
        DRAWS + 1
    };
    Some(
        hits.into_iter()
            .map(|hits| hits as f64 / all as f64)
            .collect(),
    )
}

/// |t| of differences with this sum and sum of squares, which no flip changes.
fn t(sum: f64, squares: f64, blocks: usize) -> f64 {
    let n = blocks as f64;
    let variance = (squares - sum * sum / n) / (n - 1.0);
    if sum == 0.0 {
        0.0
    } else {
        (sum / n).abs() / (variance.max(0.0) / n).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLEAR: [f64; 8] = [0.081, 0.032, 0.115, -0.014, 0.067, 0.049, 0.093, 0.021];

    #[test]
    fn of_one_comparison_it_is_the_sign_flip_test() {
        let p = max_t(&[CLEAR.to_vec()]).unwrap();
        assert!((p[0] - 0.015_625).abs() < 1e-12, "{p:?}");
        let all = max_t(&[vec![0.1, 0.2, 0.3, 0.4, 0.5]]).unwrap();
        assert!(
            (all[0] - 2.0 / 32.0).abs() < 1e-12,
            "the least that five blocks can give"
        );
    }

    #[test]
    fn the_same_twice_costs_nothing_and_others_cost_less_than_bonferroni() {
        let twice = max_t(&[CLEAR.to_vec(), CLEAR.to_vec()]).unwrap();
        assert!((twice[1] - 0.015_625).abs() < 1e-12);
        let other = vec![0.02, -0.01, 0.03, 0.01, -0.02, 0.04, -0.03, 0.01];
        let family = max_t(&[CLEAR.to_vec(), other]).unwrap();
        assert!((0.015_625..=0.031_25).contains(&family[0]), "{family:?}");
        assert!(family[1] > 0.3, "{family:?}");
    }

    #[test]
    fn many_blocks_are_drawn_and_agree_with_all_flips() {
        let d: Vec<f64> = (0..14)
            .map(|i| f64::from((i * 29) % 17) / 17.0 - 0.3)
            .collect();
        let exact = max_t(std::slice::from_ref(&d)).unwrap()[0];
        // Two more blocks of nothing change neither the sum nor, much, the rest.
        let drawn = max_t(&[[d, vec![0.0, 0.0]].concat()]).unwrap()[0];
        assert!((exact - drawn).abs() < 0.01, "{exact} {drawn}");
    }

    #[test]
    fn what_is_not_there_is_none() {
        assert_eq!(max_t(&[]), None);
        assert_eq!(max_t(&[vec![1.0]]), None);
        assert_eq!(max_t(&[vec![1.0, f64::NAN]]), None);
        assert_eq!(max_t(&[vec![1.0, 2.0], vec![1.0]]), None);
        assert_eq!(max_t(&[vec![0.0; 6]]), Some(vec![1.0]));
    }
}
