//! A comparison on a machine that turns against it. Profile `stress`.

#[allow(dead_code)] // each test binary uses its part
#[path = "../../tests/support/program.rs"]
mod program;

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use iosched_host::scheduler;
use iosched_vmtest::Disk;
use program::{Program, Started};
use serde_json::Value;

const ARMS: [&str; 4] = ["--arm", "kyber", "--arm", "bfq"];
const READ_A_LITTLE: [&str; 4] = [
    "--",
    "sh",
    "-c",
    "dd if=$IOSCHED_DEVICE of=/dev/null bs=4k count=16 iflag=direct 2>/dev/null",
];

fn within(limit: Duration, what: &str, condition: impl Fn() -> bool) {
    let end = Instant::now() + limit;
    while !condition() {
        assert!(Instant::now() < end, "not within {limit:?}: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn rounds(program: &Program) -> usize {
    let bytes = fs::read(program.file("result")).unwrap_or_default();
    let result: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    result["rounds"].as_array().map_or(0, Vec::len)
}

/// What is compared if blocks after the first read block 582, which holds the sector that scsi_debug cannot read.
fn with_a_bad_sector(condition: &str) -> (Program, String) {
    let disk = Disk::scsi_debug(&["delay=0", "ndelay=200000", "opts=2"]);
    disk.set_scheduler("mq-deadline");
    let before = scheduler::read(&disk.device).expect("its queue");
    let program = Program::new("iosched-ab");
    let node = disk.node();
    let script = format!(
        "skip=0; {condition} && skip=580; \
        dd if=$IOSCHED_DEVICE of=/dev/null bs=4k skip=$skip count=16 iflag=direct"
    );
    let how = ["--rounds", "2", "-o", "result", "--", "sh", "-c", &script];
    let ended = program.run(&[&["run", node.as_str()], &ARMS[..], &how].concat());
    println!("{}", ended.stderr);
    // Neither arm is better for it, and the run has not what it was to have.
    ended.ends(
        6,
        &["the device ended requests with an error: 1 with medium"],
    );
    program.run(&["gate", "result"]).ends(6, &[]);
    assert_eq!(scheduler::read(&disk.device).expect("its queue"), before);
    let result = program.result("result");
    let rounds = result["rounds"].as_array().expect("rounds");
    for round in rounds {
        let errors = round["evidence"]["device"]["edges"]["errors"].as_u64();
        let is_sound = errors == Some(0);
        assert_eq!(round["problem"].is_null(), is_sound, "{round:#}");
        let exclusion = if is_sound {
            Value::Null
        } else {
            "device_errors".into()
        };
        assert_eq!(round["exclusion"], exclusion, "{round:#}");
    }
    let text = program.run(&["report", "result"]).stdout;
    (program, text)
}

#[test]
fn rounds_with_errors_of_the_device_do_not_count_and_are_told() {
    let (program, text) = with_a_bad_sector("[ $IOSCHED_BLOCK = 1 ]");
    println!("{text}");
    let result = program.result("result");
    let rounds = result["rounds"].as_array().expect("rounds");
    let is_first = |round: &&Value| round["block"] == 0;
    assert!(
        rounds
            .iter()
            .filter(is_first)
            .all(|round| round["exclusion"].is_null())
    );
}

/// As in each round of one arm: without a round that counts nothing is said of it, least of all that the other passes.
#[test]
fn an_arm_under_which_the_device_always_fails_passes_no_gate() {
    let (_, text) = with_a_bad_sector("[ $IOSCHED_ARM = bfq ]");
    println!("{text}");
}

/// The kernel kills the comparison, and spares its guardian, which is in the same group.
#[test]
fn out_of_memory_the_guardian_puts_all_back() {
    let disk = Disk::null_blk(200_000, &[]);
    disk.set_scheduler("mq-deadline");
    disk.set("queue/nr_requests", "77");
    let before = scheduler::read(&disk.device).expect("its queue");
    let group = Path::new("/sys/fs/cgroup/tight");
    fs::create_dir(group).expect("a control group");
    fs::write(group.join("memory.oom.group"), "1").expect("all of it at once");
    let program = Program::new("iosched-ab");
    let words = [
        &["run", &disk.node()],
        &ARMS[..],
        &["--rounds", "200", "-o", "result"],
    ];
    let words = [&words.concat()[..], &READ_A_LITTLE].concat();
    let words: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
    let procs = group.join("cgroup.procs");
    let line = format!(
        "echo $$ >{} && exec iosched-ab {}",
        procs.display(),
        words.join(" ")
    );
    let mut started = Started::of(&mut program.command_of(Path::new("/bin/sh"), &["-c", &line]));
    started.until(Duration::from_secs(60), "two rounds", || {
        rounds(&program) >= 2
    });
    let pid = started.id();
    let _ = fs::write(group.join("memory.max"), "64K");
    let ended = started.end();
    assert_eq!(ended.code, None, "{ended:#?}");
    let events = fs::read_to_string(group.join("memory.events")).expect("its events");
    println!("process {pid}: {}", events.replace('\n', ", "));
    assert!(!events.contains("oom_kill 0"), "{events}");
    // The kill has made room; so little as there was, the guardian would need minutes.
    fs::write(group.join("memory.max"), "max").expect("a wider limit");
    within(Duration::from_secs(30), "all is back", || {
        scheduler::read(&disk.device).is_ok_and(|now| now == before)
            && program.journals().is_empty()
    });
    within(Duration::from_secs(10), "the group is empty", || {
        fs::remove_dir(group).is_ok()
    });
}

/// Only the times of day in the result jump.
#[test]
fn a_step_of_the_clock_changes_nothing_but_timestamps() {
    let disk = Disk::null_blk(200_000, &[]);
    let program = Program::new("iosched-ab");
    let node = disk.node();
    let step = "dd if=$IOSCHED_DEVICE of=/dev/null bs=4k count=16 iflag=direct 2>/dev/null; \
        date -s @$((1900000000 - IOSCHED_ROUND * 90000000)) >/dev/null";
    let how = ["--rounds", "2", "-o", "result", "--", "sh", "-c", step];
    let ended = program.run(&[&["run", node.as_str()], &ARMS[..], &how].concat());
    ended.ends(0, &[]);
    let result = program.result("result");
    let rounds = result["rounds"].as_array().expect("rounds");
    let years: Vec<&str> = rounds
        .iter()
        .map(|round| &round["started"].as_str().expect("a time")[..4])
        .collect();
    assert!(years[1..].is_sorted_by(|a, b| a > b), "{years:?}");
    for round in rounds {
        assert!(round["problem"].is_null(), "{round:#}");
        let elapsed = round["metrics"]["elapsed"].as_f64().expect("seconds");
        assert!((0.0..60.0).contains(&elapsed), "{elapsed}");
    }
}

/// The machine sleeps for three seconds in the middle of a round, until its clock wakes it.
#[test]
fn a_suspended_machine_spoils_its_round() {
    let alarm = Path::new("/sys/class/rtc/rtc0/wakealarm");
    let depths = fs::read_to_string("/sys/power/mem_sleep").unwrap_or_default();
    if !depths.contains("deep") || !alarm.exists() {
        println!("skipped: this machine cannot be suspended and woken ({depths:?})");
        return;
    }
    fs::write("/sys/power/mem_sleep", "deep").expect("the depth");
    let disk = Disk::null_blk(200_000, &[]);
    let program = Program::new("iosched-ab");
    let node = disk.node();
    let script = "dd if=$IOSCHED_DEVICE of=/dev/null bs=4k count=16 iflag=direct 2>/dev/null; sleep 0.3; \
        if [ $IOSCHED_ROUND = 1 ]; then echo +3 >/sys/class/rtc/rtc0/wakealarm; echo mem >/sys/power/state; fi";
    let how = ["--rounds", "2", "-o", "result", "--", "sh", "-c", script];
    let ended = program.run(&[&["run", node.as_str()], &ARMS[..], &how].concat());
    println!("{}", ended.stderr);
    ended.ends(6, &["the machine was suspended for"]);
    let result = program.result("result");
    let rounds = result["rounds"].as_array().expect("rounds");
    assert_eq!(rounds.len(), 4);
    for round in rounds {
        assert_eq!(
            round["exclusion"] == "paused",
            round["index"] == 1,
            "{round:#}"
        );
    }
}
