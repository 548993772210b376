//! A stop-watch for the phases of a round.

use std::time::Duration;

use iosched_result::types::times::RoundTimes;

use crate::machine::Machine;

pub(super) struct Laps {
    since: Duration,
    pub times: RoundTimes,
}

impl Laps {
    pub fn begin(machine: &dyn Machine) -> Laps {
        Laps {
            since: machine.now(),
            times: RoundTimes::default(),
        }
    }

    /// Seconds since the last lap.
    pub fn lap(&mut self, machine: &dyn Machine) -> f64 {
        let now = machine.now();
        let lap = now.saturating_sub(self.since).as_secs_f64();
        self.since = now;
        lap
    }
}
