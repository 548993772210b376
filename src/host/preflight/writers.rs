//! Finds running programs that set schedulers or are about to.

use std::fs;
use std::path::Path;

use crate::system::device::{Device, names_in};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Writer {
    pub pid: u32,
    pub name: String,
    /// Why the process is suspected of setting schedulers.
    pub why: String,
}

/// Daemons that may set schedulers at any time, if a profile says so.
const DAEMONS: [&str; 2] = ["tuned", "ktune"];
const SCHEDULER_FILE: &str = "/queue/scheduler";

/// Searches the processes in `proc`, which is `/proc` except in tests, for those that have the scheduler of one of these
/// disks open, and skips this process. Without root the open files of other users are invisible.
pub fn find(proc: &Path, disks: &[Device]) -> Vec<Writer> {
    let pids = names_in(proc).unwrap_or_default();
    let pids = pids.iter().filter_map(|name| name.parse::<u32>().ok());
    pids.filter(|pid| *pid != std::process::id())
        .filter_map(|pid| writer(proc, pid, disks))
        .collect()
}

fn writer(proc: &Path, pid: u32, disks: &[Device]) -> Option<Writer> {
    let directory = proc.join(pid.to_string());
    let name = fs::read_to_string(directory.join("comm")).ok()?;
    let name = name.trim().to_owned();
    let why = if DAEMONS.contains(&name.as_str()) {
        "its profiles may set the scheduler at any time".to_owned()
    } else {
        format!("it has {} open", open_scheduler(&directory, disks)?)
    };
    Some(Writer { pid, name, why })
}

fn open_scheduler(directory: &Path, disks: &[Device]) -> Option<String> {
    let descriptors = directory.join("fd");
    let names = names_in(&descriptors).ok()?;
    let targets = names
        .iter()
        .filter_map(|name| fs::read_link(descriptors.join(name)).ok());
    targets
        .map(|target| target.display().to_string())
        .find(|target| {
            let disk = target
                .strip_suffix(SCHEDULER_FILE)
                .and_then(|path| path.rsplit('/').next());
            let is_of = |name: &str| disks.iter().any(|disk| disk.name == name);
            target.starts_with("/sys/") && disk.is_some_and(is_of)
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn daemons_and_open_scheduler_files_are_found() {
        let proc = tempfile::tempdir().unwrap();
        let process = |pid: u32, name: &str, target: &str| {
            let directory = proc.path().join(pid.to_string());
            fs::create_dir_all(directory.join("fd")).unwrap();
            fs::write(directory.join("comm"), format!("{name}\n")).unwrap();
            symlink(target, directory.join("fd/3")).unwrap();
        };
        process(11, "tuned", "/dev/null");
        process(12, "sh", "/sys/devices/virtual/block/loop0/queue/scheduler");
        process(
            13,
            "sh",
            "/sys/devices/virtual/block/loop0/queue/rotational",
        );
        process(14, "sh", "/sys/devices/virtual/block/loop7/queue/scheduler");
        fs::create_dir(proc.path().join("self")).unwrap();
        let disk = Device {
            name: "loop0".into(),
            major: 7,
            minor: 0,
            diskseq: None,
        };
        let found = find(proc.path(), &[disk]);
        let short: Vec<(u32, &str)> = found.iter().map(|w| (w.pid, w.name.as_str())).collect();
        assert_eq!(short, [(11, "tuned"), (12, "sh")]);
        assert!(found[1].why.contains("loop0/queue/scheduler"));
    }
}
