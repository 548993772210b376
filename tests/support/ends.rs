//! How a program that runs is ended from outside.

use std::fs;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use super::program::{Ended, Started};
use super::traces::{arguments, children_of, within};

pub fn send(pid: u32, signal: Signal) {
    let pid = Pid::from_raw(pid as i32).expect("a pid");
    kill_process(pid, signal).expect("a process of ours");
}

pub fn guardians_of(pid: u32) -> Vec<u32> {
    let is_guardian = |pid: &u32| {
        arguments(*pid)
            .get(1)
            .is_some_and(|word| word == "__guardian")
    };
    children_of(pid).into_iter().filter(is_guardian).collect()
}

pub fn guardian_of(pid: u32) -> u32 {
    let found = guardians_of(pid);
    let [guardian] = found[..] else {
        panic!("guardians of {pid}: {found:?}");
    };
    guardian
}

/// Neither of the two can put anything back. The guardian goes first: it would act at once; and the program is stopped
/// before, for it would start another one.
pub fn kill_with_guardian(pid: u32) {
    send(pid, Signal::STOP);
    send(guardian_of(pid), Signal::KILL);
    send(pid, Signal::KILL);
}

/// A signal that arrives in the middle of it. Ends by itself far later than any test waits.
pub fn end(mut child: Started, how: fn(u32)) -> Ended {
    let is_running = child.child().try_wait().expect("its state").is_none();
    assert!(is_running, "{:#?}", child.end());
    how(child.id());
    let pid = child.id();
    within(Duration::from_secs(20), "its end", || {
        let state = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        state
            .rsplit_once(") ")
            .is_none_or(|(_, rest)| rest.starts_with('Z'))
    });
    child.end()
}

pub fn interrupt(pid: u32) {
    send(pid, Signal::INT);
}
pub fn terminate(pid: u32) {
    send(pid, Signal::TERM);
}
pub fn hang_up(pid: u32) {
    send(pid, Signal::HUP);
}
pub fn kill(pid: u32) {
    send(pid, Signal::KILL);
}
