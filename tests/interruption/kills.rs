//! A run right after SIGKILL of another. That nothing of a killed one is left at any moment: `tui/tests/kills.rs`.

use iosched_host::preflight;

use super::*;
use crate::support::program::Started;
use crate::support::traces::left_by;

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
    ];
    let how = ["--rounds", "40", "-o", "result"];
    program.start(&[&["run", device], &arms[..], &how, workload].concat())
}

/// The lock is free at once, but what a killed run left is never taken for the user's.
#[test]
#[ignore = "root"]
fn a_run_right_after_a_kill_waits_for_the_guardian() {
    let disk = LoopDevice::of_a_user();
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
    let how = ["--rounds", "2", "-o", "result", "--", "sh", "-c", READ_ONE];
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
    within(SOON * 2, "nothing is left", || {
        left_by(&killed, pid).is_empty()
    });
    drop(preflight::lock(&disk.device).expect("its lock is free"));
    let now = scheduler::read(&disk.device).expect("its queue");
    assert_eq!(differences(&before, &now), [""; 0]);
}
