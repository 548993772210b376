//! Names the file that gets the result.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context, Result};
use iosched_files::output;
use iosched_result::failure::Failure;
use rustix::fs::{FileType, OFlags};

/// The result file, None for stdout. A file that cannot be written is refused before the rounds, not after hours.
pub fn named(wanted: Option<&Path>, force: bool, default_stem: &str) -> Result<Option<PathBuf>> {
    let path = match wanted {
        Some(path) if path == Path::new("-") => {
            ensure_stdout_is_open()?;
            return Ok(None);
        }
        Some(path) => path.to_owned(),
        None => {
            let now = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
            let stamp: String = now.chars().filter(char::is_ascii_alphanumeric).collect();
            PathBuf::from(format!("{default_stem}-{stamp}.json"))
        }
    };
    let advice = "continue an interrupted run with --resume, ";
    output::ensure_may_write(&path, force, advice)?;
    Ok(Some(path))
}

/// The Rust runtime opens a closed standard output on /dev/null before `main`, for reading and writing; a shell's
/// `>/dev/null` opens it for writing only.
fn ensure_stdout_is_open() -> Result<()> {
    let stdout = std::io::stdout();
    let is_null = rustix::fs::fstat(&stdout).is_ok_and(|found| {
        found.st_rdev == rustix::fs::makedev(1, 3)
            && FileType::from_raw_mode(found.st_mode).is_char_device()
    });
    let flags =
        rustix::fs::fcntl_getfl(&stdout).context("asking for the mode of standard output")?;
    if is_null && flags.contains(OFlags::RDWR) {
        return Err(Failure::refused(
            "standard output is closed: the result would be lost",
            "write it to a file with -o FILE",
        ));
    }
    Ok(())
}
