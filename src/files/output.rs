//! Files that are written completely or not at all, and directories that only this user may enter.
//!
//! The umask never widens a file's mode: files that are acted upon later are for their owner alone, and no file of ours
//! is writable by its group or by others.

use std::fs::{self, DirBuilder, File, Permissions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use rustix::fs::{Mode, OFlags};

use crate::interrupt;
use crate::way::{self, STICKY, WRITABLE_BY_OTHERS};
use iosched_result::failure::Failure;

/// The mode before the umask is applied.
const SHARED: u32 = 0o644;
const PRIVATE: u32 = 0o600;
const PRIVATE_DIRECTORY: u32 = 0o700;
/// For state that lasts as long as the machine runs; only root may enter it.
pub const RUNTIME_DIRECTORY: &str = "/run/iosched";

/// A file to be locked that only root can open: any user could hold a lock on another one.
pub fn lock_file(name: &str) -> Result<File> {
    let directory = Path::new(RUNTIME_DIRECTORY);
    make_private_directory(directory)?;
    let path = directory.join(name);
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let file = rustix::fs::open(&path, flags, Mode::RUSR | Mode::WUSR);
    Ok(file
        .with_context(|| format!("opening {}", path.display()))?
        .into())
}

/// Writes a file that others may read, completely or not at all, and durably. Safe in a directory where others may
/// write: the copy has an unpredictable name, and only a regular file is ever replaced, not a link or a device node.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<()> {
    write(path, bytes, None, How::Replacing)
}

/// Writes a file as [`write_whole`] does, again and again: without a flush of the disk, so that after a crash of the machine
/// it may be an earlier one.
pub fn write_again(path: &Path, bytes: &[u8]) -> Result<()> {
    write(path, bytes, None, How::Again)
}

/// Writes a file as [`write_whole`] does, in a directory that is made if it is not there.
pub fn write_whole_in(path: &Path, bytes: &[u8]) -> Result<()> {
    make_directory_of(path)?;
    write_whole(path, bytes)
}

/// Makes the directory of a file, and those above it, if they are not there: for this user alone, whatever the umask.
pub fn make_directory_of(path: &Path) -> Result<()> {
    let directory = directory_of(path);
    DirBuilder::new()
        .recursive(true)
        .mode(PRIVATE_DIRECTORY)
        .create(directory)
        .with_context(|| format!("making the directory {}", directory.display()))
}

/// Removes a file that was written with [`write_again`]; it may be gone already.
pub fn remove(path: &Path) -> Result<()> {
    gone_is_fine(fs::remove_file(path), path)
}

/// The same for a file that must not exist yet.
pub fn write_new(path: &Path, bytes: &[u8]) -> Result<()> {
    write(path, bytes, None, How::New)
}

/// The same for a file that is acted upon later: accessible to its owner alone, whatever the umask.
pub fn write_private(path: &Path, bytes: &[u8]) -> Result<()> {
    write(path, bytes, Some(PRIVATE), How::Replacing)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum How {
    /// Durably.
    Replacing,
    /// Durably; it must not exist yet.
    New,
    Again,
}

fn write(path: &Path, bytes: &[u8], exact_mode: Option<u32>, how: How) -> Result<()> {
    let directory = directory_of(path);
    let name = path
        .file_name()
        .context("the path has no file name")?
        .to_string_lossy();
    refuse_irregular(path)?;
    let _hold = interrupt::hold();
    let written = (|| {
        let mut file = tempfile::Builder::new()
            .prefix(&format!(".{name}."))
            .suffix(".tmp")
            .permissions(Permissions::from_mode(exact_mode.unwrap_or(SHARED)))
            .tempfile_in(directory)?;
        if let Some(mode) = exact_mode {
            // The umask may have removed even the owner's own bits at creation.
            file.as_file()
                .set_permissions(Permissions::from_mode(mode))?;
        }
        file.write_all(bytes)?;
        if how == How::Again {
            file.persist(path)?;
            return Ok(());
        }
        file.as_file().sync_all()?;
        match how {
            How::New => file.persist_noclobber(path)?,
            How::Replacing | How::Again => file.persist(path)?,
        };
        File::open(directory)?.sync_all()
    })();
    written.with_context(|| format!("writing {}", path.display()))
}

fn refuse_irregular(path: &Path) -> Result<()> {
    match fs::symlink_metadata(path) {
        Ok(found) if !found.is_file() => Err(Failure::runtime(
            format!(
                "{} is not a regular file but {}, and will not be replaced",
                path.display(),
                kind(found.file_type())
            ),
            "name a regular or a new file; `-o -` writes to standard output",
        )),
        _ => Ok(()),
    }
}

/// The kind of a file that is not regular, in words.
pub(crate) fn kind(found: fs::FileType) -> &'static str {
    match found {
        _ if found.is_dir() => "a directory",
        _ if found.is_symlink() => "a symbolic link",
        _ if found.is_fifo() => "a pipe",
        _ if found.is_socket() => "a socket",
        _ => "a device",
    }
}

/// Checks before any measurement that a result can be written to `path`. An existing file is replaced only with
/// `force`; `advice` names an alternative.
pub fn ensure_may_write(path: &Path, force: bool, advice: &str) -> Result<()> {
    let refused = |error: anyhow::Error| match error.downcast::<Failure>() {
        Ok(failure) => Failure::refused(failure.what, failure.hint),
        Err(error) => error,
    };
    refuse_irregular(path).map_err(refused)?;
    if path.exists() && !force {
        return Err(Failure::refused(
            format!("{} exists and will not be overwritten", path.display()),
            format!("{advice}name another file, or add --force"),
        ));
    }
    let directory = directory_of(path);
    if !directory.is_dir() {
        return Err(Failure::refused(
            format!(
                "{} cannot be written: the directory {} does not exist",
                path.display(),
                directory.display()
            ),
            "name a file in a directory that exists",
        ));
    }
    let probe = tempfile::Builder::new()
        .prefix(".iosched-probe.")
        .tempfile_in(directory);
    probe.map(drop).map_err(|error| {
        Failure::refused(
            format!("{} cannot be written: {error}", path.display()),
            "name a file in a writable directory",
        )
    })
}

/// The directory of a path, which may be a bare file name.
pub fn directory_of(path: &Path) -> &Path {
    let parent = path.parent();
    parent
        .filter(|parent| !parent.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
}

/// Creates a directory that only this user may enter, whatever the umask, with missing parents. An existing directory
/// must pass [`ensure_private_directory`].
pub fn make_private_directory(path: &Path) -> Result<()> {
    let at = || format!("creating {}", path.display());
    refuse_replaceable(path)?;
    if let Some(above) = path.parent().filter(|above| !above.as_os_str().is_empty())
        && !above.exists()
    {
        make_private_directory(above)?;
    }
    match new_private_directory(path) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(error).with_context(at),
        _ => ensure_private_directory(path),
    }
}

/// The same for one that must not exist yet.
pub fn new_private_directory(path: &Path) -> std::io::Result<()> {
    DirBuilder::new().mode(PRIVATE_DIRECTORY).create(path)?;
    // The umask may have removed even the owner's own bits. By descriptor: the name may lead elsewhere by now.
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let directory = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    if directory.metadata()?.mode() & 0o777 != PRIVATE_DIRECTORY {
        directory.set_permissions(Permissions::from_mode(PRIVATE_DIRECTORY))?;
    }
    Ok(())
}

/// How a directory is opened whose content does not matter.
#[cfg(target_os = "linux")]
const WITHOUT_READING: OFlags = OFlags::PATH;
#[cfg(not(target_os = "linux"))]
const WITHOUT_READING: OFlags = OFlags::RDONLY;

/// Checks that a directory belongs to this user or root, and that nobody else can create, rename or remove files in it.
/// Follows no link.
pub fn ensure_private_directory(path: &Path) -> Result<()> {
    refuse_replaceable(path)?;
    let flags = WITHOUT_READING | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let directory = rustix::fs::open(path, flags, Mode::empty())
        .with_context(|| format!("opening the directory {}", path.display()))?;
    let metadata = File::from(directory)
        .metadata()
        .with_context(|| format!("reading the metadata of {}", path.display()))?;
    let me = rustix::process::geteuid().as_raw();
    let is_ours = metadata.uid() == me || metadata.uid() == 0;
    if is_ours && metadata.mode() & WRITABLE_BY_OTHERS == 0 {
        return Ok(());
    }
    Err(Failure::refused(
        format!(
            "other users may write in {} (owner {}, mode {:o}): its content cannot be trusted",
            path.display(),
            metadata.uid(),
            metadata.mode() & 0o7777
        ),
        format!(
            "check its files, then run `chown {me} {0} && chmod 700 {0}`",
            path.display()
        ),
    ))
}

/// Checks that only this user and root can put something else in the place of a directory, whether it exists or not.
pub fn refuse_replaceable(path: &Path) -> Result<()> {
    let doubt = way::doubt(path).with_context(|| format!("reading the path {}", path.display()))?;
    doubt.map_or(Ok(()), |why| {
        Err(Failure::refused(
            format!(
                "another user can replace the directory {}: {why}",
                path.display()
            ),
            "use a directory that only root can replace: check IOSCHED_STATE_DIR and TMPDIR, or unset them",
        ))
    })
}

/// Checks that only this user and root can rename or remove what this user creates in a directory.
pub fn ensure_names_stay(directory: &Path) -> Result<()> {
    let metadata = fs::metadata(directory)
        .with_context(|| format!("reading the metadata of {}", directory.display()))?;
    let me = rustix::process::geteuid().as_raw();
    let is_ours = metadata.uid() == me || metadata.uid() == 0;
    let stays = metadata.mode() & WRITABLE_BY_OTHERS == 0 || metadata.mode() & STICKY != 0;
    if is_ours && stays {
        return refuse_replaceable(directory);
    }
    Err(Failure::refused(
        format!(
            "temporary files would go to {}, where user {} or other users can replace them",
            directory.display(),
            metadata.uid()
        ),
        "set TMPDIR to a directory that belongs to you, or unset it",
    ))
}

/// Removes the copies that [`write_whole`] was writing when its process was killed: their changes were never made.
pub fn remove_unfinished(path: &Path) -> Result<()> {
    let Some(name) = path.file_name() else {
        return Ok(());
    };
    let start = format!(".{}.", name.to_string_lossy());
    let files = fs::read_dir(directory_of(path)).into_iter().flatten();
    let is_copy = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with(&start) && name.ends_with(".tmp")
    };
    for copy in files.flatten().map(|entry| entry.path()).filter(is_copy) {
        gone_is_fine(fs::remove_file(&copy), &copy)?;
    }
    Ok(())
}

/// Result of removing `path`, which another process may have removed before.
pub fn gone_is_fine(result: std::io::Result<()>, path: &Path) -> Result<()> {
    match result {
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(()),
        other => other.with_context(|| format!("removing {}", path.display())),
    }
}
