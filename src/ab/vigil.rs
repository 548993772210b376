//! Whether time went by as it should while a round ran. A machine that was suspended, or an iosched that was stopped,
//! has measured something else than was planned.

use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

/// A busy machine wakes a sleeper late, but not by so much.
const LATE: Duration = Duration::from_secs(1);
/// Of the end of a window: fio has ended by then.
const LATE_END: Duration = Duration::from_millis(250);
const SUSPENDED: Duration = Duration::from_millis(100);

pub struct Vigil {
    suspended_before: Duration,
    latest: Instant,
    longest_delay: Duration,
    end_delay: Duration,
}

impl Vigil {
    pub fn begin() -> Self {
        Vigil {
            suspended_before: suspended(),
            latest: Instant::now(),
            longest_delay: Duration::ZERO,
            end_delay: Duration::ZERO,
        }
    }

    /// From here on somebody looks all the time; how long it took until now does not matter.
    pub fn attend(&mut self) {
        self.latest = Instant::now();
    }

    pub fn sleep(&mut self, time: Duration) {
        std::thread::sleep(time);
        let delay = self.latest.elapsed().saturating_sub(time);
        self.longest_delay = self.longest_delay.max(delay);
        self.latest = Instant::now();
    }

    /// The window was to end then, and ends now.
    pub fn window_ends(&mut self, deadline: Instant) {
        self.end_delay = deadline.elapsed();
    }

    /// Why what was measured until now does not count.
    pub fn problem(&self) -> Option<String> {
        let suspended = suspended().saturating_sub(self.suspended_before);
        problem(suspended, self.longest_delay, self.end_delay)
    }
}

fn problem(suspended: Duration, longest_delay: Duration, end_delay: Duration) -> Option<String> {
    let seconds = |time: Duration| format!("{:.1} s", time.as_secs_f64());
    if suspended > SUSPENDED {
        return Some(format!(
            "the machine was suspended for {} meanwhile",
            seconds(suspended)
        ));
    }
    if longest_delay > LATE || end_delay > LATE_END {
        return Some(format!(
            "iosched was stopped, or got no CPU, for {} meanwhile",
            seconds(longest_delay.max(end_delay))
        ));
    }
    None
}

/// How long this machine has been suspended since it was started: the one clock counts it, the other does not. Setting
/// the time moves neither.
fn suspended() -> Duration {
    let read = |clock| Duration::try_from(clock_gettime(clock)).unwrap_or_default();
    // In this order the time between the two readings cannot pass for a suspension that ends.
    let monotonic = read(ClockId::Monotonic);
    read(ClockId::Boottime).saturating_sub(monotonic)
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn nothing_happens_to_a_quiet_vigil() {
        let mut vigil = Vigil::begin();
        vigil.attend();
        vigil.sleep(Duration::from_millis(1));
        vigil.window_ends(Instant::now());
        assert_eq!(vigil.problem(), None);
    }
}
