//! Refusals by `iosched-ab`, with which exit code and words, and that it has touched nothing then.

#[path = "refusals/disks.rs"]
mod disks;
mod support;
#[path = "refusals/to_go_on.rs"]
mod to_go_on;

use std::fs;
use std::path::Path;

use support::program::{Ended, Program};

const BINARY: &str = support::under_test!("iosched-ab");
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
    let says = ["one arm alone cannot be compared", "--arm at least twice"];
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
        ("cfq", "removed in Linux 5.0; bfq pursues the same goals"),
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
        ("speed", "unknown metric speed"),
        ("read_queue_wait_p98", "unknown metric read_queue_wait_p98"),
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

/// What the arguments alone show to be wrong is told before a disk is looked at or made, in a dry run, too.
#[test]
fn a_load_that_cannot_run_is_refused_before_its_disk_is_looked_at() {
    for dry in [&["--dry-run"][..], &[]] {
        for disk in [NO_DISK, "scratch:ram"] {
            let unknown = ["--workload", "sleep"];
            let says = ["unknown workload sleep", "randread"];
            refuses(disk, &[&ARMS, dry, &unknown], 2, &says);
            let stops = ["--stop-if", "read_queue_wait_p99 > 50ms"];
            let says = ["--stop-if", "are for --workload live"];
            refuses(disk, &[&ARMS, dry, &READ, &stops], 2, &says);
        }
    }
}

/// fio and commands that do not tell it: before a device is made or asked about.
#[test]
fn a_metric_of_the_program_needs_a_program_that_measures_it() {
    let program = Program::new(BINARY);
    let job = program.file("quick.fio");
    let arms = ["run", "scratch:ram", "--arm", "none", "--arm", "kyber"];
    let metric = ["--metric", "throughput", "--metric", "read_program_p50:3"];
    for (text, says) in [
        (
            "[a]\nrw=read\ndisable_lat=1\n",
            "[a] has disable_lat=1 in line 3",
        ),
        (
            "[global]\ngtod_reduce=1\n[a]\n",
            "[a] has gtod_reduce=1 in line 2",
        ),
    ] {
        fs::write(&job, text).expect("a job file");
        let how = ["--job", &job];
        program.run(&[&arms[..], &metric, &how].concat()).ends(
            2,
            &["read_program_p50 cannot be measured", says, "job file"],
        );
    }
    let command = ["--", "true"];
    program.run(&[&arms[..], &metric, &command].concat()).ends(
        2,
        &["read_program_p50 cannot be measured: a command does not report"],
    );
    assert_eq!(program.files(), ["quick.fio"]);
    assert!(program.journals().is_empty());
}

#[test]
fn several_job_files_are_refused_with_a_way() {
    let jobs = ["--job", "a.fio", "--job", "b.fio"];
    let says = ["--job is given 2 times: a.fio, b.fio", "-- fio a.fio b.fio"];
    refuses(NO_DISK, &[&ARMS, &jobs], 2, &says);
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
        &["unknown device model \"tape\"", "ssd, hdd and ram"],
    );
}

#[test]
fn a_report_is_made_of_results_alone() {
    let program = Program::new(BINARY);
    for (name, content, says) in [
        ("garbage", &b"\0\xffnot json"[..], "is not a result"),
        ("empty", b"", "is empty"),
        (
            "truncated",
            b"{\"schema_version\":1,\"status\":\"compl",
            "is not a result",
        ),
        (
            "later",
            b"{\"schema_version\":4}",
            "this iosched-ab reads 2 and 3",
        ),
        ("other", b"{\"jobs\":[]}", "schema version"),
        ("hollow", b"{\"schema_version\":3}", "is not a result"),
        (
            "old and hollow",
            b"{\"schema_version\":2}",
            "is not a result",
        ),
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

/// Whoever watched has made the load; we cannot make it again.
#[test]
fn a_rotation_of_the_terminal_ui_cannot_be_resumed() {
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/report/result.json");
    let mut result: serde_json::Value =
        serde_json::from_slice(&fs::read(kept).expect("a result")).expect("JSON");
    result["status"] = "interrupted".into();
    result["workload"]["description"] = serde_json::json!({ "kind": "live" });
    let program = Program::new(BINARY);
    fs::write(program.directory().join("live"), result.to_string()).expect("a file");
    program.run(&["run", "--resume", "live"]).ends(
        2,
        &[
            "live is from a rotation in the terminal UI",
            "iosched DEVICE",
        ],
    );
    assert!(program.journals().is_empty());
}
