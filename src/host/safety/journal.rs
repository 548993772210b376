//! The undo log: every change of this process to the machine, written to disk *before* the change. The process undoes
//! its own entries when it ends; after SIGKILL or a power cut `iosched restore` reads the file and does the same. Both
//! use the same code, so both are tested at once.
//!
//! Root acts on a journal. It is created for its owner alone, whatever the umask, in a directory that only its owner
//! may enter; a journal that another user could have written is shown and never acted upon automatically.

mod files; // output directories of workloads, removed at the end
mod left; // changes left behind by processes that are gone
mod record; // the content of a journal
mod suspect; // journals that need the user's consent
mod undo; // one change to undo

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use anyhow::{Context, Result};

pub use files::TemporaryFiles;
use iosched_files::output::{gone_is_fine, make_private_directory, write_private};
pub use left::{
    Found, LeftBehind, left_behind, notes, of_others, parse, remove_unfinished_of_the_dead,
    restore_file, set_aside, trusted,
};
use record::Record;
pub use record::{Origin, command};
pub use suspect::Suspect;
pub use undo::Undo;

/// Where journals live: `/var/lib/iosched/journal`, or below `$IOSCHED_STATE_DIR`.
pub fn directory() -> PathBuf {
    let named = std::env::var_os("IOSCHED_STATE_DIR").filter(|name| !name.is_empty());
    named
        .map_or_else(|| PathBuf::from("/var/lib/iosched"), PathBuf::from)
        .join("journal")
}

/// Whether something that this process has changed was not undone.
pub fn has_that_of_this_process() -> bool {
    Journal::create().is_ok_and(|journal| journal.path().exists())
}

/// Writes the journal, or removes it if nothing is left to undo.
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

/// Whether changes could be recorded: an entry is written and struck out again.
pub fn try_out() -> Result<()> {
    let journal = Journal::create()?;
    // There is no such directory, so nothing would be undone.
    let path = directory().join("iosched-none");
    journal.record(Undo::Files { path })?.keep()
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
    /// Writes nothing before the first [`Journal::record`].
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
            // The caller will not make the change.
            inner.record.entries.pop();
            return Err(error);
        }
        Ok(Entry {
            journal: self.clone(),
            id,
            undo: Some(undo),
        })
    }

    /// Path of the file, for the guardian process.
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
/// A change that could not be undone stays in the journal for `iosched restore`.
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

    /// The change becomes permanent: removes the entry without undoing it.
    pub fn keep(mut self) -> Result<()> {
        self.undo = None;
        self.journal.strike_out(self.id)
    }

    fn undo_once(&mut self) -> Result<()> {
        match self.undo.take() {
            None => Ok(()),
            Some(undo) => {
                undo.perform()
                    .with_context(|| format!("restoring the {}", undo.describe()))?;
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

/// Undoes the entries from last to first. Continues after an error and joins all errors into one.
pub fn undo_all(mut entries: Vec<Entry>) -> Result<()> {
    let mut failed: Option<anyhow::Error> = None;
    while let Some(entry) = entries.pop() {
        if let Err(error) = entry.undo() {
            failed = Some(match failed {
                None => error,
                Some(earlier) => earlier.context(format!("{error:#}; also")),
            });
        }
    }
    failed.map_or(Ok(()), Err)
}
