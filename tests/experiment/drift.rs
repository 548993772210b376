//! Settings: of the arms, in every round; of the user, afterwards; and of others, who change them meanwhile.

use iosched_host::scheduler;
use serde_json::Value;

use crate::support::LoopDevice;
use crate::support::program::Program;
use crate::support::traces::differences;
use crate::{BINARY, READ_A_LITTLE, SIZE_BYTES, ab, arms, count, follows_its_plan, list, text};

/// A disk with settings of its user's, some of which a switch resets and one of which nothing in sysfs shows.
fn disk() -> (LoopDevice, scheduler::State) {
    let disk = LoopDevice::in_memory(SIZE_BYTES);
    disk.set("scheduler", "none");
    disk.set("nr_requests", "16");
    disk.set("scheduler", "mq-deadline");
    disk.set("nr_requests", "64");
    disk.set("iosched/read_expire", "333");
    disk.set("read_ahead_kb", "196");
    let state = scheduler::read(&disk.device).expect("its queue");
    assert_eq!(
        state.hardware_depth.map(|hardware| hardware.depth),
        Some(16)
    );
    (disk, state)
}

#[track_caller]
fn is_as_before(disk: &LoopDevice, before: &scheduler::State) {
    let after = scheduler::read(&disk.device).expect("its queue");
    assert_eq!(differences(before, &after), [""; 0]);
}

#[test]
#[ignore = "root"]
fn arms_get_their_settings_and_the_user_gets_his_back() {
    let ((disk, before), program) = (disk(), Program::new(BINARY));
    let wide = "wide=mq-deadline,nr_requests=512,iosched/read_expire=200,iosched/fifo_batch=3,read_ahead_kb=64";
    let four = arms(&[
        "deep=none,nr_requests=32",
        wide,
        "kyber,iosched/read_lat_nsec=1000000",
        "none",
    ]);
    let command = ["--rounds", "4", "--", "sh", "-c", READ_A_LITTLE];
    ab(&program, &disk, &[&four, &command]).ends(0, &[]);
    is_as_before(&disk, &before);

    let result = program.result("result");
    follows_its_plan(&result);
    for round in list(&result, "/rounds") {
        let (expected, depth): (&[(&str, &str)], u64) = match text(round, "/arm") {
            "deep" => (&[("nr_requests", "32"), ("read_ahead_kb", "196")], 32),
            "wide" => (
                &[
                    ("nr_requests", "512"),
                    ("iosched/fifo_batch", "3"),
                    ("read_ahead_kb", "64"),
                ],
                16,
            ),
            "none" => (&[("read_ahead_kb", "196")], 16),
            _ => (
                &[
                    ("iosched/read_lat_nsec", "1000000"),
                    ("read_ahead_kb", "196"),
                ],
                16,
            ),
        };
        let effective = &round["evidence"]["applied"]["effective"];
        for (name, value) in expected {
            assert_eq!(
                effective["settings"][name], *value,
                "{name} in {effective:#}"
            );
        }
        assert_eq!(
            count(effective, "/hardware_depth/depth"),
            depth,
            "{effective:#}"
        );
        if text(round, "/arm") == "wide" {
            // Kept in jiffies.
            let kept = text(effective, "/settings/iosched~1read_expire");
            let kept: u32 = kept.parse().expect("a number");
            assert!((200..=210).contains(&kept), "{kept}");
        }
        assert_eq!(round["evidence"]["drifted"], serde_json::json!([]));
    }
}

#[test]
#[ignore = "root"]
fn a_command_that_fails_at_once_ends_the_run() {
    let ((disk, before), program) = (disk(), Program::new(BINARY));
    let command = [
        "--rounds",
        "4",
        "--",
        "sh",
        "-c",
        "echo no licence >&2; exit 3",
    ];
    let says = ["sh exited with code 3", "no licence", "result"];
    ab(&program, &disk, &[&arms(&["none", "bfq"]), &command]).ends(1, &says);
    is_as_before(&disk, &before);
    let result = program.result("result");
    assert_eq!(text(&result, "/status"), "failed");
    assert!(text(&result, "/error").contains("code 3"));
    // Both arms were asked.
    let rounds = list(&result, "/rounds");
    assert_eq!(rounds.len(), 2);
    for round in rounds {
        assert!(text(round, "/problem").contains("code 3"), "{round:#}");
    }
}

/// `trouble` in two of four blocks makes the run invalid. In one round of eight blocks it does not, unless it lasts.
fn trouble(trouble: &str, says: &str, lasts: bool) {
    let ((disk, before), program) = (disk(), Program::new(BINARY));
    let script = format!("{READ_A_LITTLE}; if [ $IOSCHED_BLOCK -ge 2 ]; then {trouble}; fi");
    let script = script.replace("QUEUE", &disk.device.sysfs("queue").display().to_string());
    let how = ["--", "sh", "-c", &script];
    let both = arms(&["none", "kyber"]);
    let ended = ab(&program, &disk, &[&both, &["--rounds", "4"], &how]);
    ended.ends(6, &["the run is invalid: 2 of 4 blocks", says]);
    is_as_before(&disk, &before);
    let result = program.result("result");
    assert_eq!(text(&result, "/status"), "complete");
    for round in list(&result, "/rounds") {
        let is_spoilt = round["block"].as_u64().expect("a block") >= 2;
        assert_eq!(round["problem"] != Value::Null, is_spoilt, "{round:#}");
        if is_spoilt {
            assert!(text(round, "/problem").contains(says), "{round:#}");
        }
    }
    for comparison in list(&result, "/comparisons") {
        assert_eq!(count(comparison, "/blocks"), 2);
        assert_eq!(count(comparison, "/blocks_missing"), 2);
    }
    // Not when the block is run again.
    let once = "= 5 ] && [ $IOSCHED_ARM = kyber ] && [ $IOSCHED_ROUND -lt 16 ]";
    let script = script.replace("-ge 2 ]", once);
    let how = ["--", "sh", "-c", &script];
    let (code, invalid): (_, &[&str]) = if lasts {
        (6, &["3 of 8 blocks"])
    } else {
        (0, &[])
    };
    let ended = ab(&program, &disk, &[&both, &["--rounds", "8"], &how]);
    ended.ends(code, &[&["does not count", says], invalid].concat());
    is_as_before(&disk, &before);
    let result = program.result("result");
    let (excluded, rounds) = (list(&result, "/excluded"), list(&result, "/rounds"));
    if !lasts {
        assert_eq!((excluded.len(), rounds.len()), (1, 18), "one block again");
        assert!(text(&excluded[0], "/problem").contains(says));
        let again: Vec<&str> = rounds[16..].iter().map(|r| text(r, "/arm")).collect();
        let first: Vec<&str> = rounds[10..12].iter().map(|r| text(r, "/arm")).collect();
        assert_eq!(again, first, "in the order that was drawn for it");
        assert_eq!(count(&list(&result, "/comparisons")[0], "/blocks"), 8);
    }
}

#[test]
#[ignore = "root"]
fn a_pause_of_the_program_spoils_rounds() {
    trouble(
        "kill -STOP $PPID; sleep 2; kill -CONT $PPID",
        "was stopped",
        false,
    );
}

/// A command's behaviour under an arm is that arm's outcome, whichever arms it fails under.
#[test]
#[ignore = "root"]
fn a_round_that_fails_later_counts_as_worse_than_every_other() {
    for (fails, only_kyber, gate) in [
        ("[ $IOSCHED_BLOCK -ge 2 ]", false, 4),
        ("[ $IOSCHED_ARM = kyber ]", true, 3),
        (
            "[ $IOSCHED_ARM = kyber ] && kill -KILL $$ && false",
            true,
            3,
        ),
    ] {
        let ((disk, before), program) = (disk(), Program::new(BINARY));
        let script = format!("{READ_A_LITTLE}; if {fails}; then exit 3; fi");
        let how = ["--rounds", "6", "--", "sh", "-c", &script];
        let ended = ab(&program, &disk, &[&arms(&["none", "kyber"]), &how]);
        ended.ends(0, &["counts as worse than every other: sh "]);
        is_as_before(&disk, &before);
        let result = program.result("result");
        assert_eq!(text(&result, "/status"), "complete");
        assert_eq!(list(&result, "/excluded").len(), 0);
        for round in list(&result, "/rounds") {
            let fails = if only_kyber {
                text(round, "/arm") == "kyber"
            } else {
                count(round, "/block") >= 2
            };
            assert_eq!(round["censored"] == "failed", fails, "{round:#}");
            assert_eq!(round["problem"] != Value::Null, fails, "{round:#}");
        }
        for mode in ["worse", "beyond-margin"] {
            let gate_of = ["gate", "result", "--mode", mode];
            program.run(&gate_of).ends(gate, &[]);
        }
    }
}

#[test]
#[ignore = "root"]
fn an_attribute_that_changes_spoils_the_round_and_those_after_it() {
    trouble("echo 2 > QUEUE/nomerges", "nomerges: 0 -> 2", true);
}

#[test]
#[ignore = "root"]
fn another_writer_of_the_scheduler_ends_the_run() {
    let back = "s=$(sed 's/.*\\[//; s/\\].*//' QUEUE/scheduler); echo bfq > QUEUE/scheduler; READ; \
        echo $s > QUEUE/scheduler; READ";
    let and_back = back.replace("READ", READ_A_LITTLE);
    for (switch, says) in [
        ("echo bfq > QUEUE/scheduler", "to bfq"),
        (and_back.as_str(), "and back"),
    ] {
        let ((disk, before), program) = (disk(), Program::new(BINARY));
        let script = format!("{READ_A_LITTLE}; if [ $IOSCHED_BLOCK = 1 ]; then {switch}; fi");
        let script = script.replace("QUEUE", &disk.device.sysfs("queue").display().to_string());
        let how = ["--rounds", "4", "--", "sh", "-c", &script];
        let ended = ab(&program, &disk, &[&arms(&["none", "kyber"]), &how]);
        let who = format!("another program switched {}", disk.device.name);
        ended.ends(6, &[&who, says, "can crash the kernel", "--resume"]);
        is_as_before(&disk, &before);
        let result = program.result("result");
        assert_eq!(text(&result, "/status"), "failed");
        let rounds = list(&result, "/rounds");
        assert_eq!(rounds.len(), 3, "the first of block 1 is the last");
        assert_eq!(text(&rounds[2], "/exclusion"), "drifted_settings");
        // It goes on, and meets the same program again.
        let resume = ["run", "--resume", "result"];
        program.run(&resume).ends(6, &[&who]);
        assert_eq!(list(&program.result("result"), "/rounds").len(), 4);
        is_as_before(&disk, &before);
    }
}

#[test]
#[ignore = "root"]
fn a_hidden_depth_that_changes_meanwhile_spoils_rounds() {
    let resize = "s=$(sed 's/.*\\[//; s/\\].*//' QUEUE/scheduler); echo none > QUEUE/scheduler; \
        echo 8 > QUEUE/nr_requests; echo $s > QUEUE/scheduler";
    trouble(resize, "hardware depth: 16 -> 8", false);
}

/// Its size is set again to what it was: nothing else shows it.
#[test]
#[ignore = "root"]
fn a_change_that_the_kernel_tells_of_spoils_rounds() {
    trouble(
        "losetup -c $IOSCHED_DEVICE",
        "the kernel reported a change of",
        false,
    );
}

/// As udev does it after each time that somebody has written to the disk.
#[test]
#[ignore = "root"]
fn an_event_that_was_asked_for_is_told_and_spoils_nothing() {
    let ((disk, before), program) = (disk(), Program::new(BINARY));
    let uevent = disk.device.sysfs("uevent").display().to_string();
    let script = format!("{READ_A_LITTLE}; echo change > {uevent}");
    let both = arms(&["none", "kyber"]);
    let how = ["--rounds", "1", "--", "sh", "-c", &script];
    ab(&program, &disk, &[&both, &how]).ends(0, &[]);
    is_as_before(&disk, &before);
    for round in list(&program.result("result"), "/rounds") {
        let told = list(round, "/evidence/uevents");
        let expected = format!("change of {}, requested by user space", disk.device.name);
        assert_eq!(told, &[Value::from(expected)], "{round:#}");
    }
}

/// Somebody else, in the test's own control group, reads the disk all the time.
#[test]
#[ignore = "root"]
fn others_that_dominate_the_device_end_the_run() {
    let ((disk, before), program) = (disk(), Program::new(BINARY));
    let input = format!("if={}", disk.node());
    let arguments = ["of=/dev/null", "bs=64k", "iflag=direct", "status=none"];
    let mut reader = std::process::Command::new("sh")
        .args(["-c", "while :; do dd \"$@\" || exit; done", "sh", &input])
        .args(arguments)
        .spawn()
        .expect("a shell");
    let how = ["--workload", "randread", "--rounds", "2"];
    let times = ["--ramp", "0.1s", "--round-time", "0.4s"];
    let start = ["run", &disk.node(), "-o", "result"];
    let both = arms(&["none", "kyber"]);
    let ended = program.run(&[&start[..], &both, &how, &times].concat());
    reader.kill().expect("the reader");
    reader.wait().expect("the reader");
    ended.ends(
        6,
        &["other processes moved", "% of the bytes", "dd (", "--unit"],
    );
    is_as_before(&disk, &before);
    let result = program.result("result");
    let rounds = list(&result, "/rounds");
    assert_eq!(rounds.len(), 1, "more of them would show nothing else");
    let share = rounds[0]["foreign_share"].as_f64().expect("a share");
    assert!((0.5..1.0).contains(&share), "{share}");
    let largest = list(&rounds[0], "/evidence/foreign/largest");
    assert_eq!(text(&largest[0], "/name"), "dd");
}
