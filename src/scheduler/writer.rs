//! One write(2) in a child process, timed there, with a limit to how long this process waits for it.
//!
//! The child inherits what this process holds, the disk's lock and the pipe by which the guardian sees its end among it: as
//! long as the kernel is in the write nobody else writes to that queue, also when this process is killed meanwhile.
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

/// What became of a write.
#[derive(Debug)]
pub(super) enum Written {
    Done(Duration),
    Failed(io::Error),
    /// It has not returned. The child is left alone with it.
    Stuck {
        pid: u32,
        stack: String,
    },
}

/// An error number, 0 for none, and nanoseconds.
const ANSWER_BYTES: usize = 12;

pub(super) fn write(file: &File, bytes: &[u8], patience: Duration) -> Result<Written> {
    let (reader, writer) =
        rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).context("making a pipe")?;
    let (to, answer) = (file.as_raw_fd(), writer.as_raw_fd());
    // SAFETY: the child calls only `child`, which does not allocate, takes no lock and never returns.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        child(to, answer, bytes);
    }
    let Some(pid) = (pid > 0).then(|| Pid::from_raw(pid)).flatten() else {
        // No process can be had: what must be put back is put back all the same.
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

/// Whether a child that was left alone is out of its write.
pub(super) fn has_ended(pid: u32) -> bool {
    let pid = Pid::from_raw(pid as i32);
    !matches!(
        retry_on_intr(|| waitpid(pid, WaitOptions::NOHANG)),
        Ok(None)
    )
}

/// The same write without a child, and so without a limit to its time.
fn by_this_process(mut file: &File, bytes: &[u8]) -> Written {
    let begin = std::time::Instant::now();
    match file.write_all(bytes) {
        Ok(()) => Written::Done(begin.elapsed()),
        Err(error) => Written::Failed(error),
    }
}

/// The child's whole life: only system calls.
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

/// None: it has not come.
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
        let error = io::Error::other("the process that was to write was killed");
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

/// The place in the kernel where a process waits, as far as the kernel tells this user.
fn stack_of(pid: Pid) -> String {
    let read = |name| fs::read_to_string(format!("/proc/{}/{name}", pid.as_raw_nonzero()));
    let text = read("stack")
        .ok()
        .filter(|stack| !stack.trim().is_empty())
        .or_else(|| read("wchan").ok())
        .unwrap_or_default();
    let lines: Vec<String> = text.lines().map(|line| format!("    {line}")).collect();
    if lines.is_empty() {
        "    (this kernel does not say where)".to_owned()
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
        // The child has both ends of the pipe, too: it waits for itself.
        drop((reader, pipe));
        assert!(!has_ended(pid));
        let killed = Pid::from_raw(pid as i32).unwrap();
        rustix::process::kill_process(killed, rustix::process::Signal::KILL).unwrap();
        while !has_ended(pid) {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}
