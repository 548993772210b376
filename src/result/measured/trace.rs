//! Every request of a short time on its own, from its record. Pure.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::record::Record;
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
    /// Completed requests that are missing: their records came faster than they were read.
    pub lost_events: u64,
    /// Completions of requests that were issued before the trace.
    pub issued_before: u64,
    /// Requests whose completion was missed; since the records of requests are read, they are not in `requests`.
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

impl TracedRequest {
    /// Since it was queued, or allocated if that was not seen.
    pub fn begun_ns(&self) -> i64 {
        self.queued_ns.or(self.started_ns).unwrap_or(self.issued_ns)
    }

    pub fn end_sector(&self) -> u64 {
        self.sector.saturating_add(u64::from(self.bytes) / 512)
    }
}

/// Keeps the records of a trace while it is taken.
#[derive(Default)]
pub struct Collector {
    begin_ns: u64,
    /// At most [`MOST_KEPT`].
    records: Vec<Record>,
    left_out: u64,
    issued_before: u64,
}

/// Records that are kept until it is known which requests were the first.
const MOST_KEPT: usize = 8 * MOST_REQUESTS;

/// Counts of requests that a trace misses.
#[derive(Clone, Copy, Debug, Default)]
pub struct Missing {
    pub lost_events: u64,
    pub unseen_ends: u64,
}

impl Collector {
    pub fn new(begin_ns: u64) -> Collector {
        Collector {
            begin_ns,
            ..Collector::default()
        }
    }

    /// A request that has ended. One that was not issued, such as an empty flush, is in no trace.
    pub fn add(&mut self, record: &Record) {
        if record.d_ns == 0 || record.c_ns < self.begin_ns {
            return;
        }
        if record.d_ns < self.begin_ns {
            self.issued_before += 1;
            return;
        }
        if self.records.len() == MOST_KEPT {
            self.keep_first();
        }
        self.records.push(*record);
    }

    /// Leaves out requests that have ended: between a look at those in flight and one at the records, some do.
    pub fn without_ended(&self, in_flight: Vec<Record>) -> Vec<Record> {
        let ended = self.records.iter();
        let identity = |record: &Record| (record.device, record.d_ns, record.owner, record.bytes);
        let ended: HashSet<_> = ended.map(identity).collect();
        let is_left = |state: &Record| !ended.contains(&identity(state));
        in_flight.into_iter().filter(is_left).collect()
    }

    fn keep_first(&mut self) {
        self.records
            .select_nth_unstable_by_key(MOST_REQUESTS, |record| record.d_ns);
        self.left_out += (self.records.len() - MOST_REQUESTS) as u64;
        self.records.truncate(MOST_REQUESTS);
    }

    /// `in_flight`: those that have not ended, without their last times. `owner`: who has this row.
    pub fn assemble(
        mut self,
        in_flight: impl IntoIterator<Item = Record>,
        mut owner: impl FnMut(u32) -> TracedOwner,
        time_ns: Range<u64>,
        missing: Missing,
    ) -> Trace {
        let begin_ns = time_ns.start;
        self.records.extend(in_flight);
        // The records are read a moment after the end.
        self.records.retain(|record| time_ns.contains(&record.d_ns));
        self.records.sort_by_key(|record| record.d_ns);
        let more = self.records.len().saturating_sub(MOST_REQUESTS);
        self.records.truncate(MOST_REQUESTS);
        let mut owners = Vec::new();
        let mut places = HashMap::new();
        let mut place_of = |row: u32| {
            *places.entry(row).or_insert_with(|| {
                owners.push(owner(row));
                owners.len() - 1
            })
        };
        let requests = self.records.iter();
        let requests = requests.map(|record| traced(record, begin_ns, place_of(record.owner)));
        Trace {
            time_s: (time_ns.end - begin_ns) as f64 / 1e9,
            requests: requests.collect(),
            owners,
            left_out: self.left_out + more as u64,
            lost_events: missing.lost_events,
            issued_before: self.issued_before,
            unseen_ends: missing.unseen_ends,
        }
    }
}

fn traced(record: &Record, begin_ns: u64, owner: usize) -> TracedRequest {
    let since = |ns: u64| ns.wrapping_sub(begin_ns).cast_signed();
    let known = |ns: u64| (ns > 0).then(|| since(ns));
    TracedRequest {
        disk: usize::from(record.device),
        op: record.op,
        sector: record.sector,
        bytes: record.bytes,
        hardware_queue: record.hardware_queue,
        owner,
        queued_ns: known(record.q_ns),
        started_ns: known(record.g_ns),
        inserted_ns: known(record.i_ns),
        issued_ns: since(record.d_ns),
        completed_ns: known(record.data_ns),
        is_end_unseen: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEGIN_NS: u64 = 1000;

    fn request(owner: u32, d_ns: u64, c_ns: u64) -> Record {
        Record {
            q_ns: d_ns - 5,
            owner,
            sector: u64::from(owner) * 8,
            ..Record::issued(Op::Read, d_ns, c_ns)
        }
    }

    fn owner(row: u32) -> TracedOwner {
        TracedOwner {
            name: format!("row {row}"),
            kind: OwnerKind::Process,
            pid: row,
            cgroup_id: 0,
            part: None,
        }
    }

    fn times(trace: &Trace) -> Vec<(i64, Option<i64>)> {
        let requests = trace.requests.iter();
        requests
            .map(|request| (request.issued_ns, request.completed_ns))
            .collect()
    }

    #[test]
    fn requests_stand_in_the_order_of_their_issue_with_those_in_flight() {
        let mut collector = Collector::new(BEGIN_NS);
        for record in [
            request(9, 990, 1001),
            request(7, 1030, 1040),
            request(8, 1010, 1050),
            request(8, 900, 950),
            request(8, 0x10, 0),
        ] {
            collector.add(&record);
        }
        let in_flight = [request(7, 1020, 0), request(7, 999, 0), request(7, 2001, 0)];
        let missing = Missing {
            lost_events: 3,
            unseen_ends: 2,
        };
        let trace = collector.assemble(in_flight, owner, BEGIN_NS..2 * BEGIN_NS, missing);
        assert_eq!(times(&trace), [(10, Some(50)), (20, None), (30, Some(40))]);
        assert_eq!(trace.requests[0].queued_ns, Some(5));
        let names = trace.requests.iter().map(|request| request.owner);
        assert_eq!(names.collect::<Vec<_>>(), [0, 1, 1]);
        assert_eq!(trace.owners, [owner(8), owner(7)]);
        assert_eq!((trace.issued_before, trace.left_out), (1, 0));
        assert_eq!((trace.lost_events, trace.unseen_ends), (3, 2));
        assert!((trace.time_s - 1e-6).abs() < 1e-12);
    }

    #[test]
    fn what_ends_between_two_looks_stands_once() {
        let mut collector = Collector::new(BEGIN_NS);
        collector.add(&request(7, 1020, 1090));
        let elsewhere = Record {
            device: 1,
            ..request(7, 1020, 0)
        };
        let seen = vec![request(7, 1020, 0), request(8, 1020, 0), elsewhere];
        assert_eq!(collector.without_ended(seen.clone()), seen[1..]);
    }

    #[test]
    fn what_was_not_issued_is_in_no_trace() {
        let mut collector = Collector::new(BEGIN_NS);
        collector.add(&Record {
            op: Op::Flush,
            ..Record::issued(Op::Flush, 0, 2000)
        });
        let trace = collector.assemble([], owner, BEGIN_NS..1 << 40, Missing::default());
        assert_eq!((trace.requests.len(), trace.issued_before), (0, 0));
    }

    /// Ends come in another order than issues.
    #[test]
    fn the_first_are_kept_and_the_others_counted() {
        let many = 3 * MOST_KEPT as u64 + 7;
        let mut collector = Collector::new(BEGIN_NS);
        for back in (0..many).rev() {
            collector.add(&request(1, BEGIN_NS + back, 2 * BEGIN_NS + many));
        }
        let trace = collector.assemble([], owner, BEGIN_NS..1 << 40, Missing::default());
        assert_eq!(trace.requests.len(), MOST_REQUESTS);
        assert_eq!(trace.left_out, many - MOST_REQUESTS as u64);
        let issued = trace.requests.iter().map(|request| request.issued_ns);
        assert!(issued.eq(0..MOST_REQUESTS as i64));
    }
}
