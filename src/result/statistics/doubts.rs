//! Doubts that keep a verdict from being said although the interval alone would say it. Pure.

use std::cmp::Ordering;

use super::scale::Direction;
use super::signed_rank::Difference;
use super::verdict::{Question, Verdict};

/// Each is a fact of its own, and several may hold.
#[derive(Clone, Copy, Debug)]
#[allow(clippy::struct_excessive_bools)]
pub struct Doubts {
    /// The mean of the blocks points the other way.
    pub disagrees: bool,
    /// The typical block and the mean one differ by more than half a margin.
    pub skewed: bool,
    /// One of the arms lacks values more often than the other, which no margin holds.
    pub unequal: bool,
    /// The reference reported the metric in no round.
    pub silent: bool,
}

impl Doubts {
    /// `found`: what the interval says. `centres`: the typical block and the mean one.
    pub fn of(
        question: Question,
        d: &[Difference],
        found: Verdict,
        centres: Option<(f64, f64)>,
    ) -> Doubts {
        Doubts {
            disagrees: mean_disagrees(question, d, found),
            skewed: centres.is_some_and(|centres| is_skewed(question, centres)),
            unequal: censored_balance(d) != 0,
            silent: question.reference_is_silent,
        }
    }

    /// The verdict that the doubts leave.
    pub fn leave(self, found: Verdict) -> Verdict {
        let is_open = match found {
            Verdict::Better => self.disagrees || self.silent,
            Verdict::Worse | Verdict::Differs => self.disagrees,
            Verdict::Equivalent => self.skewed || self.unequal,
            Verdict::Inconclusive => true,
        };
        if is_open {
            Verdict::Inconclusive
        } else {
            found
        }
    }
}

/// Blocks without a value outweigh all others where one arm has more of them; as many in both cancel out, as do those
/// of which nothing is known.
fn mean_disagrees(question: Question, d: &[Difference], found: Verdict) -> bool {
    let sum = match censored_balance(d).cmp(&0) {
        Ordering::Less => f64::NEG_INFINITY,
        Ordering::Greater => f64::INFINITY,
        Ordering::Equal => d.iter().filter_map(|d| d.finite()).sum(),
    };
    let better = match question.direction {
        Direction::HigherIsBetter | Direction::Neutral => sum,
        Direction::LowerIsBetter => -sum,
    };
    match found {
        Verdict::Better => better < 0.0,
        Verdict::Worse => better > 0.0,
        Verdict::Differs | Verdict::Equivalent | Verdict::Inconclusive => false,
    }
}

/// How many more blocks lie above every number than below.
pub fn censored_balance(d: &[Difference]) -> isize {
    let of = |d: &Difference| match d.is_point() && d.is_censored() {
        true if d.lower > 0.0 => 1,
        true => -1,
        false => 0,
    };
    d.iter().map(of).sum()
}

/// Typical value and mean differ by more than half a margin.
fn is_skewed(question: Question, (typical, mean): (f64, f64)) -> bool {
    let half_margin = question.scale.of_margin(question.margin) / 2.0;
    (typical - mean).abs() > half_margin
}
