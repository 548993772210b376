//! What a run may leave on the machine. Everything that it makes carries its process id; so other things may come and
//! go on the machine meanwhile.

use std::collections::BTreeMap;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use iosched::device::Device;
use iosched::scheduler;

/// Control groups, mounts, directories, loop devices and files of that process.
pub fn traces_of(pid: u32) -> Vec<String> {
    let mark = format!("iosched-{pid}-");
    let mut found = Vec::new();
    directories_named(Path::new("/sys/fs/cgroup"), &mark, &mut found);
    directories_named(Path::new("/run/iosched"), &mark, &mut found);
    let mounts = fs::read_to_string("/proc/self/mountinfo").expect("mountinfo");
    found.extend(
        mounts
            .lines()
            .filter(|line| line.contains(&mark))
            .map(str::to_owned),
    );
    for disk in fs::read_dir("/sys/block").expect("/sys/block") {
        let path = disk.expect("a disk").path();
        let backing = fs::read_to_string(path.join("loop/backing_file")).unwrap_or_default();
        if backing.contains(&mark) {
            found.push(path.display().to_string());
        }
    }
    found
}

fn directories_named(parent: &Path, mark: &str, found: &mut Vec<String>) {
    // Groups come and go while we look.
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            if entry.file_name().to_string_lossy().starts_with(mark) {
                found.push(entry.path().display().to_string());
            }
            directories_named(&entry.path(), mark, found);
        }
    }
}

/// Processes that have this word in an argument.
pub fn processes_with(word: &str) -> Vec<u32> {
    let processes = fs::read_dir("/proc").expect("/proc").flatten();
    let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|&pid| {
        pid != std::process::id() && arguments(pid).iter().any(|text| text.contains(word))
    })
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
    data: u64,
}

impl QueueAndData {
    pub fn of(device: &Device) -> Self {
        let file = fs::read_to_string(device.sysfs("loop/backing_file")).expect("a loop device");
        let mut hasher = DefaultHasher::new();
        fs::read(PathBuf::from(file.trim()))
            .expect("its file")
            .hash(&mut hasher);
        QueueAndData {
            queue: scheduler::read(device).expect("its queue"),
            iosched_inode: fs::metadata(device.sysfs("queue/iosched"))
                .ok()
                .map(|m| m.ino()),
            data: hasher.finish(),
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
