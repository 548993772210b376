//! Ends all processes that have a mark in their environment: one that was started with it, and those that it has started.

use std::fs;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use anyhow::Result;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use iosched_result::failure::Failure;

/// A process in uninterruptible sleep ends only after its I/O has completed.
const PATIENCE: Duration = Duration::from_secs(10);
const POLL: Duration = Duration::from_millis(5);

/// `mark`: as in `NAME=value`. Fails if one of them does not end.
pub fn end(mark: &str) -> Result<()> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let left = marked(mark);
        if left.is_empty() {
            return Ok(());
        }
        for (_, handle) in &left {
            let _ = pidfd_send_signal(handle, Signal::KILL); // it may have ended meanwhile
        }
        if Instant::now() >= deadline {
            let pids: Vec<String> = left.iter().map(|(pid, _)| pid.to_string()).collect();
            return Err(Failure::runtime(
                format!(
                    "processes of an arm's command do not end: {}",
                    pids.join(", ")
                ),
                "they wait for the kernel; run `iosched restore` once they have ended",
            ));
        }
        std::thread::sleep(POLL);
    }
}

/// The handle is opened before the environment is read, so that both are of one process.
fn marked(mark: &str) -> Vec<(u32, OwnedFd)> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    // A command may start iosched itself.
    let others = pids.filter(|pid| *pid != std::process::id());
    let found = others.filter_map(|pid| {
        let handle = pidfd_open(Pid::from_raw(pid as i32)?, PidfdFlags::empty()).ok()?;
        let environment = fs::read(format!("/proc/{pid}/environ")).ok()?;
        let mut words = environment.split(|byte| *byte == 0);
        let is_marked = words.any(|word| word == mark.as_bytes());
        is_marked.then_some((pid, handle))
    });
    found.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_process_and_what_it_has_started_end() {
        let mark = format!("IOSCHED_TEST_MARK={}", std::process::id());
        let (name, value) = mark.split_once('=').unwrap();
        let mut child = Command::new("sh")
            .args(["-c", "sleep 600 & sleep 600; true"])
            .env(name, value)
            .spawn()
            .unwrap();
        let begin = Instant::now();
        while marked(&mark).len() < 3 {
            assert!(begin.elapsed() < PATIENCE, "it does not start");
            std::thread::sleep(POLL);
        }
        // A child that nobody waits for has no environment any more.
        end(&mark).unwrap();
        assert!(!child.wait().unwrap().success());
        assert_eq!(marked(&mark).len(), 0);
    }
}
