//! Traces that a run may leave on the machine. Everything that it makes carries its process id; so other things may come and
//! go on the machine meanwhile.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, Instant};

use iosched_host::scheduler;
use iosched_host::system::device::Device;

use super::program::Program;

/// Control groups, mounts, directories, loop devices and files of that process.
pub fn traces_of(pid: u32) -> Vec<String> {
    let marks = ["", "scratch-", "round-"].map(|kind| format!("iosched-{kind}{pid}-"));
    let is_its = |text: &str| marks.iter().any(|mark| text.contains(mark));
    let mut found = Vec::new();
    directories(Path::new("/sys/fs/cgroup"), &is_its, &mut found);
    // Not below: looking into the volume of another test would be I/O on its disk.
    for directory in [Path::new("/run/iosched"), &std::env::temp_dir()] {
        let entries = fs::read_dir(directory).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        found.extend(names.filter(|name| is_its(name)));
    }
    let mounts = fs::read_to_string("/proc/self/mountinfo").expect("mountinfo");
    found.extend(
        mounts
            .lines()
            .filter(|line| is_its(line))
            .map(str::to_owned),
    );
    for disk in fs::read_dir("/sys/block").expect("/sys/block") {
        let path = disk.expect("a disk").path();
        let backing = fs::read_to_string(path.join("loop/backing_file")).unwrap_or_default();
        if is_its(&backing) {
            found.push(path.display().to_string());
        }
    }
    found
}

fn directories(parent: &Path, is_its: &dyn Fn(&str) -> bool, found: &mut Vec<String>) {
    // Groups come and go while we look.
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            if is_its(&entry.file_name().to_string_lossy()) {
                found.push(entry.path().display().to_string());
            }
            directories(&entry.path(), is_its, found);
        }
    }
}

/// Processes that name this device in an argument.
pub fn processes_with(device: &str) -> Vec<u32> {
    // loop1 is not loop12.
    let names_it = |text: &String| {
        text.match_indices(device).any(|(at, _)| {
            let next = text[at + device.len()..].chars().next();
            next.is_none_or(|next| !next.is_ascii_digit())
        })
    };
    let processes = fs::read_dir("/proc").expect("/proc").flatten();
    let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|&pid| pid != std::process::id() && arguments(pid).iter().any(names_it))
        .collect()
}

pub fn arguments(pid: u32) -> Vec<String> {
    let bytes = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let words = bytes.split(|byte| *byte == 0);
    words
        .map(|word| String::from_utf8_lossy(word).into_owned())
        .collect()
}

pub fn children_of(pid: u32) -> Vec<u32> {
    let threads = fs::read_dir(format!("/proc/{pid}/task"))
        .into_iter()
        .flatten()
        .flatten();
    let lists = threads.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    lists
        .flat_map(|list| {
            list.split_whitespace()
                .map(str::to_owned)
                .collect::<Vec<_>>()
        })
        .map(|pid| pid.parse().expect("a pid"))
        .collect()
}

/// Traces of a process that ran as `program`: what it made, its journals, and their guardians.
pub fn left_by(program: &Program, pid: u32) -> Vec<String> {
    let mut left = traces_of(pid);
    let journals = program.journals().into_iter();
    left.extend(journals.map(|path| path.display().to_string()));
    let guardians = processes_with(&program.state().display().to_string()).into_iter();
    left.extend(guardians.map(|pid| format!("{:?}", arguments(pid))));
    left
}

#[track_caller]
pub fn within(limit: Duration, what: &str, condition: impl Fn() -> bool) {
    let deadline = Instant::now() + limit;
    while !condition() {
        assert!(Instant::now() < deadline, "not within {limit:?}: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// All that a run may change of a loop device.
#[derive(Debug, PartialEq, Eq)]
pub struct QueueAndData {
    pub queue: scheduler::State,
    /// The kernel makes `iosched/` anew at each switch: the same inode was never switched away from.
    iosched_inode: Option<u64>,
    data: Data,
}

/// The blocks that are not all zeroes, and where they lie. Compared as they are: hashing is slow without optimisation.
#[derive(PartialEq, Eq)]
struct Data(Vec<(usize, Box<[u8]>)>);

impl fmt::Debug for Data {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{} blocks", self.0.len())
    }
}

impl Data {
    fn of(file: &Path) -> Self {
        const ZEROES: [u8; 4096] = [0; 4096];
        let all = fs::read(file).expect("the file of a loop device");
        let blocks = all.chunks(ZEROES.len()).enumerate();
        let blocks = blocks.filter(|(_, block)| **block != ZEROES[..block.len()]);
        Data(blocks.map(|(at, block)| (at, block.into())).collect())
    }
}

impl QueueAndData {
    pub fn of(device: &Device) -> Self {
        let file = fs::read_to_string(device.sysfs("loop/backing_file")).expect("a loop device");
        QueueAndData {
            queue: scheduler::read(device).expect("its queue"),
            iosched_inode: fs::metadata(device.sysfs("queue/iosched"))
                .ok()
                .map(|m| m.ino()),
            data: Data::of(Path::new(file.trim())),
        }
    }
}

/// The attributes in which two queues differ.
pub fn differences(before: &scheduler::State, after: &scheduler::State) -> Vec<String> {
    let all = |state: &scheduler::State| -> BTreeMap<String, String> {
        let mut all = state.settings.clone();
        all.insert("scheduler".into(), state.active.clone());
        all.insert(
            "hardware depth".into(),
            format!("{:?}", state.hardware_depth),
        );
        all
    };
    let (before, after) = (all(before), all(after));
    let mut names: Vec<&String> = before.keys().chain(after.keys()).collect();
    names.sort();
    names.dedup();
    names
        .into_iter()
        .filter(|name| before.get(*name) != after.get(*name))
        .map(|name| format!("{name}: {:?} -> {:?}", before.get(name), after.get(name)))
        .collect()
}
