//! After the last round: a trace of each arm.

use std::time::Duration;

use anyhow::Result;

use super::Observer;
use super::turns::ensure_alone;
use crate::ab::plan::PlannedRound;
use crate::ab::result::ResultFile;
use crate::ab::round::RoundSetup;

/// The arms that `--stop-if` stopped are not run again; nor are those that a resumed run has traced before.
pub fn record(
    bench: &mut RoundSetup<'_>,
    time: Duration,
    result: &mut ResultFile,
    observer: &mut dyn Observer,
    save: impl Fn(&ResultFile) -> Result<()>,
) -> Result<()> {
    let mut is_ready = false;
    for planned in untraced(result) {
        bench.machine.ensure_uninterrupted()?;
        if !is_ready {
            bench.machine.prepare_traces()?;
            is_ready = true;
        }
        observer.trace_begins(&bench.arms[planned.arm]);
        let traced = bench.trace(&planned, time)?;
        result.notes.extend(bench.machine.take_notes());
        result.traces.push(traced.trace);
        save(result)?;
        ensure_alone(traced.rival.as_deref())?;
    }
    Ok(())
}

/// The rounds of the first block, without those of arms that need no trace.
fn untraced(result: &ResultFile) -> Vec<PlannedRound> {
    let stopped = result.stopped_arms();
    let is_done = |arm: usize| {
        let label = &result.design.arms[arm].label;
        result.traces.iter().any(|trace| trace.arm == *label)
    };
    let first = result.plan.rounds.iter().filter(|round| round.block == 0);
    first
        .filter(|round| !stopped.contains(&round.arm) && !is_done(round.arm))
        .map(|round| PlannedRound {
            index: result.rounds.len(),
            ..*round
        })
        .collect()
}
