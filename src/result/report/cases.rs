//! Each primary comparison as a test case, the same in JUnit and KTAP. Pure.
//!
//! A failure was shown: an arm is worse. An error says that there is no answer where there should be one: the run is
//! invalid or not complete, or the data allow no interval. Skipped is what the data leave open and the rules let pass.

use super::{gate, limits, words};
use crate::gate::{Basis, Check, Decision, GateOutcome, Judgement, Mode, Rules, Selection, judge};
use crate::statistics::verdict::Verdict;
use crate::types::result::{ArmComparison, ResultFile};

#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    pub name: String,
    pub state: State,
    /// The finding, or why there is none.
    pub text: String,
    /// How long the rounds of the arm were measured, all together.
    pub seconds: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Passed,
    Failed,
    Skipped,
    /// In one word, why.
    Error(&'static str),
}

/// Longer than any run.
const LONGEST_S: f64 = 1e9;
/// Name of the case that says why no comparison has an answer.
pub const THE_RUN: &str = "the run";

/// Cases of a report, by the default rules of the gate. A comparison without an interval is an error all the same:
/// nothing was measured that could decide it.
pub fn of_report(result: &ResultFile) -> Vec<Case> {
    let judgement = judge(result, &[], Rules::default(), Selection::default());
    let mut cases = of_gate(result, &judgement);
    for (case, check) in cases.iter_mut().zip(&judgement.checks) {
        if case.state == State::Skipped && check.interval.is_none() {
            case.state = State::Error("undecided");
        }
    }
    cases
}

/// Cases of a gate: a failure or an error for what the exit code stands for.
pub fn of_gate(result: &ResultFile, judgement: &Judgement) -> Vec<Case> {
    match why_none(&judgement.decision) {
        None => {
            let checks = judgement.checks.iter();
            let mut cases: Vec<Case> = checks
                .map(|check| Case {
                    state: state(check, judgement.rules.mode),
                    text: text(check),
                    ..case(result, &check.comparison)
                })
                .collect();
            if cases.is_empty() {
                cases.push(the_run(
                    "undecided",
                    "the run has no comparison to decide on",
                ));
            }
            cases
        }
        Some((kind, why)) => {
            let rows = judgement.selection.rows(result).into_iter();
            let cases = rows.map(|row| Case {
                state: State::Error(kind),
                text: why.clone(),
                ..case(result, row)
            });
            cases.chain([the_run(kind, &why)]).collect()
        }
    }
}

fn why_none(decision: &Decision) -> Option<(&'static str, String)> {
    let kind = match decision {
        Decision::Invalid(_) => "invalid",
        _ => "incomparable",
    };
    decision.why_nothing().map(|why| (kind, why))
}

/// A count that is not what the study asserts.
pub fn broken(what: &str) -> Case {
    Case {
        name: "an exact count".to_owned(),
        state: State::Failed,
        text: what.to_owned(),
        seconds: None,
    }
}

fn the_run(kind: &'static str, why: &str) -> Case {
    Case {
        name: THE_RUN.to_owned(),
        state: State::Error(kind),
        text: why.to_owned(),
        seconds: None,
    }
}

fn case(result: &ResultFile, row: &ArmComparison) -> Case {
    Case {
        name: words::name(row),
        state: State::Error("undecided"),
        text: String::new(),
        seconds: measured_s(result, &row.arm),
    }
}

fn state(check: &Check, mode: Mode) -> State {
    match check.outcome {
        GateOutcome::Failed => State::Failed,
        GateOutcome::Undecided => State::Error("undecided"),
        // Not inferior is what this mode asks for, and it was shown.
        GateOutcome::Passed if mode == Mode::Noninferior || check.limit.is_some() => State::Passed,
        GateOutcome::Passed if check.verdict == Verdict::Inconclusive => State::Skipped,
        GateOutcome::Passed => State::Passed,
    }
}

/// Finding of a gate in a comparison.
pub fn text(check: &Check) -> String {
    if let Some(limit) = &check.limit {
        return limits::sentence(limit);
    }
    match check.basis {
        Basis::Own => words::sentence(&check.comparison),
        Basis::Prediction(_) | Basis::Assumed(_) => gate::sentence(check),
    }
}

/// Over all rounds of an arm, also those that do not count. None: the file does not say.
pub fn measured_s(result: &ResultFile, arm: &str) -> Option<f64> {
    let rounds = result.rounds.iter().filter(|round| round.arm == arm);
    let sum: f64 = rounds.map(|round| round.window_s).sum();
    // Nothing measured is not known; a file that was made up may say anything.
    (sum > 0.0 && sum < LONGEST_S).then_some(sum)
}

/// From the beginning to the end of the run. None: it has not ended, or it was interrupted for an unknown time.
pub fn elapsed_s(result: &ResultFile) -> Option<f64> {
    let finished = result.finished.as_deref()?;
    let at = |text: &str| humantime::parse_rfc3339(text).ok();
    let elapsed = at(finished)?.duration_since(at(&result.started)?).ok()?;
    let is_known = result.resumed.is_empty() && !elapsed.is_zero();
    is_known.then_some(elapsed.as_secs_f64())
}

#[cfg(test)]
#[path = "cases_tests.rs"]
mod tests;
