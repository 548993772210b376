//! The decision of a gate: each comparison judged by the rules, or why none was. Pure.

use super::{Check, GateOutcome, Rules, Selection, check, could_not_have_failed, overall};
use crate::analysis::turn;
use crate::failure::Kind;
use crate::types::result::ResultFile;

#[derive(Clone, Debug)]
pub struct Judgement {
    pub rules: Rules,
    pub selection: Selection,
    /// Number of primary comparisons of the run, selected or not: their intervals hold simultaneously.
    pub family: usize,
    /// File names of the earlier results.
    pub baselines: Vec<String>,
    pub decision: Decision,
    /// Empty if nothing was judged.
    pub checks: Vec<Check>,
}

/// The outcome of all selected comparisons together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    Passed,
    Failed,
    Undecided,
    /// The run is not complete, a negative control differs, or the baselines are not comparable.
    Incomparable(Vec<String>),
    /// Too many blocks of the run are excluded.
    Invalid(String),
}

/// Judges the selected primary comparisons by the rules.
pub fn judge(
    result: &ResultFile,
    baselines: &[(String, ResultFile)],
    rules: Rules,
    selection: Selection,
) -> Judgement {
    let (decision, checks) = match turn::why_invalid(result) {
        Some(why) => (Decision::Invalid(why), Vec::new()),
        None => match check(result, baselines, rules) {
            Err(why) => (Decision::Incomparable(why), Vec::new()),
            Ok(mut checks) => {
                checks.retain(|check| selection.has(&check.comparison));
                could_not_have_failed(&mut checks);
                (Decision::of(&checks), checks)
            }
        },
    };
    let names = baselines.iter().map(|(name, _)| name.clone());
    Judgement {
        rules,
        selection,
        family: Selection::default().rows(result).len(),
        baselines: names.collect(),
        decision,
        checks,
    }
}

impl Judgement {
    /// By the level that several results share: what fails by itself does not pass for the company that it is in.
    #[must_use]
    pub fn in_company(mut self, alone: &Judgement) -> Judgement {
        for (check, alone) in self.checks.iter_mut().zip(&alone.checks) {
            if alone.outcome == GateOutcome::Failed && check.outcome == GateOutcome::Passed {
                check.outcome = GateOutcome::Undecided;
            }
        }
        if matches!(self.decision, Decision::Passed) {
            self.decision = Decision::of(&self.checks);
        }
        self
    }

    pub fn count(&self, outcome: GateOutcome) -> usize {
        let hits = self.checks.iter().filter(|check| check.outcome == outcome);
        hits.count()
    }
}

impl Decision {
    fn of(checks: &[Check]) -> Decision {
        match overall(checks) {
            GateOutcome::Passed => Decision::Passed,
            GateOutcome::Failed => Decision::Failed,
            GateOutcome::Undecided => Decision::Undecided,
        }
    }

    /// The kind of failure that sets the exit code; None is success.
    pub fn kind(&self) -> Option<Kind> {
        match self {
            Decision::Passed => None,
            Decision::Failed => Some(Kind::GateFailed),
            Decision::Undecided | Decision::Incomparable(_) => Some(Kind::Undecided),
            Decision::Invalid(_) => Some(Kind::Invalid),
        }
    }

    /// Why nothing was judged.
    pub fn why_nothing(&self) -> Option<String> {
        match self {
            Decision::Passed | Decision::Failed | Decision::Undecided => None,
            Decision::Incomparable(why) => Some(why.join("; ")),
            Decision::Invalid(why) => Some(why.clone()),
        }
    }
}

#[cfg(test)]
#[path = "judgement_tests.rs"]
mod tests;
