//! Records every request for a short time.

use anyhow::{Context, Result};
use iosched_bpf::device_stats;

use super::files;
use super::rows::kind_of;
use super::{Probe, in_flight, monotonic_ns};
use iosched_result::measured::snapshot::comm;
use iosched_result::measured::trace::{Collector, Missing, Trace, TracedOwner};

/// The losses from before a trace.
pub(super) struct Begun {
    lost: u64,
    evicted: u64,
}

impl Probe {
    /// Begins to keep the record of each request. The time of the beginning is for [`Probe::end_trace`].
    pub fn begin_trace(&mut self) -> u64 {
        self.look_for_ended();
        let begin_ns = monotonic_ns();
        let evicted = self.evicted();
        let mut books = self.bookkeeper.books();
        books.enter();
        books.trace = Some(Collector::new(begin_ns));
        self.trace = Some(Begun {
            lost: books.lost(),
            evicted,
        });
        begin_ns
    }

    pub fn end_trace(&mut self, begin_ns: u64) -> Result<Trace> {
        let end_ns = monotonic_ns();
        let begun = self.trace.take().context("a trace that has begun")?;
        self.look_for_ended();
        let in_flight = in_flight::records(self.tracer.in_flight(), self.devices.len());
        let mut books = self.bookkeeper.books();
        books.enter();
        let collector = books.trace.take().context("the records of a trace")?;
        let lost = books.lost() - begun.lost;
        drop(books);
        let missing = Missing {
            lost_events: lost,
            unseen_ends: self.evicted().saturating_sub(begun.evicted),
        };
        // A request that ended after the look at those in flight stands in both.
        let in_flight = collector.without_ended(in_flight);
        let owner = |row| self.traced_owner(row);
        Ok(collector.assemble(in_flight, owner, begin_ns..end_ns, missing))
    }

    /// Evicts requests whose end was not seen and that are over.
    pub(super) fn look_for_ended(&self) {
        for slot in 0..self.devices.len() {
            self.tracer.under_way(slot, monotonic_ns());
        }
    }

    pub(super) fn evicted(&self) -> u64 {
        self.sum(|stats| stats.evicted)
    }

    /// A count of all devices.
    pub(super) fn sum(&self, count: fn(&device_stats) -> u64) -> u64 {
        let slots = 0..self.devices.len();
        let stats = slots.flat_map(|slot| self.tracer.device_stats(slot));
        stats.map(|stats| count(&stats)).sum()
    }

    pub(super) fn traced_owner(&self, row: u32) -> TracedOwner {
        let row = self.tracer.owner(row as usize);
        let kind = kind_of(&row);
        let name = kind.label(&comm(&row.comm.map(i8::cast_unsigned)));
        let file = files::file_of(&row).map(|file| self.owners.files.name(&file));
        TracedOwner {
            name: file.map_or(name.clone(), |file| format!("{name} {file}")),
            kind,
            pid: row.key.tgid,
            cgroup_id: row.key.cgroup_id,
            part: None,
        }
    }
}
