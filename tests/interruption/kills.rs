//! SIGKILL at any moment, of the program alone or of its whole process group: nothing stays changed, nothing is left.
//! `IOSCHED_KILLS=100` for more of them, `IOSCHED_KILL_SEED` for the same ones again.

use std::os::unix::process::CommandExt;

use iosched::preflight;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use rustix::process::kill_process_group;

use super::*;
use crate::support::program::Started;

const ROUNDS: u64 = 10;
/// From before the guardian is there to the third round or so.
const LATEST_MS: u64 = 2500;

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().expect("a number"))
}

/// Forks, and leaves its own process group as soon as it can.
const COMMAND: [&str; 4] = [
    "--",
    "sh",
    "-c",
    "for i in 1 2 3; do setsid dd if=$IOSCHED_DEVICE of=/dev/null bs=4k iflag=direct status=none & done; wait",
];
const FIO: [&str; 6] = [
    "--workload",
    "randread",
    "--ramp",
    "0.1s",
    "--round-time",
    "0.3s",
];

fn start(program: &Program, device: &str, workload: &[&str]) -> Started {
    let arms = [
        "--arm",
        "none,nr_requests=8",
        "--arm",
        "bfq,iosched/slice_idle=0",
        "--arm",
        "mq-deadline,read_ahead_kb=64,iosched/read_expire=200",
    ];
    let how = ["--rounds", "40", "-o", "result"];
    let mut command = program.command(&[&["run", device], &arms[..], &how, workload].concat());
    Started::of(command.process_group(0))
}

#[track_caller]
fn nothing_is_left(program: &Program, pid: u32, what: &str) {
    let state = program.state().display().to_string();
    let left = || {
        let mut left = traces_of(pid);
        let journals = program.journals().into_iter();
        left.extend(journals.map(|path| path.display().to_string()));
        let guardians = processes_with(&state).into_iter();
        left.extend(guardians.map(|pid| format!("{:?}", arguments(pid))));
        left
    };
    let deadline = std::time::Instant::now() + SOON * 2;
    while !left().is_empty() {
        assert!(
            std::time::Instant::now() < deadline,
            "{what}: {:#?}",
            left()
        );
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
#[ignore = "root"]
fn kill_9_at_any_moment_leaves_nothing() {
    let seed = number("IOSCHED_KILL_SEED").unwrap_or_else(|| u64::from(std::process::id()));
    let rounds = number("IOSCHED_KILLS").unwrap_or(ROUNDS);
    println!("{rounds} kills, IOSCHED_KILL_SEED={seed}");
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let disk = user_disk();
    let before = scheduler::read(&disk.device).expect("its queue");
    let (mut changed, mut measured) = (0, 0);
    for round in 0..rounds {
        let program = Program::new(BINARY);
        let delay = Duration::from_millis(random.next_u64() % LATEST_MS);
        // Every fourth on a device that is made for the run.
        let (node, of_scratch) = (disk.node(), round % 4 == 3);
        let device = if of_scratch { "scratch:ssd" } else { &node };
        let workload: &[&str] = if round % 2 == 0 { &COMMAND } else { &FIO };
        let whole_group = random.next_u64().is_multiple_of(2);
        let whom = if whole_group { "its group" } else { "it alone" };
        let what = format!("round {round}, {device}, {whom} after {delay:?}");
        let mut child = start(&program, device, workload);
        std::thread::sleep(delay);
        let running = child.child().try_wait().expect("its state").is_none();
        assert!(running, "{what}: {:#?}", child.end());
        let pid = child.id();
        let found = scheduler::read(&disk.device).expect("its queue");
        changed += u32::from(!differences(&before, &found).is_empty());
        if whole_group {
            let group = Pid::from_raw(pid as i32).expect("a pid");
            kill_process_group(group, Signal::KILL).expect("a group of ours");
        } else {
            kill(pid);
        }
        assert_eq!(child.end().code, None, "{what}");
        nothing_is_left(&program, pid, &what);
        let now = scheduler::read(&disk.device).expect("its queue");
        assert_eq!(differences(&before, &now), [""; 0], "{what}");
        let users = processes_with(&node);
        assert!(users.is_empty(), "{what}: {users:?}");
        drop(preflight::lock(&disk.device).unwrap_or_else(|error| panic!("{what}: {error:#}")));
        measured += u32::from(Running::rounds(&program) > 0);
    }
    println!("{changed} kills found the disk changed, {measured} after a finished round");
    assert!(changed > 0, "no kill was late enough to matter");
}

/// The lock is free at once, but what a killed run left is never taken for the user's.
#[test]
#[ignore = "root"]
fn a_run_right_after_a_kill_waits_for_the_guardian() {
    let disk = user_disk();
    let before = scheduler::read(&disk.device).expect("its queue");
    let (killed, next) = (Program::new(BINARY), Program::new(BINARY));
    let mut child = start(&killed, &disk.node(), &FIO);
    child.until(Duration::from_secs(60), "a round", || {
        Running::rounds(&killed) >= 1
    });
    // The guardian is stopped, as if the machine were too busy to run it.
    let guardian = guardian_of(child.id());
    send(guardian, Signal::STOP);
    let pid = end(child, kill).pid;
    let node = disk.node();
    let two = ["run", &node, "--arm", "none", "--arm", "bfq"];
    let how = ["--rounds", "2", "-o", "result", "--", "true"];
    let mut command = next.command(&[&two[..], &how].concat());
    command.env("IOSCHED_STATE_DIR", killed.state());
    let says = format!("process {pid} was killed and left the settings");
    Ended::of(command).ends(5, &[&says, "iosched restore"]);

    let mut command = next.command(&[&two[..], &how].concat());
    command.env("IOSCHED_STATE_DIR", killed.state());
    let started = Started::of(&mut command);
    std::thread::sleep(Duration::from_millis(300));
    send(guardian, Signal::CONT);
    let ended = started.end();
    assert!(!ended.stderr.contains("left the settings"), "{ended:#?}");
    nothing_is_left(&killed, pid, "after both");
    let now = scheduler::read(&disk.device).expect("its queue");
    assert_eq!(differences(&before, &now), [""; 0]);
}
