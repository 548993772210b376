//! Delays replies: one thread sleeps until the earliest deadline, sends that reply, and sleeps again. It does not spin:
//! the lateness of its wake-ups is part of what the calibration compensates.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use serde::Serialize;

/// A reply that is later than this counts as late.
pub const LATE_NS: u64 = 100_000;

/// CLOCK_MONOTONIC.
pub fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// How punctual the replies were.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Punctuality {
    pub replies: u64,
    /// Replies more than [`LATE_NS`] after their deadline: the machine was too busy to simulate the device.
    pub late_replies: u64,
    pub latest_ns: u64,
}

impl Punctuality {
    fn note(&mut self, late_ns: u64) {
        self.replies += 1;
        self.late_replies += u64::from(late_ns > LATE_NS);
        self.latest_ns = self.latest_ns.max(late_ns);
    }
}

type Reply = Box<dyn FnOnce() + Send>;

struct Pending {
    deadline_ns: u64,
    sequence: u64,
    answer: Reply,
}

impl Ord for Pending {
    /// Reversed for the max-heap: the earliest deadline comes first, and of equal ones the first to arrive.
    fn cmp(&self, other: &Self) -> Ordering {
        (other.deadline_ns, other.sequence).cmp(&(self.deadline_ns, self.sequence))
    }
}
impl PartialOrd for Pending {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl PartialEq for Pending {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}
impl Eq for Pending {}

#[derive(Default)]
struct Replies {
    pending: BinaryHeap<Pending>,
    sequence: u64,
    closed: bool,
    punctuality: Punctuality,
    last_lag_ns: u64,
}

/// The queue of replies. Clones share it.
#[derive(Clone, Default)]
pub struct Completions {
    shared: Arc<(Mutex<Replies>, Condvar)>,
}

impl Completions {
    /// The thread inherits its creator's priority and ends after [`Completions::close`].
    pub fn start() -> io::Result<Self> {
        let completions = Completions::default();
        let its = completions.clone();
        std::thread::Builder::new()
            .name("scratch-complete".to_owned())
            .spawn(move || its.run())?;
        Ok(completions)
    }

    /// Calls `answer` at `deadline_ns`, or at once if that has passed; never once this is closed.
    pub fn at(&self, deadline_ns: u64, answer: impl FnOnce() + Send + 'static) {
        let mut state = self.lock();
        if state.closed {
            return;
        }
        let is_earliest = state
            .pending
            .peek()
            .is_none_or(|first| deadline_ns < first.deadline_ns);
        state.sequence += 1;
        let sequence = state.sequence;
        state.pending.push(Pending {
            deadline_ns,
            sequence,
            answer: Box::new(answer),
        });
        drop(state);
        if is_earliest {
            self.shared.1.notify_one();
        }
    }

    /// Ends the thread; pending replies are dropped, which answers them with an error.
    pub fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        let unanswered = std::mem::take(&mut state.pending);
        drop(state);
        drop(unanswered);
        self.shared.1.notify_one();
    }

    pub fn punctuality(&self) -> Punctuality {
        self.lock().punctuality
    }

    /// Time from the deadline of the last reply until it was sent.
    pub fn last_lag_ns(&self) -> u64 {
        self.lock().last_lag_ns
    }

    fn run(&self) {
        let mut state = self.lock();
        while !state.closed {
            let now_ns = now_ns();
            state = match state.pending.peek().map(|first| first.deadline_ns) {
                None => self
                    .shared
                    .1
                    .wait(state)
                    .unwrap_or_else(PoisonError::into_inner),
                Some(deadline_ns) if deadline_ns > now_ns => {
                    let wait = Duration::from_nanos(deadline_ns - now_ns);
                    let woken = self.shared.1.wait_timeout(state, wait);
                    woken.unwrap_or_else(PoisonError::into_inner).0
                }
                Some(deadline_ns) => {
                    state.punctuality.note(now_ns - deadline_ns);
                    let due = state.pending.pop();
                    drop(state);
                    if let Some(due) = due {
                        (due.answer)();
                    }
                    let mut state = self.lock();
                    state.last_lag_ns = self::now_ns().saturating_sub(deadline_ns);
                    state
                }
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Replies> {
        self.shared.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[test]
    fn replies_come_in_the_order_of_their_deadlines_and_never_early() {
        let completions = Completions::start().unwrap();
        let (sender, receiver) = mpsc::channel();
        let start_ns = now_ns();
        for after_ms in [30, 10, 20, 10, 0] {
            let (sender, deadline_ns) = (sender.clone(), start_ns + after_ms * 1_000_000);
            completions.at(deadline_ns, move || {
                sender.send((after_ms, now_ns() >= deadline_ns)).unwrap();
            });
        }
        drop(sender);
        let came = receiver.iter().collect::<Vec<_>>();
        assert_eq!(came, [0, 10, 10, 20, 30].map(|after_ms| (after_ms, true)));
        assert_eq!(completions.punctuality().replies, 5);
        completions.close();
    }

    #[test]
    fn closing_drops_what_waits() {
        let completions = Completions::start().unwrap();
        let (sender, receiver) = mpsc::channel();
        completions.at(u64::MAX, move || sender.send(()).unwrap());
        completions.close();
        assert_eq!(receiver.recv(), Err(mpsc::RecvError));
    }

    #[test]
    fn lateness_is_counted() {
        let mut punctuality = Punctuality::default();
        punctuality.note(LATE_NS);
        punctuality.note(LATE_NS + 1);
        assert_eq!(
            punctuality,
            Punctuality {
                replies: 2,
                late_replies: 1,
                latest_ns: LATE_NS + 1
            }
        );
    }
}
