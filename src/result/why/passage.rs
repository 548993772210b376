//! The requests of a stretch of time, and their events. Pure.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::hash::{BuildHasherDefault, Hasher};
use std::ops::Range;

use super::Does;
use super::request::{Request, Requests};
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
    /// In the order of their first moments. Times of what had not happened at the end are 0.
    requests: Requests,
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
    fn of(request: &Request) -> Party {
        Party {
            who: if request.is_flush_command {
                Who::Flush
            } else {
                Who::Row(request.owner)
            },
            does: Does::of(request.op),
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
    /// `missing`: requests that are not among them, of all disks.
    pub fn new(time_ns: Range<u64>, mut requests: Requests, missing: u64) -> Stretch {
        requests.sort();
        Stretch {
            begin_ns: time_ns.start,
            end_ns: time_ns.end,
            requests,
            missing,
        }
    }

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
        let missing = [trace.issued_before, trace.lost_events, trace.unseen_ends];
        let missing = missing.into_iter().fold(0, u64::saturating_add);
        Stretch::new(BEGIN_NS..at(end_ns), known.map(record).collect(), missing)
    }

    pub fn into_requests(self) -> Requests {
        self.requests
    }

    pub fn requests(&self) -> &Requests {
        &self.requests
    }

    /// Owners by other numbers.
    pub fn renumber(&mut self, number: impl FnMut(u32) -> u32) {
        self.requests.renumber(number);
    }

    pub fn time_s(&self) -> f64 {
        self.end_ns.saturating_sub(self.begin_ns) as f64 / 1e9
    }

    /// What the disk has not answered at the end.
    pub fn silence(&self, disk: usize) -> Silence {
        let last_ns = self.begin_ns.max(self.requests.last_ns(disk));
        let (mut in_service, mut first_ns) = (0, self.end_ns);
        for request in self.of(disk) {
            if request.issued_ns > 0 && !request.is_over {
                in_service += 1;
                first_ns = first_ns.min(request.issued_ns);
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

    fn of(&self, disk: usize) -> impl Iterator<Item = Request> {
        let its = move |request: &Request| usize::from(request.device) == disk;
        self.requests.iter().filter(its)
    }

    /// What everybody with a request on a disk got of it; `most` parties are kept apart.
    pub fn parties(&self, disk: usize, most: usize) -> Parties {
        let mut places: HashMap<Party, u32, BuildHasherDefault<ByProduct>> = HashMap::default();
        let mut all: Vec<(Party, u64, Service)> = Vec::new();
        let place_of = |request: Request| {
            let party = Party::of(&request);
            let place = *places.entry(party).or_insert(all.len() as u32);
            if place as usize == all.len() {
                all.push((party, 0, Service::default()));
            }
            let (_, requests, service) = &mut all[place as usize];
            *requests += 1;
            if (self.begin_ns..self.end_ns).contains(&request.issued_ns) {
                service.ios += 1;
                service.ns += request.done_ns.saturating_sub(request.issued_ns);
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
    pub fn events(&self, disk: usize, parties: &Parties) -> impl Iterator<Item = Event> {
        let each = self.of(disk).zip(&parties.numbers);
        let courses = each.filter_map(|(request, number)| self.course(&request, *number));
        Events {
            courses: courses.peekable(),
            open: BinaryHeap::new(),
            end_ns: self.end_ns,
        }
    }

    /// None if the request was over before the stretch.
    fn course(&self, request: &Request, owner: u32) -> Option<Course> {
        let or_never = |ns: u64| if ns == 0 { u64::MAX } else { ns };
        let queued_ns = request.queued_ns;
        let issued_ns = or_never(request.issued_ns).max(queued_ns);
        let done_ns = or_never(request.done_ns).max(issued_ns);
        if done_ns <= self.begin_ns {
            return None;
        }
        // A wait for a flush is not one for the device, and an empty flush is never issued.
        let is_ever_issued = request.issued_ns > 0 || !request.is_over;
        let waits = queued_ns > 0
            && request.op != Op::Flush
            && is_ever_issued
            && !request.is_preflush
            && !request.is_flush_command;
        let is_before = issued_ns <= self.begin_ns && queued_ns < self.begin_ns;
        let within = |ns: u64| ns.max(self.begin_ns);
        Some(Course {
            wait_ns: (waits && !is_before).then_some(within(queued_ns)),
            issued_ns: within(issued_ns),
            done_ns: within(done_ns),
            first_ns: within(request.first_ns()),
            owner,
        })
    }
}

/// When a request does what, from the beginning of the stretch on.
struct Course {
    /// None if its waiting is not seen, or is none for the device.
    wait_ns: Option<u64>,
    issued_ns: u64,
    done_ns: u64,
    first_ns: u64,
    owner: u32,
}

/// What a request that has begun does next.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Next {
    time_ns: u64,
    /// See `Step::order`.
    order: u8,
    owner: u32,
    has_waited: bool,
    /// For an issue.
    done_ns: u64,
}

/// Events in the order of time, from requests in the order of their first moments: only those between their beginning and their end
/// are kept.
struct Events<I: Iterator<Item = Course>> {
    courses: std::iter::Peekable<I>,
    open: BinaryHeap<Reverse<Next>>,
    end_ns: u64,
}

impl<I: Iterator<Item = Course>> Events<I> {
    /// Nothing after the end happens.
    fn open(&mut self, next: Next) {
        if next.time_ns < self.end_ns {
            self.open.push(Reverse(next));
        }
    }
}

impl<I: Iterator<Item = Course>> Iterator for Events<I> {
    type Item = Event;

    fn next(&mut self) -> Option<Event> {
        let event = |time_ns: u64, step: Step, owner: u32| Event {
            time_ns,
            step,
            owner,
        };
        loop {
            let next_ns = self.open.peek().map_or(u64::MAX, |next| next.0.time_ns);
            // Waits come first among what happens at the same moment.
            let Some(course) = self.courses.next_if(|course| course.first_ns <= next_ns) else {
                break;
            };
            self.open(Next {
                time_ns: course.issued_ns,
                order: Step::Issue.order(),
                owner: course.owner,
                has_waited: course.wait_ns.is_some(),
                done_ns: course.done_ns,
            });
            if let Some(wait_ns) = course.wait_ns.filter(|ns| *ns < self.end_ns) {
                return Some(event(wait_ns, Step::Wait, course.owner));
            }
        }
        let Reverse(next) = self.open.pop()?;
        if next.order == Step::End.order() {
            return Some(event(next.time_ns, Step::End, next.owner));
        }
        self.open(Next {
            time_ns: next.done_ns,
            order: Step::End.order(),
            ..next
        });
        let step = if next.has_waited {
            Step::Issue
        } else {
            Step::IssueAtOnce
        };
        Some(event(next.time_ns, step, next.owner))
    }
}

#[cfg(test)]
#[path = "passage_tests.rs"]
mod tests;
