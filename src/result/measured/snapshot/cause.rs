//! Names for what I/Os wait for. Pure.

use serde::{Deserialize, Serialize};

/// What an I/O waits for, in the order of its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// A limit of its control group (io.max) held the bio back, before its Q.
    Limit,
    /// The thread slept for a tag of the driver: the device is full.
    DriverTag,
    /// The thread slept for a tag of the scheduler: `nr_requests` are in use.
    SchedulerTag,
    /// The thread slept for a reserved tag.
    ReservedTag,
    /// The thread slept, and this kernel does not say for what (`block_rq_tag_wait`, Linux 7.2): inferred to be a tag of the
    /// driver, because there is no scheduler. It may be what `throttle` is elsewhere.
    InferredDriverTag,
    /// The same under a scheduler: inferred to be one of its tags.
    InferredSchedulerTag,
    /// The thread slept for something else than a tag: writeback throttling, io.latency, io.cost, or the end of a change of
    /// the scheduler.
    Throttle,
    /// Q2G of the requests whose thread did not sleep: it ran, or waited for a CPU.
    Allocation,
    /// From the request to its insert into the scheduler: in the plug of the thread, which submits several at once.
    Plug,
    /// I2D: in the scheduler.
    Scheduler,
    /// G2D of requests that were not inserted: issued from the thread itself, or held for lack of a free slot.
    Dispatch,
    /// G2D, where inserts are not measured: the plug, the scheduler and the dispatch together.
    Queue,
    /// Writes waited for flushes before or after their data, and empty flushes for theirs.
    Flush,
    /// From a requeue by the driver to the next issue.
    Requeue,
    /// D2C without requeues: the driver and the device.
    Device,
}

impl Cause {
    /// A few words, as in "73 % scheduler".
    pub fn name(self) -> &'static str {
        match self {
            Cause::Limit => "limit",
            Cause::DriverTag => "driver tag",
            Cause::SchedulerTag => "scheduler tag",
            Cause::ReservedTag => "reserved tag",
            Cause::InferredDriverTag => "driver tag or throttle",
            Cause::InferredSchedulerTag => "scheduler tag or throttle",
            Cause::Throttle => "throttle",
            Cause::Allocation => "allocation",
            Cause::Plug => "plug",
            Cause::Scheduler => "scheduler",
            Cause::Dispatch => "dispatch",
            Cause::Queue => "queue",
            Cause::Flush => "flush",
            Cause::Requeue => "requeue",
            Cause::Device => "device",
        }
    }
}
