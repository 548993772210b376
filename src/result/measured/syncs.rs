//! Waits above the block layer: in fsync and its like, in the throttle of writers, for pages under writeback. A
//! [`SyncSnapshot`] is cumulative since the attach; [`SyncNumbers`] is the difference of two. Pure.

mod cause; // what a sleep in fsync is for, by the kernel functions on its stack

use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Serialize};

use super::histogram::{Histogram, OWNER};
pub use cause::{SyncCause, cause_of, is_named};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SyncKind {
    /// In fsync, fdatasync, sync_file_range, syncfs, msync or sync, from the enter to the exit.
    Call,
    /// In `balance_dirty_pages`: the process has dirtied more than its share of what the disk writes.
    Throttled,
    /// For the end of the writeback of a page, outside such a call.
    Writeback,
}

/// One process and one place; rows of the same process differ in their kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SyncKey {
    pub kind: SyncKind,
    pub tgid: u32,
    /// Start of the process, CLOCK_BOOTTIME.
    pub start_ns: u64,
    /// Of the unified hierarchy.
    pub cgroup_id: u64,
    /// The kernel's number of the device, or of a `backing_dev_info` without one; 0 if the call names no file.
    pub place: u64,
}

/// How often and how long.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Sum {
    /// Number of waits.
    pub count: u64,
    /// Their time, in ns.
    pub ns: u64,
}

impl Sum {
    fn since(self, earlier: Sum) -> Sum {
        Sum {
            count: self.count.saturating_sub(earlier.count),
            ns: self.ns.saturating_sub(earlier.ns),
        }
    }

    pub fn add(&mut self, other: Sum) {
        self.count += other.count;
        self.ns += other.ns;
    }
}

/// Everything counted of one row since the attach.
#[derive(Clone, Debug)]
pub struct SyncTotals {
    pub comm: String,
    pub all: Sum,
    pub histogram: Histogram,
    /// The sleeps.
    pub sleeps: BTreeMap<SyncCause, Sum>,
}

impl Default for SyncTotals {
    fn default() -> Self {
        SyncTotals {
            comm: String::new(),
            all: Sum::default(),
            histogram: Histogram::new(OWNER),
            sleeps: BTreeMap::new(),
        }
    }
}

/// Calls that have not returned.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnderWay {
    pub comm: String,
    pub count: u64,
    /// When the first of them began, CLOCK_MONOTONIC.
    pub since_ns: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SyncLosses {
    /// Waits that found no room for their process.
    pub rows: u64,
    /// Waits that were not followed: more than 8,192 threads were in one.
    pub threads: u64,
    /// Sleeps without a stack, or without room for it: their cause is `unknown`.
    pub stacks: u64,
    /// Calls of 32-bit programs, which are not followed.
    pub compat: u64,
}

/// Pressure stall information on I/O (`/proc/pressure/io`), the kernel's own sum of all tasks' waits for I/O.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Pressure {
    /// At least one task waited for I/O, in ns.
    pub some_ns: u64,
    /// All tasks that were not idle did.
    pub full_ns: u64,
}

#[derive(Clone, Debug, Default)]
pub struct SyncSnapshot {
    /// CLOCK_MONOTONIC.
    pub time_ns: u64,
    pub rows: HashMap<SyncKey, SyncTotals>,
    pub under_way: HashMap<SyncKey, UnderWay>,
    pub losses: SyncLosses,
    /// None if this kernel does not count it.
    pub pressure: Option<Pressure>,
}

/// One row in an interval.
#[derive(Clone, Debug)]
pub struct SyncRow {
    pub key: SyncKey,
    pub comm: String,
    /// Waits that ended in the interval, counted with all their time.
    pub all: Sum,
    pub histogram: Histogram,
    /// Their sleeps by cause, and `running` for the rest.
    pub causes: BTreeMap<SyncCause, Sum>,
    /// Calls that have not returned at its end, and the age of the oldest.
    pub under_way: u64,
    pub oldest_ns: Option<u64>,
}

impl SyncRow {
    /// This row and another one as one.
    pub fn add(&mut self, other: &SyncRow) {
        self.all.add(other.all);
        let _ = self.histogram.merge(&other.histogram); // the layouts are always the same
        for (cause, sum) in &other.causes {
            self.causes.entry(*cause).or_default().add(*sum);
        }
        self.under_way += other.under_way;
        self.oldest_ns = self.oldest_ns.max(other.oldest_ns);
    }
}

/// The difference of two snapshots.
#[derive(Clone, Debug, Default)]
pub struct SyncNumbers {
    /// Length of the interval.
    pub ns: u64,
    /// Rows with a wait that ended in the interval or is under way.
    pub rows: Vec<SyncRow>,
    pub losses: SyncLosses,
    pub pressure: Option<Pressure>,
}

impl SyncNumbers {
    pub fn between(earlier: &SyncSnapshot, later: &SyncSnapshot) -> anyhow::Result<SyncNumbers> {
        let nothing = SyncTotals::default();
        let keys = later.rows.keys().chain(
            later
                .under_way
                .keys()
                .filter(|key| !later.rows.contains_key(key)),
        );
        let mut rows = Vec::new();
        for key in keys {
            let now = later.rows.get(key).unwrap_or(&nothing);
            // A row that was removed since begins again.
            let past = earlier.rows.get(key);
            let past = past.filter(|past| past.all.count <= now.all.count);
            let past = past.unwrap_or(&nothing);
            let under_way = later.under_way.get(key);
            let all = now.all.since(past.all);
            // A stack of another kind of sleep tells that the thread did not wait for writeback after all.
            let sleeps = now.sleeps.iter().map(|(cause, sum)| {
                let before = past.sleeps.get(cause).copied().unwrap_or_default();
                (*cause, sum.since(before))
            });
            let row = SyncRow {
                key: *key,
                comm: under_way.map_or(&now.comm, |calls| &calls.comm).clone(),
                all,
                histogram: now.histogram.subtract(&past.histogram)?,
                causes: sleeps.filter(|(_, sum)| sum.ns > 0).collect(),
                under_way: under_way.map_or(0, |calls| calls.count),
                oldest_ns: under_way.map(|calls| later.time_ns.saturating_sub(calls.since_ns)),
            };
            rows.extend(row.told().filter(|row| row.all.count + row.under_way > 0));
        }
        let (now, past) = (later.losses, earlier.losses);
        let pressure = later.pressure.zip(earlier.pressure);
        Ok(SyncNumbers {
            ns: later.time_ns - earlier.time_ns,
            rows,
            losses: SyncLosses {
                rows: now.rows - past.rows,
                threads: now.threads - past.threads,
                stacks: now.stacks - past.stacks,
                compat: now.compat - past.compat,
            },
            pressure: pressure.map(|(now, past)| Pressure {
                some_ns: now.some_ns.saturating_sub(past.some_ns),
                full_ns: now.full_ns.saturating_sub(past.full_ns),
            }),
        })
    }
}

impl SyncRow {
    /// What the kernel side could not decide.
    fn told(mut self) -> Option<SyncRow> {
        match self.key.kind {
            SyncKind::Call => {
                let asleep_ns = self.causes.values().map(|sum| sum.ns).sum();
                let running = Sum {
                    count: self.all.count,
                    ns: self.all.ns.saturating_sub(asleep_ns),
                };
                if running.count > 0 {
                    self.causes.insert(SyncCause::Running, running);
                }
            }
            // The writeback may end before the thread sleeps: its next sleep was for something else then.
            SyncKind::Writeback => self.keep(SyncCause::Data)?,
            // Nor does a writer that must not wait.
            SyncKind::Throttled => self.keep(SyncCause::Throttle)?,
        }
        Some(self)
    }

    /// Only the sleeps for this; None if there are none.
    fn keep(&mut self, cause: SyncCause) -> Option<()> {
        self.all = *self.causes.get(&cause)?;
        self.causes.clear();
        Some(())
    }
}

#[cfg(test)]
mod tests;
