//! Files from outside, read up to a limit: a device node, a pipe that never ends or a log of gigabytes by mistake must
//! not take the machine's memory.

use std::fs::File;
use std::io::{Error, ErrorKind, Read, Result};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

const MIB: u64 = 1 << 20;

/// What is larger is none of ours. The files themselves are far smaller.
pub const RESULT_LIMIT: u64 = 256 * MIB;
pub const FIO_OUTPUT_LIMIT: u64 = 64 * MIB;
pub const JOURNAL_LIMIT: u64 = 16 * MIB;
pub const JOB_FILE_LIMIT: u64 = MIB;
pub const SETTINGS_LIMIT: u64 = 16 * MIB;

/// The whole file, or an error that names the limit.
pub fn read(path: &Path, limit: u64) -> Result<Vec<u8>> {
    read_from(File::open(path)?, limit)
}

fn read_from(file: File, limit: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        return Err(Error::new(
            ErrorKind::FileTooLarge,
            format!("it is larger than the {} MiB that are read", limit / MIB),
        ));
    }
    Ok(bytes)
}

/// The same of a file that only its owner, who must be this user, can write, and that is no link: what stands in it is
/// acted upon.
pub fn read_own(path: &Path, limit: u64) -> Result<Vec<u8>> {
    // Nor does a pipe of somebody's hold us up.
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let file = File::options()
        .read(true)
        .custom_flags(flags.bits() as i32)
        .open(path)?;
    let metadata = file.metadata()?;
    let is_ours = metadata.uid() == rustix::process::geteuid().as_raw();
    if !metadata.is_file() || !is_ours || metadata.mode() & 0o022 != 0 {
        return Err(Error::new(
            ErrorKind::PermissionDenied,
            "it is not a file that this user alone can write; look at it, then remove it",
        ));
    }
    read_from(file, limit)
}

/// The same as text.
pub fn read_text(path: &Path, limit: u64) -> Result<String> {
    String::from_utf8(read(path, limit)?)
        .map_err(|_| Error::new(ErrorKind::InvalidData, "it is not UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_counts_up_to_the_limit_and_no_further() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        std::fs::write(&path, [7; 100]).unwrap();
        assert_eq!(read(&path, 100).unwrap().len(), 100);
        let error = read(&path, 99).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::FileTooLarge);
    }

    #[test]
    fn what_never_ends_ends_at_the_limit() {
        let error = read(Path::new("/dev/zero"), MIB).unwrap_err();
        assert!(
            error.to_string().contains("larger than the 1 MiB"),
            "{error}"
        );
        assert!(read_text(Path::new("/dev/null"), 1).unwrap().is_empty());
    }
}
