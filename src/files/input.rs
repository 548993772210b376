//! The only code that reads untrusted files. Each read has a size limit and does not block forever: a device node, a
//! pipe without a writer or a log of gigabytes costs neither the machine's memory nor its time.
//!
//! [`read`] is for files that are shown and judged; [`read_own`] is for files that are acted upon, and accepts only
//! files that no other user can have written.

use std::fs::File;
use std::io::{Error, ErrorKind, Read, Result, Seek, SeekFrom};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;

use crate::output::kind;
use crate::way::WRITABLE_BY_OTHERS;
use crate::{interrupt, way};

const MIB: u64 = 1 << 20;
const CHUNK: usize = 1 << 16;

/// Larger files are rejected; real ones are far smaller.
pub const RESULT_LIMIT: u64 = 256 * MIB;
pub const FIO_OUTPUT_LIMIT: u64 = 64 * MIB;
pub const JOURNAL_LIMIT: u64 = 16 * MIB;
pub const JOB_FILE_LIMIT: u64 = MIB;
pub const SETTINGS_LIMIT: u64 = 16 * MIB;

/// Reads the whole file, or fails with the limit. A pipe is read to its end, or until a signal asks this program to
/// end.
pub fn read(path: &Path, limit: u64) -> Result<Vec<u8>> {
    read_from(open(path, OFlags::empty())?, limit)
}

/// The same of standard input, which may be a pipe or a file, but not a terminal.
pub fn read_stdin(limit: u64) -> Result<Vec<u8>> {
    read_waiting(
        File::from(std::io::stdin().as_fd().try_clone_to_owned()?),
        limit,
    )
}

/// Waits before each read: standard input is shared with other processes, so it is not made non-blocking, and a signal
/// must end the wait.
fn read_waiting(mut file: File, limit: u64) -> Result<Vec<u8>> {
    refuse_device(&file.metadata()?)?;
    let (mut bytes, mut chunk) = (Vec::new(), vec![0; CHUNK]);
    loop {
        wait_for_more(&file)?;
        let length = file.read(&mut chunk)?;
        bytes.extend_from_slice(&chunk[..length]);
        match length {
            0 => return Ok(bytes),
            _ if bytes.len() as u64 > limit => return Err(too_large(limit)),
            _ => {}
        }
    }
}

fn too_large(limit: u64) -> Error {
    let text = format!("it is larger than the limit of {} MiB", limit / MIB);
    Error::new(ErrorKind::FileTooLarge, text)
}

/// Opening a pipe without a writer must not block.
fn open(path: &Path, more: OFlags) -> Result<File> {
    let flags = OFlags::NONBLOCK | more;
    // Merely opening a device can trigger an action, so check before; the opened file is checked again.
    if let Ok(found) = std::fs::metadata(path) {
        refuse_device(&found)?;
    }
    File::options()
        .read(true)
        .custom_flags(flags.bits() as i32)
        .open(path)
}

fn refuse_device(found: &std::fs::Metadata) -> Result<()> {
    let kind = found.file_type();
    if kind.is_block_device() || kind.is_char_device() {
        let text = "it is a device, not a file";
        return Err(Error::new(ErrorKind::InvalidInput, text));
    }
    Ok(())
}

fn read_from(mut file: File, limit: u64) -> Result<Vec<u8>> {
    let found = file.metadata()?;
    refuse_device(&found)?;
    // A buffer that grows by doubling would take twice the size of a large file. One byte more: the end is seen without
    // growing.
    let mut bytes = Vec::with_capacity(found.len().min(limit) as usize + 1);
    loop {
        let left = limit + 1 - bytes.len() as u64;
        match (&mut file).take(left).read_to_end(&mut bytes) {
            _ if bytes.len() as u64 > limit => return Err(too_large(limit)),
            Ok(_) => return Ok(bytes),
            // A pipe whose writer has not finished.
            Err(error) if error.kind() == ErrorKind::WouldBlock => wait_for_more(&file)?,
            Err(error) => return Err(error),
        }
    }
}

fn wait_for_more(file: &File) -> Result<()> {
    let slice = Timespec {
        tv_sec: 0,
        tv_nsec: 50_000_000,
    };
    loop {
        if let Some(signal) = interrupt::received() {
            let text = format!("interrupted by signal {signal} while waiting for its content");
            return Err(Error::new(ErrorKind::Interrupted, text));
        }
        match poll(&mut [PollFd::new(file, PollFlags::IN)], Some(&slice)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => {}
            Ok(_) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
    }
}

/// The same for a file that only this user can have written and that is not a link: its content is acted upon. The
/// error's kind is `PermissionDenied` if another user could have written it.
pub fn read_own(path: &Path, limit: u64) -> Result<Vec<u8>> {
    let file = open(path, OFlags::NOFOLLOW)?;
    match others_may_have_written(&file, path)? {
        None => read_from(file, limit),
        Some(why) => Err(Error::new(ErrorKind::PermissionDenied, why)),
    }
}

/// The whole file and, if another user could have written it, the reason. For content that the user confirms.
pub fn read_with_doubt(path: &Path, limit: u64) -> Result<(Vec<u8>, Option<String>)> {
    let is_link = rustix::io::Errno::LOOP.raw_os_error();
    let (file, doubt) = match open(path, OFlags::NOFOLLOW) {
        Err(error) if error.raw_os_error() == Some(is_link) => (
            open(path, OFlags::empty())?,
            Some("it is a symbolic link".to_owned()),
        ),
        file => {
            let file = file?;
            let doubt = others_may_have_written(&file, path)?;
            (file, doubt)
        }
    };
    Ok((read_from(file, limit)?, doubt))
}

/// Judges the file that was opened. Whoever can replace it at its path can also give root a file of root's own that was
/// meant for another purpose.
fn others_may_have_written(file: &File, path: &Path) -> Result<Option<String>> {
    let metadata = file.metadata()?;
    let me = rustix::process::geteuid().as_raw();
    Ok(if !metadata.is_file() {
        Some("it is not a regular file".to_owned())
    } else if metadata.uid() != me && metadata.uid() != 0 {
        Some(format!(
            "it belongs to user {}, not to user {me}",
            metadata.uid()
        ))
    } else if metadata.mode() & WRITABLE_BY_OTHERS != 0 {
        let mode = metadata.mode() & 0o7777;
        Some(format!("its mode {mode:o} allows other users to write it"))
    } else {
        way::doubt(path)?
    })
}

/// A regular file, or an error that says what it is. A program, which may be another user's, may have put a pipe or a link
/// in the place of its output.
fn open_regular(path: &Path) -> Result<File> {
    let not_a_file = |found| {
        let text = format!("it is {}, not a file", kind(found));
        Error::new(ErrorKind::InvalidInput, text)
    };
    let named = std::fs::symlink_metadata(path)?.file_type();
    if named.is_symlink() {
        return Err(not_a_file(named));
    }
    let file = open(path, OFlags::NOFOLLOW)?;
    let found = file.metadata()?.file_type();
    if found.is_file() {
        return Ok(file);
    }
    Err(not_a_file(found))
}

/// The whole of what a program wrote for us, as text.
pub fn read_output(path: &Path, limit: u64) -> Result<String> {
    text(read_from(open_regular(path)?, limit)?)
}

/// The beginning of a file.
pub fn head(path: &Path, limit: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_regular(path)?.take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The first `limit` bytes of what a program wrote, which is too long for memory.
pub fn reader(path: &Path, limit: u64) -> Result<impl Read> {
    Ok(open_regular(path)?.take(limit))
}

/// The last lines of a file, and whether more precedes them.
pub fn tail(path: &Path, limit: u64) -> Result<(Vec<u8>, bool)> {
    let mut file = open_regular(path)?;
    let start = file.seek(SeekFrom::End(0))?.saturating_sub(limit);
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    // The file may still grow.
    file.take(limit).read_to_end(&mut bytes)?;
    if start > 0 {
        // Drop the incomplete first line, unless it is all there is.
        let end = bytes.iter().position(|&byte| byte == b'\n');
        let next = end.map_or(0, |end| end + 1);
        bytes.drain(..if next < bytes.len() { next } else { 0 });
    }
    Ok((bytes, start > 0))
}

/// The same as text.
pub fn read_text_with_doubt(path: &Path, limit: u64) -> Result<(String, Option<String>)> {
    let (bytes, doubt) = read_with_doubt(path, limit)?;
    Ok((text(bytes)?, doubt))
}

/// The whole file as text.
pub fn read_text(path: &Path, limit: u64) -> Result<String> {
    text(read(path, limit)?)
}

fn text(bytes: Vec<u8>) -> Result<String> {
    String::from_utf8(bytes).map_err(|_| Error::new(ErrorKind::InvalidData, "it is not UTF-8"))
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
        let error = tail(directory.path(), 4).unwrap_err().to_string();
        assert_eq!(error, "it is a directory, not a file");
    }

    #[test]
    fn what_never_ends_is_refused_or_ends_at_the_limit() {
        for device in ["/dev/zero", "/dev/null", "/dev/tty"] {
            let error = read(Path::new(device), MIB).unwrap_err().to_string();
            assert!(error.contains("device"), "{device}: {error}");
        }
        let (reader, writer) = std::io::pipe().unwrap();
        let flood = std::thread::spawn(move || {
            let mut writer = writer;
            while std::io::Write::write_all(&mut writer, &[b'x'; 4096]).is_ok() {}
        });
        let reader = File::from(std::os::fd::OwnedFd::from(reader));
        let error = read_from(reader, MIB).unwrap_err();
        assert!(error.to_string().contains("the limit of 1 MiB"), "{error}");
        flood.join().unwrap();
    }

    #[test]
    fn what_is_waited_for_is_read_whole_and_up_to_the_limit() {
        let of = |length: usize, limit| {
            let (reader, mut writer) = std::io::pipe().unwrap();
            let late = std::thread::spawn(move || {
                for part in vec![7; length].chunks(3 * CHUNK / 2) {
                    std::thread::sleep(std::time::Duration::from_millis(60));
                    let _ = std::io::Write::write_all(&mut writer, part);
                }
            });
            let found = read_waiting(File::from(std::os::fd::OwnedFd::from(reader)), limit);
            late.join().unwrap();
            found
        };
        assert_eq!(of(2 * CHUNK, MIB).unwrap(), vec![7; 2 * CHUNK]);
        assert_eq!(of(5, 5).unwrap().len(), 5);
        assert!(of(0, 5).unwrap().is_empty());
        assert_eq!(of(6, 5).unwrap_err().kind(), ErrorKind::FileTooLarge);
        let null = File::open("/dev/null").unwrap();
        assert!(read_waiting(null, 5).is_err());
    }

    #[test]
    fn a_pipe_that_nobody_writes_is_empty_and_one_that_is_written_late_is_read() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("pipe");
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        assert!(read(&path, MIB).unwrap().is_empty());
        for error in [head(&path, 5).unwrap_err(), tail(&path, 5).unwrap_err()] {
            assert_eq!(error.to_string(), "it is a pipe, not a file");
        }
        let (reader, mut writer) = std::io::pipe().unwrap();
        let flags = rustix::fs::fcntl_getfl(&reader).unwrap() | OFlags::NONBLOCK;
        rustix::fs::fcntl_setfl(&reader, flags).unwrap();
        let late = std::thread::spawn(move || {
            std::thread::sleep(std::time::Duration::from_millis(120));
            std::io::Write::write_all(&mut writer, b"late").unwrap();
        });
        let reader = File::from(std::os::fd::OwnedFd::from(reader));
        assert_eq!(read_from(reader, MIB).unwrap(), b"late");
        late.join().unwrap();
    }
}
