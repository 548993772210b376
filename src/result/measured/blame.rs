//! Behind whom requests wait: the waiting of each owner on a disk, charged to those whose requests are in service meanwhile. Pure.
//!
//! At a moment W(a) requests of owner a wait (from Q to the first issue), F(b) of owner b are in service (from the issue to the end of
//! the data), F in all. a's waiting is charged W(a) F(b) / F to each b while F > 0, and W(a) to the idle device while F is 0. So the
//! parts add up to a's queue waits, whatever the scheduler does. It says who was there, not what would be without him.

mod error; // how sure a share is

use std::ops::Range;

pub use error::{BATCHES, FEWEST_PERIODS, FEWEST_WAITS, Spread};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// A request begins to wait.
    Wait,
    /// A request that waits is issued.
    Issue,
    /// A request that waits leaves without an issue.
    Leave,
    /// A request that was not seen to wait is issued.
    IssueAtOnce,
    /// A request in service ends.
    End,
}

impl Step {
    /// Its place among steps of the same moment.
    pub fn order(self) -> u8 {
        match self {
            Step::Wait => 0,
            Step::Issue | Step::Leave | Step::IssueAtOnce => 1,
            Step::End => 2,
        }
    }
}

/// What happens to a request of an owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    pub time_ns: u64,
    pub step: Step,
    /// A small number, because there is room for all below it; requests of the same owner have the same.
    pub owner: u32,
}

/// How much of an owner's waiting is whose.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Waiting {
    pub owner: u32,
    /// Requests that waited, and how long in all.
    pub waits: u64,
    pub wait_ns: u64,
    /// Its errors are those between parts of the time of the same length, and not between busy periods.
    pub is_by_batches: bool,
    /// While these were in service, in ns; the largest first.
    pub behind: Vec<Behind>,
    /// While nothing was in service.
    pub device_idle_ns: u64,
    /// While the device could have taken one more; part of the others. None where its depth is unknown.
    pub slot_free_ns: Option<u64>,
    /// Standard error of the share of the idle device; None where there is too little to tell.
    pub device_idle_error: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Behind {
    pub owner: u32,
    pub ns: u64,
    /// Standard error of its share; None where there is too little to tell.
    pub error: Option<f64>,
}

impl Waiting {
    /// A part of the waiting, from 0 to 1.
    pub fn share(&self, ns: u64) -> Option<f64> {
        (self.wait_ns > 0).then(|| ns as f64 / self.wait_ns as f64)
    }
}

/// Everything about a disk up to the last event. Its memory grows with the owners, not with the requests.
pub struct Charges {
    /// Requests that the device takes at once.
    depth: Option<u32>,
    now_ns: u64,
    /// Waiting and in service, of all owners.
    waiting: u64,
    in_service: u64,
    /// The integral of 1/F over the time with F > 0, in ns.
    service_clock: f64,
    idle_ns: u64,
    free_ns: u64,
    /// By number.
    owners: Vec<Owner>,
    /// What the device gave them; apart from the rest, because each event looks at that of all.
    services: Vec<Service>,
    /// Busy periods that have ended, and the owners that were there in the current one.
    periods: u64,
    present: Vec<usize>,
    /// Length and end of the present one of the parts into which the time is cut.
    batch: Option<(u64, u64)>,
}

#[derive(Default)]
struct Owner {
    waiting: u64,
    waits: u64,
    wait_ns: u64,
    device_idle_ns: u64,
    slot_free_ns: u64,
    /// When these were last brought up to date.
    charged_ns: u64,
    charged_idle_ns: u64,
    charged_free_ns: u64,
    /// By the number of another owner: what waited behind him, and his part of the device's time up to which that is.
    behind: Vec<(f64, f64)>,
    is_present: bool,
    by_period: Spread,
    by_batch: Spread,
}

/// Requests in service of an owner, his part of the device's time so far, and the service clock up to which that is.
#[derive(Clone, Copy, Default)]
struct Service {
    requests: f64,
    served: f64,
    clock: f64,
}

impl Service {
    /// His part of the device's time up to now.
    fn until(self, clock: f64) -> f64 {
        self.served + self.requests * (clock - self.clock)
    }

    fn change(&mut self, requests: f64, clock: f64) {
        self.served = self.until(clock);
        self.clock = clock;
        self.requests += requests;
    }
}

impl Charges {
    pub fn new(depth: Option<u32>) -> Charges {
        Charges {
            depth,
            now_ns: 0,
            waiting: 0,
            in_service: 0,
            service_clock: 0.0,
            idle_ns: 0,
            free_ns: 0,
            owners: Vec::new(),
            services: Vec::new(),
            periods: 0,
            present: Vec::new(),
            batch: None,
        }
    }

    /// In this time all events are; it is cut into parts for the errors, in case there are too few busy periods.
    #[must_use]
    pub fn within(mut self, time_ns: Range<u64>) -> Charges {
        let length_ns = time_ns.end.saturating_sub(time_ns.start) / BATCHES;
        self.batch = (length_ns > 0).then(|| (length_ns, time_ns.start.saturating_add(length_ns)));
        self
    }

    /// Events must come in the order of time; one that is earlier than the last counts with it.
    pub fn add(&mut self, event: Event) {
        self.advance(event.time_ns);
        let place = self.place(event.owner);
        match event.step {
            Step::Wait => {
                self.charge(place);
                self.owners[place].waiting += 1;
                self.owners[place].waits += 1;
                self.waiting += 1;
            }
            Step::Issue | Step::Leave => {
                self.charge(place);
                self.owners[place].waiting -= 1;
                self.waiting -= 1;
                if event.step == Step::Issue {
                    self.serve(place);
                }
            }
            Step::IssueAtOnce => self.serve(place),
            Step::End => {
                self.services[place].change(-1.0, self.service_clock);
                self.in_service -= 1;
            }
        }
        if self.waiting + self.in_service == 0 {
            self.end_period();
        }
    }

    fn advance(&mut self, to_ns: u64) {
        while let Some((length_ns, end_ns)) = self.batch.filter(|(_, end_ns)| *end_ns <= to_ns) {
            self.pass(end_ns);
            for place in 0..self.owners.len() {
                self.charge(place);
                let owner = &mut self.owners[place];
                let parts = owner.behind.iter().map(|(ns, _)| *ns);
                let idle = owner.device_idle_ns as f64;
                owner.by_batch.add_unit(owner.wait_ns as f64, idle, parts);
            }
            self.batch = end_ns
                .checked_add(length_ns)
                .map(|next_ns| (length_ns, next_ns));
        }
        self.pass(to_ns);
    }

    fn pass(&mut self, to_ns: u64) {
        let passed_ns = to_ns.saturating_sub(self.now_ns);
        self.now_ns = self.now_ns.max(to_ns);
        if self.in_service > 0 {
            self.service_clock += passed_ns as f64 / self.in_service as f64;
        } else {
            self.idle_ns += passed_ns;
        }
        if self
            .depth
            .is_some_and(|depth| self.in_service < u64::from(depth))
        {
            self.free_ns += passed_ns;
        }
    }

    fn place(&mut self, number: u32) -> usize {
        let place = number as usize;
        if place >= self.owners.len() {
            self.owners.resize_with(place + 1, Owner::default);
            self.services.resize(place + 1, Service::default());
        }
        let owner = &mut self.owners[place];
        if !std::mem::replace(&mut owner.is_present, true) {
            self.present.push(place);
        }
        place
    }

    fn serve(&mut self, place: usize) {
        self.services[place].change(1.0, self.service_clock);
        self.in_service += 1;
    }

    /// Charges the owner's waiting since the last call; its number of waiting requests was the same since then.
    fn charge(&mut self, place: usize) {
        let clock = self.service_clock;
        let owner = &mut self.owners[place];
        if owner.behind.len() < self.services.len() {
            // Whoever is new has served nobody before.
            owner.behind.resize(self.services.len(), (0.0, 0.0));
        }
        let waiting = owner.waiting;
        // Times of a file may be any.
        let add = |sum: &mut u64, ns: u64| *sum = sum.saturating_add(waiting.saturating_mul(ns));
        add(&mut owner.wait_ns, self.now_ns - owner.charged_ns);
        add(
            &mut owner.device_idle_ns,
            self.idle_ns - owner.charged_idle_ns,
        );
        add(
            &mut owner.slot_free_ns,
            self.free_ns - owner.charged_free_ns,
        );
        owner.charged_ns = self.now_ns;
        owner.charged_idle_ns = self.idle_ns;
        owner.charged_free_ns = self.free_ns;
        for ((ns, until), service) in owner.behind.iter_mut().zip(&self.services) {
            let served = service.until(clock);
            *ns += waiting as f64 * (served - *until);
            *until = served;
        }
    }

    /// Nothing waits and nothing is in service: what follows does not depend on what was.
    fn end_period(&mut self) {
        for place in std::mem::take(&mut self.present) {
            let owner = &mut self.owners[place];
            owner.is_present = false;
            let parts = owner.behind.iter().map(|(ns, _)| *ns);
            let idle = owner.device_idle_ns as f64;
            owner.by_period.add_unit(owner.wait_ns as f64, idle, parts);
        }
        self.periods += 1;
    }

    /// Periods, each from the first request to the moment at which there is none any more.
    pub fn busy_periods(&self) -> u64 {
        self.periods
    }

    /// The waiting of all owners up to `until_ns`, the longest first. Owners that never waited are left out.
    pub fn waiting(mut self, until_ns: u64) -> Vec<Waiting> {
        self.advance(until_ns);
        (0..self.owners.len()).for_each(|place| self.charge(place));
        let can_cut = self.batch.is_some();
        // A few busy periods with most of its waiting say little about the error.
        let is_by_batches = |owner: &Owner| {
            let is_enough = owner
                .by_period
                .is_enough(FEWEST_PERIODS, owner.wait_ns as f64);
            can_cut && !is_enough
        };
        let error = |owner: &Owner, place| {
            if is_by_batches(owner) {
                owner.by_batch.error_of_batches(owner.waits, place)
            } else {
                owner.by_period.error(FEWEST_PERIODS, owner.waits, place)
            }
        };
        let owners = (0..).zip(&self.owners);
        let waits = owners.filter(|(_, owner)| owner.wait_ns > 0);
        let mut all: Vec<Waiting> = waits
            .map(|(number, owner)| {
                let parts = owner.behind.iter().map(|(ns, _)| *ns);
                let whole = whole_ns(parts, owner.wait_ns - owner.device_idle_ns);
                let behind = (0..).zip(whole).filter(|(_, ns)| *ns > 0);
                let mut behind: Vec<Behind> = behind
                    .map(|(other, ns)| Behind {
                        owner: other,
                        ns,
                        error: error(owner, Some(other as usize)),
                    })
                    .collect();
                behind.sort_by_key(|of| std::cmp::Reverse(of.ns));
                Waiting {
                    owner: number,
                    waits: owner.waits,
                    wait_ns: owner.wait_ns,
                    is_by_batches: is_by_batches(owner),
                    behind,
                    device_idle_ns: owner.device_idle_ns,
                    slot_free_ns: self.depth.map(|_| owner.slot_free_ns),
                    device_idle_error: error(owner, None),
                }
            })
            .collect();
        all.sort_by_key(|of| std::cmp::Reverse(of.wait_ns));
        all
    }
}

/// The parts in whole nanoseconds, so that they add up to `sum`: rounded down, and the rest to the largest remainders.
fn whole_ns(parts: impl Iterator<Item = f64>, sum: u64) -> Vec<u64> {
    let parts: Vec<f64> = parts.map(|part| part.max(0.0)).collect();
    let all: f64 = parts.iter().sum();
    // What is lost to rounding in the sums is spread over all parts.
    let scale = if all > 0.0 { sum as f64 / all } else { 0.0 };
    let mut whole: Vec<u64> = parts.iter().map(|part| (part * scale) as u64).collect();
    let mut by_remainder: Vec<usize> = (0..parts.len()).collect();
    let remainder = |place: &usize| (parts[*place] * scale).fract();
    by_remainder.sort_by(|a, b| remainder(b).total_cmp(&remainder(a)));
    let mut given: u64 = whole.iter().sum();
    for place in by_remainder
        .into_iter()
        .filter(|place| parts[*place] > 0.0)
        .cycle()
    {
        match given.cmp(&sum) {
            std::cmp::Ordering::Less => {
                whole[place] += 1;
                given += 1;
            }
            std::cmp::Ordering::Greater if whole[place] > 0 => {
                whole[place] -= 1;
                given -= 1;
            }
            std::cmp::Ordering::Greater => {}
            std::cmp::Ordering::Equal => break,
        }
    }
    whole
}

#[cfg(test)]
mod tests;
