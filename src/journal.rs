//! The undo log: what this process has changed on the machine and must put back, written to disk *before*
//! each change. The process undoes its own entries when it ends; after SIGKILL or a power cut
//! `iosched restore` reads the file and does the same. One mechanism for both, so both are tested at once.

mod files; // a directory for what others write, gone with us

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::device::Device;
use crate::failure::Failure;
use crate::scheduler::SavedQueue;
pub use files::TemporaryFiles;

/// One change to undo. Each variant carries what is needed to recognise that it is still ours.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Undo {
    /// Scheduler and settings of a device, as they were.
    Queue(SavedQueue),
    /// A loop device of ours: detach it and remove its node.
    Loop {
        device: String,
        backing_file: String,
    },
    /// A FUSE mount of ours.
    Mount { path: PathBuf, source: String },
    /// An empty directory of ours.
    Directory { path: PathBuf },
    /// A control group of ours: end its processes, then remove it.
    Cgroup { path: PathBuf },
    /// A scratch file of ours.
    File { path: PathBuf },
    /// A directory of ours with what a workload has written there.
    Files { path: PathBuf },
}

impl Undo {
    /// Puts the change back. Ok also when there is nothing left to do.
    pub fn perform(&self) -> Result<()> {
        match self {
            Undo::Queue(saved) => crate::scheduler::restore(saved),
            Undo::Loop {
                device,
                backing_file,
            } => crate::scratch::loop_device::detach(device, backing_file),
            Undo::Mount { path, source } => crate::scratch::mount::unmount(path, source),
            Undo::Directory { path } => gone_is_fine(fs::remove_dir(path), path),
            Undo::File { path } => gone_is_fine(fs::remove_file(path), path),
            Undo::Files { path } => files::remove(path),
            Undo::Cgroup { path } => crate::workload::cgroup::end(path),
        }
    }

    /// One line for people.
    pub fn describe(&self) -> String {
        match self {
            Undo::Queue(saved) => format!("scheduler and settings of {}", saved.device),
            Undo::Loop { device, .. } => format!("scratch device {device}"),
            Undo::Mount { path, .. } => format!("mount {}", path.display()),
            Undo::Directory { path } => format!("directory {}", path.display()),
            Undo::File { path } => format!("file {}", path.display()),
            Undo::Files { path } => format!("files in {}", path.display()),
            Undo::Cgroup { path } => format!("control group {}", path.display()),
        }
    }
}

fn gone_is_fine(result: std::io::Result<()>, path: &Path) -> Result<()> {
    match result {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(()),
        other => other.with_context(|| format!("removing {}", path.display())),
    }
}

const FORMAT: u32 = 1;

#[derive(Debug, Serialize, Deserialize)]
struct Record {
    format: u32,
    process: ProcessId,
    boot_id: String,
    command: String,
    /// In the order of the changes; undone from the last to the first.
    entries: Vec<(u64, Undo)>,
}

/// A process that can be told from a later one with the same number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct ProcessId {
    pid: u32,
    start_time_ticks: u64,
}

impl ProcessId {
    fn current() -> Result<Self> {
        let pid = std::process::id();
        let start_time_ticks =
            start_time_ticks(pid).context("reading the start time of this process")?;
        Ok(ProcessId {
            pid,
            start_time_ticks,
        })
    }
    fn is_alive(&self) -> bool {
        start_time_ticks(self.pid) == Some(self.start_time_ticks)
    }
}

/// Field 22 of `/proc/PID/stat`; the name in field 2 may hold spaces and parentheses.
fn start_time_ticks(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, after_name) = stat.rsplit_once(')')?;
    let state = after_name.split_whitespace().next()?;
    if state == "Z" {
        return None;
    }
    after_name.split_whitespace().nth(19)?.parse().ok()
}

fn boot_id() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id")
        .unwrap_or_default()
        .trim()
        .to_owned()
}

/// Where journals live: `/var/lib/iosched/journal`, or below `$IOSCHED_STATE_DIR`.
pub fn directory() -> PathBuf {
    std::env::var_os("IOSCHED_STATE_DIR")
        .map_or_else(|| PathBuf::from("/var/lib/iosched"), PathBuf::from)
        .join("journal")
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
        let process = ProcessId::current()?;
        let path = directory().join(format!("{}-{}.json", process.pid, process.start_time_ticks));
        let record = Record {
            format: FORMAT,
            process,
            boot_id: boot_id(),
            command: std::env::args().collect::<Vec<_>>().join(" "),
            entries: Vec::new(),
        };
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
        inner.save()?;
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
        inner.save()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Inner> {
        self.inner
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl Inner {
    fn save(&self) -> Result<()> {
        if self.record.entries.is_empty() {
            return gone_is_fine(fs::remove_file(&self.path), &self.path);
        }
        if let Some(directory) = self.path.parent() {
            // Command lines stand in journals, and what is in them is undone as root.
            let mut builder = fs::DirBuilder::new();
            builder.recursive(true).mode(0o700);
            builder
                .create(directory)
                .with_context(|| format!("creating {}", directory.display()))?;
        }
        write_whole(&self.path, &serde_json::to_vec_pretty(&self.record)?)
    }
}

/// Writes a file whole or not at all, and durably. In a directory where others may write, too: the copy has a name that
/// nobody can foresee, and what is no file (a link, a device node) is never replaced.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<()> {
    const NEW_FILE: u32 = 0o666; // less what the umask takes
    let directory = directory_of(path);
    let name = path
        .file_name()
        .context("a file name is needed")?
        .to_string_lossy();
    match fs::symlink_metadata(path) {
        Ok(found) if !found.is_file() => {
            return Err(Failure::runtime(
                format!(
                    "{} is not a regular file and is not replaced",
                    path.display()
                ),
                "name the file itself, or a new one",
            ));
        }
        _ => {}
    }
    let written = (|| {
        let mut file = tempfile::Builder::new()
            .prefix(&format!(".{name}."))
            .suffix(".tmp")
            .permissions(fs::Permissions::from_mode(NEW_FILE))
            .tempfile_in(directory)?;
        file.write_all(bytes)?;
        file.as_file().sync_all()?;
        file.persist(path)?;
        File::open(directory)?.sync_all()
    })();
    written.with_context(|| format!("writing {}", path.display()))
}

fn directory_of(path: &Path) -> &Path {
    let parent = path.parent();
    parent
        .filter(|parent| !parent.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
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

/// What a process that is gone has left changed.
#[derive(Debug)]
pub struct LeftBehind {
    path: PathBuf,
    record: Record,
    pub command: String,
    pub pid: u32,
    /// The machine has booted since: the kernel has reset all but files.
    pub rebooted: bool,
}

impl LeftBehind {
    pub fn describe(&self) -> Vec<String> {
        self.record
            .entries
            .iter()
            .map(|(_, undo)| undo.describe())
            .collect()
    }

    /// The queue settings of this disk are among it.
    pub fn has_queue_of(&self, device: &Device) -> bool {
        let is_its = |undo: &Undo| matches!(undo, Undo::Queue(saved) if saved.device == device.name && saved.diskseq == device.diskseq);
        !self.rebooted && self.record.entries.iter().any(|(_, undo)| is_its(undo))
    }

    /// Undoes all entries, the last first; goes on after an error, keeps what failed, and returns those errors.
    pub fn restore(mut self) -> Result<Vec<anyhow::Error>> {
        let mut failed = Vec::new();
        let mut errors = Vec::new();
        while let Some((id, undo)) = self.record.entries.pop() {
            let outlives_a_boot = matches!(
                undo,
                Undo::File { .. } | Undo::Directory { .. } | Undo::Files { .. }
            );
            if self.rebooted && !outlives_a_boot {
                continue;
            }
            if let Err(error) = undo.perform() {
                errors.push(error.context(format!("putting back the {}", undo.describe())));
                failed.insert(0, (id, undo));
            }
        }
        self.record.entries = failed;
        remove_unfinished(&self.path)?;
        Inner {
            path: self.path,
            record: self.record,
            next_id: 0,
        }
        .save()?;
        Ok(errors)
    }
}

fn read(path: &Path) -> Result<Option<LeftBehind>> {
    match crate::input::read_own(path, crate::input::JOURNAL_LIMIT) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
        other => {
            let bytes = other.with_context(|| format!("reading {}", path.display()))?;
            parse(path, &bytes).map(Some)
        }
    }
}

/// `path` is where it was found: errors name it, and what remains is written there.
pub fn parse(path: &Path, bytes: &[u8]) -> Result<LeftBehind> {
    let record: Record = serde_json::from_slice(bytes).with_context(|| {
        format!(
            "{} is not a journal of iosched; look at it, then remove it",
            path.display()
        )
    })?;
    anyhow::ensure!(
        record.format == FORMAT,
        "{} has journal format {}, this iosched knows {FORMAT}",
        path.display(),
        record.format
    );
    Ok(LeftBehind {
        path: path.to_owned(),
        command: record.command.clone(),
        pid: record.process.pid,
        rebooted: record.boot_id != boot_id(),
        record,
    })
}

/// The journals of processes that are gone. A journal that cannot be read is an error of its own in the list.
pub fn left_behind() -> Result<Vec<Result<LeftBehind>>> {
    let directory = directory();
    let entries = match fs::read_dir(&directory) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other.with_context(|| format!("reading {}", directory.display()))?,
    };
    let mut found = Vec::new();
    for entry in entries {
        let path = entry?.path();
        if path.extension().is_none_or(|extension| extension != "json") {
            continue;
        }
        match read(&path) {
            Ok(Some(left)) if !left.rebooted && left.record.process.is_alive() => {}
            Ok(None) => {}
            Ok(Some(left)) => found.push(Ok(left)),
            Err(error) => found.push(Err(error)),
        }
    }
    Ok(found)
}

/// One line for each process that is gone and left something changed, for those who start next.
pub fn notes() -> Vec<String> {
    // Only root can read journals; others have nothing to put back.
    let left_behind = left_behind().unwrap_or_default();
    let lines = left_behind.iter().map(|left| match left {
        Ok(left) => {
            let count = left.record.entries.len();
            let pid = left.pid;
            format!("process {pid} was killed and left {count} changes behind; `iosched restore` puts them back")
        }
        Err(error) => format!("{error:#}"),
    });
    lines.collect()
}

/// Undoes what the journal at `path` holds, if it is still there. For the guardian, whose charge has just ended.
pub fn restore_file(path: &Path) -> Result<Vec<anyhow::Error>> {
    match read(path)? {
        Some(left) => left.restore(),
        None => remove_unfinished(path).map(|()| Vec::new()),
    }
}

/// The copy that [`write_whole`] was writing when its process was killed: of a change that was then not made.
pub fn remove_unfinished(path: &Path) -> Result<()> {
    let Some(name) = path.file_name() else {
        return Ok(());
    };
    let start = format!(".{}.", name.to_string_lossy());
    for entry in fs::read_dir(directory_of(path))
        .into_iter()
        .flatten()
        .flatten()
    {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with(&start) && name.ends_with(".tmp") {
            gone_is_fine(fs::remove_file(entry.path()), &entry.path())?;
        }
    }
    Ok(())
}
