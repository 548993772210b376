//! After the last round: a trace of each arm.

use std::time::Duration;

use anyhow::Result;

use super::turns::ensure_alone;
use super::{Observer, live};
use crate::round::RoundSetup;
use iosched_result::types::live::LiveDesign;
use iosched_result::types::plan::PlannedRound;
use iosched_result::types::result::ResultFile;

/// The arms that `--stop-if` stopped are not run again; nor are those that a resumed run has traced before.
pub fn record(
    bench: &mut RoundSetup<'_>,
    time: Duration,
    limits: Option<&LiveDesign>,
    result: &mut ResultFile,
    observer: &mut dyn Observer,
    save: impl Fn(&ResultFile) -> Result<()>,
) -> Result<()> {
    let planned = untraced(result);
    if planned.is_empty() {
        return Ok(());
    }
    if let Err(error) = bench.machine.prepare_traces() {
        // The rounds are measured, and stay.
        let note = format!("no arm has a trace, because recording cannot begin: {error:#}");
        result.notes.push(note);
        return Ok(());
    }
    for planned in planned {
        bench.machine.ensure_uninterrupted()?;
        // Traces keep to the hours of the rounds.
        while live::waited(limits, bench, observer)? {}
        observer.trace_begins(&bench.arms[planned.arm]);
        let traced = bench.trace(&planned, time)?;
        result.notes.extend(bench.machine.take_notes());
        if let Some(problem) = &traced.trace.problem {
            let note = format!("{} has no trace: {problem}", traced.trace.arm);
            result.notes.push(note);
        }
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
