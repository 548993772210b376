//! The parts of the queue wait, summed. Pure.

use super::stages::Stages;
use crate::measured::snapshot::Waits;

#[derive(Default)]
pub struct Parts {
    q2g_ns: u64,
    plug_ns: u64,
    scheduler_ns: u64,
}

impl Parts {
    /// Of a request whose queue wait is known. Most got their request at once and were not inserted.
    pub fn add(&mut self, stages: &Stages) {
        self.q2g_ns += stages.q2g.unwrap_or(0);
        if let (Some(i2d), Some(g2d)) = (stages.i2d, stages.g2d) {
            self.plug_ns += g2d.saturating_sub(i2d);
            self.scheduler_ns += i2d.min(g2d);
        }
    }

    pub fn add_to(&self, waits: &mut Waits) {
        waits.q2g_ns += self.q2g_ns;
        waits.plug_ns += self.plug_ns;
        waits.scheduler_ns += self.scheduler_ns;
    }
}
