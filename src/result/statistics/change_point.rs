//! Change points of a series of runs: E-divisive (Matteson and James 2014), as used by Apache Otava and Hunter. Pure.
//!
//!
//! The series is split where the energy distance between its two parts is largest. A permutation test estimates how
//! often a series in random order reaches that distance. If the split is significant, both parts are searched in turn.
//! At level [`ALPHA`], at most one in a hundred series without a change gets a false change point. Short series have
//! too few permutations for this level: nothing is found in fewer than ten values, and a change in the last three
//! values needs at least twelve.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

use super::estimate::{self, ConfidenceInterval};
use crate::random::below;

/// Level of the permutation test for the whole series.
pub const ALPHA: f64 = 0.01;
/// Minimum number of values in a part.
pub const SHORTEST: usize = 3;
const PERMUTATIONS: usize = 999;
const SEED: u64 = 20_240_601;

/// The index of the first value of each new level, ascending. Empty for values that are not finite.
pub fn change_points(values: &[f64]) -> Vec<usize> {
    let mut found = Vec::new();
    if values.iter().all(|x| x.is_finite()) {
        let mut rng = ChaCha8Rng::seed_from_u64(SEED);
        search(values, 0, &mut rng, &mut found);
        found.sort_unstable();
    }
    found
}

fn search(values: &[f64], offset: usize, rng: &mut ChaCha8Rng, found: &mut Vec<usize>) {
    let Some((at, distance)) = best_split(values) else {
        return;
    };
    if !is_significant(values, distance, rng) {
        return;
    }
    found.push(offset + at);
    search(&values[..at], offset, rng, found);
    search(&values[at..], offset + at, rng, found);
}

/// Whether at most a share [`ALPHA`] of the permutations, the observed order included, reaches this distance. Stops as
/// soon as too many do.
fn is_significant(values: &[f64], distance: f64, rng: &mut ChaCha8Rng) -> bool {
    let allowed = (ALPHA * (PERMUTATIONS + 1) as f64).round() as usize;
    let mut shuffled = values.to_vec();
    // The observed order counts as one permutation.
    let mut reached = 1;
    for _ in 0..PERMUTATIONS {
        for last in (1..shuffled.len()).rev() {
            shuffled.swap(last, below(rng, last as u64 + 1) as usize);
        }
        let largest = best_split(&shuffled).map_or(0.0, |(_, largest)| largest);
        // Summing the same two parts in another order gives a slightly different distance.
        reached += usize::from(largest >= distance * (1.0 - 1e-9));
        if reached > allowed {
            return false;
        }
    }
    true
}

/// The split with the largest scaled distance, and that distance.
fn best_split(values: &[f64]) -> Option<(usize, f64)> {
    let mut best: Option<(usize, f64)> = None;
    for_each_split(values, |at, _, distance| {
        if best.is_none_or(|best| distance > best.1) {
            best = Some((at, distance));
        }
    });
    // The sums of very large values overflow.
    best.filter(|best| best.1.is_finite())
}

/// Calls `found` with `at`, `end` and the distance between the values before `at` and those in `at..end`. For parts of
/// `m` and `n` values the distance is `m n / (m + n)` times the energy distance (twice the mean distance between the
/// parts, minus the mean distance of the pairs within each). Every `end` is tried: a level that returns later would
/// otherwise hide the change.
fn for_each_split(values: &[f64], mut found: impl FnMut(usize, usize, f64)) {
    let pairs = |k: f64| k * (k - 1.0) / 2.0;
    // Per value: the sums of its distances to the first 0, 1, 2, ... values.
    let size = values.len() + 1;
    let mut sums = vec![0.0; values.len() * size];
    for (row, x) in sums.chunks_exact_mut(size).zip(values) {
        for (i, y) in values.iter().enumerate() {
            row[i + 1] = row[i] + (x - y).abs();
        }
    }
    let sum = |of: usize, first: usize| sums[of * size + first];
    let mut within_first = 0.0;
    for at in 1..values.len() {
        within_first += sum(at - 1, at - 1);
        if at < SHORTEST {
            continue;
        }
        let (mut between, mut within_next) = (0.0, 0.0);
        for last in at..values.len() {
            between += sum(last, at);
            within_next += sum(last, last) - sum(last, at);
            let end = last + 1;
            if end - at >= SHORTEST {
                let (m, n) = (at as f64, (end - at) as f64);
                let energy =
                    2.0 * between / (m * n) - within_first / pairs(m) - within_next / pairs(n);
                found(at, end, m * n / (m + n) * energy);
            }
        }
    }
}

/// The mean of the values since a change minus the mean before it, with Student's interval at [`ALPHA`], widened by a
/// Bonferroni correction for the number of candidate positions.
pub fn shift(before: &[f64], since: &[f64]) -> Option<(f64, ConfidenceInterval)> {
    let (m, n) = (before.len(), since.len());
    let places = (m + n + 1).checked_sub(2 * SHORTEST)?;
    let (old, new) = (estimate::mean(before)?, estimate::mean(since)?);
    let squares = |values: &[f64], mean: f64| -> f64 {
        let squares = values.iter().map(|x| (x - mean).powi(2));
        squares.sum()
    };
    let freedom = (m + n).checked_sub(2)?;
    let variance = (squares(before, old) + squares(since, new)) / freedom as f64;
    let t = estimate::student_quantile(ALPHA / places.max(1) as f64 / 2.0, freedom)?;
    let half = t * (variance * (1.0 / m as f64 + 1.0 / n as f64)).sqrt();
    let interval = ConfidenceInterval {
        lower: new - old - half,
        upper: new - old + half,
        attained_confidence: 1.0 - ALPHA,
    };
    half.is_finite().then_some((new - old, interval))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn splits(values: &[f64]) -> Vec<(usize, usize, f64)> {
        let mut found = Vec::new();
        for_each_split(values, |at, end, distance| found.push((at, end, distance)));
        found
    }

    #[test]
    fn the_distance_by_hand() {
        // Mean distance between the parts: 10 (10 11 12, 9 10 11, 8 9 10). Mean distance within each: 4/3 (1 2 1).
        // Energy distance 2 * 10 - 4/3 - 4/3 = 52/3, times 3 * 3 / 6: 26.
        let found = splits(&[0.0, 1.0, 2.0, 10.0, 11.0, 12.0]);
        assert_eq!((found.len(), found[0].0, found[0].1), (1, 3, 6));
        assert!((found[0].2 - 26.0).abs() < 1e-12, "{found:?}");
        // Three zeros and five fours. Split after 3: between 4, within 0 and 0, so 2 * 4 = 8. After 4: between 3 of 4
        // are 4, so 3; within the first 3 of 6, so 2; 2 * 3 - 2 = 4. After 5: 3 of 5, so 2.4; 6 of 10, so 2.4; 2 * 2.4
        // - 2.4 = 2.4.
        let step = [0.0, 0.0, 0.0, 4.0, 4.0, 4.0, 4.0, 4.0];
        let by_hand = [
            (3, 6, 8.0 * 9.0 / 6.0),
            (3, 7, 8.0 * 12.0 / 7.0),
            (3, 8, 8.0 * 15.0 / 8.0),
            (4, 7, 4.0 * 12.0 / 7.0),
            (4, 8, 4.0 * 16.0 / 8.0),
            (5, 8, 2.4 * 15.0 / 8.0),
        ];
        let found = splits(&step);
        assert_eq!(found.len(), by_hand.len());
        for (found, by_hand) in found.iter().zip(by_hand) {
            let is_same = (found.2 - by_hand.2).abs() < 1e-12;
            assert!(
                is_same && (found.0, found.1) == (by_hand.0, by_hand.1),
                "{found:?} {by_hand:?}"
            );
        }
        assert_eq!(best_split(&step), Some((3, 15.0)));
    }

    /// Eight low values of sixteen, contiguous at one end: 2 of 12870 orders. Three of nine: 2 of 84, more than 1 %.
    #[test]
    fn a_step_is_found_where_there_are_orders_enough() {
        let step = |before: usize, since: usize| -> Vec<f64> {
            let level = |i| if i < before { 0.0 } else { -4.0 };
            let all = (0..before + since).map(|i| level(i) + 0.1 * (i * 7 % 5) as f64);
            all.collect()
        };
        assert_eq!(change_points(&step(8, 8)), [8]);
        assert_eq!(change_points(&step(12, 4)), [12]);
        assert_eq!(change_points(&step(17, 3)), [17]);
        assert_eq!(change_points(&step(6, 3)), [0; 0]);
    }

    #[test]
    fn changes_are_found_one_after_the_other() {
        let level = |i: usize| match i {
            0..12 => 0.0,
            12..24 => 3.0,
            _ => 1.0,
        };
        let values: Vec<f64> = (0..36).map(|i| level(i) + 0.1 * (i % 3) as f64).collect();
        assert_eq!(change_points(&values), [12, 24]);
        let back = |i: usize| if (8..16).contains(&i) { -4.0 } else { 0.0 };
        let values: Vec<f64> = (0..24).map(|i| back(i) + 0.1 * (i % 3) as f64).collect();
        assert_eq!(change_points(&values), [8, 16]);
    }

    #[test]
    fn what_cannot_be_split_has_no_change() {
        for values in [
            vec![],
            vec![1.0; 5],
            vec![1.0; 30],
            vec![f64::NAN; 12],
            vec![f64::INFINITY; 12],
            [[f64::MAX, -f64::MAX]; 8].concat(),
        ] {
            assert_eq!(change_points(&values), [0; 0]);
        }
    }

    /// Squares 2 and 2 with 4 degrees of freedom: a variance of 1, times 2/3. One candidate position: the quantile at
    /// 0.005 is 4.604095.
    #[test]
    fn the_shift_by_hand() {
        let (change, interval) = shift(&[0.0, 1.0, 2.0], &[10.0, 11.0, 12.0]).unwrap();
        assert!((change - 10.0).abs() < 1e-12);
        let half = 4.604_095 * (2.0f64 / 3.0).sqrt();
        assert!((interval.upper - 10.0 - half).abs() < 1e-5, "{interval:?}");
        // One more value gives two positions: the quantile at 0.0025 with 5 degrees of freedom is 4.773341.
        let (_, interval) = shift(&[0.0, 1.0, 2.0], &[10.0, 11.0, 12.0, 11.0]).unwrap();
        let half = 4.773_341 * (4.0f64 / 5.0 * 7.0 / 12.0).sqrt();
        assert!((interval.upper - 10.0 - half).abs() < 1e-5, "{interval:?}");
        assert!(shift(&[], &[1.0, 2.0]).is_none());
    }
}
