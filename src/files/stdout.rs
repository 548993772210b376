//! Standard output. Its reader may stop reading: then a signal ends the wait, which `std` begins anew.

use std::io::{self, LineWriter, Write};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::interrupt;

/// So much fits into a pipe that is ready.
const PIPE_BUF: usize = 4096;
/// How soon a signal is noticed.
const PATIENCE: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 100_000_000,
};

/// Two seconds without progress.
const SLICES_AFTER_A_SIGNAL: usize = 20;

/// Writes all of it. After a signal the error is that of [`interrupt::check`], if nobody reads.
pub fn write_all(bytes: &[u8]) -> io::Result<()> {
    Stdout.write_all(bytes)
}

/// For text that is written line by line.
pub fn lines() -> LineWriter<Stdout> {
    LineWriter::new(Stdout)
}

/// Writes to standard output at once, without a buffer.
#[derive(Debug)]
pub struct Stdout;

impl Write for Stdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        wait()?;
        let part = &bytes[..bytes.len().min(PIPE_BUF)];
        Ok(rustix::io::write(rustix::stdio::stdout(), part)?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns when a write will not block. What is ready is written also after a signal.
fn wait() -> io::Result<()> {
    let stdout = rustix::stdio::stdout();
    let mut waited = 0;
    loop {
        let mut wanted = [PollFd::new(&stdout, PollFlags::OUT)];
        match poll(&mut wanted, Some(&PATIENCE)) {
            Ok(0) | Err(Errno::INTR) => {}
            Ok(_) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
        // A reader that is only slow gets the whole.
        if let Err(error) = interrupt::check() {
            waited += 1;
            if waited > SLICES_AFTER_A_SIGNAL {
                return Err(failed(error));
            }
        }
    }
}

fn failed(error: anyhow::Error) -> io::Error {
    match error.downcast::<iosched_result::failure::Failure>() {
        Ok(failure) => io::Error::other(failure),
        Err(error) => io::Error::other(error),
    }
}
