//! The content of a journal: who wrote it, in which boot of which machine, and what to undo.

use std::fs;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::undo::Undo;

pub(super) const FORMAT: u32 = 1;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Record {
    pub format: u32,
    pub process: ProcessId,
    pub boot_id: String,
    /// The content of `/etc/machine-id`: a journal may be on a disk that was moved or copied.
    #[serde(default)]
    pub machine_id: Option<String>,
    /// A PID is meaningful only in its own PID namespace.
    #[serde(default)]
    pub pid_namespace: Option<String>,
    /// When the process began, RFC 3339.
    #[serde(default)]
    pub started: Option<String>,
    pub command: String,
    /// In the order of the changes; they are undone in reverse.
    pub entries: Vec<(u64, Undo)>,
}

/// The boot and the machine in which a journal was written: they determine what can still be undone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    ThisBoot,
    /// The reboot has reset everything except files.
    EarlierBoot,
    /// Nothing in it concerns this machine.
    AnotherMachine,
}

impl Record {
    pub fn of_this_process() -> Result<Self> {
        Ok(Record {
            format: FORMAT,
            process: ProcessId::current()?,
            boot_id: boot_id(),
            machine_id: machine_id(),
            pid_namespace: pid_namespace(),
            started: Some(
                humantime::format_rfc3339_seconds(std::time::SystemTime::now()).to_string(),
            ),
            command: command(),
            entries: Vec::new(),
        })
    }

    pub fn origin(&self) -> Origin {
        if self.boot_id == boot_id() {
            return Origin::ThisBoot;
        }
        match (&self.machine_id, machine_id()) {
            (Some(then), Some(now)) if *then != now => Origin::AnotherMachine,
            _ => Origin::EarlierBoot,
        }
    }

    pub fn is_of_another_pid_namespace(&self) -> bool {
        let differs = match (&self.pid_namespace, pid_namespace()) {
            (Some(then), Some(now)) => *then != now,
            _ => false,
        };
        self.origin() == Origin::ThisBoot && differs
    }

    pub fn is_of_this_process(&self) -> bool {
        self.origin() == Origin::ThisBoot
            && ProcessId::current().is_ok_and(|process| process == self.process)
    }

    pub fn is_alive(&self) -> bool {
        self.origin() == Origin::ThisBoot && self.process.is_alive()
    }
}

/// A process, distinguishable from a later one with the same PID.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ProcessId {
    pub pid: u32,
    pub start_time_ticks: u64,
}

impl ProcessId {
    /// Parses the process from the name of a journal or an unfinished copy: `PID-START.json...`.
    pub fn of_name(name: &str) -> Option<Self> {
        let (numbers, _) = name.trim_start_matches('.').split_once(".json")?;
        let (pid, start) = numbers.split_once('-')?;
        Some(ProcessId {
            pid: pid.parse().ok()?,
            start_time_ticks: start.parse().ok()?,
        })
    }

    pub fn journal_name(&self) -> String {
        format!("{}-{}.json", self.pid, self.start_time_ticks)
    }

    fn current() -> Result<Self> {
        let pid = std::process::id();
        let start_time_ticks =
            start_time_ticks(pid).context("reading the start time of this process")?;
        Ok(ProcessId {
            pid,
            start_time_ticks,
        })
    }

    pub fn is_alive(&self) -> bool {
        start_time_ticks(self.pid) == Some(self.start_time_ticks)
    }
}

/// Field 22 of `/proc/PID/stat`; the name in field 2 may hold spaces and parentheses.
fn start_time_ticks(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, after_name) = stat.rsplit_once(')')?;
    let state = after_name.split_whitespace().next()?;
    if state == "Z" {
        return None;
    }
    after_name.split_whitespace().nth(19)?.parse().ok()
}

fn boot_id() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id")
        .unwrap_or_default()
        .trim()
        .to_owned()
}

/// As it was typed, without quotes.
pub fn command() -> String {
    let words = std::env::args_os().map(|word| word.to_string_lossy().into_owned());
    words.collect::<Vec<_>>().join(" ")
}

fn pid_namespace() -> Option<String> {
    let link = fs::read_link("/proc/self/ns/pid").ok()?;
    Some(link.to_string_lossy().into_owned())
}

fn machine_id() -> Option<String> {
    let text = fs::read_to_string("/etc/machine-id").ok()?;
    let text = text.trim();
    let is_one = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_one.then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boots_and_machines_are_told_apart() {
        let mut record = Record::of_this_process().unwrap();
        assert_eq!(record.origin(), Origin::ThisBoot);
        assert!(record.is_alive());
        record.boot_id = "another".to_owned();
        assert_eq!(record.origin(), Origin::EarlierBoot);
        assert!(!record.is_alive());
        record.machine_id = Some("0".repeat(32));
        let expected = match machine_id() {
            Some(_) => Origin::AnotherMachine,
            None => Origin::EarlierBoot,
        };
        assert_eq!(record.origin(), expected);
        record.machine_id = None;
        assert_eq!(record.origin(), Origin::EarlierBoot);
    }
}
