//! Files that are written whole or not at all, and the directories that only this user may enter.
//!
//! The umask never widens a file: what is acted upon later is for its owner alone, and no file of ours can be written by
//! its group or by others.

use std::fs::{self, DirBuilder, File, Permissions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use rustix::fs::{Mode, OFlags};

use crate::failure::Failure;

/// Less what the umask takes.
const SHARED: u32 = 0o644;
const PRIVATE: u32 = 0o600;
const PRIVATE_DIRECTORY: u32 = 0o700;
/// What lives as long as the machine runs; only root may enter it.
pub const RUNTIME_DIRECTORY: &str = "/run/iosched";
/// May be written by the group or by others.
pub(crate) const WRITABLE_BY_OTHERS: u32 = 0o022;

/// Writes a file that others may read, whole or not at all, and durably. In a directory where others may write, too: the
/// copy has an unpredictable name, and what is not a regular file (a link, a device node) is never replaced.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<()> {
    write(path, bytes, None, true)
}

/// The same of a file that must not be there yet.
pub fn write_new(path: &Path, bytes: &[u8]) -> Result<()> {
    write(path, bytes, None, false)
}

/// The same for a file that is acted upon later: readable and writable by its owner alone, whatever the umask.
pub fn write_private(path: &Path, bytes: &[u8]) -> Result<()> {
    write(path, bytes, Some(PRIVATE), true)
}

fn write(path: &Path, bytes: &[u8], exact_mode: Option<u32>, replaces: bool) -> Result<()> {
    let directory = directory_of(path);
    let name = path
        .file_name()
        .context("a file name is needed")?
        .to_string_lossy();
    refuse_irregular(path)?;
    let written = (|| {
        let mut file = tempfile::Builder::new()
            .prefix(&format!(".{name}."))
            .suffix(".tmp")
            .permissions(Permissions::from_mode(exact_mode.unwrap_or(SHARED)))
            .tempfile_in(directory)?;
        if let Some(mode) = exact_mode {
            // The mode at creation is less the umask, which may take the owner's own bits.
            file.as_file()
                .set_permissions(Permissions::from_mode(mode))?;
        }
        file.write_all(bytes)?;
        file.as_file().sync_all()?;
        if replaces {
            file.persist(path)?;
        } else {
            file.persist_noclobber(path)?;
        }
        File::open(directory)?.sync_all()
    })();
    written.with_context(|| format!("writing {}", path.display()))
}

fn refuse_irregular(path: &Path) -> Result<()> {
    match fs::symlink_metadata(path) {
        Ok(found) if !found.is_file() => Err(Failure::runtime(
            format!(
                "{} is not a regular file and is not replaced",
                path.display()
            ),
            "name a regular file or a new one; `-o -` writes to standard output",
        )),
        _ => Ok(()),
    }
}

/// Whether a result may be written to `path` later, decided before anything is measured. An existing file is replaced only
/// if `force` says so; `advice` says what else can be done.
pub fn ensure_may_write(path: &Path, force: bool, advice: &str) -> Result<()> {
    let refused = |error: anyhow::Error| match error.downcast::<Failure>() {
        Ok(failure) => Failure::refused(failure.what, failure.hint),
        Err(error) => error,
    };
    refuse_irregular(path).map_err(refused)?;
    if path.exists() && !force {
        return Err(Failure::refused(
            format!("{} exists and is not overwritten", path.display()),
            format!("{advice}name another file, or say --force"),
        ));
    }
    let directory = directory_of(path);
    if !directory.is_dir() {
        return Err(Failure::refused(
            format!(
                "{} cannot be written: there is no directory {}",
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
            "name a file in a directory that can be written",
        )
    })
}

/// The directory of a path that may be a bare name.
pub fn directory_of(path: &Path) -> &Path {
    let parent = path.parent();
    parent
        .filter(|parent| !parent.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
}

/// Makes a directory that only this user may enter, whatever the umask; what is above it may be missing too. One that is
/// there already must pass [`ensure_private_directory`].
pub fn make_private_directory(path: &Path) -> Result<()> {
    let at = || format!("creating {}", path.display());
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

/// The same of one that must not be there yet.
pub fn new_private_directory(path: &Path) -> std::io::Result<()> {
    DirBuilder::new().mode(PRIVATE_DIRECTORY).create(path)?;
    // A umask may take the owner's own bits, too. By descriptor: the name may lead elsewhere by now.
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let directory = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    if directory.metadata()?.mode() & 0o777 != PRIVATE_DIRECTORY {
        directory.set_permissions(Permissions::from_mode(PRIVATE_DIRECTORY))?;
    }
    Ok(())
}

/// A directory of this user (or of root) where nobody else can make, rename or remove files. No link is followed.
pub fn ensure_private_directory(path: &Path) -> Result<()> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let directory = rustix::fs::open(path, flags, Mode::empty())
        .with_context(|| format!("opening the directory {}", path.display()))?;
    let metadata = File::from(directory)
        .metadata()
        .with_context(|| format!("looking at {}", path.display()))?;
    let me = rustix::process::geteuid().as_raw();
    let is_ours = metadata.uid() == me || metadata.uid() == 0;
    if is_ours && metadata.mode() & WRITABLE_BY_OTHERS == 0 {
        return Ok(());
    }
    Err(Failure::refused(
        format!(
            "others may write in {} (owner {}, mode {:o}): what is in it cannot be trusted",
            path.display(),
            metadata.uid(),
            metadata.mode() & 0o7777
        ),
        format!(
            "look at its files, then: chown {me} {0} && chmod 700 {0}",
            path.display()
        ),
    ))
}

/// A directory in which nobody but this user and root can rename or remove what this user makes there.
pub fn ensure_names_stay(directory: &Path) -> Result<()> {
    const STICKY: u32 = 0o1000;
    let metadata =
        fs::metadata(directory).with_context(|| format!("looking at {}", directory.display()))?;
    let me = rustix::process::geteuid().as_raw();
    let is_ours = metadata.uid() == me || metadata.uid() == 0;
    let stays = metadata.mode() & WRITABLE_BY_OTHERS == 0 || metadata.mode() & STICKY != 0;
    if is_ours && stays {
        return Ok(());
    }
    Err(Failure::refused(
        format!(
            "temporary files would go to {}, where user {} or others can replace them",
            directory.display(),
            metadata.uid()
        ),
        "set TMPDIR to a directory of your own, or unset it",
    ))
}

/// Removes the copies that [`write_whole`] was writing to when its process was killed: of a change that was then not made.
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

/// The result of removing `path`, which somebody else may have done before.
pub fn gone_is_fine(result: std::io::Result<()>, path: &Path) -> Result<()> {
    match result {
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(()),
        other => other.with_context(|| format!("removing {}", path.display())),
    }
}
