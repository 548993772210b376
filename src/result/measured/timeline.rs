//! What depends on the order of events: dispatch order, and the shares of owners. Pure.
//!
//! Records arrive in the order in which requests end, and a request in flight has none yet. So whoever advances the timeline
//! brings along a look at the requests in flight: with it every start and every issue before that look is known.

mod dispatch; // the order of issues
mod event; // requests and their events
mod share; // of an owner

use std::collections::{HashMap, HashSet};

use super::order::Dispatch;
use super::record::Record;
use super::snapshot::Order;
use dispatch::DispatchBook;
use event::{Identity, Kind, Progress, Request};
use share::ServiceClock;
pub use share::Share;

/// Says what a timeline keeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    pub order: bool,
    pub fairness: bool,
}

/// Requests that have ended, but whose events are not counted yet: from here on it is time to advance.
const MANY: usize = 16_384;
/// The same where the table of those in flight is large.
const MOST: usize = 262_144;

/// Everything since the attach.
pub struct Timeline {
    kept: Kept,
    /// All events up to here are counted.
    until_ns: u64,
    ended: Vec<Request>,
    /// Requests in flight of which events are counted.
    in_flight: HashMap<Identity, Vec<Request>>,
    devices: Vec<Device>,
    /// By row; as many as there were requests of.
    shares: Vec<Share>,
}

#[derive(Default)]
struct Device {
    dispatch: DispatchBook,
    clock: ServiceClock,
}

impl Timeline {
    pub fn new(devices: usize, kept: Kept) -> Timeline {
        Timeline {
            kept,
            until_ns: 0,
            ended: Vec::new(),
            in_flight: HashMap::new(),
            devices: (0..devices).map(|_| Device::default()).collect(),
            shares: Vec::new(),
        }
    }

    pub fn is_kept(&self) -> bool {
        self.kept != Kept::default()
    }

    /// A request that has ended. One of an unknown device is left out.
    pub fn add(&mut self, record: &Record) {
        if self.is_kept() && usize::from(record.device) < self.devices.len() {
            self.ended.push(Request::new(record));
        }
    }

    /// Whether so many requests wait for the next [`Timeline::advance`] that it should come now. `table`: how many requests could be
    /// in flight; all of them are looked at.
    pub fn is_due(&self, table: usize) -> bool {
        self.ended.len() >= table.clamp(MANY, MOST)
    }

    /// Counts all events up to `until_ns`. `in_flight`: the requests that were in flight at a later moment, each with 0 as the
    /// time of what has not happened; the records of all others are added already. A request that is in neither has left
    /// without an end of its own, for example by a merge.
    pub fn advance(&mut self, until_ns: u64, in_flight: impl IntoIterator<Item = Record>) {
        let until_ns = until_ns.max(self.until_ns);
        let mut requests = self.gather(until_ns, in_flight);
        for event in event::in_order(&requests, self.until_ns, until_ns) {
            let time_ns = event.time_ns(self.until_ns);
            self.count(event.kind(), time_ns, &mut requests[event.index()]);
        }
        requests.retain(|request| {
            if request.has_ended() {
                return request.end_ns() > until_ns;
            }
            if request.progress != Progress::New {
                let same = self.in_flight.entry(request.identity()).or_default();
                same.push(request.clone());
            }
            false
        });
        self.ended = requests;
        self.until_ns = until_ns;
    }

    /// All requests that may have events to count.
    fn gather(
        &mut self,
        until_ns: u64,
        in_flight: impl IntoIterator<Item = Record>,
    ) -> Vec<Request> {
        let mut known = std::mem::take(&mut self.in_flight);
        let mut requests = std::mem::take(&mut self.ended);
        let devices = self.devices.len();
        let in_flight = in_flight.into_iter().map(|record| Request::new(&record));
        let mut in_flight: Vec<Request> = in_flight
            .filter(|request| usize::from(request.record.device) < devices)
            .collect();
        let mut seen_ns: Vec<u64> = in_flight.iter().map(Request::seen_ns).collect();
        seen_ns.sort_unstable();
        // A request that ended after the look at those in flight stands in both.
        let mut in_both = HashSet::new();
        for request in &mut requests {
            request.resume(self.until_ns, &mut known);
            if seen_ns.binary_search(&request.seen_ns()).is_ok() {
                in_both.insert((request.identity(), Some(request.record.sector)));
                if request.record.c_ns >= until_ns {
                    // Its sector may have changed by a merge since that look.
                    in_both.insert((request.identity(), None));
                }
            }
        }
        in_flight.retain(|request| {
            let of = |sector| in_both.contains(&(request.identity(), sector));
            !of(Some(request.record.sector)) && !of(None)
        });
        for mut request in in_flight {
            request.resume(self.until_ns, &mut known);
            requests.push(request);
        }
        for mut request in known.into_values().flatten() {
            // Since the last look, nobody knows when.
            request.leave(self.until_ns);
            requests.push(request);
        }
        requests
    }

    fn count(&mut self, kind: Kind, time_ns: u64, request: &mut Request) {
        let Kept { order, fairness } = self.kept;
        let record = &request.record;
        let row = record.owner as usize;
        if row >= self.shares.len() {
            self.shares.resize_with(row + 1, Share::default);
        }
        let share = &mut self.shares[row];
        let device = &mut self.devices[usize::from(record.device)];
        let has_started = record.g_ns > 0;
        let is_ordered = order && record.is_scheduled && has_started;
        match kind {
            Kind::Start => {
                if is_ordered {
                    request.number = device.dispatch.start(record);
                }
                if fairness {
                    share.start(record.queued_ns());
                }
                request.progress = Progress::Started;
            }
            Kind::Issue => {
                if is_ordered {
                    device.dispatch.issue(record, request.number);
                }
                if fairness {
                    request.clock = device.clock.issue(time_ns);
                    if has_started {
                        share.issue(time_ns);
                    }
                }
                request.progress = Progress::Issued;
            }
            Kind::End => {
                let was_issued = request.progress == Progress::Issued;
                if is_ordered && !was_issued {
                    device.dispatch.leave();
                }
                if fairness && was_issued {
                    let clock = device.clock.end(time_ns);
                    // Whoever waits for a flush command has a request of his own.
                    if !record.is_flush_command {
                        share.add_device_time(clock - request.clock);
                    }
                }
                if fairness && has_started {
                    if !was_issued {
                        share.leave();
                    }
                    share.end(time_ns);
                }
                request.progress = Progress::Ended;
            }
        }
    }

    /// Records were lost: the last issues of all devices have a gap here.
    pub fn note_loss(&mut self) {
        for device in &mut self.devices {
            device.dispatch.note_loss();
        }
    }

    /// The counts of a device's dispatch order; None unless they are kept.
    pub fn order(&self, device: usize) -> Option<Order> {
        let book = &self.devices[device].dispatch;
        self.kept.order.then(|| book.counts().clone())
    }

    /// The last issues of a device, oldest first.
    pub fn dispatches(&self, device: usize) -> Vec<Dispatch> {
        self.devices[device].dispatch.last().cloned().collect()
    }

    /// The share of the owner in this row; None unless shares are kept.
    pub fn share(&self, row: usize) -> Option<Share> {
        let share = || self.shares.get(row).cloned().unwrap_or_default();
        self.kept.fairness.then(share)
    }

    /// All events up to this time are counted.
    pub fn until_ns(&self) -> u64 {
        self.until_ns
    }

    /// The owner's longest starvation since the last call.
    pub fn take_longest_starvation_ns(&mut self, row: usize) -> u64 {
        let share = self.shares.get_mut(row);
        share.map_or(0, Share::take_longest_ns)
    }

    /// The row is given to another owner.
    pub fn forget_owner(&mut self, row: usize) {
        if let Some(share) = self.shares.get_mut(row) {
            *share = Share::default();
        }
    }
}

#[cfg(test)]
mod tests;
