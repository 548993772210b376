//! The records of completed requests, read by a thread of their own and kept as histograms.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context, Result};
use iosched_bpf::enums::record_flags;
use iosched_bpf::{InFlightTable, Rings, record};

use super::{in_flight, monotonic_ns};
use iosched_host::safety::privileges;
use iosched_result::measured::ledger::{Batch, Ledger};
use iosched_result::measured::record::Record;
use iosched_result::measured::snapshot::Op;
use iosched_result::measured::timeline::Timeline;
use iosched_result::measured::trace::Collector;
use iosched_result::why::Requests;

/// Completions per second of one CPU that suddenly gets busy: they must not fill half of its ring before the next look.
const BURST_PER_S: u64 = 500_000;
/// Looks at empty rings are at least this far apart, however small the rings are.
const SHORTEST_IDLE_PAUSE: Duration = Duration::from_millis(10);
const SHORTEST_PAUSE: Duration = Duration::from_micros(2500);
/// Rings that are fuller than this are looked at more often, and ones that are emptier less often.
const FULL: f64 = 0.1;
const EMPTY: f64 = 0.01;
/// From here on the next look comes as early as any.
const NEARLY_LOST: f64 = 0.5;

/// How long the reader sleeps between two looks.
#[derive(Clone, Copy)]
struct Pause {
    now: Duration,
    longest: Duration,
}

impl Pause {
    /// For rings of this many records.
    fn new(size: u64) -> Pause {
        let until_half_full = Duration::from_micros(size * 500_000 / BURST_PER_S);
        let longest = until_half_full.max(SHORTEST_IDLE_PAUSE);
        Pause {
            now: longest,
            longest,
        }
    }

    /// After a look that found the fullest ring this full.
    fn after(self, fullest: f64) -> Pause {
        let now = match fullest {
            full if full > NEARLY_LOST => SHORTEST_PAUSE,
            full if full > FULL => (self.now / 2).max(SHORTEST_PAUSE),
            empty if empty < EMPTY => (self.now * 2).min(self.longest),
            _ => self.now,
        };
        Pause { now, ..self }
    }
}

/// Requests of a stretch: 25 MB. It is 10 s of 100,000 each.
const MOST_KEPT: usize = 1 << 20;
/// Requests that are kept beyond that, of requests that began before it was full and end later.
const MOST_AFTERWARDS: usize = 65_536;

/// A request is in the table of those in flight at most so long after its start, as a rule.
const LATE_NS: u64 = 20_000;

/// Holds whatever has been made of the records so far.
pub(super) struct Books {
    rings: Rings,
    in_flight: Arc<InFlightTable>,
    slots: usize,
    ledger: Ledger,
    /// Records that are not in the ledger yet.
    batch: Batch,
    pub timeline: Timeline,
    /// Lost records that the timeline knows of.
    told_lost: u64,
    /// While a trace is taken.
    pub trace: Option<Collector>,
    /// While a stretch is recorded.
    pub kept: Option<Kept>,
}

/// The requests of a stretch so far.
pub(super) struct Kept {
    pub requests: Requests,
    /// From here on they are not all kept.
    pub full_ns: Option<u64>,
    /// Those that began before then and found no room.
    pub left_out: u64,
}

impl Kept {
    /// `spare`: the memory of an earlier stretch.
    pub fn new(spare: Option<Requests>) -> Kept {
        let room = || Requests::with_capacity(MOST_KEPT + MOST_AFTERWARDS);
        Kept {
            requests: spare.unwrap_or_else(room),
            full_ns: None,
            left_out: 0,
        }
    }

    fn add(&mut self, record: &Record) {
        let is_full = self.requests.len() >= MOST_KEPT;
        let full_ns = *match self.full_ns {
            Some(ref ns) => ns,
            None if is_full => self.full_ns.insert(record.c_ns),
            None => return self.requests.push(record),
        };
        // Those of other CPUs, and those that were in flight then.
        if record.begun_ns() >= full_ns {
            return;
        }
        if self.requests.len() < MOST_KEPT + MOST_AFTERWARDS {
            self.requests.push(record);
        } else {
            self.left_out += 1;
        }
    }
}

impl Books {
    pub fn new(
        rings: Rings,
        in_flight: Arc<InFlightTable>,
        ledger: Ledger,
        timeline: Timeline,
        slots: usize,
    ) -> Books {
        Books {
            rings,
            in_flight,
            slots,
            ledger,
            batch: Batch::default(),
            timeline,
            told_lost: 0,
            trace: None,
            kept: None,
        }
    }

    /// Everything that was entered.
    pub fn ledger(&mut self) -> &mut Ledger {
        self.batch.enter(&mut self.ledger);
        &mut self.ledger
    }

    /// Enters all records that are complete. Returns how full the fullest ring was.
    pub fn enter(&mut self) -> f64 {
        let fullest = self.drain();
        if self.timeline.is_due(self.in_flight.len()) {
            self.look();
        }
        fullest
    }

    fn drain(&mut self) -> f64 {
        self.rings.drain(|record| {
            let record = converted(record);
            self.batch.add(&record);
            if self.batch.is_full() {
                self.batch.enter(&mut self.ledger);
            }
            self.timeline.add(&record);
            if let Some(trace) = &mut self.trace {
                trace.add(&record);
            }
            if let Some(kept) = &mut self.kept {
                kept.add(&record);
            }
        })
    }

    /// Enters all records, and counts what depends on the order of events, up to a moment ago.
    pub fn look(&mut self) {
        if !self.timeline.is_kept() {
            self.drain();
            return;
        }
        let until_ns = monotonic_ns().saturating_sub(LATE_NS);
        let in_flight = in_flight::records(&self.in_flight, self.slots);
        // Afterwards: a request that is not in flight any more has its record by now. Twice, because where stores cannot be
        // waited for, a record is passed on at the second look.
        self.drain();
        self.drain();
        let lost = self.lost();
        if lost > self.told_lost {
            self.told_lost = lost;
            self.timeline.note_loss();
        }
        self.timeline.advance(until_ns, in_flight);
    }

    /// Records that found their ring full, of all devices.
    pub fn lost(&self) -> u64 {
        self.rings.lost()
    }
}

/// The kernel side's record, as the ledger takes it.
pub fn converted(record: &record) -> Record {
    let has = |flag: record_flags| u32::from(record.flags) & flag.0 != 0;
    Record {
        a_ns: record.a_ns,
        q_ns: record.q_ns,
        g_ns: record.g_ns,
        i_ns: record.i_ns,
        d_ns: record.d_ns,
        data_ns: record.data_ns,
        c_ns: record.c_ns,
        sector: record.sector,
        bytes: record.bytes,
        owner: record.owner,
        device: record.slot,
        hardware_queue: record.hardware_queue,
        bios: record.bios,
        op: Op::ALL
            .get(usize::from(record.op))
            .copied()
            .unwrap_or(Op::Other),
        is_preflush: has(record_flags::RECORD_PREFLUSH),
        is_postflush: has(record_flags::RECORD_POSTFLUSH),
        is_journal: has(record_flags::RECORD_JOURNAL),
        is_straddler: has(record_flags::RECORD_STRADDLER),
        is_scheduled: has(record_flags::RECORD_SCHEDULED),
        is_flush_command: has(record_flags::RECORD_FLUSH_COMMAND),
        has_slept: has(record_flags::RECORD_SLEPT),
    }
}

/// The books with the thread that keeps them up to date until this is dropped.
pub(super) struct Bookkeeper {
    books: Arc<Mutex<Books>>,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Bookkeeper {
    pub fn start(books: Books) -> Result<Bookkeeper> {
        let books = Arc::new(Mutex::new(books));
        let is_over = Arc::new(AtomicBool::new(false));
        let (its_books, its_end) = (Arc::clone(&books), Arc::clone(&is_over));
        let (tell, told) = std::sync::mpsc::channel();
        let run = move || {
            let is_ready = privileges::keep_none();
            let goes_on = is_ready.is_ok();
            if tell.send(is_ready).is_ok() && goes_on {
                keep_up_to_date(&its_books, &its_end);
            }
        };
        let thread = std::thread::Builder::new()
            .name("records".to_owned())
            .spawn(run)
            .context("starting the thread that reads the records")?;
        told.recv().context("the thread that reads the records")??;
        Ok(Bookkeeper {
            books,
            is_over,
            thread: Some(thread),
        })
    }

    pub fn books(&self) -> MutexGuard<'_, Books> {
        locked(&self.books)
    }

    /// An error if the thread is gone: then the rings are read too seldom.
    pub fn ensure_runs(&self) -> Result<()> {
        let is_gone = self.thread.as_ref().is_none_or(JoinHandle::is_finished);
        anyhow::ensure!(
            !is_gone,
            "the thread that reads the records of requests has ended"
        );
        Ok(())
    }
}

impl Drop for Bookkeeper {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}

/// A panic of another thread leaves the books off by the records of one batch (4,096) at most; [`Bookkeeper::ensure_runs`] tells it.
fn locked(books: &Mutex<Books>) -> MutexGuard<'_, Books> {
    books.lock().unwrap_or_else(PoisonError::into_inner)
}

fn keep_up_to_date(books: &Mutex<Books>, is_over: &AtomicBool) {
    let mut pause = Pause::new(locked(books).rings.size());
    while !is_over.load(Ordering::Relaxed) {
        std::thread::park_timeout(pause.now);
        pause = pause.after(locked(books).enter());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_after_any_rest_leaves_room() {
        for size in [16_384, 65_536, 1 << 20] {
            let mut pause = Pause::new(size);
            (0..100).for_each(|_| pause = pause.after(0.0));
            let filled = pause.now.as_secs_f64() * BURST_PER_S as f64;
            assert!(filled <= size as f64 / 2.0, "{size}: {filled}");
        }
        // Small rings cost an idle machine no more than a hundred looks a second.
        assert_eq!(Pause::new(256).after(0.0).now, SHORTEST_IDLE_PAUSE);
    }

    #[test]
    fn what_began_before_the_stretch_was_full_is_kept_and_what_has_no_room_is_counted() {
        let record = |q_ns: u64, c_ns: u64| Record {
            q_ns,
            ..Record::issued(Op::Read, q_ns + 1, c_ns)
        };
        let mut kept = Kept::new(None);
        for number in 1..=MOST_KEPT as u64 {
            kept.add(&record(number, number + 10));
        }
        assert_eq!((kept.requests.len(), kept.full_ns), (MOST_KEPT, None));
        let full_ns = 2 * MOST_KEPT as u64;
        kept.add(&record(full_ns - 5, full_ns));
        assert_eq!(kept.full_ns, Some(full_ns));
        // It began later.
        kept.add(&record(full_ns, full_ns + 1));
        assert_eq!(kept.requests.len(), MOST_KEPT + 1);
        for _ in 0..MOST_AFTERWARDS + 2 {
            kept.add(&record(full_ns - 1, full_ns + 1));
        }
        assert_eq!(kept.requests.len(), MOST_KEPT + MOST_AFTERWARDS);
        assert_eq!(kept.left_out, 3);
    }

    #[test]
    fn full_rings_are_looked_at_soon_and_empty_ones_seldom() {
        let rest = Pause::new(65_536);
        assert_eq!(rest.after(0.6).now, SHORTEST_PAUSE);
        assert_eq!(rest.after(0.2).now, rest.longest / 2);
        assert_eq!(rest.after(0.05).now, rest.longest);
        let mut busy = rest.after(0.9);
        (0..20).for_each(|_| busy = busy.after(0.3));
        assert_eq!(busy.now, SHORTEST_PAUSE);
        (0..20).for_each(|_| busy = busy.after(0.0));
        assert_eq!(busy.now, rest.longest);
    }
}
