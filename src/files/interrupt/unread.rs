//! A terminal or pipe that nobody reads any more (a stalled connection, a pager) blocks whoever writes to it. After a
//! signal that must not keep the process, with settings that it has yet to restore: what nobody reads goes to `/dev/null`.

use std::fs::{self, OpenOptions};
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process};
use rustix::stdio::{dup2_stderr, dup2_stdout, stderr, stdout};
use signal_hook::consts::SIGURG;

/// A reader that is only slow gets the whole.
const PATIENCE: Duration = Duration::from_secs(3);
const SLICE: Duration = Duration::from_millis(100);

/// Begins to look at the outputs when one of the signals comes.
pub(super) fn give_up_after(signals: &[i32]) -> io::Result<()> {
    let (mut signal, write) = UnixStream::pair()?;
    for number in signals {
        signal_hook::low_level::pipe::register(*number, write.try_clone()?)?;
    }
    // Interrupts a blocked write, which then starts again with what the descriptor is by then.
    signal_hook::flag::register(SIGURG, Arc::new(AtomicBool::new(false)))?;
    thread::Builder::new()
        .name("outputs".to_owned())
        .spawn(move || {
            drop_privileges();
            let mut number = [0];
            if signal.read_exact(&mut number).is_ok() {
                watch();
            }
        })?;
    Ok(())
}

/// Drops the privileges of this thread, which needs none.
#[cfg(target_os = "linux")]
fn drop_privileges() {
    use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities, set_no_new_privs};
    let _ = set_no_new_privs(true);
    let none = CapabilitySet::empty();
    let _ = set_capabilities(
        None,
        CapabilitySets {
            effective: none,
            permitted: none,
            inheritable: none,
        },
    );
}

#[cfg(not(target_os = "linux"))]
fn drop_privileges() {}

fn watch() {
    let mut read_at = [Instant::now(); 2];
    loop {
        thread::sleep(SLICE);
        for (read_at, fd) in read_at.iter_mut().zip([stdout(), stderr()]) {
            if takes_more(fd) {
                *read_at = Instant::now();
            }
        }
        if read_at[0].elapsed() > PATIENCE {
            silence(dup2_stdout::<std::fs::File>);
            read_at[0] = Instant::now();
        }
        if read_at[1].elapsed() > PATIENCE {
            silence(dup2_stderr::<std::fs::File>);
            read_at[1] = Instant::now();
        }
    }
}

/// Whether a write would not block. A regular file never blocks; where poll fails, the answer is yes.
pub(super) fn takes_more(fd: BorrowedFd<'_>) -> bool {
    const AT_ONCE: Timespec = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    let mut wanted = [PollFd::from_borrowed_fd(fd.as_fd(), PollFlags::OUT)];
    poll(&mut wanted, Some(&AT_ONCE)) != Ok(0)
}

fn silence(replace: fn(std::fs::File) -> rustix::io::Result<()>) {
    let Ok(null) = OpenOptions::new().write(true).open("/dev/null") else {
        return;
    };
    if replace(null).is_err() {
        return;
    }
    // Whichever thread writes: a signal to a thread's own number prefers that thread.
    let threads = fs::read_dir("/proc/self/task").into_iter().flatten();
    for thread in threads.flatten() {
        let number = thread
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok());
        if let Some(thread) = number.and_then(Pid::from_raw) {
            let _ = kill_process(thread, Signal::URG);
        }
    }
}
