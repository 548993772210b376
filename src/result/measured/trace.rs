//! Every request of a short time on its own, assembled from the kernel side's events. Pure.

use std::collections::HashMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::snapshot::{Op, OwnerKind};

/// Requests that a trace keeps: the first ones. A result with the traces of some arms stays a file that people send.
pub const MOST_REQUESTS: usize = 4096;

/// The requests that were issued in a short time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Trace {
    pub time_s: f64,
    /// In the order of their first issue.
    pub requests: Vec<TracedRequest>,
    pub owners: Vec<TracedOwner>,
    /// Issued after those in `requests`, which has room for 4096.
    pub left_out: u64,
    /// Issues and completions that found the kernel's buffer full.
    pub lost_events: u64,
    /// Completions of requests that were issued before the trace.
    pub issued_before: u64,
    /// Requests whose completion was missed.
    #[serde(default)]
    pub unseen_ends: u64,
}

/// A request. Times are in nanoseconds since the beginning of the trace, and negative before it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TracedRequest {
    /// Index of the disk in `device.members`; 0 if there is only one.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub disk: usize,
    pub op: Op,
    /// Address on the disk in sectors of 512 bytes.
    pub sector: u64,
    pub bytes: u32,
    pub hardware_queue: u16,
    /// Index in `owners`.
    pub owner: usize,
    /// Q: its first bio was queued. Absent if that was not seen, as for flushes of the kernel's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queued_ns: Option<i64>,
    /// G: it was allocated, and got its tag. The time of Q unless the thread slept in between.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_ns: Option<i64>,
    /// I: it was inserted into the scheduler. Absent if it went past it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inserted_ns: Option<i64>,
    /// D: the driver got it for the first time.
    pub issued_ns: i64,
    /// C: its data was complete. Absent if it was in flight at the end of the trace, or if `is_end_unseen`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completed_ns: Option<i64>,
    /// Its completion was missed: later in the trace another request has its place.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_end_unseen: bool,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // the signature is serde's
fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// Who caused a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TracedOwner {
    /// The name of the command; kernel threads are in brackets.
    pub name: String,
    pub kind: OwnerKind,
    /// 0 if it is not a single process.
    pub pid: u32,
    pub cgroup_id: u64,
    /// The part of the workload to whose control group it belongs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<String>,
}

/// An event of a request; `request` tells those in flight apart.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    Issued { request: u64, traced: TracedRequest },
    Completed { request: u64, ns: i64 },
}

impl TracedRequest {
    /// Since it was queued, or allocated if that was not seen.
    pub fn begun_ns(&self) -> i64 {
        self.queued_ns.or(self.started_ns).unwrap_or(self.issued_ns)
    }

    pub fn end_sector(&self) -> u64 {
        self.sector.saturating_add(u64::from(self.bytes) / 512)
    }
}

/// `events` in the order in which they were recorded.
pub fn assemble(
    events: impl IntoIterator<Item = Event>,
    owners: Vec<TracedOwner>,
    time: Duration,
    lost_events: u64,
) -> Trace {
    let mut trace = Trace {
        time_s: time.as_secs_f64(),
        owners,
        lost_events,
        ..Trace::default()
    };
    // None: left out.
    let mut in_flight: HashMap<u64, Option<usize>> = HashMap::new();
    for event in events {
        match event {
            Event::Issued { request, traced } => {
                let has_room = trace.requests.len() < MOST_REQUESTS;
                let now = has_room.then_some(trace.requests.len());
                if let Some(before) = in_flight.insert(request, now) {
                    trace.unseen_ends += 1;
                    if let Some(index) = before {
                        trace.requests[index].is_end_unseen = true;
                    }
                }
                if has_room {
                    trace.requests.push(traced);
                } else {
                    trace.left_out += 1;
                }
            }
            Event::Completed { request, ns } => match in_flight.remove(&request) {
                Some(Some(index)) => trace.requests[index].completed_ns = Some(ns),
                Some(None) => {}
                None => trace.issued_before += 1,
            },
        }
    }
    // Two CPUs may record in another order than that of their clocks' readings.
    trace.requests.sort_by_key(|request| request.issued_ns);
    trace
}

#[cfg(test)]
mod tests {
    use super::*;

    fn issued(request: u64, issued_ns: i64) -> Event {
        Event::Issued {
            request,
            traced: TracedRequest {
                disk: 0,
                op: Op::Read,
                sector: request * 8,
                bytes: 4096,
                hardware_queue: 0,
                owner: 0,
                queued_ns: Some(issued_ns - 5),
                started_ns: None,
                inserted_ns: None,
                issued_ns,
                completed_ns: None,
                is_end_unseen: false,
            },
        }
    }

    fn completed(request: u64, ns: i64) -> Event {
        Event::Completed { request, ns }
    }

    #[test]
    fn an_address_that_is_used_again_is_another_request() {
        let events = [
            completed(9, 1),
            issued(7, 10),
            completed(7, 20),
            issued(8, 32),
            issued(7, 30),
            completed(7, 40),
        ];
        let trace = assemble(events, Vec::new(), Duration::from_secs(1), 3);
        let times: Vec<_> = trace
            .requests
            .iter()
            .map(|request| (request.issued_ns, request.completed_ns))
            .collect();
        assert_eq!(times, [(10, Some(20)), (30, Some(40)), (32, None)]);
        assert_eq!((trace.issued_before, trace.left_out), (1, 0));
        assert_eq!((trace.lost_events, trace.time_s), (3, 1.0));
    }

    #[test]
    fn a_completion_that_was_missed_is_told_from_a_request_in_flight() {
        let events = [issued(7, 10), issued(7, 30), issued(8, 40)];
        let trace = assemble(events, Vec::new(), Duration::from_secs(1), 0);
        let unseen = trace.requests.iter().map(|request| request.is_end_unseen);
        assert_eq!(unseen.collect::<Vec<_>>(), [true, false, false]);
        assert_eq!(trace.unseen_ends, 1);
    }

    #[test]
    fn what_has_no_room_is_counted_and_its_end_ends_no_other() {
        let many = MOST_REQUESTS as u64 + 2;
        let begins = (0..many).map(|request| issued(request, request.cast_signed()));
        let ends = (0..many).map(|request| completed(request, 10_000));
        let trace = assemble(begins.chain(ends), Vec::new(), Duration::ZERO, 0);
        assert_eq!(trace.requests.len(), MOST_REQUESTS);
        assert_eq!((trace.left_out, trace.issued_before), (2, 0));
        let ended = |request: &TracedRequest| request.completed_ns == Some(10_000);
        assert!(trace.requests.iter().all(ended));
    }
}
