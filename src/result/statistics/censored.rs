//! Rounds without a value: whether what ran before them may have caused them. Pure.

use super::rows::{Row, RowBlock};
use super::signed_rank::Difference;

/// Rounds without a value that come after one arm alone are no accident below this chance.
const CHANCE: f64 = 0.01;
/// The same for rounds of the reference, which make an arm better: an arm gets no credit for what it may have caused.
const CHANCE_OF_CREDIT: f64 = 0.1;

/// Whether a block has no finite difference.
pub fn is_any(row: &Row<'_>) -> bool {
    let mut known = row.blocks.iter().filter_map(|block| block.difference);
    known.any(Difference::is_censored)
}

/// Whether all rounds without a value of one of the two arms come after the same other arm, and so many do that it is no
/// accident: then the other arm may have left behind what stalled them.
pub fn may_be_caused_by_what_ran_before(row: &Row<'_>) -> bool {
    let Some(worst) = row.question.direction.worst() else {
        return false;
    };
    let is_at = |block: &RowBlock, end: f64| {
        let point = block.difference.filter(|d| d.is_point());
        point.is_some_and(|d| d.lower.total_cmp(&end).is_eq())
    };
    let of_arm = row.blocks.iter().map(|b| (b.before.0, is_at(b, worst)));
    let of_reference = row.blocks.iter().map(|b| (b.before.1, is_at(b, -worst)));
    come_after_one(row.arm, of_arm.collect(), CHANCE)
        || come_after_one(row.reference, of_reference.collect(), CHANCE_OF_CREDIT)
}

/// Each round of `arm`: the arm before it, and whether it has no value.
fn come_after_one(arm: usize, rounds: Vec<(Option<usize>, bool)>, least: f64) -> bool {
    let known: Vec<(usize, bool)> = rounds
        .into_iter()
        .filter_map(|(before, is_censored)| Some((before?, is_censored)))
        .collect();
    let censored = known.iter().filter(|(_, is_censored)| *is_censored).count();
    let others = known
        .iter()
        .map(|(before, _)| *before)
        .filter(|b| *b != arm);
    let mut others: Vec<usize> = others.collect();
    others.sort_unstable();
    others.dedup();
    others.into_iter().any(|other| {
        let after = known.iter().filter(|(before, _)| *before == other).count();
        let both = known
            .iter()
            .filter(|(before, bad)| *bad && *before == other);
        censored > 0 && both.count() == censored && chance(known.len(), after, censored) < least
    })
}

/// The chance that all of `drawn` rounds are among `good` of `all` (Fisher's exact test of the most extreme table).
fn chance(all: usize, good: usize, drawn: usize) -> f64 {
    let terms = (0..drawn).map(|i| good.saturating_sub(i) as f64 / (all - i) as f64);
    terms.product()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chance_is_fisher_s() {
        // 8 of 12 rounds, none of them among three: C(9, 8) / C(12, 8).
        assert!((chance(12, 9, 8) - 9.0 / 495.0).abs() < 1e-12);
        assert!((chance(5, 5, 3) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn only_what_comes_after_one_arm_alone_is_no_accident() {
        let after = |before: usize, bad: bool| (Some(before), bad);
        // Ten rounds after the other arm stall, five after itself do not: one in three thousand.
        let mut rounds = vec![after(0, true); 10];
        rounds.extend(vec![after(1, false); 5]);
        assert!(come_after_one(1, rounds.clone(), CHANCE));
        // One that came after itself stalls too.
        rounds[10].1 = true;
        assert!(!come_after_one(1, rounds, CHANCE));
        // Few rounds after itself: it may be chance.
        let mut rounds = vec![after(0, true); 9];
        rounds.push(after(1, false));
        assert!(!come_after_one(1, rounds, CHANCE));
        assert!(!come_after_one(1, vec![after(0, false); 9], CHANCE));
    }
}
