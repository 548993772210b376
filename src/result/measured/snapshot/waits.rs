//! What requests waited for before their issue. Pure.

use serde::{Deserialize, Serialize};

use super::cause::Cause;

/// The tags of which a request needs one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pool {
    /// The device's own.
    Driver,
    /// `nr_requests` of them, under any scheduler but none.
    Scheduler,
    /// Kept for commands that must not wait behind others.
    Reserved,
}

impl Pool {
    /// In the kernel side's order.
    pub const ALL: [Pool; 3] = [Pool::Driver, Pool::Scheduler, Pool::Reserved];
}

/// Requests that waited for one thing, and for how long.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Wait {
    pub requests: u64,
    /// Summed, in ns.
    pub ns: u64,
}

/// The parts of the queue wait, those that are not 0, summed over the requests of a device or an owner. Each request counts how long its thread has
/// slept since the Q of its bio; a thread that still sleeps counts so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Waits {
    /// Threads slept until they got these requests: for a tag, for writeback throttling, io.latency or io.cost, or for the
    /// end of a change of the scheduler.
    #[serde(skip_serializing_if = "is_nothing")]
    pub slept: Wait,
    /// The part of `slept` for a tag of the driver.
    #[serde(skip_serializing_if = "is_nothing")]
    pub driver_tag: Wait,
    /// The part of `slept` for a tag of the scheduler.
    #[serde(skip_serializing_if = "is_nothing")]
    pub scheduler_tag: Wait,
    /// The part of `slept` for a reserved tag.
    #[serde(skip_serializing_if = "is_nothing")]
    pub reserved_tag: Wait,
    /// True if this kernel does not say for what a thread sleeps (`block_rq_tag_wait`, Linux 7.2): then all of `slept` is
    /// charged to the pool of which requests are allocated, although it may be something else.
    #[serde(skip_serializing_if = "is_nothing")]
    pub is_inferred: bool,
    /// Q2G in ns, of the requests whose queue wait is known.
    #[serde(skip_serializing_if = "is_nothing")]
    pub q2g_ns: u64,
    /// The part of it of requests whose thread did not sleep.
    #[serde(skip_serializing_if = "is_nothing")]
    pub allocation_ns: u64,
    /// From the request to its insert into the scheduler, in ns; 0 unless `is_split`.
    #[serde(skip_serializing_if = "is_nothing")]
    pub plug_ns: u64,
    /// I2D in ns; 0 unless `is_split`.
    #[serde(skip_serializing_if = "is_nothing")]
    pub scheduler_ns: u64,
    /// Whether inserts are measured.
    #[serde(skip_serializing_if = "is_nothing")]
    pub is_split: bool,
}

/// What is 0 is left out: there are many owners.
fn is_nothing<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl Wait {
    fn since(self, earlier: Wait) -> Wait {
        // A thread that was ended while it waited takes its share along.
        Wait {
            requests: self.requests.saturating_sub(earlier.requests),
            ns: self.ns.saturating_sub(earlier.ns),
        }
    }
}

impl std::ops::AddAssign for Wait {
    fn add_assign(&mut self, other: Wait) {
        // A result that somebody else wrote may have any numbers.
        self.requests = self.requests.saturating_add(other.requests);
        self.ns = self.ns.saturating_add(other.ns);
    }
}

impl Waits {
    pub fn tag(&mut self, pool: Pool) -> &mut Wait {
        match pool {
            Pool::Driver => &mut self.driver_tag,
            Pool::Scheduler => &mut self.scheduler_tag,
            Pool::Reserved => &mut self.reserved_tag,
        }
    }

    /// For what the threads slept, and for how long.
    pub fn sleeps(&self) -> [(Cause, u64); 4] {
        let [driver, scheduler] = if self.is_inferred {
            [Cause::InferredDriverTag, Cause::InferredSchedulerTag]
        } else {
            [Cause::DriverTag, Cause::SchedulerTag]
        };
        [
            (driver, self.driver_tag.ns),
            (scheduler, self.scheduler_tag.ns),
            (Cause::ReservedTag, self.reserved_tag.ns),
            (Cause::Throttle, self.throttle_ns()),
        ]
    }

    /// The part of `slept` for something else than a tag.
    pub fn throttle_ns(&self) -> u64 {
        let tags = [self.driver_tag, self.scheduler_tag, self.reserved_tag];
        let left = |slept_ns: u64, tag: Wait| slept_ns.saturating_sub(tag.ns);
        tags.into_iter().fold(self.slept.ns, left)
    }

    /// The difference to an earlier state.
    #[must_use]
    pub fn since(&self, earlier: &Waits) -> Waits {
        Waits {
            slept: self.slept.since(earlier.slept),
            driver_tag: self.driver_tag.since(earlier.driver_tag),
            scheduler_tag: self.scheduler_tag.since(earlier.scheduler_tag),
            reserved_tag: self.reserved_tag.since(earlier.reserved_tag),
            q2g_ns: self.q2g_ns.saturating_sub(earlier.q2g_ns),
            allocation_ns: self.allocation_ns.saturating_sub(earlier.allocation_ns),
            plug_ns: self.plug_ns.saturating_sub(earlier.plug_ns),
            scheduler_ns: self.scheduler_ns.saturating_sub(earlier.scheduler_ns),
            ..*self
        }
    }
}

impl std::ops::Add for Waits {
    type Output = Waits;

    fn add(mut self, other: Waits) -> Waits {
        self += other;
        self
    }
}

impl std::ops::AddAssign for Waits {
    fn add_assign(&mut self, other: Waits) {
        self.slept += other.slept;
        self.driver_tag += other.driver_tag;
        self.scheduler_tag += other.scheduler_tag;
        self.reserved_tag += other.reserved_tag;
        self.is_inferred |= other.is_inferred;
        self.q2g_ns = self.q2g_ns.saturating_add(other.q2g_ns);
        self.allocation_ns = self.allocation_ns.saturating_add(other.allocation_ns);
        self.plug_ns = self.plug_ns.saturating_add(other.plug_ns);
        self.scheduler_ns = self.scheduler_ns.saturating_add(other.scheduler_ns);
        self.is_split |= other.is_split;
    }
}
