//! Records every request for a short time.

use std::time::Duration;

use anyhow::{Context, Result};
use iosched_bpf::{extra, inflight};

use super::owners::kind_of;
use super::{Probe, monotonic_ns};
use iosched_result::measured::record::Record;
use iosched_result::measured::snapshot::{Op, comm};
use iosched_result::measured::trace::{Collector, Missing, Trace, TracedOwner};

/// What had happened when a trace began.
pub(super) struct Begun {
    lost: u64,
    evicted: u64,
}

impl Probe {
    /// Begins to keep the record of each request; with [`super::Detail::sectors`] those of requests in flight are complete.
    /// The time of the beginning is for [`Probe::end_trace`].
    pub fn begin_trace(&mut self) -> Result<u64> {
        let begin_ns = monotonic_ns();
        let evicted = self.evicted();
        let mut books = self.bookkeeper.books();
        books.enter();
        books.trace = Some(Collector::new(begin_ns));
        self.trace = Some(Begun {
            lost: books.lost(),
            evicted,
        });
        Ok(begin_ns)
    }

    pub fn end_trace(&mut self, begin_ns: u64) -> Result<Trace> {
        let time = Duration::from_nanos(monotonic_ns().saturating_sub(begin_ns));
        let begun = self.trace.take().context("a trace that has begun")?;
        // Requests that are over are evicted here. One that ends in between is in neither place, one after it in both.
        for slot in 0..self.devices.len() {
            self.tracer.under_way(slot, monotonic_ns());
        }
        let in_flight: Vec<Record> = (0..self.devices.len())
            .flat_map(|slot| {
                let states = self.tracer.inflight_with_extra(slot);
                states.map(move |(state, extra)| unended(slot, &state, &extra))
            })
            .collect();
        let mut books = self.bookkeeper.books();
        books.enter();
        let collector = books.trace.take().context("the records of a trace")?;
        let lost = books.lost() - begun.lost;
        drop(books);
        let missing = Missing {
            lost_events: lost,
            unseen_ends: self.evicted().saturating_sub(begun.evicted),
        };
        let in_flight = collector.without_ended(in_flight);
        Ok(collector.assemble(in_flight, |row| self.traced_owner(row), time, missing))
    }

    fn evicted(&self) -> u64 {
        let slots = 0..self.devices.len();
        let stats = slots.flat_map(|slot| self.tracer.device_stats(slot));
        stats.map(|stats| stats.evicted).sum()
    }

    fn traced_owner(&self, row: u32) -> TracedOwner {
        let row = self.tracer.owner(row as usize);
        let kind = kind_of(&row);
        TracedOwner {
            name: kind.label(&comm(&row.comm.map(i8::cast_unsigned))),
            kind,
            pid: row.key.tgid,
            cgroup_id: row.key.cgroup_id,
            part: None,
        }
    }
}

/// A request in flight.
fn unended(slot: usize, state: &inflight, extra: &extra) -> Record {
    let op = Op::ALL.get(usize::from(state.op)).copied();
    Record {
        q_ns: state.q_ns,
        g_ns: state.g_ns,
        i_ns: extra.i_ns,
        sector: extra.sector,
        bytes: state.bytes,
        owner: state.owner,
        device: slot as u16,
        bios: state.bios,
        ..Record::issued(op.unwrap_or(Op::Other), state.d_ns, 0)
    }
}
