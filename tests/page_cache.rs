//! `--cold`: what rounds find in the page cache, as fincore and the kernel's counters of the disk tell it.
//! Root only: `cargo test --test page_cache -- --ignored --test-threads=1`.

#[path = "support/short_study.rs"]
mod short_study;
mod support;

use std::fs;
use std::process::Command;

use support::program::{Ended, Program};
use support::{LoopDevice, Mounted, run};

const BINARY: &str = support::under_test!("iosched-ab");
const ARMS: [&str; 4] = ["--arm", "none", "--arm", "mq-deadline"];
const MIB: u64 = 1 << 20;
const FILE_BYTES: u64 = 20 * MIB;

fn has_fincore() -> bool {
    let is_there = Command::new("fincore").arg("--version").output().is_ok();
    if !is_there {
        println!("skipped: fincore (util-linux) is not installed");
    }
    is_there
}

/// A file system with a file on it that is no scratch file.
fn volume() -> (LoopDevice, Mounted) {
    let disk = LoopDevice::in_memory(128 * MIB);
    run(
        "mkfs.ext4",
        &["-q", "-E", "lazy_itable_init=0", &disk.node()],
    );
    let mounted = Mounted::new(&disk.node());
    fs::write(mounted.path().join("other"), vec![7; 4 * MIB as usize]).expect("a file");
    (disk, mounted)
}

/// Each round says how much of its scratch file and of the other file it finds in the page cache, then reads both and
/// leaves the scratch file dirty.
fn observe(program: &Program, mounted: &Mounted, arguments: &[&str]) -> Ended {
    let script = "fincore -nb -o RES $IOSCHED_SCRATCH/data $OTHER | tr '\\n' ' ' >> $LOG; echo >> $LOG; \
        cat $IOSCHED_SCRATCH/data $OTHER > /dev/null; \
        dd if=/dev/zero of=$IOSCHED_SCRATCH/data bs=1M count=20 conv=notrunc status=none; \
        dd if=$IOSCHED_DEVICE of=/dev/null bs=4k count=16 iflag=direct status=none";
    let place = mounted.path().display().to_string();
    let mut all = vec!["run"];
    if !arguments.contains(&"--resume") {
        all.extend([
            &place,
            "-o",
            "result",
            "--scratch",
            &place,
            "--scratch-size",
            "20M",
        ]);
        all.extend(ARMS);
    }
    all.push("--allow-mounted");
    all.extend(arguments);
    if !arguments.contains(&"--resume") {
        all.extend(["--", "sh", "-c", script]);
    }
    let mut command = program.command(&all);
    command
        .env("LOG", program.file("log"))
        .env("OTHER", mounted.path().join("other"));
    Ended::of(command)
}

/// By round: cached bytes of the scratch file and of the other file.
fn log(program: &Program) -> Vec<(u64, u64)> {
    let text = fs::read_to_string(program.file("log")).expect("the log");
    let numbers = |line: &str| -> Vec<u64> {
        line.split_whitespace()
            .map(|word| word.parse().expect(line))
            .collect()
    };
    let lines = text.lines().map(numbers);
    lines.map(|line| (line[0], line[1])).collect()
}

#[test]
#[ignore = "root"]
fn rounds_find_what_was_not_dropped() {
    if !has_fincore() {
        return;
    }
    let (_disk, mounted) = volume();
    // Without --cold, later rounds find all. It is said.
    let program = Program::new(BINARY);
    let ended = observe(
        &program,
        &mounted,
        &["--rounds", "2", "--metric", "elapsed"],
    );
    ended.ends(
        0,
        &["a command may read what earlier rounds left in the page cache"],
    );
    let warm = log(&program);
    assert!(
        warm.len() == 4
            && warm[1..]
                .iter()
                .all(|round| *round == (FILE_BYTES, 4 * MIB)),
        "{warm:?}"
    );
    let result = program.result("result");
    assert!(
        result["design"]["cold"].is_null() && result["notes"].to_string().contains("page cache")
    );
    // With it, the scratch file is not there, although each round leaves it dirty. Another file is.
    let program = Program::new(BINARY);
    let ended = observe(&program, &mounted, &["--rounds", "2", "--cold"]);
    let ended = ended.ends(
        0,
        &["the cached pages of the scratch file are written back and dropped"],
    );
    assert!(
        ended
            .stdout
            .contains("the cached pages of the scratch file were written back"),
        "{}",
        ended.stdout
    );
    let cold = log(&program);
    assert!(
        cold.len() == 4 && cold.iter().all(|round| round.0 == 0),
        "{cold:?}"
    );
    // The kernel may have taken back some of it meanwhile.
    assert!(cold[1..].iter().all(|round| round.1 >= MIB), "{cold:?}");
    let result = program.result("result");
    assert_eq!(result["design"]["cold"], "file");
    for round in result["rounds"].as_array().expect("rounds") {
        let cached = &round["evidence"]["cached_bytes"];
        assert!(cached.is_null() || cached == 0, "{cached}");
    }
    // Nor is any other with ALL.
    let program = Program::new(BINARY);
    let ended = observe(&program, &mounted, &["--rounds", "2", "--cold=ALL"]);
    ended.ends(0, &["all caches of this machine"]);
    assert_eq!(log(&program), [(0, 0); 4]);
    assert_eq!(program.result("result")["design"]["cold"], "all");
}

#[test]
#[ignore = "root"]
fn a_run_that_goes_on_is_cold_as_before() {
    if !has_fincore() {
        return;
    }
    let (_disk, mounted) = volume();
    let program = Program::new(BINARY);
    observe(&program, &mounted, &["--rounds", "1", "--cold"]).ends(0, &[]);
    // As if it had been interrupted in the second of two blocks.
    let mut result = program.result("result");
    result["status"] = "interrupted".into();
    result["rounds"].as_array_mut().expect("rounds").pop();
    fs::write(program.file("result"), result.to_string()).expect("the result");
    let ended = observe(&program, &mounted, &["--resume", "result"]);
    ended.ends(
        0,
        &["drops the cached pages of the scratch file before each round"],
    );
    assert_eq!(program.result("result")["design"]["cold"], "file");
    let found = log(&program);
    assert!(
        found.len() == 3 && found.iter().all(|round| round.0 == 0),
        "{found:?}"
    );
}

/// The kernel's count of sectors read tells whether the disk or the page cache answered.
#[test]
#[ignore = "root"]
fn pages_of_a_device_are_read_again() {
    let disk = LoopDevice::in_memory(16 * MIB);
    let script = "dd if=$IOSCHED_DEVICE of=/dev/null bs=1M status=none";
    for (cold, is_read_again) in [
        (None, false),
        (Some("--cold"), true),
        (Some("--cold=ALL"), true),
    ] {
        let program = Program::new(BINARY);
        // Whoever looked at the disk before does not count.
        run("blockdev", &["--flushbufs", &disk.node()]);
        let before = disk.device.io_stat().expect("its counters");
        let mut arguments = vec![
            "run",
            disk.device.name.as_str(),
            "-o",
            "result",
            "--rounds",
            "2",
        ];
        arguments.extend(ARMS);
        arguments.extend(["--metric", "elapsed"]);
        arguments.extend(cold);
        arguments.extend(["--", "sh", "-c", script]);
        let ended = program.run(&arguments);
        let after = disk.device.io_stat().expect("its counters");
        let rounds = program.result("result")["rounds"]
            .as_array()
            .map_or(0, Vec::len);
        let read = (after.read_sectors - before.read_sectors) * 512 / (16 * MIB);
        if is_read_again {
            ended.ends(0, &["are written back and dropped"]);
            assert!(rounds == 4 && read >= 4, "{cold:?}: {read}");
        } else {
            // Rounds without I/O do not count.
            assert!(read < 2, "{read}: {}", ended.stderr);
        }
    }
}

#[test]
#[ignore = "root"]
fn buffered_jobs_are_warned_of() {
    let disk = LoopDevice::in_memory(16 * MIB);
    let program = Program::new(BINARY);
    fs::write(
        program.file("job.fio"),
        "[mine]\nrw=randread\nsize=8m\nrate_iops=300\n",
    )
    .expect("a job file");
    let warning = "[mine] has no direct=1: rounds can be answered from what earlier ones left in the page cache";
    let run = |more: &[&str]| {
        let how = [
            "run",
            &disk.device.name,
            "-o",
            "result",
            "--force",
            "--job",
            "job.fio",
            "--rounds",
            "1",
        ];
        let times = ["--ramp", "0.2s", "--round-time", "0.6s"];
        program.run(&[&how[..], &ARMS, &times, more].concat())
    };
    let warned = run(&[]);
    assert!(warned.stderr.contains(warning), "{}", warned.stderr);
    let ended = run(&["--cold"]);
    assert!(!ended.stderr.contains(warning), "{}", ended.stderr);
    let result = program.result("result");
    assert!(
        !result["notes"].to_string().contains("page cache"),
        "{}",
        result["notes"]
    );
    // The value is after `=`, so that a device is none.
    let ended = program.run(&["run", "--cold=loop", &disk.device.name, "--job", "job.fio"]);
    ended.ends(2, &["give FILE or ALL"]);
}

/// It drops all caches of the machine, as the other built-in studies do not: see tests/each_study.rs.
#[test]
#[ignore = "root"]
fn the_study_of_cold_starts_runs_on_the_disk_that_it_asks_for() {
    short_study::run(BINARY, "startup", &["idle"], short_study::TIMES);
}

/// It sets how much may be dirty in the whole machine, and puts that back.
#[test]
#[ignore = "root"]
fn the_study_of_dirty_limits_runs_on_the_disk_that_it_asks_for() {
    let limits = || {
        [
            "dirty_bytes",
            "dirty_ratio",
            "dirty_background_bytes",
            "dirty_background_ratio",
        ]
        .map(|name| fs::read_to_string(format!("/proc/sys/vm/{name}")).expect("a limit"))
    };
    let before = limits();
    short_study::run(
        BINARY,
        "dirty",
        &["log-beside-sequential"],
        short_study::TIMES,
    );
    assert_eq!(limits(), before);
}

const COLD_STUDY: &str = r#"
name = "cold"
title = "Cold caches"
device = "ssd+ext4"
arms = ["none", "bfq,iosched/low_latency=0"]
metrics = ["elapsed"]
prepare = [["dd", "if=/dev/zero", "of={prepared}/content", "bs=64k", "count=16", "conv=fsync"]]

[times]
ramp_s = 0.5
round_s = 2
blocks = 1

[axes]
read = [{ name = "pages", buffer = "4K" }, { name = "clusters", buffer = "64K" }]

[[cell]]
name = "{read}"
command = ["{iosched-ab}", "read-loop", "{prepared}/content", "--buffer", "{read.buffer}", "--bytes", "1M", "--advice", "random"]
cold = "all"
"#;

#[test]
#[ignore = "root"]
fn cells_with_cold_caches_read_from_the_disk_in_every_round() {
    let program = Program::new(BINARY);
    fs::write(program.file("cold.toml"), COLD_STUDY).expect("a study");
    let run = [
        "study",
        "./cold.toml",
        "-o",
        "result",
        "--scratch-size",
        "64M",
    ];
    program.run(&run).ends(0, &[]);
    let result = program.result("result");
    assert_eq!(result["status"], "complete", "{}", result["error"]);
    // Random reads of a cold file: one for each page, or each buffer, and those of the file system.
    for (name, reads) in [("pages", 256), ("clusters", 16)] {
        let mut cells = result["cells"].as_array().expect("cells").iter();
        let cell = cells.find(|cell| cell["name"] == name).expect("the cell");
        let rounds = cell["result"]["rounds"].as_array().expect("rounds");
        assert_eq!(rounds.len(), 2, "{name}");
        for round in rounds {
            assert!(round["problem"].is_null(), "{round}");
            let ios = round["metrics"]["ios"].as_f64().expect("a count") as u64
                + round["lost_events"].as_u64().expect("a count");
            assert!((reads..reads + 32).contains(&ios), "{name}: {ios}");
        }
    }
}
