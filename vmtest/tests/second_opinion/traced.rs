//! Each request of a trace, and what blktrace says of it.

use std::collections::{BTreeMap, VecDeque};

use iosched_result::measured::snapshot::Op;
use iosched_result::measured::trace::{Trace, TracedRequest};

use crate::check::{APART_NS, Check, interrupted};
use crate::rebuild::{Rebuilt, Request};
use crate::stages::op_of;

pub fn compare(check: &mut Check, rebuilt: &Rebuilt, trace: &Trace) {
    let mut theirs: Vec<&Request> = rebuilt.requests.iter().collect();
    theirs.retain(|request| request.issued_ns.is_some() && !request.is_empty_flush());
    theirs.sort_by_key(|request| request.issued_ns);
    let (flushes, ours): (Vec<&TracedRequest>, Vec<_>) = trace
        .requests
        .iter()
        .partition(|request| request.op == Op::Flush);
    let issues = (theirs.len() + rebuilt.commands.len()) as u64;
    check.equal(
        "traced: issues",
        &issues,
        &(trace.requests.len() as u64 + trace.left_out),
    );
    check.equal("traced: lost events", &0, &trace.lost_events);
    check.equal("traced: issued before", &0, &trace.issued_before);
    if trace.left_out > 0 {
        return;
    }
    check.equal(
        "traced: flush commands",
        &rebuilt.commands.len(),
        &flushes.len(),
    );
    let mut by_place: BTreeMap<(u64, u64, usize), VecDeque<&TracedRequest>> = BTreeMap::new();
    for request in &ours {
        let key = (request.sector, request.bytes.into(), request.op as usize);
        by_place.entry(key).or_default().push_back(request);
    }
    let mut pairs = Vec::new();
    for request in &theirs {
        let key = (request.sector, request.bytes, op_of(request) as usize);
        match by_place.get_mut(&key).and_then(VecDeque::pop_front) {
            Some(our) => pairs.push((*request, our)),
            None => check.expect(false, || format!("traced: nothing for {request:?}")),
        }
    }
    order(check, &theirs, &ours);
    of_pairs(check, &pairs);
}

/// Both must give the requests in the same order of issues.
fn order(check: &mut Check, theirs: &[&Request], ours: &[&TracedRequest]) {
    let differ = theirs
        .iter()
        .zip(ours)
        .filter(|(their, our)| their.sector != our.sector)
        .count();
    // Two of an interrupted pair.
    check.expect(differ <= 2 * interrupted(theirs.len()), || {
        format!(
            "traced: {differ} of {} requests at another place in the order of issues",
            theirs.len()
        )
    });
}

/// Both clocks are the same but for their origin: what lies between two steps is compared. Not G: here it is Q unless the
/// thread slept in between.
fn of_pairs(check: &mut Check, pairs: &[(&Request, &TracedRequest)]) {
    type Between = (
        &'static str,
        fn(&Request) -> Option<i64>,
        fn(&TracedRequest) -> Option<i64>,
    );
    let stages: [Between; 3] = [
        (
            "Q to D",
            |their| between(Some(their.q_ns), their.issued_ns),
            |our| Some(our.issued_ns - our.queued_ns?),
        ),
        (
            "I to D",
            |their| between(their.inserted_ns, their.issued_ns),
            |our| Some(our.issued_ns - our.inserted_ns?),
        ),
        (
            "D to C",
            |their| between(their.issued_ns, their.data_ns.or(their.end_ns)),
            |our| Some(our.completed_ns? - our.issued_ns),
        ),
    ];
    for (name, theirs, ours) in stages {
        let both = pairs
            .iter()
            .filter_map(|(their, our)| Some((theirs(their)?, ours(our)?)));
        let apart: Vec<i64> = both
            .map(|(their, our)| their.abs_diff(our).cast_signed())
            .collect();
        let known = pairs.iter().filter(|(_, our)| ours(our).is_some()).count();
        let far = apart.iter().filter(|ns| **ns as f64 > APART_NS).count();
        check.expect(far <= interrupted(apart.len()), || {
            let longest = apart.iter().max();
            format!(
                "traced: {name}: {far} of {} differ, by up to {longest:?} ns",
                apart.len()
            )
        });
        println!(
            "traced: {name}: {known} of {} known, {far} differ",
            pairs.len()
        );
    }
}

fn between(from: Option<u64>, to: Option<u64>) -> Option<i64> {
    Some(to?.wrapping_sub(from?).cast_signed())
}
