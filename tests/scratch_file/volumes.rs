//! Runs on a file system, or on several LUNs, of a simulated disk.

use std::fs;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::support::program::Program;
use crate::support::traces::{traces_of, within};
use crate::{ARMS, BINARY, TIMES, ab, count, rounds, share_on_the_device};

fn members(result: &serde_json::Value) -> usize {
    let members = result["device"]["group"]["members"].as_array();
    members.map_or(1, Vec::len)
}

/// Every disk had the arm's scheduler.
fn ensure_switched(round: &serde_json::Value, disks: usize) {
    let members = round["evidence"]["members"].as_array().expect("members");
    assert_eq!(members.len(), disks);
    let arm = round["arm"].as_str().expect("an arm");
    for member in members {
        let active = member["applied"]["effective"]["active"].as_str();
        assert!(arm.starts_with(active.expect("a scheduler")), "{member:#}");
    }
}

#[test]
#[ignore = "root"]
fn a_command_gets_a_directory_on_the_simulated_file_system() {
    let program = Program::new(BINARY);
    let script = "df --output=fstype,source $IOSCHED_SCRATCH | tail -1 >> log
        dd if=/dev/zero of=$IOSCHED_SCRATCH/file bs=64k count=16 oflag=direct status=none";
    let arguments = [&ARMS[..], &["--rounds", "2", "--", "sh", "-c", script]];
    let ended = ab(&program, "scratch:ssd+ext4", &arguments).ends(0, &["is mounted at"]);
    let log = fs::read_to_string(program.file("log")).expect("a log");
    assert_eq!(log.lines().count(), 4);
    assert!(
        log.lines()
            .all(|line| line.starts_with("ext4") && line.contains("/dev/loop")),
        "{log}"
    );
    let result = program.result("result");
    assert_eq!(result["device"]["scratch"]["file_system"], "ext4");
    assert_eq!(result["workload"]["scratch_file"]["file_system"], "ext4");
    for round in rounds(&result) {
        let device = &round["evidence"]["device"];
        let bytes = count(round, "/evidence/device/ops/1/bytes");
        let lost = count(round, "/lost_events");
        assert!(bytes + (lost << 16) >= 1 << 20, "{bytes}: {device}");
    }
    assert_eq!(traces_of(ended.pid), [""; 0]);
}

#[test]
#[ignore = "root"]
fn all_devices_of_a_btrfs_are_written_and_switched() {
    let program = Program::new(BINARY);
    let how = [
        "--workload",
        "seqwrite",
        "--rounds",
        "1",
        "--scratch-size",
        "64M",
    ];
    let arguments = [&ARMS[..], &how, &TIMES];
    let says = [
        "4 LUNs on one simulated ssd",
        "btrfs (raid10)",
        "a scratch file of 64 MiB",
    ];
    let ended = ab(&program, "scratch:ssd*4+btrfs", &arguments).ends(0, &says);
    let result = program.result("result");
    assert_eq!(members(&result), 4);
    assert_eq!(result["device"]["group"]["named"][0], "scratch:ssd*4+btrfs");
    for round in rounds(&result) {
        ensure_switched(round, 4);
        let share = share_on_the_device(round, "write", 1);
        assert!(
            // A part may be written after the round.
            (1.2..3.0).contains(&share),
            "raid10 writes each byte twice: {share}"
        );
    }
    assert_eq!(traces_of(ended.pid), [""; 0]);
}

#[test]
#[ignore = "root"]
fn several_luns_are_written_at_once() {
    let program = Program::new(BINARY);
    // Not at full speed: the probe misses ends on a CPU that is never idle.
    let job = "[w]\nrw=randwrite\nbs=4k\nioengine=psync\ndirect=1\ntime_based\nruntime=60\nrate_iops=2000\n";
    fs::write(program.file("job.fio"), job).expect("a job file");
    let how = ["--job", "job.fio", "--rounds", "1"];
    let ended = ab(&program, "scratch:ram*8", &[&ARMS[..], &how, &TIMES]).ends(0, &[]);
    let result = program.result("result");
    assert_eq!(members(&result), 8);
    for round in rounds(&result) {
        ensure_switched(round, 8);
        assert!(round["problem"].is_null(), "{round:#}");
    }
    assert_eq!(traces_of(ended.pid), [""; 0]);
    let script = "for disk in $(echo $IOSCHED_DEVICES | tr : ' '); do
        dd if=/dev/zero of=$disk bs=64k count=16 oflag=direct status=none || exit; done";
    let arguments = [&ARMS[..], &["--rounds", "1", "--", "sh", "-c", script]];
    ab(&program, "scratch:ram*8", &arguments).ends(0, &[]);
    for round in rounds(&program.result("result")) {
        let bytes = count(round, "/evidence/device/ops/1/bytes");
        assert_eq!(bytes, 8 << 20, "{round:#}");
    }
}

#[test]
#[ignore = "root"]
fn a_killed_run_goes_on_on_a_new_file_system() {
    let program = Program::new(BINARY);
    let script =
        "dd if=/dev/zero of=$IOSCHED_SCRATCH/file bs=64k count=160 oflag=direct status=none";
    let start = ["run", "scratch:ssd+ext4", "-o", "result", "--rounds", "3"];
    let mut killed = program.start(&[&start[..], &ARMS[..], &["--", "sh", "-c", script]].concat());
    killed.until(Duration::from_secs(60), "a round", || {
        fs::read(program.file("result")).is_ok_and(|bytes| {
            let result: serde_json::Value = serde_json::from_slice(&bytes).unwrap_or_default();
            result["rounds"]
                .as_array()
                .is_some_and(|rounds| rounds.len() > 1)
        })
    });
    let pid = Pid::from_raw(killed.id() as i32).expect("a PID");
    kill_process(pid, Signal::KILL).expect("a process of ours");
    let pid = killed.end().pid;
    within(Duration::from_secs(10), "the guardian's work", || {
        program.journals().is_empty()
    });
    assert_eq!(traces_of(pid), [""; 0]);
    let ended = program
        .run(&["run", "--resume", "result"])
        .ends(0, &["continuing after"]);
    assert_eq!(rounds(&program.result("result")).len(), 6);
    assert_eq!(traces_of(ended.pid), [""; 0]);
}

#[test]
#[ignore = "root"]
fn what_makes_no_sense_is_refused_before_anything_is_made() {
    let program = Program::new(BINARY);
    for (device, more, says) in [
        ("scratch:ssd*2+xfs", &[][..], "xfs is made on one device"),
        ("scratch:ssd*99", &[], "not a number of LUNs"),
        ("scratch:ssd+ntfs", &[], "unknown file system"),
        (
            "scratch:ssd",
            &["--scratch-size", "20M"],
            "has no file system for a scratch file",
        ),
        (
            "scratch:ssd+ext4",
            &["--scratch", "/tmp"],
            "has no directory yet",
        ),
    ] {
        let how = ["--workload", "randread"];
        ab(&program, device, &[&ARMS[..], &how, &TIMES, more]).ends(2, &[says]);
    }
    assert!(program.journals().is_empty());
}
