//! The result file of a rotation: it is written again and again, so that neither a crash nor a key loses hours of
//! rounds.

use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};
use iosched_experiment::rotation::Recorded;
use iosched_experiment::saved;
use iosched_files::output::write_whole_in;
use iosched_result::report::decision;

use crate::ui::place::{self, time_of_day};

/// The shortest time between two saves.
const EVERY: Duration = Duration::from_secs(60);
/// At most this share of the time is spent on saving.
const SHARE: u32 = 50;

/// What the file has.
pub struct Saved {
    pub path: PathBuf,
    /// What its rounds say to do, as `iosched-ab report` says it.
    pub decision: String,
}

pub struct ResultPath {
    path: PathBuf,
    /// Number of rounds in the file.
    saved: usize,
    next: Instant,
    writer: Option<Writer>,
}

struct Writer {
    thread: JoinHandle<Result<Duration>>,
    rounds: usize,
}

impl ResultPath {
    pub fn new(directory: &Path) -> Self {
        ResultPath {
            path: place::file(directory, "live", "json"),
            saved: 0,
            next: Instant::now() + EVERY,
            writer: None,
        }
    }

    pub fn written(&self) -> Option<&Path> {
        (self.saved > 0).then_some(&*self.path)
    }

    /// Returns when the file has all rounds. None: there are none.
    pub fn save(&mut self, recorded: &Recorded) -> Result<Option<Saved>> {
        if recorded.rounds() == 0 {
            return Ok(None);
        }
        // This attempt tells what still fails.
        let _ = self.finish();
        let file = recorded.result(time_of_day())?;
        write_whole_in(&self.path, &saved::to_json(&file)?)?;
        self.saved = recorded.rounds();
        Ok(Some(Saved {
            path: self.path.clone(),
            decision: decision::sentence(&file),
        }))
    }

    pub fn save_now_and_then(&mut self, recorded: &Recorded) -> Result<()> {
        if self
            .writer
            .as_ref()
            .is_some_and(|writer| writer.thread.is_finished())
        {
            self.finish()?;
        }
        if self.writer.is_some() || Instant::now() < self.next || recorded.rounds() == self.saved {
            return Ok(());
        }
        let (path, recorded) = (self.path.clone(), recorded.clone());
        let rounds = recorded.rounds();
        let thread = std::thread::spawn(move || write(&path, &recorded));
        self.writer = Some(Writer { thread, rounds });
        Ok(())
    }

    fn finish(&mut self) -> Result<()> {
        let Some(Writer { thread, rounds }) = self.writer.take() else {
            return Ok(());
        };
        self.next = Instant::now() + EVERY;
        let took = thread
            .join()
            .unwrap_or_else(|_| Err(anyhow!("saving the rounds panicked")))?;
        self.next += took * SHARE;
        self.saved = rounds;
        Ok(())
    }
}

/// How long it took.
fn write(path: &Path, recorded: &Recorded) -> Result<Duration> {
    let started = Instant::now();
    let file = recorded.result(time_of_day())?;
    write_whole_in(path, &saved::to_json(&file)?)?;
    Ok(started.elapsed())
}
