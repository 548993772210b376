//! Every request on its own, for a short time.

use std::cell::RefCell;

use anyhow::{Context, Result};
use libbpf_rs::RingBufferBuilder;

use crate::Tracer;
use crate::mapped::value_of;
use crate::wire::trace_event;

impl Tracer {
    /// Begins to record; only with [`crate::Detail::trace`]. What came after the end of an earlier recording is dropped.
    pub fn begin_trace(&mut self) -> Result<()> {
        self.take_trace()?;
        if let Some(variables) = self.skeleton.maps.bss_data.as_deref_mut() {
            variables.tracing.lost = 0;
            variables.tracing.is_on = 1;
        }
        Ok(())
    }

    pub fn end_trace(&mut self) {
        if let Some(variables) = self.skeleton.maps.bss_data.as_deref_mut() {
            variables.tracing.is_on = 0;
        }
    }

    /// The events recorded since the last call, oldest first, and how many were lost since the beginning.
    pub fn take_trace(&self) -> Result<(Vec<trace_event>, u64)> {
        let events = RefCell::new(Vec::new());
        let mut buffer = RingBufferBuilder::new();
        buffer
            .add(&self.skeleton.maps.trace_events, |bytes| {
                events.borrow_mut().extend(value_of::<trace_event>(bytes));
                0
            })
            .context("reading the trace")?;
        buffer
            .build()
            .and_then(|buffer| buffer.consume())
            .context("reading the trace")?;
        let variables = self.skeleton.maps.bss_data.as_deref();
        let lost = variables.map_or(0, |variables| variables.tracing.lost);
        Ok((events.into_inner(), lost))
    }
}
