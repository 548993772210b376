//! Records every request for a short time.

use std::collections::HashMap;
use std::time::Duration;

use anyhow::Result;
use iosched_bpf::trace_event;

use super::owners::kind_of;
use super::{Probe, monotonic_ns};
use iosched_result::measured::snapshot::{Op, comm};
use iosched_result::measured::trace::{Event, Trace, TracedOwner, TracedRequest, assemble};

impl Probe {
    /// Begins to record; only with [`super::Detail::trace`]. The time of the beginning is for [`Probe::end_trace`].
    pub fn begin_trace(&mut self) -> Result<u64> {
        let begin_ns = monotonic_ns();
        self.tracer.begin_trace()?;
        Ok(begin_ns)
    }

    pub fn end_trace(&mut self, begin_ns: u64) -> Result<Trace> {
        self.tracer.end_trace();
        let time = Duration::from_nanos(monotonic_ns().saturating_sub(begin_ns));
        let (events, lost) = self.tracer.take_trace()?;
        let mut owners = Vec::new();
        let mut places = HashMap::new();
        let mut place_of = |index: u32| {
            *places.entry(index).or_insert_with(|| {
                owners.push(self.traced_owner(index as usize));
                owners.len() - 1
            })
        };
        let events: Vec<Event> = events
            .iter()
            .map(|event| converted(event, begin_ns, &mut place_of))
            .collect();
        Ok(assemble(events, owners, time, lost))
    }

    fn traced_owner(&self, index: usize) -> TracedOwner {
        let row = self.tracer.owner(index);
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

fn converted(event: &trace_event, begin_ns: u64, place_of: &mut impl FnMut(u32) -> usize) -> Event {
    let since = |ns: u64| ns.wrapping_sub(begin_ns).cast_signed();
    let known = |ns: u64| (ns > 0).then(|| since(ns));
    if u32::from(event.kind) == iosched_bpf::enums::trace_kind::TRACE_COMPLETED.0 {
        return Event::Completed {
            request: event.request,
            ns: since(event.ns),
        };
    }
    Event::Issued {
        request: event.request,
        traced: TracedRequest {
            disk: usize::from(event.slot),
            op: Op::ALL
                .get(usize::from(event.op))
                .copied()
                .unwrap_or(Op::Other),
            sector: event.sector,
            bytes: event.bytes,
            hardware_queue: event.hardware_queue,
            owner: place_of(event.owner),
            queued_ns: known(event.q_ns),
            started_ns: known(event.g_ns),
            inserted_ns: known(event.i_ns),
            issued_ns: since(event.ns),
            completed_ns: None,
            is_end_unseen: false,
        },
    }
}
