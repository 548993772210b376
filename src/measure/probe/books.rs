//! The records of completed requests, read by a thread of their own and kept as histograms.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context, Result};
use iosched_bpf::enums::record_flags;
use iosched_bpf::{Rings, record};

use iosched_host::safety::privileges;
use iosched_result::measured::ledger::Ledger;
use iosched_result::measured::record::Record;
use iosched_result::measured::snapshot::Op;
use iosched_result::measured::trace::Collector;

/// Between two looks at rings that fill up.
const PAUSE: Duration = Duration::from_millis(20);
/// Between two looks at empty ones: a disk that suddenly gets busy must not fill one of them meanwhile.
const LONGEST_PAUSE: Duration = Duration::from_millis(160);
/// Rings that are fuller than this are looked at more often, and ones that are emptier less often.
const FULL: f64 = 0.1;
const EMPTY: f64 = 0.01;

/// Whatever has been made of the records so far.
pub(super) struct Books {
    rings: Rings,
    pub ledger: Ledger,
    /// While a trace is taken.
    pub trace: Option<Collector>,
}

impl Books {
    /// Enters all records that are complete. Returns how full the fullest ring was.
    pub fn enter(&mut self) -> f64 {
        let Books {
            rings,
            ledger,
            trace,
        } = self;
        rings.drain(|record| {
            let record = converted(record);
            ledger.add(&record);
            if let Some(trace) = trace {
                trace.add(&record);
            }
        })
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
        is_flush_command: has(record_flags::RECORD_FLUSH_COMMAND),
        is_failed: has(record_flags::RECORD_FAILED),
    }
}

/// The books with the thread that keeps them up to date until this is dropped.
pub(super) struct Bookkeeper {
    books: Arc<Mutex<Books>>,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Bookkeeper {
    pub fn start(rings: Rings, ledger: Ledger) -> Result<Bookkeeper> {
        let books = Arc::new(Mutex::new(Books {
            rings,
            ledger,
            trace: None,
        }));
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

/// A panic of another thread leaves histograms that are off by one record at most.
fn locked(books: &Mutex<Books>) -> MutexGuard<'_, Books> {
    books.lock().unwrap_or_else(PoisonError::into_inner)
}

fn keep_up_to_date(books: &Mutex<Books>, is_over: &AtomicBool) {
    let mut pause = PAUSE;
    while !is_over.load(Ordering::Relaxed) {
        std::thread::park_timeout(pause);
        let fullest = locked(books).enter();
        if fullest > FULL {
            pause = (pause / 2).max(PAUSE / 8);
        } else if fullest < EMPTY {
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }
}
