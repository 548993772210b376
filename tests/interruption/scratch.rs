//! The same for devices that we made.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::program::{Program, Started};
use crate::support::run;
use crate::support::traces::{processes_with, traces_of};
use crate::{BINARY, SOON, end, hang_up, interrupt, kill, kill_with_guardian, restore, terminate};

/// `iosched-ab scratch`, with its device in use.
fn scratch(program: &Program, rest: &[&str]) -> (Started, String) {
    let start = ["scratch", "--size", "16M", "--json"];
    let mut child = program.start(&[&start, rest].concat());
    let mut line = String::new();
    let stdout = child.child().stdout.take().expect("its output");
    BufReader::new(stdout).read_line(&mut line).expect("a line");
    let said: Value = serde_json::from_str(&line).expect("JSON");
    let device = said["device"].as_str().expect("a device").to_owned();
    assert!(traces_of(child.id()).len() >= 2, "mount and loop device");
    run(
        "dd",
        &[
            &format!("if={device}"),
            "of=/dev/null",
            "bs=4k",
            "count=4",
            "iflag=direct",
        ],
    );
    (child, device)
}

/// Until it has nothing left to do, or too long; [`has_gone`] then says what is left.
fn wait_for_the_guardian(program: &Program, pid: u32, limit: Duration) {
    let deadline = Instant::now() + limit;
    while Instant::now() < deadline && !(traces_of(pid).is_empty() && program.journals().is_empty())
    {
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[track_caller]
fn has_gone(program: &Program, device: &str, pid: u32) {
    assert_eq!(traces_of(pid), [""; 0]);
    // Another test may have made a device of that name since.
    let name = device.trim_start_matches("/dev/");
    let is_anothers = Path::new(&format!("/sys/block/{name}/loop/backing_file")).exists();
    assert!(is_anothers || !Path::new(device).exists(), "{device}");
    let journals: Vec<String> = program
        .journals()
        .iter()
        .map(|path| fs::read_to_string(path).unwrap_or_default())
        .collect();
    assert_eq!(journals, [""; 0]);
}

#[test]
#[ignore = "root"]
fn a_scratch_device_goes_with_its_program() {
    // Ctrl-C is how it is meant to end; with a command it is an interruption of that.
    let sleep = ["--", "sleep", "600"];
    for (rest, how, code) in [
        (&[][..], interrupt as fn(u32), 0),
        (&[], terminate, 143),
        (&sleep, interrupt, 130),
        (&sleep, hang_up, 129),
    ] {
        let program = Program::new(BINARY);
        let (child, device) = scratch(&program, rest);
        let ended = end(child, how).ends(code, &[]);
        has_gone(&program, &device, ended.pid);
    }
}

#[test]
#[ignore = "root"]
fn a_scratch_device_of_a_killed_program_goes_too() {
    // With its command, which would otherwise go on without a device.
    for rest in [
        &[][..],
        &["--", "sh", "-c", "sh -c \"sleep 600; :\" $0; :", "{}"],
    ] {
        let program = Program::new(BINARY);
        let (child, device) = scratch(&program, rest);
        let pid = end(child, kill).pid;
        wait_for_the_guardian(&program, pid, SOON);
        has_gone(&program, &device, pid);
        assert!(processes_with(&device).is_empty());
    }
}

#[test]
#[ignore = "root"]
fn a_scratch_device_that_both_leave_behind_is_restored() {
    let program = Program::new(BINARY);
    let (child, device) = scratch(&program, &[]);
    let pid = end(child, kill_with_guardian).pid;
    assert!(!traces_of(pid).is_empty());
    let name = device.trim_start_matches("/dev/");
    if let Some(list) = restore(&program, &["--list"]) {
        let list = list.ends(0, &[]).stdout;
        for says in [
            &format!("scratch device {name}"),
            "mount /run/iosched",
            "directory /run/iosched",
        ] {
            assert!(list.contains(says), "{says}: {list}");
        }
        restore(&program, &[]).expect("it is there").ends(0, &[]);
    } else {
        let journal = &program.journals()[0];
        let errors = iosched_host::safety::journal::restore_file(journal).expect("a journal");
        assert!(errors.is_empty(), "{errors:?}");
    }
    has_gone(&program, &device, pid);
}

/// A comparison on this disk, after its first round, and the name of the disk.
fn run_after_a_round(program: &Program, disk: &str) -> (Started, String) {
    let arms = [
        "--arm",
        "none",
        "--arm",
        "mq-deadline",
        "--workload",
        "probe-hog",
    ];
    let how = ["--ramp", "0.2s", "--round-time", "1s", "-o", "result"];
    let mut child = program.start(&[&["run", disk], &arms[..], &how].concat());
    child.until(Duration::from_secs(60), "a round", || {
        let bytes = fs::read(program.file("result")).unwrap_or_default();
        let result: Value = serde_json::from_slice(&bytes).unwrap_or_default();
        result["rounds"]
            .as_array()
            .is_some_and(|rounds| !rounds.is_empty())
    });
    // Two fio processes, each in its group, on the device.
    let pid = child.id();
    child.until(SOON, "both groups", || traces_of(pid).len() >= 5);
    let device = program.result("result")["device"]["device"]["name"]
        .as_str()
        .expect("a name")
        .to_owned();
    (child, device)
}

#[test]
#[ignore = "root"]
fn a_killed_run_on_a_scratch_device_leaves_nothing() {
    let program = Program::new(BINARY);
    let (child, device) = run_after_a_round(&program, "scratch:ssd");
    let pid = end(child, kill).pid;
    wait_for_the_guardian(&program, pid, SOON * 2);
    has_gone(&program, &format!("/dev/{device}"), pid);
    assert!(processes_with(&device).is_empty());
}

/// Its disk has died with the program, so its files cannot be removed before its mount.
#[test]
#[ignore = "root"]
fn a_file_system_that_both_leave_behind_is_restored() {
    let program = Program::new(BINARY);
    let (child, device) = run_after_a_round(&program, "scratch:ssd+ext4");
    let pid = end(child, kill_with_guardian).pid;
    let mount = fs::read_to_string("/proc/self/mountinfo").expect("mountinfo");
    let mount = mount
        .lines()
        .filter_map(|line| line.split(' ').nth(4))
        .find(|path| path.contains(&format!("-{pid}-")) && path.ends_with("-volume"))
        .expect("its mount")
        .to_owned();
    // Has the file system find out.
    let _ = std::process::Command::new("sync")
        .args(["-f", &mount])
        .output();
    let Some(done) = restore(&program, &[]) else {
        return;
    };
    let said = done.ends(0, &[]).stdout;
    assert!(said.contains("Everything was restored."), "{said}");
    has_gone(&program, &format!("/dev/{device}"), pid);
}
