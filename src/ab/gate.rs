//! Whether a result may pass: by its own verdicts, or by the change against earlier results. Pure.
//!
//! Against earlier results only the ratio to the reference counts, which was measured in the same hour on the same
//! machine; how fast the machine was that day is in both of its parts. Absolute numbers are shown and decide nothing.

use super::identity;
use super::stats::{self, Interval};
use super::verdict::{Direction, Question, Reason, Verdict, bonferroni};
use crate::report::result::{ArmComparison, ResultFile, Status};

/// What lets a comparison fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Shown to be worse, and not equivalent.
    Worse,
    /// Shown to be worse by more than the margin.
    BeyondMargin,
    /// Not shown to be at most a margin worse.
    Noninferior,
}

#[derive(Clone, Copy, Debug)]
pub struct Rules {
    pub mode: Mode,
    /// Every comparison must be decided.
    pub require_verdict: bool,
    /// The kernel is what is compared: baselines of another one are accepted.
    pub other_kernel: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Passed,
    Failed,
    Undecided,
}

/// Where an interval comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// Arm against reference, within the result itself.
    Own,
    /// So many earlier results show how much the ratio varies from run to run.
    Prediction(usize),
    /// Too few earlier results to know; [`ASSUMED_RUN_SD`] is taken.
    Assumed(usize),
}

/// From run to run, of a log-ratio to the reference; used below [`BASELINES`] baselines and said to be assumed.
pub const ASSUMED_RUN_SD: f64 = 0.03;
/// So many baselines show their own variation.
pub const BASELINES: usize = 5;

#[derive(Clone, Debug)]
pub struct Check {
    pub comparison: ArmComparison,
    pub basis: Basis,
    /// On the metric's scale: of the arm to the reference, or of that to the earlier results.
    pub change: Option<f64>,
    pub interval: Option<Interval>,
    pub verdict: Verdict,
    pub outcome: Outcome,
    /// The median of the arm in the earlier results, for orientation.
    pub earlier_median: Option<f64>,
}

/// Every primary comparison, held to the rules. Err: why it is no result to hold to them, or baselines that cannot be
/// compared with it.
pub fn check(
    result: &ResultFile,
    baselines: &[(String, ResultFile)],
    rules: Rules,
) -> Result<Vec<Check>, Vec<String>> {
    let mut unfit: Vec<String> = incomplete("it", result).into_iter().collect();
    for (name, baseline) in baselines {
        unfit.extend(incomplete(name, baseline));
        let differences = identity::incomparable(result, baseline, rules.other_kernel);
        unfit.extend(differences.iter().map(|text| format!("{name}: {text}")));
    }
    if !unfit.is_empty() {
        return Err(unfit);
    }
    let primary: Vec<&ArmComparison> = result.comparisons.iter().filter(|c| c.primary).collect();
    let alpha = bonferroni(result.design.alpha, primary.len());
    let checks = primary.into_iter().map(|comparison| {
        if baselines.is_empty() {
            return own(comparison, rules);
        }
        against(comparison, baselines, alpha, rules)
    });
    Ok(checks.collect())
}

fn incomplete(name: &str, result: &ResultFile) -> Option<String> {
    (result.status != Status::Complete).then(|| format!("{name} is not complete"))
}

fn own(comparison: &ArmComparison, rules: Rules) -> Check {
    let found = &comparison.comparison;
    let is_skewed = found.reasons.contains(&Reason::Skewed);
    Check {
        comparison: comparison.clone(),
        basis: Basis::Own,
        change: found.estimate,
        interval: found.interval,
        verdict: found.verdict,
        outcome: match found.blocks {
            // Nothing was compared, so nothing was shown.
            0 => Outcome::Undecided,
            _ => outcome(
                rules,
                found.question,
                found.interval,
                found.verdict,
                is_skewed,
            ),
        },
        earlier_median: None,
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
    let earlier: Vec<&ArmComparison> = baselines
        .iter()
        .filter_map(|(_, baseline)| baseline.comparisons.iter().find(is_same))
        .collect();
    let estimates: Vec<Estimate> = earlier.iter().filter_map(|c| Estimate::of(c)).collect();
    let found = Estimate::of(comparison)
        // A baseline that lacks the comparison is no baseline for it.
        .filter(|_| estimates.len() == baselines.len())
        .and_then(|new| change(new, &estimates, alpha));
    let question = comparison.comparison.question;
    let interval = found.map(|found| found.1);
    let verdict = interval.map_or(Verdict::Inconclusive, |i| question.judge(i));
    let medians: Vec<f64> = earlier.iter().filter_map(|c| c.arm_median).collect();
    Check {
        comparison: comparison.clone(),
        basis: basis(baselines.len()),
        change: found.map(|found| found.0),
        interval,
        verdict,
        outcome: match found {
            // This result or a baseline has nothing on it.
            None => Outcome::Undecided,
            Some(_) => outcome(rules, question, interval, verdict, false),
        },
        earlier_median: stats::median(&medians),
    }
}

/// What a run says of an arm against the reference.
#[derive(Clone, Copy, Debug)]
pub struct Estimate {
    pub value: f64,
    pub standard_error: f64,
    pub blocks: usize,
}

impl Estimate {
    fn of(comparison: &ArmComparison) -> Option<Estimate> {
        let found = &comparison.comparison;
        Some(Estimate {
            value: found.estimate?,
            standard_error: found.sd? / (found.blocks as f64).sqrt(),
            blocks: found.blocks,
        })
    }
}

fn basis(baselines: usize) -> Basis {
    if baselines >= BASELINES {
        Basis::Prediction(baselines)
    } else {
        Basis::Assumed(baselines)
    }
}

/// The change of a new run against earlier ones, and its interval.
pub fn change(new: Estimate, earlier: &[Estimate], alpha: f64) -> Option<(f64, Interval)> {
    let values: Vec<f64> = earlier.iter().map(|estimate| estimate.value).collect();
    let (change, n) = (new.value - stats::mean(&values)?, values.len() as f64);
    let half = if values.len() >= BASELINES {
        let t = stats::student_quantile(alpha / 2.0, values.len() - 1)?;
        t * stats::sd(&values)? * (1.0 + 1.0 / n).sqrt()
    } else {
        let within: f64 = earlier.iter().map(|e| e.standard_error.powi(2)).sum();
        let between = ASSUMED_RUN_SD.powi(2) * (1.0 + 1.0 / n);
        let t = stats::student_quantile(alpha / 2.0, new.blocks.checked_sub(1)?)?;
        t * (new.standard_error.powi(2) + within / (n * n) + between).sqrt()
    };
    let interval = Interval {
        lower: change - half,
        upper: change + half,
        attained_confidence: 1.0 - alpha,
    };
    Some((change, interval))
}

fn outcome(
    rules: Rules,
    question: Question,
    interval: Option<Interval>,
    verdict: Verdict,
    is_skewed: bool,
) -> Outcome {
    let Some(interval) = interval else {
        let must = rules.require_verdict || rules.mode == Mode::Noninferior;
        return if must {
            Outcome::Undecided
        } else {
            Outcome::Passed
        };
    };
    let margin = question.scale.of_margin(question.margin);
    let (worst, best) = match question.direction {
        Direction::HigherIsBetter => (interval.lower, interval.upper),
        Direction::LowerIsBetter => (-interval.upper, -interval.lower),
    };
    let fails = match rules.mode {
        Mode::Worse | Mode::Noninferior => verdict == Verdict::Worse,
        Mode::BeyondMargin => best < -margin,
    };
    let is_noninferior = worst > -margin && !is_skewed;
    let is_open = (rules.mode == Mode::Noninferior && !is_noninferior)
        || (rules.require_verdict && verdict == Verdict::Inconclusive);
    match (fails, is_open) {
        // Worse, and yet by less than the margin: not inferior.
        (true, _) if rules.mode == Mode::Noninferior && is_noninferior => Outcome::Passed,
        (true, _) => Outcome::Failed,
        (false, true) => Outcome::Undecided,
        (false, false) => Outcome::Passed,
    }
}

/// Of all checks together: a failure outweighs what is not decided.
pub fn overall(checks: &[Check]) -> Outcome {
    let any = |outcome| checks.iter().any(|check| check.outcome == outcome);
    if any(Outcome::Failed) {
        Outcome::Failed
    } else if any(Outcome::Undecided) || checks.is_empty() {
        Outcome::Undecided
    } else {
        Outcome::Passed
    }
}

#[cfg(test)]
#[path = "gate_tests.rs"]
mod tests;
