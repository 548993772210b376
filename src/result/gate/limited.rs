//! A comparison whose metric has a limit: how it compares with the reference does not count. Pure.

use super::{Check, GateOutcome};
use crate::types::result::ResultFile;

impl Check {
    /// Judged by the limit of its metric, if it has one.
    pub(super) fn limited_by(self, result: &ResultFile) -> Check {
        let mut limits = result.limits.iter();
        let (arm, metric) = (&self.comparison.arm, &self.comparison.metric);
        let limit = limits.find(|it| it.arm == *arm && it.metric.is_same(metric));
        Check {
            outcome: match limit.map(|limit| limit.holds) {
                None => self.outcome,
                Some(Some(true)) => GateOutcome::Passed,
                Some(Some(false)) => GateOutcome::Failed,
                Some(None) => GateOutcome::Undecided,
            },
            limit: limit.cloned(),
            ..self
        }
    }
}
