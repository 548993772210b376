use super::*;
use crate::statistics::leftover::Leftover;
use crate::statistics::scale::{Direction, Scale};
use crate::statistics::signed_rank::Difference;
use crate::statistics::stopping::Method;
use crate::statistics::verdict::{Question, compare};

const QUESTION: Question = Question::plain(
    Scale::Log,
    Direction::LowerIsBetter,
    0.05,
    0.05,
    Method::AlwaysValid,
);

/// Differences of a time: above zero is slower.
fn judged(values: &[f64]) -> Judged {
    let differences: Vec<Option<Difference>> = values
        .iter()
        .map(|value| {
            Some(Difference {
                lower: *value,
                upper: *value,
            })
        })
        .collect();
    Judged {
        comparison: compare(&differences, QUESTION, Leftover::Nothing),
        p_adjusted: None,
        position: None,
        carry_over: None,
    }
}

fn wobble(centre: f64, blocks: usize) -> Vec<f64> {
    (0..blocks)
        .map(|block| centre + 0.01 * (block % 3) as f64)
        .collect()
}

fn after(first: Vec<f64>, more: &[f64]) -> (Verdict, bool, Comparison) {
    let then = judged(&first);
    let blocks = first.len();
    let all = [first, more.to_vec()].concat();
    let (kept, holds) = kept(then, judged(&all), blocks);
    (kept.comparison.verdict, holds, kept.comparison)
}

#[test]
fn noise_takes_no_verdict_back() {
    let noise = [2.4, 0.3, 3.0, 0.2, 2.9, 0.4];
    let (verdict, holds, found) = after(wobble(1.0, 8), &noise);
    assert_eq!((verdict, holds), (Verdict::Worse, true));
    assert!(found.estimate.is_some() && found.interval.is_some());
}

/// Once it is worse, it stays worse when it gets nothing at all.
#[test]
fn a_stall_makes_nothing_better() {
    let stalls = [f64::INFINITY; 3];
    let (verdict, holds, found) = after(wobble(1.0, 8), &stalls);
    assert_eq!((verdict, holds), (Verdict::Worse, true));
    assert!(
        found.reasons.contains(&Reason::Earlier { blocks: 8 })
            || !found
                .reasons
                .iter()
                .any(|it| matches!(it, Reason::Contradicted { .. }))
    );
    for first in [wobble(-1.0, 8), wobble(0.0, 20)] {
        let verdict = judged(&first).comparison.verdict;
        assert!(matches!(verdict, Verdict::Better | Verdict::Equivalent));
        let blocks = first.len();
        let (now, holds, found) = after(first, &stalls);
        assert_eq!((now, holds), (Verdict::Inconclusive, false), "{verdict:?}");
        let said = Reason::Contradicted { verdict, blocks };
        assert!(found.reasons.contains(&said), "{:?}", found.reasons);
    }
}

#[test]
fn the_opposite_is_a_contradiction_that_a_gate_does_not_pass() {
    let (verdict, holds, found) = after(wobble(-1.0, 8), &wobble(1.0, 40));
    assert_eq!((verdict, holds), (Verdict::Inconclusive, false));
    assert!(found.reasons.contains(&Reason::Contradicted {
        verdict: Verdict::Better,
        blocks: 8
    }));
    let (_, _, found) = after(wobble(1.0, 8), &wobble(-1.0, 40));
    assert_eq!(found.withheld, Some(Verdict::Worse));
}

/// A file says after which block; that the rounds say so then is computed again.
#[test]
fn what_the_rounds_did_not_say_is_not_kept() {
    let undecided = judged(&wobble(1.0, 2));
    assert_eq!(undecided.comparison.verdict, Verdict::Inconclusive);
    let now = judged(&wobble(0.0, 4));
    let (found, holds) = kept(undecided, now.clone(), 2);
    assert_eq!((found.comparison, holds), (now.comparison, false));
}

/// Thirteen blocks alike, then eleven that are a quarter slower: no interval of the first ones is that of all.
#[test]
fn what_was_equivalent_is_taken_back_when_it_has_become_worse() {
    let mut last = None;
    for more in 1..=11 {
        let (verdict, holds, found) = after(wobble(0.0, 13), &wobble(0.29, more));
        if !holds {
            assert_eq!(verdict, Verdict::Inconclusive);
            assert!(found.interval.is_none_or(|interval| {
                found
                    .estimate
                    .is_none_or(|estimate| interval.contains(estimate))
            }));
        }
        last = Some(holds);
    }
    assert_eq!(last, Some(false), "it holds no more");
}
