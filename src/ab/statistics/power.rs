//! Power of a run with a given number of blocks, by simulation. Pure.

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex};

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use statrs::distribution::{ChiSquared, ContinuousCDF, Normal};

use super::estimate;
use super::signed_rank::{self, Difference};
use super::stopping::Method;
use super::verdict::Question;

/// Target power: an effect is "detectable" if this share of runs shows it.
pub const POWER: f64 = 0.8;
const DRAWS: usize = 1000;
/// Above this number of blocks the asymptotic formula replaces the simulation.
const SIMULATED: usize = 40;
const HORIZON: usize = 1000;
/// The noise is itself estimated; with this confidence the true value is below the one used.
const SD_CONFIDENCE: f64 = 0.75;
/// Asymptotic relative efficiency of signed ranks to Student's t under normal noise.
const EFFICIENCY: f64 = 3.0 / std::f64::consts::PI;

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
        Method::SignedRank => {
            let normal = Normal::standard();
            let z = -normal.inverse_cdf(question.alpha / 2.0) - normal.inverse_cdf(1.0 - POWER);
            Some(z / (blocks as f64 * EFFICIENCY).sqrt())
        }
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
