//! Whether the clock ran as expected during a round. If the machine was suspended or iosched was stopped, the round is
//! not what was planned. Pure, except for the machine's clock.

use std::time::Duration;

use super::machine::Machine;

/// A busy machine wakes a thread late, but not by this much.
const LATE: Duration = Duration::from_secs(1);
/// Limit for the end of a window: fio has ended by then.
const LATE_END: Duration = Duration::from_millis(250);
const SUSPENDED: Duration = Duration::from_millis(100);

pub struct ClockWatch {
    suspended_before: Duration,
    latest: Duration,
    longest_delay: Duration,
    end_delay: Duration,
}

impl ClockWatch {
    pub fn begin(machine: &dyn Machine) -> Self {
        ClockWatch {
            suspended_before: machine.suspended(),
            latest: machine.now(),
            longest_delay: Duration::ZERO,
            end_delay: Duration::ZERO,
        }
    }

    /// Starts the check: iosched polls regularly from here on.
    pub fn attend(&mut self, machine: &dyn Machine) {
        self.latest = machine.now();
    }

    pub fn sleep(&mut self, machine: &mut dyn Machine, time: Duration) {
        machine.sleep(time);
        let now = machine.now();
        let delay = now.saturating_sub(self.latest + time);
        self.longest_delay = self.longest_delay.max(delay);
        self.latest = now;
    }

    /// The window should have ended at `deadline`, and ends now.
    pub fn window_ends(&mut self, machine: &dyn Machine, deadline: Duration) {
        self.end_delay = machine.now().saturating_sub(deadline);
    }

    /// Why the measurement so far does not count.
    pub fn problem(&self, machine: &dyn Machine) -> Option<String> {
        let suspended = machine.suspended().saturating_sub(self.suspended_before);
        problem(suspended, self.longest_delay, self.end_delay)
    }
}

fn problem(suspended: Duration, longest_delay: Duration, end_delay: Duration) -> Option<String> {
    let seconds = |time: Duration| format!("{:.1} s", time.as_secs_f64());
    if suspended > SUSPENDED {
        return Some(format!(
            "the machine was suspended for {} during the round",
            seconds(suspended)
        ));
    }
    if longest_delay > LATE || end_delay > LATE_END {
        return Some(format!(
            "iosched was stopped, or got no CPU, for {} during the round",
            seconds(longest_delay.max(end_delay))
        ));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::fake::FakeMachine;

    #[test]
    fn a_pause_is_told_from_a_busy_machine() {
        let ms = Duration::from_millis;
        assert_eq!(problem(ms(50), ms(900), ms(200)), None);
        let said = problem(ms(90_000), ms(90_000), ms(0)).unwrap();
        assert!(said.contains("suspended for 90.0 s"), "{said}");
        let said = problem(ms(0), ms(1500), ms(0)).unwrap();
        assert!(said.contains("stopped") && said.contains("1.5 s"), "{said}");
        let said = problem(ms(0), ms(0), ms(300)).unwrap();
        assert!(said.contains("0.3 s"), "{said}");
    }

    #[test]
    fn nothing_happens_to_a_quiet_watch() {
        let mut machine = FakeMachine::new(&[]);
        let mut clock_watch = ClockWatch::begin(&machine);
        clock_watch.attend(&machine);
        clock_watch.sleep(&mut machine, Duration::from_millis(1));
        clock_watch.window_ends(&machine, machine.now());
        assert_eq!(clock_watch.problem(&machine), None);
    }
}
