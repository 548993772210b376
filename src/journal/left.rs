//! What processes that are gone have left changed, and journals that are not acted upon without a word from the user.

use std::fmt;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};

use super::record::{FORMAT, Origin, ProcessId, Record};
use super::undo::Undo;
use super::{directory, save};
use crate::device::Device;
use crate::failure::Failure;
use crate::input;
use crate::lock::{self, Outcome};
use crate::output::{ensure_private_directory, gone_is_fine, remove_unfinished};

/// Another process that holds the disk's lock may take so long before the queue is put back.
const PATIENCE: Duration = Duration::from_secs(5);

/// A journal of another process.
#[derive(Debug)]
pub enum Found {
    LeftBehind(LeftBehind),
    Suspect(Suspect),
}

/// What a process has noted as changed.
#[derive(Debug)]
pub struct LeftBehind {
    path: PathBuf,
    record: Record,
    pub pid: u32,
}

/// A journal that cannot be read, or that somebody else may have written.
#[derive(Debug)]
pub struct Suspect {
    pub path: PathBuf,
    why: String,
    content: Option<LeftBehind>,
}

impl fmt::Display for Suspect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the journal {} is not acted upon: {}",
            self.path.display(),
            self.why
        )
    }
}

impl Suspect {
    /// One that cannot be read may concern every disk.
    pub fn may_concern(&self, device: &Device) -> bool {
        let content = self.content.as_ref();
        content.is_none_or(|content| content.has_queue_of(device))
    }

    /// What it says, if that can be read.
    pub fn content(&self) -> Option<&LeftBehind> {
        self.content.as_ref()
    }

    /// What to do about it.
    pub fn way_out(&self) -> String {
        let path = self.path.display();
        match &self.content {
            Some(_) => format!(
                "`iosched restore --list` shows what it says; `iosched restore --trust {path}` puts that back, \
                 `iosched restore --set-aside {path}` keeps the file and forgets the change"
            ),
            None => format!(
                "look at the disks' settings, then `iosched restore --set-aside {path}` keeps the file out of the way"
            ),
        }
    }
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

    /// When the process began, as RFC 3339; empty where an older version has written the journal.
    pub fn started(&self) -> &str {
        self.record.started.as_deref().unwrap_or_default()
    }

    pub fn changes(&self) -> usize {
        self.record.entries.len()
    }

    /// A line for each change, and what has become of it.
    pub fn describe(&self) -> Vec<String> {
        let origin = self.origin();
        let entries = self.record.entries.iter();
        entries
            .map(|(_, undo)| match fate(undo, origin) {
                Some(fate) => format!("{}: {fate}", undo.describe()),
                None => undo.describe(),
            })
            .collect()
    }

    /// The queue settings of this very disk are among it.
    pub fn has_queue_of(&self, device: &Device) -> bool {
        let is_its = |undo: &Undo| matches!(undo, Undo::Queue(saved) if saved.is_of(device));
        self.origin() == Origin::ThisBoot
            && self.record.entries.iter().any(|(_, undo)| is_its(undo))
    }

    /// Undoes all entries, the last first; goes on after an error, keeps what failed, and returns those errors. Two that
    /// restore the same journal do it one after the other.
    pub fn restore(mut self) -> Result<Vec<anyhow::Error>> {
        let origin = self.origin();
        if origin == Origin::AnotherMachine {
            return Err(Failure::refused(
                format!("{} was written on another machine", self.path.display()),
                format!(
                    "restore it there; here, `iosched restore --set-aside {}` keeps it out of the way",
                    self.path.display()
                ),
            ));
        }
        let (mut failed, mut errors) = (Vec::new(), Vec::new());
        while let Some((id, undo)) = self.record.entries.pop() {
            if origin == Origin::EarlierBoot && !undo.outlives_a_boot() {
                continue;
            }
            let outcome = match &undo {
                Undo::Queue(saved) => match hold(&saved.device) {
                    // Another process has done all this while we waited, and new changes may be in force since.
                    Ok(_lock) if !self.path.exists() => return Ok(Vec::new()),
                    Ok(_lock) => undo.perform(),
                    Err(error) => Err(error),
                },
                _ => undo.perform(),
            };
            if let Err(error) = outcome {
                errors.push(error.context(format!("putting back the {}", undo.describe())));
                failed.insert(0, (id, undo));
            }
        }
        self.record.entries = failed;
        remove_unfinished(&self.path)?;
        save(&self.path, &self.record)?;
        Ok(errors)
    }
}

/// The disk's lock, if the disk is there. Without it nothing is written, whoever holds it: it may be a process that a
/// killed program has left in a write, and two that write at the same moment can crash the kernel.
fn hold(name: &str) -> Result<Option<lock::Lock>> {
    let Some(device) = Device::by_name(name)? else {
        return Ok(None);
    };
    match lock::take_within(&device, PATIENCE)? {
        Outcome::Taken(lock) => Ok(Some(lock)),
        Outcome::Busy(holder) => Err(Failure::runtime(
            format!(
                "{name} is locked by {}",
                holder.map_or_else(
                    || "a process that is not visible".to_owned(),
                    |holder| holder.to_string()
                )
            ),
            "wait until that is done, then try `iosched restore` again",
        )),
    }
}

/// Why there is nothing to put back, where that is so.
fn fate(undo: &Undo, origin: Origin) -> Option<&'static str> {
    match (undo, origin) {
        (_, Origin::AnotherMachine) => Some("of another machine, left alone"),
        (undo, Origin::EarlierBoot) if !undo.outlives_a_boot() => Some("the boot has reset it"),
        (Undo::Queue(saved), Origin::ThisBoot) => match Device::by_name(&saved.device) {
            Ok(None) => Some("the disk has gone, and its settings with it"),
            Ok(Some(device)) if !saved.is_of(&device) => {
                Some("another disk has this name now and is left alone")
            }
            _ => None,
        },
        _ => None,
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
                "it was written in another PID namespace, where its process may still be at work"
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

/// `path` is where it was found: errors name it, and what remains is written there.
pub fn parse(path: &Path, bytes: &[u8]) -> Result<LeftBehind> {
    let record: Record = serde_json::from_slice(bytes).context("it is not a journal of iosched")?;
    anyhow::ensure!(
        record.format == FORMAT,
        "it has journal format {}, this iosched knows {FORMAT}",
        record.format
    );
    Ok(LeftBehind {
        path: path.to_owned(),
        pid: record.process.pid,
        record,
    })
}

/// All journals but that of this process, of living processes too.
pub fn of_others() -> Result<Vec<Found>> {
    let directory = directory();
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

/// Copies that processes were writing when they were killed together with their guardians: of changes that were not made.
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

/// One line for each process that is gone and left something changed, for those who start next.
pub fn notes() -> Vec<String> {
    // Only root can read journals; others have nothing to put back.
    let left_behind = left_behind().unwrap_or_default();
    let lines = left_behind.iter().map(|found| match found {
        Found::LeftBehind(left) if left.origin() == Origin::AnotherMachine => format!(
            "{} was written on another machine; `iosched restore --set-aside` keeps it out of the way",
            left.path.display()
        ),
        Found::LeftBehind(left) => format!(
            "process {} was killed and left {} changes behind; `iosched restore` puts them back",
            left.pid,
            left.changes()
        ),
        Found::Suspect(suspect) => format!("{suspect}; {}", suspect.way_out()),
    });
    lines.collect()
}

/// Undoes what the journal at `path` holds, if it is still there. For the guardian, whose charge has just ended.
pub fn restore_file(path: &Path) -> Result<Vec<anyhow::Error>> {
    match read(path)? {
        Some(Found::LeftBehind(left)) => left.restore(),
        Some(Found::Suspect(suspect)) => {
            Err(Failure::runtime(suspect.to_string(), suspect.way_out()))
        }
        None => remove_unfinished(path).map(|()| Vec::new()),
    }
}

/// A journal that the user has looked at and trusts, whoever could have written it.
pub fn trusted(path: &Path) -> Result<LeftBehind> {
    let path = &in_directory(path)?;
    let bytes = input::read(path, input::JOURNAL_LIMIT)
        .with_context(|| format!("reading {}", path.display()))?;
    let left = parse(path, &bytes).map_err(|error| {
        Failure::runtime(
            format!("{}: {error:#}", path.display()),
            "put the settings right by hand, then `iosched restore --set-aside` it",
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
            "process {} is at work and needs {}",
            left.pid,
            left.path.display()
        ),
        "end it first; it then puts everything back",
    ))
}

/// Keeps a journal under a name that is no longer taken for one; returns that name.
pub fn set_aside(path: &Path) -> Result<PathBuf> {
    let path = &in_directory(path)?;
    if let Some(Found::LeftBehind(left)) = read(path)? {
        refuse_living(&left)?;
    }
    let aside = (1..).map(|number| path.with_extension(format!("set-aside-{number}")));
    let aside = aside
        .into_iter()
        .find(|aside| fs::symlink_metadata(aside).is_err())
        .context("a free name")?;
    fs::rename(path, &aside).with_context(|| format!("renaming {}", path.display()))?;
    Ok(aside)
}

/// Only a file in the journals' directory is a journal.
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
        "`iosched restore --list` names them",
    ))
}
