//! Changes left behind by processes that are gone.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};

use super::record::{FORMAT, Origin, ProcessId, Record};
use super::suspect::Suspect;
use super::undo::Undo;
use super::{directory, save};
use crate::safety::lock::{self, LockOutcome};
use crate::system::device::Device;
use iosched_files::input;
use iosched_files::output::{
    ensure_private_directory, gone_is_fine, refuse_replaceable, remove_unfinished,
};
use iosched_result::failure::Failure;

/// How long to wait for another holder of the disk's lock before a queue is restored.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);

/// A journal of another process.
#[derive(Debug)]
pub enum Found {
    LeftBehind(LeftBehind),
    Suspect(Suspect),
}

/// The changes that a process recorded.
#[derive(Debug)]
pub struct LeftBehind {
    path: PathBuf,
    record: Record,
    pub pid: u32,
}

impl LeftBehind {
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn command(&self) -> &str {
        &self.record.command
    }

    pub fn origin(&self) -> Origin {
        self.record.origin()
    }

    /// When the process began, RFC 3339; empty if an older version wrote the journal.
    pub fn started(&self) -> &str {
        self.record.started.as_deref().unwrap_or_default()
    }

    pub fn changes(&self) -> usize {
        self.record.entries.len()
    }

    /// One line per change, with its current state.
    pub fn describe(&self) -> Vec<String> {
        let origin = self.origin();
        let entries = self.record.entries.iter();
        entries
            .map(|(_, undo)| match undo.fate(origin) {
                Some(fate) => format!("{}: {fate}", undo.describe()),
                None => undo.describe(),
            })
            .collect()
    }

    /// Whether it contains queue settings of this very disk.
    pub fn has_queue_of(&self, device: &Device) -> bool {
        let is_its = |undo: &Undo| matches!(undo, Undo::Queue(saved) if saved.is_of(device));
        self.origin() == Origin::ThisBoot
            && self.record.entries.iter().any(|(_, undo)| is_its(undo))
    }

    /// Whether it contains settings of control groups or of the system, or what a command has done.
    pub fn has_settings_elsewhere(&self) -> bool {
        let is_elsewhere = |undo: &Undo| matches!(undo, Undo::Setting(_) | Undo::Hook(_));
        let mut undos = self.record.entries.iter().map(|(_, undo)| undo);
        self.origin() == Origin::ThisBoot && undos.any(is_elsewhere)
    }

    pub fn has_commands(&self) -> bool {
        let mut undos = self.record.entries.iter().map(|(_, undo)| undo);
        undos.any(|undo| matches!(undo, Undo::Hook(_)))
    }

    /// Undoes all entries from last to first; continues after an error, keeps what failed, and returns the errors. Two
    /// processes that restore the same journal take turns.
    pub fn restore(self) -> Result<Vec<anyhow::Error>> {
        self.restore_and_tell(&mut |_, _| ())
    }

    /// The same; `tell` receives each change that needs nothing more, and why it was left alone, if it was.
    pub fn restore_and_tell(
        mut self,
        tell: &mut dyn FnMut(&Undo, Option<&str>),
    ) -> Result<Vec<anyhow::Error>> {
        let origin = self.origin();
        if origin == Origin::AnotherMachine {
            return Err(Failure::refused(
                format!("{} was written on another machine", self.path.display()),
                format!(
                    "run `iosched restore` on that machine; here, `iosched restore --set-aside {}` ignores it",
                    self.path.display()
                ),
            ));
        }
        let mut failed = Vec::new();
        while let Some((id, undo)) = self.record.entries.pop() {
            let left_alone = undo.fate(origin);
            if origin == Origin::EarlierBoot && !undo.outlives_a_boot() {
                tell(&undo, left_alone);
                continue;
            }
            let outcome = match &undo {
                Undo::Queue(saved) => match hold(&saved.device) {
                    // Another process restored it while this one waited, and new changes may be in force since.
                    Ok(_lock) if !self.path.exists() => {
                        tell(&undo, Some("another process has restored it"));
                        return Ok(Vec::new());
                    }
                    Ok(_lock) => undo.perform(),
                    Err(error) => Err(error),
                },
                Undo::Setting(_) | Undo::Hook(_) if !self.path.exists() => {
                    tell(&undo, Some("another process has restored it"));
                    return Ok(Vec::new());
                }
                Undo::Hook(command) => command.run_after_a_kill(),
                _ => undo.perform(),
            };
            match outcome {
                Ok(()) => tell(&undo, left_alone),
                Err(error) => failed.push((id, undo, error)),
            }
        }
        // Files on a dead disk cannot be removed; they go with its mount.
        failed
            .retain(|(_, undo, _)| !matches!(undo, Undo::Files { .. }) || undo.perform().is_err());
        let mut errors = Vec::new();
        for (id, undo, error) in failed {
            errors.push(error.context(format!("restoring the {}", undo.describe())));
            self.record.entries.insert(0, (id, undo));
        }
        remove_unfinished(&self.path)?;
        save(&self.path, &self.record)?;
        Ok(errors)
    }
}

/// Takes the disk's lock, if the disk exists. Without the lock nothing is written: its holder may be a child that a
/// killed program left in a write, and two writes at the same moment can crash the kernel.
fn hold(name: &str) -> Result<Option<lock::Lock>> {
    let Some(device) = Device::by_name(name)? else {
        return Ok(None);
    };
    match lock::take_within(&device, LOCK_TIMEOUT)? {
        LockOutcome::Taken(lock) => Ok(Some(lock)),
        LockOutcome::Busy(holder) => Err(Failure::runtime(
            format!(
                "{name} is locked by {}",
                holder.map_or_else(
                    || "a process that is not visible".to_owned(),
                    |holder| holder.to_string()
                )
            ),
            "wait until it has finished, then run `iosched restore` again",
        )),
    }
}

fn read(path: &Path) -> Result<Option<Found>> {
    let suspect = |why: String, content| {
        let path = path.to_owned();
        Ok(Some(Found::Suspect(Suspect { path, why, content })))
    };
    match input::read_own(path, input::JOURNAL_LIMIT) {
        Ok(bytes) => match parse(path, &bytes) {
            Ok(left) if left.record.is_of_another_pid_namespace() => suspect(
                "it was written in another PID namespace, where its process may still be running"
                    .to_owned(),
                Some(left),
            ),
            Ok(left) => Ok(Some(Found::LeftBehind(left))),
            Err(error) => suspect(format!("{error:#}"), None),
        },
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => {
            let content = input::read(path, input::JOURNAL_LIMIT).ok();
            let content = content.and_then(|bytes| parse(path, &bytes).ok());
            suspect(error.to_string(), content)
        }
    }
}

/// `path`: where the journal was found; errors name it, and the remaining entries are written there.
pub fn parse(path: &Path, bytes: &[u8]) -> Result<LeftBehind> {
    let record: Record = serde_json::from_slice(bytes).context("it is not a journal of iosched")?;
    anyhow::ensure!(
        record.format == FORMAT,
        "it has journal format {}, but this version of iosched only reads format {FORMAT}",
        record.format
    );
    Ok(LeftBehind {
        path: path.to_owned(),
        pid: record.process.pid,
        record,
    })
}

/// All journals except that of this process, including those of living processes.
pub fn of_others() -> Result<Vec<Found>> {
    let directory = directory();
    // Whoever can take it away could make it look as if nothing had been left behind.
    refuse_replaceable(&directory)?;
    let entries = match fs::read_dir(&directory) {
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        other => other.with_context(|| format!("reading {}", directory.display()))?,
    };
    for directory in [directory.parent(), Some(&*directory)]
        .into_iter()
        .flatten()
    {
        ensure_private_directory(directory)?;
    }
    let mut found = Vec::new();
    for entry in entries {
        let path = entry?.path();
        if path.extension().is_none_or(|extension| extension != "json") {
            continue;
        }
        match read(&path)? {
            Some(Found::LeftBehind(left)) if left.record.is_of_this_process() => {}
            journal => found.extend(journal),
        }
    }
    Ok(found)
}

/// The journals of processes that are gone, and those that cannot be trusted.
pub fn left_behind() -> Result<Vec<Found>> {
    let mut found = of_others()?;
    found.retain(|found| !matches!(found, Found::LeftBehind(left) if left.record.is_alive()));
    Ok(found)
}

/// Removes copies that a process was writing when it and its guardian were killed: their changes were never made.
pub fn remove_unfinished_of_the_dead() -> Result<()> {
    for entry in fs::read_dir(directory()).into_iter().flatten().flatten() {
        let path = entry.path();
        let is_copy = path.extension().is_some_and(|extension| extension == "tmp");
        let name = entry.file_name().to_string_lossy().into_owned();
        if is_copy && ProcessId::of_name(&name).is_some_and(|process| !process.is_alive()) {
            gone_is_fine(fs::remove_file(&path), &path)?;
        }
    }
    Ok(())
}

/// One line for each process that left changes behind, for programs that start later.
pub fn notes() -> Vec<String> {
    // Only root can read journals; other users have nothing to restore.
    let left_behind = left_behind().unwrap_or_default();
    let lines = left_behind.iter().map(|found| match found {
        Found::LeftBehind(left) if left.origin() == Origin::AnotherMachine => format!(
            "{} was written on another machine; `iosched restore --set-aside` ignores it",
            left.path.display()
        ),
        Found::LeftBehind(left) => format!(
            "process {} was killed and left {} changes behind; `iosched restore` undoes them",
            left.pid,
            left.changes()
        ),
        Found::Suspect(suspect) => format!("{suspect}; {}", suspect.remedy()),
    });
    lines.collect()
}

/// Undoes the journal at `path`, if it still exists. For the guardian, after its process has ended.
pub fn restore_file(path: &Path) -> Result<Vec<anyhow::Error>> {
    match read(path)? {
        Some(Found::LeftBehind(left)) => left.restore(),
        Some(Found::Suspect(suspect)) => {
            Err(Failure::runtime(suspect.to_string(), suspect.remedy()))
        }
        None => remove_unfinished(path).map(|()| Vec::new()),
    }
}

/// A journal that the user has inspected and trusts, whoever could have written it.
pub fn trusted(path: &Path) -> Result<LeftBehind> {
    let path = &in_directory(path)?;
    let bytes = input::read(path, input::JOURNAL_LIMIT)
        .with_context(|| format!("reading {}", path.display()))?;
    let left = parse(path, &bytes).map_err(|error| {
        Failure::runtime(
            format!("{}: {error:#}", path.display()),
            "restore the settings by hand, then run `iosched restore --set-aside` on it",
        )
    })?;
    refuse_living(&left)?;
    Ok(left)
}

fn refuse_living(left: &LeftBehind) -> Result<()> {
    if !left.record.is_alive() {
        return Ok(());
    }
    Err(Failure::refused(
        format!(
            "process {} is still running and needs {}",
            left.pid,
            left.path.display()
        ),
        "end that process first; it then restores everything",
    ))
}

/// Renames a journal so that it is no longer read as one; returns the new name.
pub fn set_aside(path: &Path) -> Result<PathBuf> {
    let path = &in_directory(path)?;
    if let Some(Found::LeftBehind(left)) = read(path)? {
        refuse_living(&left)?;
    }
    let aside = (1..).map(|number| path.with_extension(format!("set-aside-{number}")));
    let aside = aside
        .into_iter()
        .find(|aside| fs::symlink_metadata(aside).is_err())
        .context("finding a free name")?;
    fs::rename(path, &aside).with_context(|| format!("renaming {}", path.display()))?;
    Ok(aside)
}

/// Only files in the journal directory are journals.
fn in_directory(path: &Path) -> Result<PathBuf> {
    let directory = directory();
    let name = path.file_name().unwrap_or_default();
    let there = directory.join(name);
    let absolute = |path: &Path| std::path::absolute(path).ok();
    let is_there = there
        .extension()
        .is_some_and(|extension| extension == "json")
        && fs::symlink_metadata(&there).is_ok()
        && (path == Path::new(name) || absolute(path) == absolute(&there));
    if is_there {
        return Ok(there);
    }
    Err(Failure::usage(
        format!(
            "{} is not a journal in {}",
            path.display(),
            directory.display()
        ),
        "`iosched restore --list` shows all journals",
    ))
}
