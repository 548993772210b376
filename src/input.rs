//! Files from outside, read up to a limit: a device node, a pipe that never ends or a log of gigabytes by mistake must
//! not take the machine's memory.

use std::fs::File;
use std::io::{Error, ErrorKind, Read, Result, Seek, SeekFrom};
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

/// The end of a file, from the beginning of a line, and whether there was more before it.
pub fn tail(path: &Path, limit: u64) -> Result<(Vec<u8>, bool)> {
    let mut file = File::open(path)?;
    let start = file.seek(SeekFrom::End(0))?.saturating_sub(limit);
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    // It may still grow.
    file.take(limit).read_to_end(&mut bytes)?;
    if start > 0 {
        // What the cut has left of a line goes, unless it is all there is.
        let end = bytes.iter().position(|&byte| byte == b'\n');
        let next = end.map_or(0, |end| end + 1);
        bytes.drain(..if next < bytes.len() { next } else { 0 });
    }
    Ok((bytes, start > 0))
}

/// The whole file as text.
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
    fn a_tail_is_whole_lines_and_says_that_it_is_one() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        std::fs::write(&path, "first\nsecond\nthird\n").unwrap();
        assert_eq!(
            tail(&path, 19).unwrap(),
            (b"first\nsecond\nthird\n".to_vec(), false)
        );
        assert_eq!(tail(&path, 9).unwrap(), (b"third\n".to_vec(), true));
        std::fs::write(&path, "one long line\n").unwrap();
        assert_eq!(tail(&path, 5).unwrap(), (b"line\n".to_vec(), true));
        assert!(tail(&directory.path().join("none"), 4).is_err());
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
