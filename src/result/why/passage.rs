//! The requests of a stretch of time, and their events. Pure.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use super::Does;
use crate::measured::blame::{Event, Step};
use crate::measured::record::Record;
use crate::measured::snapshot::Op;
use crate::measured::trace::{Trace, TracedRequest};

/// All requests that waited or were in service in a stretch of time.
#[derive(Clone, Debug, Default)]
pub struct Stretch {
    /// CLOCK_MONOTONIC.
    pub begin_ns: u64,
    pub end_ns: u64,
    /// Times of what had not happened at the end are 0.
    pub requests: Vec<Record>,
    /// Requests that are not among them, of all disks.
    pub missing: u64,
}

/// How long a disk has ended no request, although it had some.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Silence {
    /// Requests in service at the end.
    pub in_service: u64,
    /// Since the last end, or since it has the oldest of these.
    pub ns: u64,
    /// Since when it has the oldest.
    pub oldest_ns: u64,
}

/// The requests of one owner that do the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Party {
    pub who: Who,
    pub does: Does,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Who {
    /// The kernel's commands for the flushes of others.
    Flush,
    /// Everybody for whom there is no room.
    Rest,
    /// The owner with this row.
    Row(u32),
}

/// Parties that are kept apart: the charges need room and time for each pair of them.
pub const MOST_PARTIES: usize = 256;
/// The same for the rounds of a result and for a history, which keep many stretches.
pub const FEW_PARTIES: usize = 16;

impl Party {
    fn of(record: &Record) -> Party {
        Party {
            who: if record.is_flush_command {
                Who::Flush
            } else {
                Who::Row(record.owner)
            },
            does: Does::of(record.op),
        }
    }

    fn of_rest(does: Does) -> Party {
        let who = Who::Rest;
        Party { who, does }
    }
}

/// What a party got of the device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Service {
    pub ios: u64,
    pub ns: u64,
}

/// Whoever had requests on a disk.
pub struct Parties {
    /// Those who are kept apart and the sums of the others, in their order; their numbers are their places here.
    pub services: Vec<(Party, Service)>,
    /// The number of each of the disk's requests.
    numbers: Vec<u32>,
}

/// Rows are small numbers that nobody chooses, and each request is looked up.
#[derive(Default)]
struct ByProduct(u64);

impl Hasher for ByProduct {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u8(*byte);
        }
    }

    fn write_u8(&mut self, number: u8) {
        self.write_u64(number.into());
    }

    fn write_u32(&mut self, number: u32) {
        self.write_u64(number.into());
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0.rotate_left(5) ^ number).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }

    fn write_isize(&mut self, number: isize) {
        self.write_u64(number.cast_unsigned() as u64);
    }

    fn finish(&self) -> u64 {
        self.0.rotate_left(20)
    }
}

impl Stretch {
    /// The requests of a trace, whose owners are numbered as there. A trace has those that were issued: those that still waited at its
    /// end, and those that were in service at its beginning, are not in it. Which writes waited for a flush first is not in it either.
    pub fn of_trace(trace: &Trace) -> Stretch {
        /// Times of a trace may lie before its beginning.
        const BEGIN_NS: u64 = 1 << 62;
        let at = |ns: i64| BEGIN_NS.saturating_add_signed(ns);
        let or_never = |ns: Option<i64>| ns.map_or(0, at);
        let record = |request: &TracedRequest| Record {
            q_ns: or_never(request.queued_ns),
            g_ns: or_never(request.started_ns),
            sector: request.sector,
            bytes: request.bytes,
            owner: u32::try_from(request.owner).unwrap_or(u32::MAX),
            device: u16::try_from(request.disk).unwrap_or(u16::MAX),
            is_flush_command: request.op == Op::Flush && request.queued_ns.is_none(),
            ..Record::issued(
                request.op,
                at(request.issued_ns),
                or_never(request.completed_ns),
            )
        };
        let whole_ns = (trace.time_s * 1e9) as i64;
        // Nothing is known of what was issued after the last request that was kept.
        let last = trace.requests.last().filter(|_| trace.left_out > 0);
        let end_ns = last.map_or(whole_ns, |last| last.issued_ns.min(whole_ns));
        // How long these were in service is not known.
        let known = trace
            .requests
            .iter()
            .filter(|request| !request.is_end_unseen);
        Stretch {
            begin_ns: BEGIN_NS,
            end_ns: at(end_ns),
            requests: known.map(record).collect(),
            missing: [trace.issued_before, trace.lost_events, trace.unseen_ends]
                .into_iter()
                .fold(0, u64::saturating_add),
        }
    }

    pub fn time_s(&self) -> f64 {
        self.end_ns.saturating_sub(self.begin_ns) as f64 / 1e9
    }

    /// What the disk has not answered at the end.
    pub fn silence(&self, disk: usize) -> Silence {
        let mut last_ns = self.begin_ns;
        let (mut in_service, mut first_ns) = (0, self.end_ns);
        for record in self.of(disk) {
            last_ns = last_ns.max(record.c_ns);
            if record.d_ns > 0 && record.c_ns == 0 {
                in_service += 1;
                first_ns = first_ns.min(record.d_ns);
            }
        }
        Silence {
            in_service,
            ns: self
                .end_ns
                .saturating_sub(last_ns.max(first_ns.min(self.end_ns))),
            oldest_ns: self.end_ns - first_ns,
        }
    }

    fn of(&self, disk: usize) -> impl Iterator<Item = &Record> {
        let its = move |record: &&Record| usize::from(record.device) == disk;
        self.requests.iter().filter(its)
    }

    /// What everybody with a request on a disk got of it; `most` parties are kept apart.
    pub fn parties(&self, disk: usize, most: usize) -> Parties {
        let mut places: HashMap<Party, u32, BuildHasherDefault<ByProduct>> = HashMap::default();
        let mut all: Vec<(Party, u64, Service)> = Vec::new();
        let place_of = |record: &Record| {
            let party = Party::of(record);
            let place = *places.entry(party).or_insert(all.len() as u32);
            if place as usize == all.len() {
                all.push((party, 0, Service::default()));
            }
            let (_, requests, service) = &mut all[place as usize];
            *requests += 1;
            if (self.begin_ns..self.end_ns).contains(&record.d_ns) {
                service.ios += 1;
                service.ns += record.data_ns.saturating_sub(record.d_ns);
            }
            place
        };
        let mut numbers: Vec<u32> = self.of(disk).map(place_of).collect();
        let mut busiest: Vec<usize> = (0..all.len()).collect();
        busiest.sort_unstable_by_key(|place| {
            let (party, requests, _) = all[*place];
            (std::cmp::Reverse(requests), party)
        });
        let mut services: Vec<(Party, Service)> = Vec::new();
        let mut shown: Vec<Party> = all.iter().map(|(party, ..)| *party).collect();
        for (rank, place) in busiest.into_iter().enumerate() {
            let is_apart = rank + 4 < most;
            if !is_apart {
                shown[place] = Party::of_rest(shown[place].does);
            }
            let party = shown[place];
            let known = services.iter().position(|(other, _)| *other == party);
            let known = known.filter(|_| !is_apart).unwrap_or_else(|| {
                services.push((party, Service::default()));
                services.len() - 1
            });
            let (_, sum) = &mut services[known];
            sum.ios += all[place].2.ios;
            sum.ns += all[place].2.ns;
        }
        services.sort_unstable_by_key(|(party, _)| *party);
        let number = |party: &Party| services.partition_point(|(other, _)| other < party) as u32;
        let shown: Vec<u32> = shown.iter().map(number).collect();
        for number in &mut numbers {
            *number = shown[*number as usize];
        }
        Parties { services, numbers }
    }

    /// The events of a disk in the order of time. What began before the stretch begins with it.
    pub fn events(&self, disk: usize, parties: &Parties) -> Vec<Event> {
        let mut events = Vec::with_capacity(3 * parties.numbers.len());
        for (record, number) in self.of(disk).zip(&parties.numbers) {
            self.add_events(record, *number, &mut events);
        }
        events.sort_unstable_by_key(|event| (event.time_ns, event.step.order()));
        events
    }

    fn add_events(&self, record: &Record, owner: u32, events: &mut Vec<Event>) {
        let or_never = |ns: u64| if ns == 0 { u64::MAX } else { ns };
        let queued_ns = record.queued_ns();
        let issued_ns = or_never(record.d_ns).max(queued_ns);
        let done_ns = or_never(record.data_ns).max(issued_ns);
        // A wait for a flush is not one for the device, and an empty flush is never issued.
        let is_ever_issued = record.d_ns > 0 || record.c_ns == 0;
        let waits = queued_ns > 0
            && record.op != Op::Flush
            && is_ever_issued
            && !record.is_preflush
            && !record.is_flush_command;
        let mut add = |time_ns: u64, step: Step| {
            let time_ns = time_ns.max(self.begin_ns);
            if time_ns < self.end_ns {
                events.push(Event {
                    time_ns,
                    step,
                    owner,
                });
            }
        };
        if done_ns <= self.begin_ns {
            return;
        }
        if waits && (issued_ns > self.begin_ns || queued_ns >= self.begin_ns) {
            add(queued_ns, Step::Wait);
            add(issued_ns, Step::Issue);
        } else {
            add(issued_ns, Step::IssueAtOnce);
        }
        add(done_ns, Step::End);
    }
}
