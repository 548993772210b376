//! From one difference a block to a verdict: better, worse, equivalent, or not decided and why.
//!
//! One interval drives every verdict: the exact signed-rank interval at a level already adjusted for the family and the
//! looks, held against zero and the margin. Promises: what does not exist is `None`, never infinite, and the reason says
//! how many blocks it takes. Refuses to call "no difference" what is only too noisy to see: that is inconclusive.

use crate::ab::stats::{self, Interval};
use crate::ab::stopping::Method;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How two values of a metric are compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Scale {
    /// By their ratio; the margin is a fraction. For rates, times and sizes, which are above zero.
    Log,
    /// By their difference; the margin is in the metric's unit. For shares and indices, where 0 and 1 are legal.
    Identity,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    HigherIsBetter,
    LowerIsBetter,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Better,
    Worse,
    /// Shown to differ by less than the margin.
    Equivalent,
    Inconclusive,
}

/// Why nothing was decided, or what to keep in mind about what was.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Reason {
    /// With fewer than `at_least` complete blocks there is no interval at this level. With `projected` blocks in all a
    /// decision is likely (80 %) if the estimate and the noise stay; `None`: unknown, or beyond a million.
    NeedsRounds {
        at_least: usize,
        projected: Option<usize>,
    },
    /// The typical round and the mean round tell different stories.
    Skewed,
    /// Rounds had too few I/Os beyond the percentile to report it.
    InsufficientTail,
    /// The percentile lies on the border between two populations of latencies.
    FragilePercentile,
    /// Submitters stood still for a request under one arm and not, or longer, under the other: times that begin in the
    /// kernel have left out different waits.
    NotComparable,
    /// Blocks far outside the rest, by the arm whose round was the bad one.
    StalledRounds { arm: usize, reference: usize },
}

/// What is asked of the differences.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Question {
    pub scale: Scale,
    pub direction: Direction,
    /// The smallest difference that matters, above zero: a fraction on the log scale, else absolute.
    pub margin: f64,
    /// Two-sided, between 0 and 1, already divided by the family and adjusted for the looks.
    pub alpha: f64,
    /// How the interval is made; it follows from when the run may end.
    pub method: Method,
    /// Found by the caller, who has the histograms; they are passed on as reasons.
    pub insufficient_tail: bool,
    pub fragile_percentile: bool,
    /// Found by the caller: the two arms' values leave out different waits. Then there is no verdict.
    #[serde(default)]
    pub not_comparable: bool,
}

/// An arm against the reference in one metric. Estimates are arm minus reference; ratios are arm over reference.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    pub question: Question,
    /// Complete blocks, the only ones used.
    pub blocks: usize,
    /// Blocks in which either value was missing, not finite, or not above zero on the log scale.
    pub blocks_missing: usize,
    /// Hodges-Lehmann: the typical block.
    pub estimate: Option<f64>,
    /// By `question.method`; the verdict rests on it.
    pub interval: Option<Interval>,
    pub ratio: Option<f64>,
    pub ratio_interval: Option<Interval>,
    /// Exact signed-rank, unadjusted.
    pub p: Option<f64>,
    pub student: Student,
    /// Of the differences, on their scale.
    pub sd: Option<f64>,
    /// The smallest effect that this many blocks show in four of five runs, in the margin's unit.
    pub mde: Option<f64>,
    pub verdict: Verdict,
    /// The whole interval lies beyond the margin.
    pub beyond_margin: bool,
    /// Equivalent, and yet zero is outside the interval: a difference too small to matter.
    pub tiny_nonzero: bool,
    pub reasons: Vec<Reason>,
}

/// The same question put to the mean, for readers who expect a t-interval.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Student {
    pub estimate: Option<f64>,
    pub interval: Option<Interval>,
    pub ratio: Option<f64>,
    pub ratio_interval: Option<Interval>,
    pub p: Option<f64>,
}

impl Scale {
    /// Arm against reference; `None` when either is missing or cannot be on this scale.
    pub fn difference(self, arm: Option<f64>, reference: Option<f64>) -> Option<f64> {
        let difference = match self {
            Scale::Log => arm.filter(|y| *y > 0.0)?.ln() - reference.filter(|y| *y > 0.0)?.ln(),
            Scale::Identity => arm? - reference?,
        };
        finite(difference)
    }

    pub fn of_margin(self, margin: f64) -> f64 {
        match self {
            Scale::Log => margin.ln_1p(),
            Scale::Identity => margin,
        }
    }

    pub fn to_margin(self, effect: f64) -> Option<f64> {
        match self {
            Scale::Log => finite(effect.exp_m1()),
            Scale::Identity => finite(effect),
        }
    }

    pub fn ratio(self, estimate: Option<f64>) -> Option<f64> {
        match self {
            Scale::Log => estimate.and_then(|x| finite(x.exp())),
            Scale::Identity => None,
        }
    }

    pub fn ratio_interval(self, interval: Option<Interval>) -> Option<Interval> {
        interval.and_then(|i| {
            Some(Interval {
                lower: self.ratio(Some(i.lower))?,
                upper: self.ratio(Some(i.upper))?,
                ..i
            })
        })
    }
}

/// The level of one comparison when `family_size` of them share `alpha`.
pub fn bonferroni(alpha: f64, family_size: usize) -> f64 {
    alpha / family_size.max(1) as f64
}

/// `differences` holds one entry a block, from [`Scale::difference`]; blocks with `None` are left out and counted.
pub fn compare(differences: &[Option<f64>], question: Question) -> Comparison {
    let d: Vec<f64> = differences
        .iter()
        .flatten()
        .copied()
        .filter(|x| x.is_finite())
        .collect();
    let scale = question.scale;
    let margin = scale.of_margin(question.margin);
    let estimate = stats::hodges_lehmann(&d);
    let interval = question.interval(&d);
    let student = student(&d, question);
    let sd = stats::sd(&d);
    let interval = interval.filter(|_| !question.not_comparable);
    let found = interval.map_or(Verdict::Inconclusive, |i| question.judge(i));

    let skewed = is_skewed(&d, question, found, interval.is_some(), &student);
    let verdict = match found {
        Verdict::Equivalent if skewed => Verdict::Inconclusive,
        other => other,
    };
    let mut reasons = Vec::new();
    if found == Verdict::Inconclusive && !question.not_comparable {
        reasons.push(question.needs_rounds(d.len(), sd, estimate));
    }
    reasons.extend(caveats(&d, question, skewed));

    let outside_zero = interval.is_some_and(|i| !i.contains(0.0));
    let outside_margin = interval.is_some_and(|i| i.lower > margin || i.upper < -margin);
    Comparison {
        question,
        blocks: d.len(),
        blocks_missing: differences.len() - d.len(),
        estimate,
        interval,
        ratio: scale.ratio(estimate),
        ratio_interval: scale.ratio_interval(interval),
        p: stats::signed_rank_p(&d).filter(|_| !question.not_comparable),
        student,
        sd,
        mde: sd
            .and_then(|sd| question.detectable(sd, d.len()))
            .and_then(|effect| scale.to_margin(effect)),
        verdict,
        beyond_margin: outside_margin,
        tiny_nonzero: verdict == Verdict::Equivalent && outside_zero,
        reasons,
    }
}

impl Question {
    fn interval(self, d: &[f64]) -> Option<Interval> {
        match self.method {
            Method::SignedRank => stats::signed_rank_interval(d, self.alpha),
            Method::AlwaysValid => stats::always_valid_interval(d, self.alpha),
        }
    }

    /// The smallest effect that so many blocks show in four of five runs.
    pub fn detectable(self, sd: f64, blocks: usize) -> Option<f64> {
        match self.method {
            Method::SignedRank => stats::minimum_detectable_effect(sd, blocks, self.alpha),
            Method::AlwaysValid => stats::always_valid_detectable_effect(sd, blocks, self.alpha),
        }
    }

    fn blocks_needed(self) -> usize {
        match self.method {
            Method::SignedRank => stats::blocks_needed(self.alpha),
            Method::AlwaysValid => stats::always_valid_blocks_needed(self.alpha),
        }
    }

    /// How many blocks until what the data could show is as small as `reach`; None beyond a million.
    pub fn blocks_to_see(self, sd: f64, reach: f64, from: usize) -> Option<usize> {
        const HORIZON: usize = 1_000_000;
        let shows = |n| self.detectable(sd, n).is_some_and(|effect| effect <= reach);
        let (mut too_few, mut enough) = (self.blocks_needed().max(from).max(2) - 1, HORIZON);
        if too_few >= enough || !shows(enough) {
            return None;
        }
        while too_few + 1 < enough {
            let n = usize::midpoint(too_few, enough);
            *(if shows(n) { &mut enough } else { &mut too_few }) = n;
        }
        Some(enough)
    }

    /// How many more: until the nearer way out can be seen, past zero or inside the margin.
    fn needs_rounds(self, blocks: usize, sd: Option<f64>, estimate: Option<f64>) -> Reason {
        let margin = self.scale.of_margin(self.margin);
        let effect = estimate.unwrap_or(0.0).abs();
        let reach = effect.max(margin - effect);
        Reason::NeedsRounds {
            at_least: self.blocks_needed(),
            projected: sd.and_then(|sd| self.blocks_to_see(sd, reach, blocks + 1)),
        }
    }

    pub fn judge(self, interval: Interval) -> Verdict {
        let margin = self.scale.of_margin(self.margin);
        let (worst, best) = match self.direction {
            Direction::HigherIsBetter => (interval.lower, interval.upper),
            Direction::LowerIsBetter => (-interval.upper, -interval.lower),
        };
        if -margin < worst && best < margin {
            Verdict::Equivalent
        } else if worst > 0.0 {
            Verdict::Better
        } else if best < 0.0 {
            Verdict::Worse
        } else {
            Verdict::Inconclusive
        }
    }
}

fn student(d: &[f64], question: Question) -> Student {
    let estimate = stats::mean(d);
    let interval = stats::student_interval(d, question.alpha)
        .filter(|i| i.lower.is_finite() && i.upper.is_finite());
    Student {
        estimate,
        interval,
        ratio: question.scale.ratio(estimate),
        ratio_interval: question.scale.ratio_interval(interval),
        p: stats::student_p(d),
    }
}

/// Median and mean lie more than half a margin apart, or lead to different verdicts.
fn is_skewed(
    d: &[f64],
    question: Question,
    found: Verdict,
    decided: bool,
    student: &Student,
) -> bool {
    let half_margin = question.scale.of_margin(question.margin) / 2.0;
    let apart = match (stats::hodges_lehmann(d), student.estimate) {
        (Some(typical), Some(mean)) => (typical - mean).abs() > half_margin,
        _ => false,
    };
    // An interval for any time is wider than Student's by design.
    let comparable = question.method == Method::SignedRank;
    let disagree = comparable && student.interval.is_some_and(|i| question.judge(i) != found);
    apart || (decided && disagree)
}

fn caveats(d: &[f64], question: Question, skewed: bool) -> impl Iterator<Item = Reason> {
    let margin = question.scale.of_margin(question.margin);
    let (arm, reference) = stalled(d, margin, question.direction);
    let found = [
        question.not_comparable.then_some(Reason::NotComparable),
        skewed.then_some(Reason::Skewed),
        question
            .insufficient_tail
            .then_some(Reason::InsufficientTail),
        question
            .fragile_percentile
            .then_some(Reason::FragilePercentile),
        (arm + reference > 0).then_some(Reason::StalledRounds { arm, reference }),
    ];
    found.into_iter().flatten()
}

/// Blocks beyond five robust standard deviations from the median and beyond the margin: (the arm's, the reference's).
fn stalled(d: &[f64], margin: f64, direction: Direction) -> (usize, usize) {
    let Some(median) = stats::median(d) else {
        return (0, 0);
    };
    let deviations: Vec<f64> = d.iter().map(|x| (x - median).abs()).collect();
    let robust_sd = 1.4826 * stats::median(&deviations).unwrap_or(0.0);
    let far = d
        .iter()
        .map(|x| x - median)
        .filter(|x| x.abs() > margin.max(5.0 * robust_sd));
    let (low, high): (Vec<f64>, Vec<f64>) = far.partition(|x| *x < 0.0);
    match direction {
        Direction::HigherIsBetter => (low.len(), high.len()),
        Direction::LowerIsBetter => (high.len(), low.len()),
    }
}

fn finite(x: f64) -> Option<f64> {
    x.is_finite().then_some(x)
}

#[cfg(test)]
mod tests;
