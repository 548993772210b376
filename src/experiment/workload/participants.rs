//! Processes that ran before and whose I/O belongs to the workload, such as those of a database server. Named by
//! control group, unit or PID. They are searched repeatedly, because servers start processes.

mod named; // from a name to a place

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::Result;

use self::named::{Root, root};
use iosched_host::system::cgroup::controller::lists;
use iosched_host::system::cgroup::mounts::Mounts;
use iosched_host::system::device::mounts;
use iosched_result::failure::Failure;

pub use self::named::group_of;
pub use iosched_result::types::participant::{Named, Participant, label};

/// Limit of processes per participant; later ones are ignored.
const MOST_PROCESSES: usize = 100_000;
/// Limit of subgroups per control group.
const MOST_GROUPS: usize = 10_000;

/// All participants, with the processes and groups found so far.
#[derive(Debug, Default)]
pub struct Participants(Vec<Known>);

#[derive(Debug)]
struct Known {
    root: Root,
    found: Participant,
}

impl Participants {
    /// Refuses names that do not match anything.
    pub fn resolve(named: &[Named]) -> Result<Participants> {
        let mounts = mounts::read()
            .map(|all| Mounts::among(&all))
            .unwrap_or_default();
        let mut labels = BTreeSet::new();
        let mut known = Vec::new();
        for name in named {
            let root = root(name, &mounts)?;
            let label = label(name);
            if !labels.insert(label.clone()) {
                return Err(Failure::usage(
                    format!("two participants have the label {label}"),
                    "give each participant only once",
                ));
            }
            let mut found = Participant {
                label,
                ..Participant::default()
            };
            if let Named::Pid(pid) = name {
                let start = stat_of(*pid).ok_or_else(|| no_process(*pid))?.start_ticks;
                found.processes.insert((*pid, start));
            }
            known.push(Known { root, found });
        }
        let mut participants = Participants(known);
        participants.look();
        Ok(participants)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Finds new processes and subgroups.
    pub fn look(&mut self) {
        if self.0.is_empty() {
            return;
        }
        let processes = if self
            .0
            .iter()
            .any(|known| matches!(known.root, Root::Process))
        {
            all_processes()
        } else {
            BTreeMap::new()
        };
        for Known { root, found } in &mut self.0 {
            match root {
                Root::Group(path) => {
                    let mut left = MOST_GROUPS;
                    walk(path, found, &mut left);
                }
                Root::Process => descend(&processes, found),
            }
        }
    }

    pub fn found(&self) -> Vec<Participant> {
        self.0.iter().map(|known| known.found.clone()).collect()
    }
}

fn no_process(pid: u32) -> anyhow::Error {
    Failure::usage(
        format!("there is no process {pid}"),
        "`pgrep -a NAME` prints the PIDs of a program",
    )
}

fn subdirectories(directory: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let directories = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    directories.map(|entry| entry.path())
}

/// Collects the ids of groups that bios can carry, and the processes of all groups.
fn walk(group: &Path, found: &mut Participant, left: &mut usize) {
    let Some(rest) = left.checked_sub(1) else {
        return;
    };
    *left = rest;
    let has_io = !group.join("cgroup.controllers").exists()
        || lists(&group.join("cgroup.controllers"), "io");
    if has_io && let Ok(metadata) = fs::metadata(group) {
        found.cgroup_ids.insert(metadata.ino());
    }
    let processes = fs::read_to_string(group.join("cgroup.procs")).unwrap_or_default();
    for pid in processes.lines().filter_map(|line| line.parse().ok()) {
        remember(found, pid);
    }
    for child in subdirectories(group) {
        walk(&child, found, left);
    }
}

fn remember(found: &mut Participant, pid: u32) {
    if found.processes.len() < MOST_PROCESSES
        && let Some(stat) = stat_of(pid)
    {
        found.processes.insert((pid, stat.start_ticks));
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ProcessStat {
    parent: u32,
    start_ticks: u64,
}

/// Adds descendants. A reused PID has no children here.
fn descend(processes: &BTreeMap<u32, ProcessStat>, found: &mut Participant) {
    let is_known = |found: &Participant, pid: u32| {
        let start = processes.get(&pid).map(|stat| stat.start_ticks);
        start.is_some_and(|start| found.processes.contains(&(pid, start)))
    };
    loop {
        let news: Vec<(u32, u64)> = processes
            .iter()
            .map(|(pid, stat)| (*pid, stat))
            .filter(|(pid, stat)| is_known(found, stat.parent) && !is_known(found, *pid))
            .map(|(pid, stat)| (pid, stat.start_ticks))
            .collect();
        if news.is_empty() || found.processes.len() + news.len() > MOST_PROCESSES {
            return;
        }
        found.processes.extend(news);
    }
}

fn all_processes() -> BTreeMap<u32, ProcessStat> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter_map(|pid| Some((pid, stat_of(pid)?))).collect()
}

fn stat_of(pid: u32) -> Option<ProcessStat> {
    parse_stat(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// The name in parentheses may contain any character, also parentheses.
fn parse_stat(text: &str) -> Option<ProcessStat> {
    let (_, rest) = text.rsplit_once(')')?;
    let mut fields = rest.split_ascii_whitespace();
    Some(ProcessStat {
        parent: fields.nth(1)?.parse().ok()?,
        start_ticks: fields.nth(17)?.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_told_by_its_parent_and_its_start() {
        let text = "42 (a) b (c) S 7 42 42 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 12345 9 9";
        let stat = parse_stat(text).unwrap();
        assert_eq!((stat.parent, stat.start_ticks), (7, 12345));
        assert_eq!(parse_stat("42 (a"), None);
        let own = stat_of(std::process::id()).unwrap();
        assert_eq!(own.parent, std::os::unix::process::parent_id());
    }

    #[test]
    fn children_of_children_belong_to_it() {
        let of = |parent| ProcessStat {
            parent,
            start_ticks: 1,
        };
        let processes = BTreeMap::from([(10, of(1)), (11, of(10)), (12, of(11)), (20, of(1))]);
        let mut found = Participant {
            processes: BTreeSet::from([(10, 1)]),
            ..Participant::default()
        };
        descend(&processes, &mut found);
        assert_eq!(found.processes, BTreeSet::from([(10, 1), (11, 1), (12, 1)]));
        // The PID was reused by another process.
        let mut found = Participant {
            processes: BTreeSet::from([(10, 0)]),
            ..Participant::default()
        };
        descend(&processes, &mut found);
        assert_eq!(found.processes.len(), 1);
    }

    #[test]
    fn labels_are_plain() {
        let unit = |name: &str| label(&Named::Unit(name.to_owned()));
        assert_eq!(unit("postgresql@15-main.service"), "postgresql_15-main");
        assert_eq!(
            label(&Named::Cgroup("/system.slice/db.service/".to_owned())),
            "db"
        );
        assert_eq!(label(&Named::Pid(7)), "pid7");
    }

    #[test]
    fn what_is_not_there_is_refused() {
        for (name, says) in [
            (Named::Pid(u32::MAX), "there is no process"),
            (
                Named::Cgroup("/no/such".to_owned()),
                "there is no control group",
            ),
            (Named::Cgroup("/".to_owned()), "there is no control group"),
            (Named::Unit("no-such-unit".to_owned()), "not running"),
        ] {
            let error = Participants::resolve(&[name]).unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
    }
}
