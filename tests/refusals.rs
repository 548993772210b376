//! What `iosched-ab` refuses, with which exit code and words, and that it has touched nothing then.

#[path = "refusals/disks.rs"]
mod disks;
mod support;

use std::fs;
use std::path::Path;

use support::program::{Ended, Program};

const BINARY: &str = env!("CARGO_BIN_EXE_iosched-ab");
const ARMS: [&str; 4] = ["--arm", "none", "--arm", "mq-deadline"];
const NO_DISK: &str = "/dev/iosched-no-such-disk";

/// `iosched-ab run DEVICE` and these arguments.
fn ab(program: &Program, device: &str, arguments: &[&[&str]]) -> Ended {
    let ended = program.run(&[&["run", device][..], &arguments.concat()].concat());
    assert!(
        program.journals().is_empty(),
        "nothing was there to be undone"
    );
    ended
}

#[track_caller]
fn refuses(device: &str, arguments: &[&[&str]], code: i32, says: &[&str]) {
    let program = Program::new(BINARY);
    let ended = ab(&program, device, arguments).ends(code, says);
    assert_eq!(ended.stdout, "", "nothing but a result is for stdout");
    assert_eq!(program.files(), [""; 0], "no file was to be written");
}

const READ: [&str; 2] = ["--workload", "randread"];

#[test]
fn a_comparison_needs_two_arms_and_a_workload() {
    let says = ["one arm cannot be compared", "at least two --arm"];
    refuses(NO_DISK, &[&["--arm", "none"], &READ], 2, &says);
    refuses(NO_DISK, &[&READ], 2, &["--arm"]);
    refuses(NO_DISK, &[&ARMS], 2, &["--workload", "--job", "COMMAND"]);
    refuses(
        NO_DISK,
        &[&ARMS, &READ, &["--", "true"]],
        2,
        &["cannot be used with"],
    );
    let twice = ["--arm", "none", "--arm", "none"];
    refuses(
        NO_DISK,
        &[&twice, &READ],
        2,
        &["two arms have the label \"none\""],
    );
}

#[test]
fn removed_schedulers_are_refused_with_their_history() {
    for (name, says) in [
        (
            "cfq",
            "removed in Linux 5.0; bfq is its successor in intent",
        ),
        ("anticipatory", "removed in Linux 2.6.33, no successor"),
        ("as", "removed in Linux 2.6.33, no successor"),
    ] {
        refuses(
            NO_DISK,
            &[&["--arm", "none", "--arm", name], &READ],
            2,
            &[name, says],
        );
    }
}

#[test]
fn metrics_and_margins_are_checked_before_anything_else() {
    for (metric, says) in [
        ("speed", "there is no metric speed"),
        (
            "read_queue_wait_p98",
            "there is no metric read_queue_wait_p98",
        ),
        ("iops:0", "the margin 0 of iops"),
        ("iops:-5", "the margin -5 of iops"),
        ("iops:100", "the margin 100 of iops"),
        ("iops:many", "the margin many of iops"),
    ] {
        refuses(NO_DISK, &[&ARMS, &READ, &["--metric", metric]], 2, &[says]);
    }
    refuses(
        NO_DISK,
        &[&ARMS, &READ, &["--rounds", "0"]],
        2,
        &["--rounds"],
    );
    for time in ["-1", "0", "50ms", "2days", "NaN", "soon"] {
        let time = format!("--round-time={time}");
        refuses(NO_DISK, &[&ARMS, &READ, &[&time]], 2, &["--round-time"]);
    }
}

#[test]
fn a_mistyped_device_never_becomes_a_file() {
    refuses(
        NO_DISK,
        &[&ARMS, &READ],
        2,
        &[NO_DISK, "no such device", "lsblk"],
    );
    assert!(!Path::new(NO_DISK).exists());
    let write = ["--workload", "randwrite", "--destroy-data"];
    refuses(NO_DISK, &[&ARMS, &write], 2, &[NO_DISK, "no such device"]);
    assert!(!Path::new(NO_DISK).exists());
    refuses(
        "/dev/null",
        &[&ARMS, &READ],
        2,
        &["/dev/null is a character device"],
    );
    refuses(
        "scratch:tape",
        &[&ARMS, &READ],
        2,
        &["no device model \"tape\"", "ssd, hdd and ram"],
    );
}

#[test]
fn a_report_is_made_of_results_alone() {
    let program = Program::new(BINARY);
    for (name, content, says) in [
        ("garbage", &b"\0\xffnot json"[..], "is not a result"),
        ("empty", b"", "is not a result"),
        (
            "truncated",
            b"{\"schema_version\":1,\"status\":\"compl",
            "is not a result",
        ),
        (
            "later",
            b"{\"schema_version\":2}",
            "this iosched-ab reads 1",
        ),
        ("other", b"{\"jobs\":[]}", "schema version"),
        ("hollow", b"{\"schema_version\":1}", "is not a result"),
        ("list", b"[]", "is not a result"),
    ] {
        fs::write(program.directory().join(name), content).expect("a file");
        let ended = program.run(&["report", name]).ends(2, &[name, says]);
        assert_eq!(ended.stdout, "", "{name}");
    }
    program
        .run(&["report", "absent"])
        .ends(2, &["cannot read absent"]);
    program.run(&["report", "."]).ends(2, &["cannot read ."]);
}
