//! Faults in the middle of a comparison: a clear end, settings put back, every finished round kept.
//! Root only: `cargo test --test faults -- --ignored --test-threads=1`.

mod support;

use std::fs;
use std::io::PipeWriter;
use std::path::{Path, PathBuf};
use std::time::Duration;

use iosched_host::scheduler;
use iosched_result::types::queue::State;
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use support::program::{Ended, Program, Started};
use support::traces::{arguments, children_of, differences, processes_with, traces_of, within};
use support::{LoopDevice, READ_ONE, run, unmount};

const BINARY: &str = support::under_test!("iosched-ab");
const ARMS: [&str; 4] = ["--arm", "none,nr_requests=8", "--arm", "kyber"];
const READ_A_LITTLE: [&str; 4] = [
    "--",
    "sh",
    "-c",
    "dd if=$IOSCHED_DEVICE of=/dev/null bs=4k count=16 iflag=direct status=none",
];

/// A disk with settings of its user's.
fn disk() -> (LoopDevice, State) {
    let disk = LoopDevice::in_memory(64 << 20);
    disk.set("scheduler", "mq-deadline");
    disk.set("nr_requests", "64");
    let state = scheduler::read(&disk.device).expect("its queue");
    (disk, state)
}

#[track_caller]
fn is_as_before(disk: &LoopDevice, before: &State, program: &Program, pid: u32) {
    let after = scheduler::read(&disk.device).expect("its queue");
    assert_eq!(differences(before, &after), [""; 0]);
    assert_eq!(traces_of(pid), [""; 0]);
    assert!(program.journals().is_empty());
    assert!(processes_with(&disk.node()).is_empty());
}

fn rounds(program: &Program) -> Vec<Value> {
    let bytes = fs::read(program.file("result")).unwrap_or_default();
    let result: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    result["rounds"].as_array().cloned().unwrap_or_default()
}

fn send(pid: u32, signal: Signal) {
    let pid = Pid::from_raw(pid as i32).expect("a pid");
    kill_process(pid, signal).expect("a process of ours");
}

/// The fio that a user would find: the one that was started, not the jobs that it forked.
fn fio_on(node: &str) -> Option<u32> {
    let mut pids: Vec<u32> = fs::read_dir("/sys/fs/cgroup/unified")
        .or_else(|_| fs::read_dir("/sys/fs/cgroup"))
        .expect("control groups")
        .filter_map(|entry| {
            let path = entry.ok()?.path();
            let is_ours = path.file_name()?.to_str()?.starts_with("iosched-");
            is_ours.then(|| fs::read_to_string(path.join("cgroup.procs")).ok())?
        })
        .flat_map(|text| {
            text.lines()
                .filter_map(|pid| pid.parse().ok())
                .collect::<Vec<u32>>()
        })
        .filter(|pid| {
            let arguments = arguments(*pid);
            let job = arguments
                .iter()
                .rev()
                .find(|word| Path::new(word).extension().is_some_and(|end| end == "fio"));
            let text = job.and_then(|job| fs::read_to_string(job).ok());
            text.is_some_and(|text| text.lines().any(|line| line == format!("filename={node}")))
        })
        .collect();
    pids.sort_unstable();
    pids.first().copied()
}

/// `trouble` comes over the second round or a later one; that round does not count, and the run goes on to its end.
fn one_round_is_spoilt(trouble: fn(&Started, &str), exclusion: &str, says: &str) {
    let ((disk, before), program) = (disk(), Program::new(BINARY));
    let node = disk.node();
    // So little that nothing else spoils a round of it on a busy machine.
    let job = "[slow]\nrw=randread\nbs=4k\ndirect=1\nrate_iops=200\n";
    fs::write(program.file("slow.fio"), job).expect("a job file");
    let how = ["--job", "slow.fio", "--rounds", "2", "-o", "result"];
    let times = ["--ramp", "0.2s", "--round-time", "1.2s"];
    let mut started = program.start(&[&["run", &node], &ARMS[..], &how, &times].concat());
    started.until(Duration::from_secs(60), "a round and a fio", || {
        !rounds(&program).is_empty() && fio_on(&node).is_some()
    });
    std::thread::sleep(Duration::from_millis(400));
    trouble(&started, &node);
    // One block of two is too many for a run to be valid.
    let ended = started.end().ends(6, &["does not count", says]);
    is_as_before(&disk, &before, &program, ended.pid);
    let result = program.result("result");
    assert_eq!(result["status"], "complete");
    let rounds = rounds(&program);
    assert_eq!(rounds.len(), 4);
    let spoilt = rounds.iter().find(|round| round["exclusion"] == exclusion);
    let spoilt = spoilt.unwrap_or_else(|| panic!("{exclusion}: {:#}", result["excluded"]));
    let problem = spoilt["problem"].as_str().expect("text");
    assert!(problem.contains(says), "{problem}");
}

#[test]
#[ignore = "root"]
fn a_killed_fio_spoils_its_round_alone() {
    let kill = |_: &Started, node: &str| send(fio_on(node).expect("a fio"), Signal::KILL);
    one_round_is_spoilt(kill, "workload", "signal 9");
}

/// Memory of a limited size, until the end of the test.
struct Room(tempfile::TempDir);

impl Room {
    fn new() -> Room {
        let directory = tempfile::tempdir().expect("a directory");
        let at = directory.path().to_str().expect("UTF-8");
        run("mount", &["-t", "tmpfs", "-o", "size=48m", "tmpfs", at]);
        Room(directory)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        unmount(self.0.path().to_str().expect("UTF-8"));
    }
}

/// A disk on a file system that is full, and takes back what it gave: the next write to a place fails.
#[test]
#[ignore = "root"]
fn errors_of_the_device_spoil_their_round_and_are_no_fault_of_its_arm() {
    let room = Room::new();
    let image = room.file("disk");
    run("truncate", &["-s", "40M", image.to_str().expect("UTF-8")]);
    let disk = LoopDevice::over(&image);
    let (node, program) = (disk.node(), Program::new(BINARY));
    let job = "[slow]\nrw=randwrite\nbs=4k\ndirect=1\nrate_iops=200\n";
    fs::write(program.file("slow.fio"), job).expect("a job file");
    let how = ["--job", "slow.fio", "--rounds", "2", "-o", "result"];
    let consent = ["--destroy-data", "--yes-destroy", &disk.device.name];
    let times = ["--ramp", "0.2s", "--round-time", "1.2s"];
    let arguments = [&["run", &node], &ARMS[..], &how, &consent, &times].concat();
    let mut started = program.start(&arguments);
    started.until(Duration::from_secs(60), "a round and a fio", || {
        !rounds(&program).is_empty() && fio_on(&node).is_some()
    });
    let image = image.to_str().expect("UTF-8");
    run(
        "fallocate",
        &["--punch-hole", "--offset", "0", "--length", "40M", image],
    );
    let _ = fs::write(room.file("filler"), vec![1; 48 << 20]);
    let count = rounds(&program).len();
    started.until(Duration::from_secs(60), "the round's end", || {
        rounds(&program).len() > count
    });
    fs::remove_file(room.file("filler")).expect("the filler");
    started.end().ends(6, &["does not count"]);
    let all = rounds(&program);
    let spoilt = || all.iter().filter(|round| !round["exclusion"].is_null());
    let is_told = |round: &Value| {
        let problem = round["problem"].as_str().expect("text");
        round["exclusion"] == "device_errors" && problem.contains("requests with an error: ")
    };
    assert!(spoilt().count() > 0 && spoilt().all(is_told), "{all:#?}");
    assert!(all.iter().all(|round| round["censored"].is_null()));
}

#[test]
#[ignore = "root"]
fn a_stopped_iosched_spoils_its_round_alone() {
    let stop = |started: &Started, _: &str| {
        send(started.id(), Signal::STOP);
        std::thread::sleep(Duration::from_millis(1500));
        send(started.id(), Signal::CONT);
    };
    one_round_is_spoilt(stop, "paused", "iosched was stopped, or got no CPU, for");
}

/// A control group whose processes can start no others.
struct Pids(PathBuf);

impl Pids {
    /// None, and said, where there is no controller for it.
    fn of(pid: u32) -> Option<Self> {
        let roots = ["/sys/fs/cgroup/pids", "/sys/fs/cgroup"].map(Path::new);
        let group = roots.map(|root| root.join(format!("test-pids-{}", std::process::id())));
        let made = group.into_iter().find(|group| {
            fs::create_dir(group).is_ok()
                && (group.join("pids.max").exists() || fs::remove_dir(group).is_err())
        });
        let Some(group) = made else {
            println!("skipped: no pids controller");
            return None;
        };
        // Its guardian, too: nobody is to put back in its place.
        let guardians = children_of(pid).into_iter();
        let guardians =
            guardians.filter(|&pid| arguments(pid).iter().any(|word| word == "__guardian"));
        for pid in guardians.chain([pid]) {
            fs::write(group.join("cgroup.procs"), pid.to_string()).expect("a member");
        }
        Some(Pids(group))
    }

    fn limit(&self, processes: &str) {
        fs::write(self.0.join("pids.max"), processes).expect("a limit");
    }
}

impl Drop for Pids {
    fn drop(&mut self) {
        within(Duration::from_secs(20), "an empty group", || {
            fs::remove_dir(&self.0).is_ok()
        });
    }
}

/// Not even the process that a write to the queue is left to.
#[test]
#[ignore = "root"]
fn without_another_process_all_is_put_back() {
    let ((disk, before), program) = (disk(), Program::new(BINARY));
    let node = disk.node();
    let how = [
        "--rounds",
        "20",
        "-o",
        "result",
        "--",
        "sh",
        "-c",
        &format!("{READ_ONE}; sleep 1"),
    ];
    let mut started = program.start(&[&["run", &node], &ARMS[..], &how].concat());
    started.until(Duration::from_secs(60), "a round", || {
        !rounds(&program).is_empty()
    });
    let Some(pids) = Pids::of(started.id()) else {
        return;
    };
    pids.limit("1");
    let ended = started.end();
    assert_eq!(ended.code, Some(1), "{ended:#?}");
    for word in ["panicked", "some settings were not restored"] {
        assert!(!ended.stderr.contains(word), "{ended:#?}");
    }
    within(Duration::from_secs(20), "all is back", || {
        let now = scheduler::read(&disk.device).expect("its queue");
        differences(&before, &now).is_empty() && program.journals().is_empty()
    });
    drop(pids);
    is_as_before(&disk, &before, &program, ended.pid);
}

/// A file system of its own, of so many KiB.
struct Tmpfs(tempfile::TempDir);

impl Tmpfs {
    fn new(kib: u32) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().display().to_string();
        run(
            "mount",
            &[
                "-t",
                "tmpfs",
                "-o",
                &format!("size={kib}k,mode=700"),
                "none",
                &path,
            ],
        );
        Tmpfs(directory)
    }

    fn path(&self) -> PathBuf {
        self.0.path().to_owned()
    }
}

impl Drop for Tmpfs {
    fn drop(&mut self) {
        unmount(&self.path().display().to_string());
    }
}

#[test]
#[ignore = "root"]
fn a_full_disk_for_the_result_ends_the_run_and_keeps_the_rounds() {
    let ((disk, before), program) = (disk(), Program::new(BINARY));
    let small = Tmpfs::new(160);
    let path = small.path().join("result");
    let (node, output) = (disk.node(), path.display().to_string());
    let how = ["--rounds", "50", "-o", &output];
    let arguments = [&["run", &node], &ARMS[..], &how, &READ_A_LITTLE].concat();
    let says = [
        &format!("writing {output}: No space left on device"),
        "the completed rounds are in",
    ];
    let ended = program.run(&arguments).ends(1, &says);
    is_as_before(&disk, &before, &program, ended.pid);
    let left: Vec<_> = fs::read_dir(small.path()).expect("a directory").collect();
    assert_eq!(left.len(), 1, "no half-written file: {left:?}");
    let result: Value = serde_json::from_slice(&fs::read(&path).expect("a result")).expect("JSON");
    let done = result["rounds"].as_array().expect("rounds").len();
    assert!((1..100).contains(&done), "{done}");
    program.run(&["report", &output]).ends(0, &[]);
}

#[test]
#[ignore = "root"]
fn without_room_for_a_journal_nothing_is_touched() {
    let ((disk, before), program) = (disk(), Program::new(BINARY));
    let full = Tmpfs::new(4);
    let node = disk.node();
    let how = ["--rounds", "1", "-o", "result"];
    let mut command = program.command(&[&["run", &node], &ARMS[..], &how, &READ_A_LITTLE].concat());
    command.env("IOSCHED_STATE_DIR", full.path());
    let ended = Ended::of(command).ends(1, &["No space left on device"]);
    is_as_before(&disk, &before, &program, ended.pid);
    assert!(rounds(&program).is_empty(), "nothing was run");
}

#[test]
#[ignore = "root"]
fn a_command_that_hangs_is_ended_at_its_limit() {
    let ((disk, before), program) = (disk(), Program::new(BINARY));
    let node = disk.node();
    let how = ["--rounds", "2", "-o", "result", "--limit", "0.5s"];
    let hang = ["--", "sh", "-c", "trap '' INT TERM; sleep 600 & sleep 600"];
    let ended = program.run(&[&["run", &node], &ARMS[..], &how, &hang].concat());
    let ended = ended.ends(
        6,
        &["sh did not end within 0.5 s and was killed", "--limit"],
    );
    is_as_before(&disk, &before, &program, ended.pid);
}

/// One end of a pipe that nobody reads.
fn closed_pipe() -> std::io::PipeWriter {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    writer
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let program = Program::new(BINARY);
    let sample = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/report/result.json");
    for arguments in [
        &["report", sample][..],
        &["report", sample, "--format", "json"],
        &["report", sample, "--format", "csv"],
        &["workloads"],
        &["completions", "bash"],
        &["--help"],
    ] {
        let mut command = program.command(arguments);
        command.stdout(closed_pipe());
        let ended = Ended::of(command).ends(0, &[]);
        assert_eq!(ended.stderr, "", "{arguments:?}");
    }
}

#[test]
#[ignore = "root"]
fn a_result_that_nobody_takes_is_an_error() {
    let ((disk, before), program) = (disk(), Program::new(BINARY));
    let node = disk.node();
    let how = ["--rounds", "1", "-o", "-"];
    let mut command = program.command(&[&["run", &node], &ARMS[..], &how, &READ_A_LITTLE].concat());
    command.stdout(closed_pipe());
    let says = ["the result could not be written to standard output"];
    let ended = Ended::of(command).ends(1, &says);
    is_as_before(&disk, &before, &program, ended.pid);
}

/// A pipe that is full, as that of a pager: every message blocks.
#[test]
#[ignore = "root"]
fn messages_that_nobody_reads_keep_no_setting() {
    let ((disk, before), program) = (disk(), Program::new(BINARY));
    let (reader, writer) = std::io::pipe().expect("a pipe");
    fill(&writer);
    let how = ["--rounds", "500", "-o", "result"];
    let command = format!("{READ_ONE}; sleep 0.1");
    let (node, first) = (disk.node(), ["run"]);
    let words = [
        &first[..],
        &[&node],
        &ARMS[..],
        &how,
        &["--", "sh", "-c", &command],
    ]
    .concat();
    let mut started = Started::of(program.command(&words).stderr(writer));
    std::thread::sleep(Duration::from_secs(4));
    assert!(started.child().try_wait().expect("its state").is_none());
    send(started.id(), Signal::TERM);
    within(Duration::from_secs(15), "its end", || {
        arguments(started.id()).len() < 2
    });
    assert_eq!(started.child().wait().expect("its end").code(), Some(143));
    within(Duration::from_secs(5), "all put back", || {
        program.journals().is_empty()
    });
    is_as_before(&disk, &before, &program, started.id());
    drop(reader);
}

fn fill(pipe: &PipeWriter) {
    let flags = fcntl_getfl(pipe).expect("its flags");
    fcntl_setfl(pipe, flags | OFlags::NONBLOCK).expect("its flags");
    for size in [4096, 1] {
        while rustix::io::write(pipe, &vec![b'.'; size]).is_ok() {}
    }
    fcntl_setfl(pipe, flags).expect("its flags");
}

/// RLIMIT_FSIZE, which by default kills who writes beyond it.
#[test]
#[ignore = "root"]
fn a_file_that_may_not_grow_is_an_error() {
    let ((disk, before), program) = (disk(), Program::new(BINARY));
    let words = [&["run"], &ARMS[..], &["--rounds", "6", "-o", "result"]].concat();
    let line = format!(
        "ulimit -f 8; exec {BINARY} {} {} -- sh -c '{READ_ONE}'",
        words.join(" "),
        disk.node()
    );
    let ended = Ended::of(program.command_of("bash".as_ref(), &["-c", &line]));
    let ended = ended.ends(1, &["File too large"]);
    println!("{}", ended.stderr);
    within(Duration::from_secs(5), "all put back", || {
        program.journals().is_empty()
    });
    is_as_before(&disk, &before, &program, 0);
    let left = program
        .files()
        .into_iter()
        .filter(|name| name.starts_with('.'));
    assert_eq!(left.collect::<Vec<_>>(), [""; 0]);
}

/// The window of a terminal is closed: the hang-up comes, and every later word to it fails.
#[test]
#[ignore = "root"]
fn a_terminal_that_goes_takes_nothing_with_it() {
    let ((disk, before), program) = (disk(), Program::new(BINARY));
    let node = disk.node();
    let how = ["--rounds", "500", "-o", "result"];
    let quoted = format!("'{READ_ONE}; sleep 0.1'");
    let words = [
        &[BINARY, "run", &node],
        &ARMS[..],
        &how,
        &["--", "sh", "-c", &quoted],
    ]
    .concat();
    // `script` gives it a terminal, and is that terminal.
    let line = format!("exec {}", words.join(" "));
    let script = ["-q", "-c", &line, "/dev/null"];
    let mut terminal = Started::of(&mut program.command_of("script".as_ref(), &script));
    terminal.until(Duration::from_secs(60), "two rounds", || {
        rounds(&program).len() >= 2
    });
    let users = processes_with(&node).into_iter();
    let pid = users
        .filter(|&pid| pid != terminal.id())
        .find(|&pid| arguments(pid)[0] == BINARY)
        .expect("the program");
    send(terminal.id(), Signal::KILL);
    within(Duration::from_secs(10), "its end", || {
        arguments(pid).len() < 2
    });
    within(Duration::from_secs(5), "all put back", || {
        program.journals().is_empty()
    });
    is_as_before(&disk, &before, &program, pid);
    assert_eq!(program.result("result")["status"], "interrupted");
}
