//! Makes a verdict from one difference per block: better, worse, equivalent or inconclusive, with the reason.
//!
//! Every verdict follows from one interval, at a level already adjusted for the family and the looks, compared with
//! zero and the margin. A value that does not exist is None, and the reason says how many blocks are needed.
//! "Equivalent" needs evidence: a comparison that is only too noisy is inconclusive.

use serde::{Deserialize, Serialize};

use super::carry_over::Contrast;
use super::doubts::{Doubts, censored_balance};
use super::estimate::{self, ConfidenceInterval};
use super::leftover::Leftover;
use super::power;
use super::scale::{Direction, Scale};
use super::signed_rank::{self, Difference};
use super::stalls::StalledRounds;
use super::stopping::Method;
use super::student::Student;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Better,
    Worse,
    /// For a metric without a better direction.
    Differs,
    /// Shown to differ by less than the margin.
    Equivalent,
    Inconclusive,
}

/// Why a comparison is inconclusive, or a caveat of its verdict.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Reason {
    /// With fewer than `at_least` complete blocks there is no interval at this level. With `projected` blocks in total
    /// a decision is likely (80 %) if the estimate and the noise stay the same; `None`: unknown, or more than a
    /// thousand.
    NeedsRounds {
        at_least: usize,
        projected: Option<usize>,
    },
    /// The effect of an arm on the following round could explain the difference: `bias`, on the metric's scale; null
    /// when the order of the rounds so far does not identify it.
    CarryOver { bias: Option<f64> },
    /// The mean of the blocks and the typical block point in opposite directions: stalls outweigh the usual difference.
    MeanDisagrees,
    /// The typical block and the mean block differ by more than half a margin.
    Skewed,
    /// Rounds had too few I/Os beyond the percentile to report it.
    InsufficientTail,
    /// The percentile lies between two populations of latencies.
    FragilePercentile,
    /// Submitters waited for a request under one arm, and not or less under the other. Times that begin in the kernel
    /// leave out these waits, so the arms are not comparable.
    NotComparable,
    /// An elapsed time of rounds that do not all do the same work.
    WorkDiffers,
    /// Blocks in which one arm has no value because of its own behaviour. They count as worse than every other block.
    Censored { blocks: usize },
    /// It had this verdict after so many blocks of the plan, when it first had one, and the later blocks alone would not say so
    /// any more.
    Earlier { blocks: usize },
    /// It had this verdict after so many blocks of the plan, and the later ones say otherwise, or cast doubt on it.
    Contradicted { verdict: Verdict, blocks: usize },
    /// The intervals of this run at different times do not overlap: the measured quantity changed during the run.
    TruthChanged,
    /// What all blocks say lies outside of the interval that all looks leave. Later blocks may bring it back.
    Moved,
    /// Outlying blocks, by the arm whose round was the worse one.
    StalledRounds { arm: usize, reference: usize },
    /// The arm broke the condition of `--stop-if` and was not run again.
    Stopped,
    /// Every value of both arms is zero: there is nothing to compare.
    NothingHappened,
    /// The reference reported the metric in no round, which is no merit of the arm.
    ReferenceSilent,
    /// Rounds without a value come after the other arm alone, so what that one leaves behind may have caused them.
    CensoredAfterOthers,
}

/// How the differences of a comparison are judged.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
// Each is a fact of its own that the caller knows, and several may hold.
#[allow(clippy::struct_excessive_bools)]
pub struct Question {
    pub scale: Scale,
    pub direction: Direction,
    /// The smallest difference that matters, above zero: a fraction on the log scale, otherwise absolute.
    pub margin: f64,
    /// Two-sided, between 0 and 1, already adjusted for the family and for the looks.
    pub alpha: f64,
    /// The Bonferroni level of Student's interval. It must agree with the ranks when there are too few blocks for the
    /// rank test to reach `alpha`.
    pub alpha_of_few: f64,
    /// How the interval is computed; it follows from the stopping rule.
    pub method: Method,
    /// Determined by the caller from the histograms and passed on as reasons.
    pub insufficient_tail: bool,
    pub fragile_percentile: bool,
    /// Determined by the caller: the two arms' values leave out different waits. Then there is no estimate and no
    /// verdict.
    pub not_comparable: bool,
    /// Determined by the caller: every value is zero. Then there is no estimate and no verdict either.
    #[serde(default)]
    pub nothing_happened: bool,
    /// Determined by the caller: the arm broke the condition of `--stop-if` and was not run again.
    #[serde(default)]
    pub is_stopped: bool,
    /// Determined by the caller: the reference ran and reported the metric in no round. Then the arm is not better.
    #[serde(default)]
    pub reference_is_silent: bool,
}

/// An arm against the reference in one metric. Estimates are arm minus reference; ratios are arm over reference.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Comparison {
    pub question: Question,
    /// Blocks that are used, including censored ones.
    pub blocks: usize,
    /// Blocks with a missing value that no arm is known to have caused.
    pub blocks_missing: usize,
    /// Hodges-Lehmann estimate: the typical block.
    pub estimate: Option<f64>,
    /// Computed by `question.method`; the verdict is based on it.
    pub interval: Option<ConfidenceInterval>,
    pub ratio: Option<f64>,
    pub ratio_interval: Option<ConfidenceInterval>,
    /// Exact signed-rank test of these blocks alone: adjusted neither for the family nor for earlier looks.
    pub p: Option<f64>,
    pub student: Student,
    /// Standard deviation of the differences, on their scale.
    pub sd: Option<f64>,
    /// The smallest effect that this many blocks show with 80 % power, in the margin's unit. Unknown where a block has
    /// no value.
    pub mde: Option<f64>,
    pub verdict: Verdict,
    /// The verdict of the blocks alone where the verdict was withheld: a gate does not pass a withheld `worse`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub withheld: Option<Verdict>,
    /// The whole interval lies beyond the margin.
    pub beyond_margin: bool,
    /// Equivalent, although the interval excludes zero: a difference too small to matter.
    pub tiny_nonzero: bool,
    pub stalled: StalledRounds,
    pub reasons: Vec<Reason>,
}

/// The level of one comparison when `family_size` of them share `alpha`.
pub fn bonferroni(alpha: f64, family_size: usize) -> f64 {
    alpha / family_size.max(1) as f64
}

/// `differences` holds one entry per block; blocks with None are left out and counted. `leftover` is the carry-over
/// bias of the estimate.
pub fn compare(
    differences: &[Option<Difference>],
    question: Question,
    leftover: Leftover,
) -> Comparison {
    let d: Vec<Difference> = differences.iter().flatten().copied().collect();
    let finite: Vec<f64> = d.iter().filter_map(|d| d.finite()).collect();
    let scale = question.scale;
    let margins = scale.margins(question.margin);
    let is_comparable = !question.not_comparable && !question.nothing_happened;
    let estimate = signed_rank::hodges_lehmann(&d).filter(|_| is_comparable);
    let (interval, changed) = question.interval(&d);
    let interval = interval.filter(|_| is_comparable);
    let student = if is_comparable && finite.len() == d.len() {
        Student::of(&finite, question)
    } else {
        Student::default()
    };
    let sd = estimate::sd(&finite);
    let censored = d.iter().filter(|d| d.is_censored()).count();
    let stalled = StalledRounds::among(&d, margins, question.direction);

    let plain = interval.map_or(Verdict::Inconclusive, |i| question.judge(i));
    let interval = match leftover {
        Leftover::Nothing => interval,
        Leftover::Unknown | Leftover::Censored => None,
        Leftover::Bias(bias) => interval.map(|i| widened(i, d.len(), bias)),
    };
    let found = interval.map_or(Verdict::Inconclusive, |i| question.judge(i));
    let effective_sd = sd.map(|sd| power::effective_sd(sd, matches!(leftover, Leftover::Nothing)));
    let leftover = (found != plain).then(|| leftover.reason());
    let doubts = Doubts::of(question, &d, plain, estimate.zip(student.estimate));
    let verdict = doubts.leave(found);
    let withheld = (verdict != plain).then_some(plain);
    let mut reasons = Vec::new();
    let has_changed = changed == Some(Reason::TruthChanged);
    let goes_on = is_comparable && !has_changed && !question.is_stopped;
    if plain == Verdict::Inconclusive && goes_on {
        reasons.push(question.needs_rounds(&d, effective_sd, estimate));
    }
    let caveats = [
        leftover,
        doubts.disagrees.then_some(Reason::MeanDisagrees),
        question.not_comparable.then_some(Reason::NotComparable),
        question.nothing_happened.then_some(Reason::NothingHappened),
        question.is_stopped.then_some(Reason::Stopped),
        (doubts.silent && found == Verdict::Better).then_some(Reason::ReferenceSilent),
        changed,
        (doubts.skewed && !doubts.disagrees).then_some(Reason::Skewed),
        question
            .insufficient_tail
            .then_some(Reason::InsufficientTail),
        question
            .fragile_percentile
            .then_some(Reason::FragilePercentile),
        (censored > 0).then_some(Reason::Censored { blocks: censored }),
        (stalled != StalledRounds::default()).then_some(Reason::StalledRounds {
            arm: stalled.arm,
            reference: stalled.reference,
        }),
    ];
    reasons.extend(caveats.into_iter().flatten());

    Comparison {
        question,
        blocks: d.len(),
        blocks_missing: differences.len() - d.len(),
        estimate,
        interval,
        ratio: scale.ratio(estimate),
        ratio_interval: scale.ratio_interval(interval),
        p: signed_rank::p(&d).filter(|_| is_comparable),
        student,
        sd,
        mde: effective_sd
            .filter(|_| censored == 0)
            .and_then(|sd| power::detectable(question, sd, d.len()))
            .and_then(|effect| scale.to_margin(effect)),
        verdict,
        withheld,
        beyond_margin: interval.is_some_and(|i| margins.are_left_by(i)),
        tiny_nonzero: verdict == Verdict::Equivalent && interval.is_some_and(|i| !i.contains(0.0)),
        stalled,
        reasons,
    }
}

impl Question {
    /// A question in which nothing stands against a verdict. `alpha` is used for few blocks, too.
    pub const fn plain(
        scale: Scale,
        direction: Direction,
        margin: f64,
        alpha: f64,
        method: Method,
    ) -> Question {
        Question {
            scale,
            direction,
            margin,
            alpha,
            alpha_of_few: alpha,
            method,
            insufficient_tail: false,
            fragile_percentile: false,
            not_comparable: false,
            nothing_happened: false,
            is_stopped: false,
            reference_is_silent: false,
        }
    }

    /// The interval, or why it is missing although there are blocks enough: what is measured changes during the run.
    fn interval(self, d: &[Difference]) -> (Option<ConfidenceInterval>, Option<Reason>) {
        match self.method {
            Method::SignedRank => {
                let by_ranks = signed_rank::interval(d, self.alpha);
                let few = || signed_rank::interval_of_few(d, self.alpha_of_few);
                (by_ranks.or_else(few), None)
            }
            Method::AlwaysValid => {
                let finite: Option<Vec<f64>> = d.iter().map(|d| d.finite()).collect();
                let Some(finite) = finite else {
                    // The levels of all numbers of blocks add up to alpha.
                    let n = d.len() as f64;
                    let level = self.alpha / (n * (n + 1.0));
                    return (signed_rank::interval(d, level), None);
                };
                let centres = [estimate::mean(&finite), estimate::hodges_lehmann(&finite)];
                let holds = |interval: &ConfidenceInterval| {
                    centres.iter().flatten().all(|of| interval.contains(*of))
                };
                match estimate::always_valid_interval(&finite, self.alpha) {
                    Some(interval) if holds(&interval) => (Some(interval), None),
                    Some(_) => (None, Some(Reason::Moved)),
                    None => {
                        let needed = estimate::always_valid_blocks_needed(self.alpha);
                        let has_changed = finite.len() >= needed;
                        (None, has_changed.then_some(Reason::TruthChanged))
                    }
                }
            }
        }
    }

    /// The smallest number of blocks for which an interval exists.
    pub fn blocks_needed(self) -> usize {
        match self.method {
            Method::SignedRank => signed_rank::FEWEST_BLOCKS,
            Method::AlwaysValid => estimate::always_valid_blocks_needed(self.alpha),
        }
    }

    /// Number of blocks until the nearer decision: excluding zero, or equivalence.
    fn needs_rounds(self, d: &[Difference], sd: Option<f64>, estimate: Option<f64>) -> Reason {
        let next = d.len() + 1;
        let at_least = self.blocks_needed();
        if d.iter().any(|d| d.is_censored()) {
            let margins = self.scale.margins(self.margin);
            let is_even = censored_balance(d) == 0;
            let projected = power::censored_blocks_to_see(self, d, margins, is_even, next);
            return Reason::NeedsRounds {
                at_least,
                projected: projected.filter(|_| self.method == Method::SignedRank),
            };
        }
        let margin = self.scale.of_margin(self.margin);
        let effect = estimate.unwrap_or(0.0).abs();
        let reach = effect.max(margin - effect);
        Reason::NeedsRounds {
            at_least,
            projected: sd.and_then(|sd| power::blocks_to_see(self, sd, reach, next)),
        }
    }

    pub fn judge(self, interval: ConfidenceInterval) -> Verdict {
        let (worst, best) = self.direction.worst_and_best(interval);
        if self.scale.margins(self.margin).hold(interval) {
            Verdict::Equivalent
        } else if self.direction == Direction::Neutral {
            if best < 0.0 {
                Verdict::Differs
            } else {
                Verdict::Inconclusive
            }
        } else if worst > 0.0 {
            Verdict::Better
        } else if best < 0.0 {
            Verdict::Worse
        } else {
            Verdict::Inconclusive
        }
    }
}

/// The interval, made wide enough to hold what the difference would be without the carry-over that is likely.
///
/// A censored block stays where it is: it is worse than every other, however much worse.
fn widened(interval: ConfidenceInterval, blocks: usize, bias: Contrast) -> ConfidenceInterval {
    /// With few blocks what is left behind is hardly known, so less of it is evidence enough, and more is allowed
    /// for. Calibrated in `tests/verdicts.rs`: false verdicts where something is left behind, power where nothing is.
    const FEW: usize = 12;
    let (likely, errors) = if blocks < FEW { (0.6, 1.0) } else { (0.3, 0.3) };
    if bias.p > likely {
        return interval;
    }
    let error = errors * bias.standard_error;
    // All of these intervals move with the differences, and an end without a bound stays without one.
    let (less, more) = (bias.estimate + error, bias.estimate - error);
    ConfidenceInterval {
        lower: interval.lower.min(interval.lower - less),
        upper: interval.upper.max(interval.upper - more),
        ..interval
    }
}

#[cfg(test)]
mod tests;
