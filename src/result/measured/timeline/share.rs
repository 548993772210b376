//! Each owner's share of a device, and how long it was starved, with constant work per event. Pure.

use crate::measured::histogram::GAP;

/// Fraction bits of the clock.
const CLOCK_SHIFT: u32 = 8;

/// The virtual clock of a device: it runs at 1/n of real time with n requests issued, and stands still with none.
#[derive(Debug, Default)]
pub struct ServiceClock {
    /// In ns << `CLOCK_SHIFT`.
    now: u64,
    last_ns: u64,
    in_service: u64,
}

impl ServiceClock {
    /// Advances the clock to `ns` and returns it.
    fn advance(&mut self, ns: u64) -> u64 {
        let passed_ns = ns.saturating_sub(self.last_ns);
        self.last_ns = self.last_ns.max(ns);
        let each = (passed_ns << CLOCK_SHIFT).checked_div(self.in_service);
        self.now += each.unwrap_or(0);
        self.now
    }

    pub fn issue(&mut self, ns: u64) -> u64 {
        let now = self.advance(ns);
        self.in_service += 1;
        now
    }

    pub fn end(&mut self, ns: u64) -> u64 {
        let now = self.advance(ns);
        self.in_service -= 1;
        now
    }
}

/// What an owner got of its device, and how long it wanted it.
#[derive(Clone, Debug)]
pub struct Share {
    /// Requests: started, ended, and no longer waiting because they were issued or ended without an issue.
    started: u64,
    ended: u64,
    left: u64,
    /// Start of the current or the last period with a request in flight.
    busy_since_ns: u64,
    busy_ns: u64,
    device_time: u64,
    last_issue_ns: u64,
    /// Q of the first request among those that wait.
    waiting_since_ns: u64,
    longest_gap_ns: u64,
    gaps: [u32; GAP.cells as usize],
}

impl Default for Share {
    fn default() -> Share {
        Share {
            started: 0,
            ended: 0,
            left: 0,
            busy_since_ns: 0,
            busy_ns: 0,
            device_time: 0,
            last_issue_ns: 0,
            waiting_since_ns: 0,
            longest_gap_ns: 0,
            gaps: [0; GAP.cells as usize],
        }
    }
}

impl Share {
    /// The owner gets a request for an I/O that it queued at `asked_ns`: if it had none in flight, it is busy since then.
    pub(super) fn start(&mut self, asked_ns: u64) {
        if self.started == self.ended {
            // Otherwise it is busy since its last request ended.
            self.busy_since_ns = self.busy_since_ns.max(asked_ns);
        }
        if self.started == self.left || asked_ns < self.waiting_since_ns {
            self.waiting_since_ns = asked_ns;
        }
        self.started += 1;
    }

    /// One of its requests ends, in any way.
    pub(super) fn end(&mut self, now_ns: u64) {
        self.ended += 1;
        if self.started == self.ended {
            self.busy_ns += now_ns.saturating_sub(self.busy_since_ns);
            self.busy_since_ns = now_ns;
        }
    }

    /// A request ends without an issue: it was merged, is an empty flush, or was lost.
    pub(super) fn leave(&mut self) {
        self.left += 1;
    }

    /// A request is issued: counts the time for which one of the owner's waited, this one or another, and none was issued.
    pub(super) fn issue(&mut self, now_ns: u64) {
        let gap_ns = now_ns.saturating_sub(self.last_issue_ns.max(self.waiting_since_ns));
        self.leave();
        self.last_issue_ns = self.last_issue_ns.max(now_ns);
        self.longest_gap_ns = self.longest_gap_ns.max(gap_ns);
        if gap_ns >> GAP.unit_shift > 0 {
            let cell = &mut self.gaps[GAP.index(gap_ns)];
            *cell = cell.wrapping_add(1);
        }
    }

    pub(super) fn add_device_time(&mut self, clock: u64) {
        self.device_time += clock;
    }

    pub(super) fn take_longest_ns(&mut self) -> u64 {
        std::mem::take(&mut self.longest_gap_ns)
    }

    /// Its part of the device's busy time, of requests that have ended.
    pub fn device_time_ns(&self) -> u64 {
        self.device_time >> CLOCK_SHIFT
    }

    /// Time with a request in flight, up to `now_ns`. `asked_ns`: since when it waits for a request, if it does.
    pub fn backlogged_ns(&self, now_ns: u64, asked_ns: Option<u64>) -> u64 {
        let since_ns = match asked_ns {
            _ if self.started != self.ended => Some(self.busy_since_ns),
            // As it will count once it gets its request.
            asked_ns => asked_ns.map(|ns| ns.max(self.busy_since_ns)),
        };
        self.busy_ns + since_ns.map_or(0, |ns| now_ns.saturating_sub(ns))
    }

    /// When a request of it was last issued; 0 if never.
    pub fn last_issue_ns(&self) -> u64 {
        self.last_issue_ns
    }

    /// Starvation times that have ended, in the cells of [`GAP`].
    pub fn gaps(&self) -> &[u32; GAP.cells as usize] {
        &self.gaps
    }
}
