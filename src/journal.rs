//! The undo log: what this process has changed on the machine and must put back, written to disk *before*
//! each change. The process undoes its own entries when it ends; after SIGKILL or a power cut
//! `iosched restore` reads the file and does the same. One mechanism for both, so both are tested at once.
//!
//! A journal is acted upon by root. It is made for its owner alone, whatever the umask, in a directory that only its owner
//! may enter; one that anybody else could have written is shown and never acted upon by itself.

mod files; // a directory for what others write, gone with us
mod left; // what processes that are gone have left changed
mod record; // what stands in a journal
mod undo; // one change to undo

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use anyhow::{Context, Result};

use crate::output::{gone_is_fine, make_private_directory, write_private};
pub use files::TemporaryFiles;
pub use left::{
    Found, LeftBehind, Suspect, left_behind, notes, of_others, parse,
    remove_unfinished_of_the_dead, restore_file, set_aside, trusted,
};
pub use record::Origin;
use record::Record;
pub use undo::Undo;

/// Where journals live: `/var/lib/iosched/journal`, or below `$IOSCHED_STATE_DIR`.
pub fn directory() -> PathBuf {
    std::env::var_os("IOSCHED_STATE_DIR")
        .map_or_else(|| PathBuf::from("/var/lib/iosched"), PathBuf::from)
        .join("journal")
}

/// Writes the journal, or removes it where nothing is left to undo.
fn save(path: &Path, record: &Record) -> Result<()> {
    if record.entries.is_empty() {
        return gone_is_fine(fs::remove_file(path), path);
    }
    if let Some(directory) = path.parent() {
        if let Some(state) = directory.parent() {
            make_private_directory(state)?;
        }
        make_private_directory(directory)?;
    }
    write_private(path, &serde_json::to_vec_pretty(record)?)
}

/// The journal of this process. Clones share it.
#[derive(Clone)]
pub struct Journal {
    inner: Arc<Mutex<Inner>>,
}

struct Inner {
    path: PathBuf,
    record: Record,
    next_id: u64,
}

impl Journal {
    /// Nothing is written before the first [`Journal::record`].
    pub fn create() -> Result<Self> {
        let record = Record::of_this_process()?;
        let path = directory().join(record.process.journal_name());
        Ok(Journal {
            inner: Arc::new(Mutex::new(Inner {
                path,
                record,
                next_id: 0,
            })),
        })
    }

    /// Call before the change. The returned entry undoes it when dropped.
    pub fn record(&self, undo: Undo) -> Result<Entry> {
        let mut inner = self.lock();
        let id = inner.next_id;
        inner.next_id += 1;
        inner.record.entries.push((id, undo.clone()));
        if let Err(error) = save(&inner.path, &inner.record) {
            // The change will not be made.
            inner.record.entries.pop();
            return Err(error);
        }
        Ok(Entry {
            journal: self.clone(),
            id,
            undo: Some(undo),
        })
    }

    /// The file, for the guardian process.
    pub fn path(&self) -> PathBuf {
        self.lock().path.clone()
    }

    fn strike_out(&self, id: u64) -> Result<()> {
        let mut inner = self.lock();
        inner.record.entries.retain(|(other, _)| *other != id);
        save(&inner.path, &inner.record)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Inner> {
        self.inner
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// A change that is in force. Dropping it undoes the change; so does [`Entry::undo`], which reports errors.
/// What could not be undone stays in the journal for `iosched restore`.
#[must_use = "dropping the entry undoes the change at once"]
pub struct Entry {
    journal: Journal,
    id: u64,
    undo: Option<Undo>,
}

impl Entry {
    pub fn undo(mut self) -> Result<()> {
        self.undo_once()
    }

    /// The change is to stay: nobody undoes it any more.
    pub fn keep(mut self) -> Result<()> {
        self.undo = None;
        self.journal.strike_out(self.id)
    }

    fn undo_once(&mut self) -> Result<()> {
        match self.undo.take() {
            None => Ok(()),
            Some(undo) => {
                undo.perform()
                    .with_context(|| format!("putting back the {}", undo.describe()))?;
                self.journal.strike_out(self.id)
            }
        }
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        // An error here leaves the entry in the journal, and the next start reports it.
        let _ = self.undo_once();
    }
}

/// The last first. Goes on after an error; what failed is joined into one.
pub fn undo_all(mut entries: Vec<Entry>) -> Result<()> {
    let mut failed: Option<anyhow::Error> = None;
    while let Some(entry) = entries.pop() {
        if let Err(error) = entry.undo() {
            failed = Some(match failed {
                None => error,
                Some(earlier) => earlier.context(format!("{error:#}; and")),
            });
        }
    }
    failed.map_or(Ok(()), Err)
}
