//! Properties of a trace that the reports rely on. Pure.

use super::require;
use crate::measured::trace::{MOST_REQUESTS, Trace, TracedRequest};
use crate::types::result::{ArmTrace, ResultFile};

pub(super) fn check(result: &ResultFile, traced: &ArmTrace) -> Result<(), String> {
    require(result.arm_index(&traced.arm).is_some(), || {
        format!("traces: arm {:?} does not exist", traced.arm)
    })?;
    let Some(trace) = &traced.trace else {
        return Ok(());
    };
    let wrong = |what: &str| format!("traces: {what} of {:?} is out of range", traced.arm);
    require((0.0..=LONGEST_S).contains(&trace.time_s), || {
        wrong("time_s")
    })?;
    require(trace.requests.len() <= MOST_REQUESTS, || {
        wrong("the number of requests")
    })?;
    let disks = result
        .device
        .group
        .as_ref()
        .map_or(1, |group| group.members.len());
    let fits = |request: &TracedRequest| is_plausible(trace, disks, request);
    let first = trace.requests.iter().position(|request| !fits(request));
    first.map_or(Ok(()), |index| Err(wrong(&format!("requests[{index}]"))))
}

/// A trace is much shorter; what was queued before it may be as old as a run.
const LONGEST_S: f64 = 1e4;
const LONGEST_NS: i64 = 1_000_000_000 * 1_000_000_000;

fn is_plausible(trace: &Trace, disks: usize, request: &TracedRequest) -> bool {
    let times = [
        request.queued_ns,
        request.started_ns,
        request.inserted_ns,
        Some(request.issued_ns),
        request.completed_ns,
    ];
    let mut times = times.into_iter().flatten();
    request.disk < disks
        && request.owner < trace.owners.len()
        && times.all(|ns| (-LONGEST_NS..=LONGEST_NS).contains(&ns))
}
