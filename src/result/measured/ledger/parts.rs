//! The parts of the queue wait, summed. Pure.

use super::stages::Stages;
use crate::measured::snapshot::Waits;

/// In ns.
#[derive(Default)]
pub struct Parts {
    q2g: u64,
    allocation: u64,
    plug: u64,
    scheduler: u64,
}

impl Parts {
    /// Adds a request whose queue wait is known. Most requests are allocated at once, and never inserted.
    pub fn add(&mut self, stages: &Stages, has_slept: bool) {
        let q2g = stages.q2g.unwrap_or(0);
        self.q2g += q2g;
        if !has_slept {
            self.allocation += q2g;
        }
        if let (Some(i2d), Some(g2d)) = (stages.i2d, stages.g2d) {
            self.plug += g2d.saturating_sub(i2d);
            self.scheduler += i2d.min(g2d);
        }
    }

    pub fn add_to(&self, waits: &mut Waits) {
        waits.q2g_ns += self.q2g;
        waits.allocation_ns += self.allocation;
        waits.plug_ns += self.plug;
        waits.scheduler_ns += self.scheduler;
    }
}
