//! Programs that run beside a benchmark in one command and tell what it used: their metrics are shown, and decide nothing.

use super::{Program, perf, time};
use crate::workload::reported::output::Printed;
use iosched_result::metric::reported::Reported;

const BESIDE: [&Program; 2] = [&perf::PERF, &time::TIME];

/// Whether a command that is called by this program is compared by another one.
pub fn is_beside(program: &Program) -> bool {
    BESIDE.iter().any(|beside| beside.name == program.name)
}

/// The metrics of those whose report is in the output once, whole, and was not asked for: it is no fault of a round if a
/// script calls one of them several times.
pub fn find(printed: &Printed, program: Option<&Program>) -> Vec<Reported> {
    BESIDE
        .iter()
        .filter(|beside| program.is_none_or(|program| program.name != beside.name))
        .filter_map(|beside| (beside.parse)(printed).ok())
        .flat_map(|found| found.metrics)
        .collect()
}
