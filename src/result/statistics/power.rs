//! Power of a run with a given number of blocks, by simulation. Pure.

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex};

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use statrs::distribution::{ChiSquared, ContinuousCDF, Normal};

use super::estimate;
use super::scale::Margins;
use super::signed_rank::{self, Difference};
use super::stopping::Method;
use super::verdict::Question;

/// Target power: an effect is "detectable" if this share of runs shows it.
pub const POWER: f64 = 0.8;
const DRAWS: usize = 1000;
/// Above this number of blocks the asymptotic formula replaces the simulation.
const SIMULATED: usize = 40;
pub const HORIZON: usize = 1000;
/// The noise is itself estimated; with this confidence the true value is below the one used.
const SD_CONFIDENCE: f64 = 0.75;
/// Asymptotic relative efficiency of signed ranks to Student's t under normal noise.
const EFFICIENCY: f64 = 3.0 / std::f64::consts::PI;

/// Where an arm may leave something behind for later rounds, intervals are widened, and this much larger an effect is shown
/// as often. Calibrated in `tests/verdicts.rs`: 77 to 90 % of such effects are shown, where 80 % is said.
const OF_CARRY_OVER: f64 = 1.15;

/// The noise that decides what is detectable, from the standard deviation of the differences.
pub fn effective_sd(sd: f64, is_washed_out: bool) -> f64 {
    if is_washed_out {
        sd
    } else {
        OF_CARRY_OVER * sd
    }
}

/// The smallest effect, on the scale of the differences, that `blocks` blocks show with 80 % power. `sd` was estimated
/// from as many blocks.
pub fn detectable(question: Question, sd: f64, blocks: usize) -> Option<f64> {
    let reach = reach(question, blocks)?;
    Some(reach * upper_sd(sd, blocks)?).filter(|effect| effect.is_finite())
}

/// Number of blocks until an effect of `reach_wanted` is detectable, given the standard deviation of `from - 1` blocks.
/// None beyond a thousand.
pub fn blocks_to_see(question: Question, sd: f64, reach_wanted: f64, from: usize) -> Option<usize> {
    fewest(question, upper_sd(sd, from - 1)?, reach_wanted, from)
}

/// The same where blocks have no value, which is worse than every other: from how often the sum of two blocks lies on
/// one side (Noether 1987), which needs no standard deviation. The nearer of two decisions: to exclude zero, or to lie
/// within the margins.
pub fn censored_blocks_to_see(
    question: Question,
    differences: &[Difference],
    margins: Margins,
    is_even: bool,
    from: usize,
) -> Option<usize> {
    let z = standard_errors(question);
    let needed = |shift: f64| {
        let beyond_half = share_above(differences, shift)? - 0.5;
        let blocks = z.powi(2) / (3.0 * beyond_half.powi(2));
        (blocks <= HORIZON as f64).then_some(blocks.ceil() as usize)
    };
    let is_within = || {
        // Above the one margin, and below the other.
        let is_above = share_above(differences, margins.down)? > 0.5;
        let is_below = share_above(differences, -margins.up)? < 0.5;
        let both = needed(margins.down)?.max(needed(-margins.up)?);
        (is_above && is_below).then_some(both)
    };
    // An arm that lacks values more often than the other is never equivalent.
    let within = is_even.then(is_within).flatten();
    let nearer = [needed(0.0), within].into_iter().flatten().min()?;
    Some(nearer.max(from).max(question.blocks_needed()))
}

/// The share of pairs of blocks whose mean, moved by `shift`, lies above zero; what cannot be said counts half.
fn share_above(differences: &[Difference], shift: f64) -> Option<f64> {
    let mut pairs = 0usize;
    let mut above = 0.0;
    for (i, one) in differences.iter().enumerate() {
        for other in &differences[i + 1..] {
            let lowest = one.lower + other.lower + 2.0 * shift;
            let highest = one.upper + other.upper + 2.0 * shift;
            above += match (lowest > 0.0, highest < 0.0) {
                (true, _) => 1.0,
                (false, true) => 0.0,
                (false, false) => 0.5,
            };
            pairs += 1;
        }
    }
    (pairs > 0).then(|| above / pairs as f64)
}

/// From the truth to the end of an interval that shows it with 80 % power.
fn standard_errors(question: Question) -> f64 {
    let normal = Normal::standard();
    -normal.inverse_cdf(question.alpha / 2.0) - normal.inverse_cdf(1.0 - POWER)
}

/// About the number of blocks that show an effect with 80 % power, from the standard deviation of the differences in effects.
pub fn blocks_about(alpha: f64, sd_in_effects: f64) -> f64 {
    let normal = Normal::standard();
    let z = -normal.inverse_cdf(alpha / 2.0) - normal.inverse_cdf(1.0 - POWER);
    (z * sd_in_effects).powi(2) / EFFICIENCY
}

/// How many times the blocks show the same with the same power at another level.
pub fn cost_of_level(level: f64, other: f64) -> f64 {
    let normal = Normal::standard();
    let z = |alpha: f64| -normal.inverse_cdf(alpha / 2.0) - normal.inverse_cdf(1.0 - POWER);
    (z(other) / z(level)).powi(2)
}

/// Number of blocks in which a new run shows an effect with 80 % power. `sd` is the standard deviation of the
/// differences; pass an upper limit if it is an estimate. None beyond a thousand.
pub fn blocks_for(question: Question, sd: f64, effect: f64) -> Option<usize> {
    fewest(question, sd, effect, 1)
}

fn fewest(question: Question, sd: f64, wanted: f64, from: usize) -> Option<usize> {
    let shows = |n: usize| reach_of(question, sd, n).is_some_and(|reach| reach <= wanted);
    let (mut too_few, mut enough) = (question.blocks_needed().max(from).max(2) - 1, HORIZON);
    if too_few >= enough || !shows(enough) {
        return None;
    }
    while too_few + 1 < enough {
        let n = usize::midpoint(too_few, enough);
        *(if shows(n) { &mut enough } else { &mut too_few }) = n;
    }
    Some(enough)
}

/// The smallest effect that `blocks` blocks show with 80 % power, given the standard deviation of the differences.
pub fn reach_of(question: Question, sd: f64, blocks: usize) -> Option<f64> {
    Some(reach(question, blocks)? * sd)
}

/// Upper 75 % confidence limit of the true standard deviation.
pub fn upper_sd(sd: f64, blocks: usize) -> Option<f64> {
    let df = blocks.checked_sub(1).filter(|df| *df > 0)? as f64;
    let chi = ChiSquared::new(df).ok()?.inverse_cdf(1.0 - SD_CONFIDENCE);
    Some(sd * (df / chi).sqrt())
}

/// In standard deviations of the differences. None when no interval exists.
fn reach(question: Question, blocks: usize) -> Option<f64> {
    match question.method {
        Method::AlwaysValid => estimate::always_valid_reach(blocks, question.alpha, 1.0 - POWER),
        Method::SignedRank if blocks < signed_rank::FEWEST_BLOCKS => None,
        Method::SignedRank if blocks <= SIMULATED => simulated(question, blocks),
        Method::SignedRank => Some(standard_errors(question) / (blocks as f64 * EFFICIENCY).sqrt()),
    }
}

/// The 80 % quantile of the distance between the truth and the interval's end: larger effects are shown.
fn simulated(question: Question, blocks: usize) -> Option<f64> {
    type Key = (usize, u64, u64);
    static KNOWN: LazyLock<Mutex<HashMap<Key, Option<f64>>>> = LazyLock::new(Mutex::default);
    let levels = (question.alpha.to_bits(), question.alpha_of_few.to_bits());
    let key = (blocks, levels.0, levels.1);
    let known = |lock: &Mutex<HashMap<Key, Option<f64>>>| lock.lock().ok()?.get(&key).copied();
    if let Some(found) = known(&KNOWN) {
        return found;
    }
    let normal = Normal::standard();
    let mut rng = ChaCha8Rng::seed_from_u64(20_240_601);
    let mut ends: Vec<f64> = (0..DRAWS)
        .filter_map(|_| {
            let d: Vec<Difference> = (0..blocks)
                .map(|_| (rng.next_u64() as f64 + 0.5) / 2f64.powi(64))
                .map(|u| Difference::exact(normal.inverse_cdf(u)))
                .collect();
            let by_ranks = signed_rank::interval(&d, question.alpha);
            let found =
                by_ranks.or_else(|| signed_rank::interval_of_few(&d, question.alpha_of_few))?;
            Some(-found.lower)
        })
        .collect();
    ends.sort_unstable_by(f64::total_cmp);
    let found = ends.get((DRAWS as f64 * POWER) as usize).copied();
    if let Ok(mut known) = KNOWN.lock() {
        known.insert(key, found);
    }
    found
}

#[cfg(test)]
mod tests {
    use rand_chacha::ChaCha8Rng;
    use rand_chacha::rand_core::SeedableRng;

    use super::super::scale::{Direction, Scale};
    use super::super::verdict::Verdict;
    use super::*;

    fn question() -> Question {
        Question::plain(
            Scale::Log,
            Direction::HigherIsBetter,
            0.05,
            0.05,
            Method::SignedRank,
        )
    }

    /// Blocks of a little noise, of which every `nth` has no value.
    fn blocks(rng: &mut ChaCha8Rng, n: usize, share: f64) -> Vec<Difference> {
        let normal = Normal::standard();
        let mut uniform = || (rng.next_u64() as f64 + 0.5) / 2f64.powi(64);
        let mut block = || {
            let noise = 0.01 * normal.inverse_cdf(uniform());
            if uniform() < share {
                Difference::exact(f64::NEG_INFINITY)
            } else {
                Difference::exact(noise)
            }
        };
        (0..n).map(|_| block()).collect()
    }

    #[test]
    fn blocks_without_a_value_are_counted_in_what_is_needed() {
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        let margins = question().scale.margins(0.05);
        // From many blocks, so that their share is known.
        let known = blocks(&mut rng, 400, 0.4);
        let needed = censored_blocks_to_see(question(), &known, margins, false, 1).unwrap();
        let decided = |rng: &mut ChaCha8Rng, n: usize| {
            let d = blocks(rng, n, 0.4);
            let found = signed_rank::interval(&d, question().alpha);
            found.is_some_and(|i| question().judge(i) != Verdict::Inconclusive)
        };
        let share = |rng: &mut ChaCha8Rng, n: usize| {
            (0..300).filter(|_| decided(rng, n)).count() as f64 / 300.0
        };
        let kept = share(&mut rng, needed);
        assert!((0.7..0.95).contains(&kept), "{needed} blocks: {kept}");
        assert!(share(&mut rng, needed / 2) < 0.7, "{needed}");
        // Where both arms lack values as often, it takes long to show that they are alike.
        let alike: Vec<Difference> = (0..40)
            .map(|i| match i % 4 {
                0 => Difference::exact(f64::NEG_INFINITY),
                1 => Difference::exact(f64::INFINITY),
                n => Difference::exact(0.1 * (f64::from(n) - 2.5)),
            })
            .collect();
        let needed = censored_blocks_to_see(question(), &alike, margins, true, 41);
        assert!(needed.is_none_or(|blocks| blocks > 200), "{needed:?}");
        assert_eq!(
            censored_blocks_to_see(question(), &[], margins, true, 1),
            None
        );
    }
}
