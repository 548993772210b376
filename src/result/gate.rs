//! Whether a result passes: by its own verdicts, or by the change against earlier results. Pure.
//!
//!
//! Against earlier results only the ratio to the reference is judged. Both of its parts were measured in the same hour
//! on the same machine, so the machine's speed on that day cancels. Absolute values are shown but not judged.
//!
//!
//! A ratio varies between runs by more than its interval within a run. With five or more baselines this variation is
//! estimated, and the interval is a prediction interval for one more run. With fewer, [`ASSUMED_RUN_SD`] is assumed,
//! and the run's own interval must also not overlap those of the baselines. (Non-overlap alone is not enough: even with
//! 3 % assumed in addition, one in ten good runs of a machine that varies by 6 % was called worse.)
//!
//!
//! With eight or more baselines, [`history`] looks for a change of the level. The gate fails on a new level that is
//! worse by the rule of the mode if this run has it too, so a slow machine cannot become its own baseline. To accept
//! the new level, leave out the baselines before it.

mod baselines; // the change of a run against earlier runs
mod history; // changes of the level in a series of runs
mod judgement; // the decision of the gate and its exit code
mod limited; // comparisons whose metric has a limit
mod redrawn; // the verdicts of a file, drawn again from its rounds
mod selection; // the comparisons that the user selected

use super::statistics::estimate::{self, ConfidenceInterval};
use super::statistics::scale::Direction;
use super::statistics::verdict::{Comparison, Question, Reason, Verdict, bonferroni};
use crate::analysis::{identity, turn};
use crate::text::named::Named;
use crate::types::limit::ArmLimit;
use crate::types::result::{ArmComparison, ResultFile};

pub use baselines::{ASSUMED_RUN_SD, BASELINES, Estimate, change};
pub use history::{HISTORY, LevelChange, Run, last_change};
pub use judgement::{Decision, Judgement, judge};
pub use redrawn::redrawn;
pub use selection::{Selection, Unknown};

/// The condition that fails a comparison.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Shown to be worse, and not equivalent.
    #[default]
    Worse,
    /// Shown to be worse by more than the margin.
    BeyondMargin,
    /// Not shown to be at most a margin worse.
    Noninferior,
}

pub const MODES: &[Named<Mode>] = &[
    Named::new("worse", "An arm is shown to be worse", Mode::Worse),
    Named::new(
        "beyond-margin",
        "An arm is shown to be worse by more than the margin",
        Mode::BeyondMargin,
    ),
    Named::new(
        "noninferior",
        "An arm is not shown to be at most the margin worse (exit code 3 if it is worse, else 4)",
        Mode::Noninferior,
    ),
];

#[derive(Clone, Copy, Debug, Default)]
pub struct Rules {
    pub mode: Mode,
    /// Every comparison must be decided.
    pub require_verdict: bool,
    /// The kernel itself is compared: baselines from another kernel are accepted.
    pub other_kernel: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GateOutcome {
    Passed,
    Failed,
    Undecided,
}

/// The basis of an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// Arm against reference, within the result itself.
    Own,
    /// The variation of the ratio between this many earlier results.
    Prediction(usize),
    /// Too few earlier results; [`ASSUMED_RUN_SD`] is assumed.
    Assumed(usize),
}

#[derive(Clone, Debug)]
pub struct Check {
    pub comparison: ArmComparison,
    pub basis: Basis,
    /// On the metric's scale: arm against reference, or that difference against the earlier results.
    pub change: Option<f64>,
    pub interval: Option<ConfidenceInterval>,
    pub verdict: Verdict,
    pub outcome: GateOutcome,
    /// The median of the arm in the earlier results, for orientation.
    pub earlier_median: Option<f64>,
    /// What the user allows the metric to be: then the outcome goes by this, not by the comparison.
    pub limit: Option<ArmLimit>,
    /// The last change of the level in a history.
    pub level_change: Option<LevelChange>,
}

/// Judges every primary comparison. Err: why the result cannot be judged, or why the baselines are not comparable.
pub fn check(
    result: &ResultFile,
    baselines: &[(String, ResultFile)],
    rules: Rules,
) -> Result<Vec<Check>, Vec<String>> {
    let mut unfit = why_unfit("the run", result);
    for (name, baseline) in baselines {
        unfit.extend(why_unfit(name, baseline));
        unfit.extend(turn::why_invalid(baseline).map(|why| format!("{name}: {why}")));
        let differences = identity::incomparable(result, baseline, rules.other_kernel);
        unfit.extend(differences.iter().map(|text| format!("{name}: {text}")));
    }
    if !unfit.is_empty() {
        return Err(unfit);
    }
    let primary: Vec<&ArmComparison> = result.primary().collect();
    let alpha = bonferroni(result.design.alpha, primary.len());
    let checks = primary.into_iter().map(|comparison| {
        let check = if baselines.is_empty() {
            own(comparison, rules)
        } else {
            against(comparison, baselines, alpha, rules)
        };
        check.limited_by(result)
    });
    Ok(checks.collect())
}

/// Reasons that make all verdicts of a run unusable.
fn why_unfit(name: &str, result: &ResultFile) -> Vec<String> {
    let mut unfit: Vec<String> = incomplete(name, result).into_iter().collect();
    unfit.extend(result.alarming_controls().map(|row| {
        format!(
            "a negative control of {name} differs: {} under {} against {}; something other than the scheduler differs too",
            row.metric.name, row.arm, row.reference
        )
    }));
    unfit
}

fn incomplete(name: &str, result: &ResultFile) -> Option<String> {
    // Its further lines say what to do.
    let why = result
        .error
        .as_deref()
        .and_then(|error| error.lines().next());
    let why = why.unwrap_or("it has not ended");
    (!result.has_ended()).then(|| format!("{name} is not complete: {why}"))
}

fn own(comparison: &ArmComparison, rules: Rules) -> Check {
    let found = &comparison.comparison;
    Check {
        comparison: comparison.clone(),
        basis: Basis::Own,
        change: found.estimate,
        interval: found.interval,
        verdict: found.verdict,
        outcome: match found.blocks {
            // Without a comparison nothing was shown.
            0 => GateOutcome::Undecided,
            _ => outcome(rules, found, found.interval, found.verdict),
        },
        earlier_median: None,
        limit: None,
        level_change: None,
    }
}

fn against(
    comparison: &ArmComparison,
    baselines: &[(String, ResultFile)],
    alpha: f64,
    rules: Rules,
) -> Check {
    let is_same = |other: &&ArmComparison| {
        other.metric.name == comparison.metric.name && other.arm == comparison.arm
    };
    let earlier: Vec<(&(String, ResultFile), &ArmComparison)> = baselines
        .iter()
        .filter_map(|run| Some((run, run.1.comparisons.iter().find(is_same)?)))
        .collect();
    let runs: Vec<(Run, Estimate)> = earlier
        .iter()
        .filter_map(|(run, c)| {
            let estimate = Estimate::of(&c.comparison)?;
            Some((Run::new(&run.0, &run.1.started, estimate.value), estimate))
        })
        .collect();
    let (history, estimates): (Vec<Run>, Vec<Estimate>) = runs.into_iter().unzip();
    let own = &comparison.comparison;
    let new = Estimate::of(own)
        // All baselines must have the comparison.
        .filter(|_| estimates.len() == baselines.len());
    let found = new.and_then(|new| change(new, &estimates, alpha));
    let interval = found.map(|found| found.1);
    let verdict = interval.map_or(Verdict::Inconclusive, |i| own.question.judge(i));
    let level_change = new.and_then(|new| last_change(&history, new.value, own.question));
    let has_worse_level = level_change.as_ref().is_some_and(|level| {
        let found = outcome(rules, own, Some(level.interval), level.verdict);
        level.is_of_this_run && found == GateOutcome::Failed
    });
    let medians: Vec<f64> = earlier.iter().filter_map(|(_, c)| c.arm_median).collect();
    Check {
        comparison: comparison.clone(),
        basis: basis(baselines.len()),
        change: found.map(|found| found.0),
        interval,
        verdict,
        outcome: match found {
            // Nearly every round of the arm has no value, which is worse than any of the baselines.
            None if estimates.len() == baselines.len() && is_beyond_every_number(own) => {
                GateOutcome::Failed
            }
            // This result or a baseline has no estimate.
            None => GateOutcome::Undecided,
            Some(_) if has_worse_level => GateOutcome::Failed,
            Some(_) => outcome(rules, own, interval, verdict),
        },
        earlier_median: estimate::median(&medians),
        limit: None,
        level_change,
    }
}

/// Whether the arm is worse than any number says.
fn is_beyond_every_number(own: &Comparison) -> bool {
    let best = own
        .interval
        .map(|interval| ends(own.question, interval, own.verdict).1);
    own.verdict == Verdict::Worse && best == Some(f64::NEG_INFINITY)
}

fn basis(baselines: usize) -> Basis {
    if baselines >= BASELINES {
        Basis::Prediction(baselines)
    } else {
        Basis::Assumed(baselines)
    }
}

/// `own` is the comparison within the run; `interval` and `verdict` are judged by the rules.
fn outcome(
    rules: Rules,
    own: &Comparison,
    interval: Option<ConfidenceInterval>,
    verdict: Verdict,
) -> GateOutcome {
    if cannot_be_judged(own) {
        return GateOutcome::Undecided;
    }
    let Some(interval) = interval else {
        let must = rules.require_verdict || rules.mode == Mode::Noninferior;
        return if must {
            GateOutcome::Undecided
        } else {
            GateOutcome::Passed
        };
    };
    let margin = worse_margin(own.question);
    let (worst, best) = ends(own.question, interval, verdict);
    let is_worse = verdict == Verdict::Worse;
    let fails = match rules.mode {
        Mode::Worse | Mode::Noninferior => is_worse,
        // A withheld verdict shows nothing.
        Mode::BeyondMargin => is_worse && best < -margin,
    };
    // An end without a bound is below every margin.
    let is_noninferior = worst > -margin && !is_doubtful(own);
    let is_open = (rules.mode == Mode::Noninferior && !is_noninferior)
        || (rules.require_verdict && verdict == Verdict::Inconclusive);
    match (fails, is_open) {
        // Worse, but by less than the margin: non-inferior.
        (true, _) if rules.mode == Mode::Noninferior && is_noninferior => GateOutcome::Passed,
        (true, _) => GateOutcome::Failed,
        (false, true) => GateOutcome::Undecided,
        (false, false) => GateOutcome::Passed,
    }
}

/// Whether the arm is shown to be no worse than the reference by more than the margin.
pub fn is_noninferior(own: &Comparison) -> bool {
    let rules = Rules {
        mode: Mode::Noninferior,
        ..Rules::default()
    };
    own.blocks > 0 && outcome(rules, own, own.interval, own.verdict) == GateOutcome::Passed
}

/// The worst and the best end. An earlier version wrote both as null where they lie beyond every number on one side: then the
/// verdict says on which.
fn ends(question: Question, interval: ConfidenceInterval, verdict: Verdict) -> (f64, f64) {
    let (worst, best) = question.direction.worst_and_best(interval);
    match verdict {
        Verdict::Worse if best > 0.0 => (worst, worst),
        Verdict::Better if worst < 0.0 => (best, best),
        _ => (worst, best),
    }
}

/// To withhold a verdict must not turn a failing gate into a passing one: the blocks say that the arm is worse, or the arm
/// is the reason why nothing can be said.
pub fn cannot_be_judged(own: &Comparison) -> bool {
    let question = own.question;
    let nothing_happened =
        question.nothing_happened && question.direction != Direction::LowerIsBetter;
    let is_censored = own.reasons.iter().any(|reason| {
        matches!(
            reason,
            Reason::Censored { .. }
                | Reason::CensoredAfterOthers
                | Reason::TruthChanged
                | Reason::Moved
        )
    });
    own.verdict == Verdict::Inconclusive
        && (own.withheld == Some(Verdict::Worse)
            || question.not_comparable
            || question.is_stopped
            || nothing_happened
            || is_censored)
}

/// A run that decided nothing passes only if it could have failed: every row had the power to show its margin.
fn could_not_have_failed(checks: &mut [Check]) {
    let is_open = |check: &Check| check.verdict == Verdict::Inconclusive && check.limit.is_none();
    if !checks
        .iter()
        .all(|check| is_open(check) && check.basis == Basis::Own)
    {
        return;
    }
    for check in checks
        .iter_mut()
        .filter(|check| !had_power(&check.comparison.comparison))
    {
        if check.outcome == GateOutcome::Passed {
            check.outcome = GateOutcome::Undecided;
        }
    }
}

/// Whether this many blocks would have shown a difference of the margin.
pub fn had_power(own: &Comparison) -> bool {
    let is_least =
        own.question.nothing_happened && own.question.direction == Direction::LowerIsBetter;
    is_least || own.mde.is_some_and(|mde| mde <= own.question.margin)
}

/// By how much the metric may get worse, on its scale.
fn worse_margin(question: Question) -> f64 {
    let margins = question.scale.margins(question.margin);
    match question.direction {
        Direction::HigherIsBetter => margins.down,
        Direction::LowerIsBetter => margins.up,
        Direction::Neutral => margins.down.min(margins.up),
    }
}

/// The interval does not cover everything that could make the arm inferior: the mean, or carry-over.
fn is_doubtful(own: &Comparison) -> bool {
    own.reasons.iter().any(|reason| {
        matches!(
            reason,
            Reason::Skewed | Reason::MeanDisagrees | Reason::CarryOver { .. }
        )
    })
}

/// A failure outweighs an undecided comparison.
pub fn overall(checks: &[Check]) -> GateOutcome {
    let any = |outcome| checks.iter().any(|check| check.outcome == outcome);
    if any(GateOutcome::Failed) {
        GateOutcome::Failed
    } else if any(GateOutcome::Undecided) || checks.is_empty() {
        GateOutcome::Undecided
    } else {
        GateOutcome::Passed
    }
}

#[cfg(test)]
#[path = "gate_tests.rs"]
mod tests;
#[cfg(test)]
mod unjudged_tests; // arms that cannot be judged do not pass
