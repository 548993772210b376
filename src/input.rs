//! The one place that reads files from outside. Each is read up to a limit, without waiting for ever: a device node, a
//! pipe that nobody writes or a log of gigabytes by mistake takes neither the machine's memory nor its time.
//!
//! What stands in a file is material. [`read`] is for files that are shown and judged; [`read_own`] is for files that are
//! acted upon, and takes only what this user alone can have written.

use std::fs::File;
use std::io::{Error, ErrorKind, Read, Result, Seek, SeekFrom};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;

use crate::interrupt;
use crate::output::WRITABLE_BY_OTHERS;

const MIB: u64 = 1 << 20;

/// What is larger is none of ours. The files themselves are far smaller.
pub const RESULT_LIMIT: u64 = 256 * MIB;
pub const FIO_OUTPUT_LIMIT: u64 = 64 * MIB;
pub const JOURNAL_LIMIT: u64 = 16 * MIB;
pub const JOB_FILE_LIMIT: u64 = MIB;
pub const SETTINGS_LIMIT: u64 = 16 * MIB;

/// The whole file, or an error that names the limit. A pipe is read to its end, or until a signal asks this program to end.
pub fn read(path: &Path, limit: u64) -> Result<Vec<u8>> {
    read_from(open(path, OFlags::empty())?, limit)
}

/// Opening a pipe that nobody writes must not wait for a writer.
fn open(path: &Path, more: OFlags) -> Result<File> {
    let flags = OFlags::NONBLOCK | more;
    // To open a device can be an order to it. Whether it is one is asked again of what was opened.
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
    refuse_device(&file.metadata()?)?;
    let mut bytes = Vec::new();
    let too_large = || {
        let text = format!("it is larger than the {} MiB that are read", limit / MIB);
        Err(Error::new(ErrorKind::FileTooLarge, text))
    };
    loop {
        let left = limit + 1 - bytes.len() as u64;
        match (&mut file).take(left).read_to_end(&mut bytes) {
            _ if bytes.len() as u64 > limit => return too_large(),
            Ok(_) => return Ok(bytes),
            // A pipe whose writer has not said all yet.
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

/// The same of a file that its owner, who must be this user, alone can write, and that is not a link: what stands in it is
/// acted upon. The error's kind is `PermissionDenied` where somebody else could have written it.
pub fn read_own(path: &Path, limit: u64) -> Result<Vec<u8>> {
    let file = open(path, OFlags::NOFOLLOW)?;
    match others_may_have_written(&file)? {
        None => read_from(file, limit),
        Some(why) => Err(Error::new(ErrorKind::PermissionDenied, why)),
    }
}

/// The whole file, and why somebody else could have written it, if so. For what is acted upon once the user has seen it.
pub fn read_with_doubt(path: &Path, limit: u64) -> Result<(Vec<u8>, Option<String>)> {
    let is_link = rustix::io::Errno::LOOP.raw_os_error();
    let (file, doubt) = match open(path, OFlags::NOFOLLOW) {
        Err(error) if error.raw_os_error() == Some(is_link) => (
            open(path, OFlags::empty())?,
            Some("it is a link".to_owned()),
        ),
        file => {
            let file = file?;
            let doubt = others_may_have_written(&file)?;
            (file, doubt)
        }
    };
    Ok((read_from(file, limit)?, doubt))
}

fn others_may_have_written(file: &File) -> Result<Option<String>> {
    let metadata = file.metadata()?;
    let me = rustix::process::geteuid().as_raw();
    Ok(if !metadata.is_file() {
        Some("it is not a regular file".to_owned())
    } else if metadata.uid() != me {
        Some(format!(
            "it belongs to user {}, and this is user {me}",
            metadata.uid()
        ))
    } else if metadata.mode() & WRITABLE_BY_OTHERS != 0 {
        let mode = metadata.mode() & 0o7777;
        Some(format!("its mode {mode:o} lets others write it"))
    } else {
        None
    })
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
        assert!(error.to_string().contains("than the 1 MiB"), "{error}");
        flood.join().unwrap();
    }

    #[test]
    fn a_pipe_that_nobody_writes_is_empty_and_one_that_is_written_late_is_read() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("pipe");
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        assert!(read(&path, MIB).unwrap().is_empty());
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
