//! Makes one write(2) in a child process, which measures its duration; this process waits only for a limited time.
//!
//! The child inherits the disk's lock and the pipe by which the guardian detects the end of this process: while the
//! kernel is in the write, no other process writes to that queue, even if this process is killed.
#![allow(unsafe_code)]

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::time::Duration;

use anyhow::{Context, Result};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::retry_on_intr;
use rustix::process::{Pid, WaitOptions, waitpid};
use rustix::time::{ClockId, clock_gettime};

/// The outcome of a write.
#[derive(Debug)]
pub(crate) enum Written {
    Done(Duration),
    Failed(io::Error),
    /// It has not returned. The child is left in it.
    Stuck {
        pid: u32,
        stack: String,
    },
}

/// An error number, 0 for success, and nanoseconds.
const ANSWER_BYTES: usize = 12;

pub(crate) fn write(file: &File, bytes: &[u8], patience: Duration) -> Result<Written> {
    let (reader, writer) =
        rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).context("creating a pipe")?;
    let (to, answer) = (file.as_raw_fd(), writer.as_raw_fd());
    // SAFETY: the child calls only `child`, which does not allocate, takes no lock and never returns.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        child(to, answer, bytes);
    }
    let Some(pid) = (pid > 0).then(|| Pid::from_raw(pid)).flatten() else {
        // No process can be created: restoring must work nevertheless.
        return Ok(by_this_process(file, bytes));
    };
    drop(writer);
    match answer_within(&reader, patience)? {
        None => Ok(Written::Stuck {
            pid: pid.as_raw_nonzero().get() as u32,
            stack: stack_of(pid),
        }),
        Some(answer) => {
            retry_on_intr(|| waitpid(Some(pid), WaitOptions::empty()))
                .context("waiting for the end of the write")?;
            Ok(answer)
        }
    }
}

/// Whether a child that was left in its write has ended.
pub(crate) fn has_ended(pid: u32) -> bool {
    let pid = Pid::from_raw(pid as i32);
    !matches!(
        retry_on_intr(|| waitpid(pid, WaitOptions::NOHANG)),
        Ok(None)
    )
}

/// The same write without a child, and so without a time limit.
fn by_this_process(mut file: &File, bytes: &[u8]) -> Written {
    let begin = std::time::Instant::now();
    match file.write_all(bytes) {
        Ok(()) => Written::Done(begin.elapsed()),
        Err(error) => Written::Failed(error),
    }
}

/// Everything that the child does: system calls only.
fn child(to: RawFd, answer: RawFd, bytes: &[u8]) -> ! {
    // SAFETY: both descriptors were inherited and are open; closing 0 to 2 in this process concerns nobody else, and lets
    // readers of our output see its end while this process is stuck.
    unsafe {
        libc::close(0);
        libc::close(1);
        libc::close(2);
    }
    let begin = clock_gettime(ClockId::Monotonic);
    // SAFETY: `bytes` is memory of this process' copy.
    let written = unsafe { libc::write(to, bytes.as_ptr().cast(), bytes.len()) };
    // SAFETY: errno of this thread.
    let errno = if written < 0 {
        unsafe { *libc::__errno_location() }
    } else {
        0
    };
    let end = clock_gettime(ClockId::Monotonic);
    let ns = (end.tv_sec - begin.tv_sec) * 1_000_000_000 + (end.tv_nsec - begin.tv_nsec);
    let mut message = [0; ANSWER_BYTES];
    message[..4].copy_from_slice(&errno.to_ne_bytes());
    message[4..].copy_from_slice(&ns.to_ne_bytes());
    // SAFETY: as above; `_exit` runs no destructor of the process that was copied.
    unsafe {
        libc::write(answer, message.as_ptr().cast(), message.len());
        libc::_exit(0)
    }
}

/// None: no answer within `patience`.
fn answer_within(reader: &OwnedFd, patience: Duration) -> Result<Option<Written>> {
    let deadline = std::time::Instant::now() + patience;
    loop {
        let left = deadline.saturating_duration_since(std::time::Instant::now());
        let limit = Timespec {
            tv_sec: left.as_secs() as i64,
            tv_nsec: i64::from(left.subsec_nanos()),
        };
        match poll(&mut [PollFd::new(reader, PollFlags::IN)], Some(&limit)) {
            Ok(0) => return Ok(None),
            Ok(_) => break,
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error).context("waiting for a write"),
        }
    }
    let mut message = [0; ANSWER_BYTES];
    let read =
        rustix::io::read(reader.as_fd(), &mut message).context("reading the outcome of a write")?;
    if read < ANSWER_BYTES {
        let error = io::Error::other("the child process was killed before its write returned");
        return Ok(Some(Written::Failed(error)));
    }
    let (errno, ns) = message.split_at(4);
    let errno = i32::from_ne_bytes(errno.try_into()?);
    let took = Duration::from_nanos(u64::from_ne_bytes(ns.try_into()?));
    Ok(Some(match errno {
        0 => Written::Done(took),
        errno => Written::Failed(io::Error::from_raw_os_error(errno)),
    }))
}

/// The kernel stack of a process, if this user may read it.
fn stack_of(pid: Pid) -> String {
    let read = |name| fs::read_to_string(format!("/proc/{}/{name}", pid.as_raw_nonzero()));
    let text = read("stack")
        .ok()
        .filter(|stack| !stack.trim().is_empty())
        .or_else(|| read("wchan").ok())
        .unwrap_or_default();
    let lines: Vec<String> = text.lines().map(|line| format!("    {line}")).collect();
    if lines.is_empty() {
        "    (the kernel stack is not readable)".to_owned()
    } else {
        lines.join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOON: Duration = Duration::from_secs(20);

    #[test]
    fn it_is_written_and_an_error_is_the_kernels() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        let file = File::create(&path).unwrap();
        let Written::Done(took) = write(&file, b"value", SOON).unwrap() else {
            panic!("it failed");
        };
        assert!(took < SOON && fs::read(&path).unwrap() == b"value");
        let full = File::options().write(true).open("/dev/full").unwrap();
        let Written::Failed(error) = write(&full, b"value", SOON).unwrap() else {
            panic!("nothing can be written there");
        };
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    }

    #[test]
    fn one_that_does_not_return_is_left_alone_and_its_place_is_told() {
        let (reader, writer) = io::pipe().unwrap();
        let pipe = File::from(OwnedFd::from(writer));
        let bytes = vec![0; 1 << 20]; // more than a pipe holds
        let Written::Stuck { pid, stack } =
            write(&pipe, &bytes, Duration::from_millis(200)).unwrap()
        else {
            panic!("a full pipe takes nothing");
        };
        assert!(stack.starts_with("    "), "{stack}");
        // The child holds both ends of the pipe too, so its write never returns.
        drop((reader, pipe));
        assert!(!has_ended(pid));
        let killed = Pid::from_raw(pid as i32).unwrap();
        rustix::process::kill_process(killed, rustix::process::Signal::KILL).unwrap();
        while !has_ended(pid) {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}
