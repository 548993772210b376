//! fio with a job file, and whose threads it ran.

use std::collections::HashMap;
use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

/// The process of each thread that was met while the load ran.
pub type Processes = HashMap<u32, u32>;

/// Runs the jobs to a good end, in a scheduling class (`chrt -b`) that takes the CPU from nobody when it wakes up: so few
/// threads lose it between two events. A thread of a process with several must live for a few milliseconds to be met.
#[track_caller]
pub fn run_jobs(jobs: &str) -> Processes {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("jobs");
    fs::write(&path, jobs).expect("a file");
    let output = fs::File::create(directory.path().join("output")).expect("a file");
    let mut fio = Command::new("chrt")
        .args(["-b", "0", "fio"])
        .arg(&path)
        .current_dir(directory.path())
        .stdout(Stdio::from(output))
        .spawn()
        .expect("fio");
    let mut processes = Processes::new();
    let status = loop {
        let tasks = fs::read_dir(format!("/proc/{}/task", fio.id()));
        let names = tasks.into_iter().flatten().flatten();
        let tids = names.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        processes.extend(tids.map(|tid: u32| (tid, fio.id())));
        if let Some(status) = fio.try_wait().expect("a child") {
            break status;
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    let text = || fs::read_to_string(directory.path().join("output")).unwrap_or_default();
    assert!(status.success(), "fio: {status}\n{}", text());
    processes
}
