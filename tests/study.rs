//! Studies on simulated disks. Root only: `cargo test --test study -- --ignored --test-threads=1`; what needs no root runs
//! without it.

mod support;

use std::fs;
use std::path::Path;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use support::LoopDevice;
use support::program::Program;
use support::traces::traces_of;

const BINARY: &str = support::under_test!("iosched-ab");

/// Two axes, two kinds of load, and a cell that cannot succeed.
const STUDY: &str = r#"
name = "small"
title = "A small study"
device = "ram"
arms = ["none", "few=none,nr_requests=4"]
reference = "none"
metrics = ["throughput:5"]
optional_arms = ["deep=mq-deadline,iosched/nothing=1", "deep=none,nothing=1", "kyber", "deep=x,nr_requests=8"]

[times]
ramp_s = 0.2
round_s = 0.5
blocks = 2

[axes]
bs = ["4k", "64k"]

[[cell]]
name = "read-{bs}"
fio.r = "rw=randread\nbs={bs}\nioengine=psync"
expect = "nothing in particular for {bs}"

[[cell]]
name = "fails"
command = ["false"]
metrics = ["elapsed"]
"#;

fn study(program: &Program, text: &str) {
    fs::write(program.file("my.toml"), text).expect("a study");
}

#[test]
fn it_is_listed_printed_and_laid_out_without_a_disk() {
    let program = Program::new(BINARY);
    let list = program.run(&["study", "--list"]).ends(0, &[]).stdout;
    assert!(
        list.contains("interference ") && list.contains("oltp-dss"),
        "{list}"
    );
    // A printed study is a study of one's own.
    let printed = program
        .run(&["study", "etcd", "--print"])
        .ends(0, &[])
        .stdout;
    study(&program, &printed);
    let dry = ["study", "./my.toml", "--dry-run", "--cells", "al*"];
    let dry = program.run(&dry).ends(0, &[]).stdout;
    assert!(
        dry.contains("  alone ") && !dry.contains("  beside"),
        "{dry}"
    );
    assert!(
        dry.contains("arms: none; mq-deadline\nif the disk has them: kyber; bfq\n")
            && dry.contains("1 cell and A/A, 4 arms: 36 to 120 rounds"),
        "{dry}"
    );
    let original = program
        .run(&["study", "fsync", "--original"])
        .ends(0, &[])
        .stdout;
    assert!(
        original.contains("no ranking of schedulers is supported"),
        "{original}"
    );
    for (name, says) in [
        ("nothing", "there is no study nothing"),
        ("./none.toml", "cannot read"),
    ] {
        program.run(&["study", name, "--dry-run"]).ends(2, &[says]);
    }
}

#[test]
fn another_simulated_disk_must_suit_the_cells() {
    let program = Program::new(BINARY);
    let first_is_as_it_is = STAGES.replacen("number = 1\nprepare", "number = 1\n# prepare", 1);
    study(&program, &first_is_as_it_is);
    let dry = |arguments: &[&str]| {
        let run = [&["study"], arguments, &["--dry-run"]].concat();
        program.run(&run)
    };
    for (arguments, says) in [
        (&["etcd"][..], "on: a simulated disk, ssd+ext4\n"),
        (
            &["etcd", "scratch:hdd*2+btrfs"],
            "on: a simulated disk, hdd*2+btrfs\n",
        ),
        (&["etcd", "/srv/data"], "on: /srv/data\n"),
        (
            &["etcd", "scratch:hdd", "--cells", "alone"],
            "without the file system of the study's own, ssd+ext4\n",
        ),
        // Only the stages of the chosen cells matter.
        (
            &["./my.toml", "scratch:ram+ext4", "--cells", "*-first"],
            "on: a simulated disk, ram+ext4\n",
        ),
    ] {
        let dry = dry(arguments).ends(0, &[]).stdout;
        assert!(dry.contains(says), "{dry}");
    }
    for (arguments, says) in [
        (&["etcd", "scratch:floppy"][..], "floppy"),
        (
            &["etcd", "scratch:ssd", "sda"],
            "a simulated disk cannot be combined with other devices",
        ),
        (
            &["device-ladder", "scratch:ssd*8+btrfs"],
            "the file system of ssd*8+btrfs is on all of them",
        ),
        (
            &["fill", "scratch:ssd+ext4"],
            "prepare names {device}, on which the file system",
        ),
        (
            &["startup", "scratch:hdd"],
            "needs a file system\n  make one with scratch:hdd+ext4",
        ),
        (
            &["interference", "scratch:hdd", "--scratch-size", "1G"],
            "scratch:hdd has no file system for a scratch file",
        ),
    ] {
        dry(arguments).ends(2, &[says]);
    }
}

#[test]
fn a_wrong_file_is_refused_by_line() {
    let program = Program::new(BINARY);
    for (from, to, says) in [
        ("few=none", "few none", "my.toml:5: arm"),
        ("\"kyber\"", "\"kyber,x\"", "my.toml:8: arm"),
        (
            "\"kyber\"",
            "\"none\"",
            "my.toml:8: the optional arm none is in `arms` too",
        ),
        ("throughput:5", "thruput:5", "my.toml:7: unknown metric"),
        (
            "device = \"ram\"",
            "device = \"tape\"",
            "my.toml:4: unknown device model",
        ),
        (
            "reference = \"none\"",
            "reference = \"bfq\"",
            "my.toml:6: the reference bfq is none of `arms`",
        ),
        ("ramp_s = 0.2", "ramp_s = -1", "times: ramp_s is 0 to"),
        ("[axes]", "[axis]", "my.toml:15: unknown field"),
        (
            "read-{bs}",
            "read-{size}",
            "my.toml:19: read-{size} names no axis",
        ),
        ("name = \"read-{bs}\"", "name = \"read\"", "my.toml:19:"),
        ("rw=randread", "rw=nonsense", "my.toml:19:"),
        (
            "expect = ",
            "io_max.r = \"iops=5\"\nexpect = ",
            "my.toml:19: read-4k has a control group r whose io_max is `iops=5`",
        ),
        (
            "expect = ",
            "disks = \"0\"\nexpect = ",
            "read-4k runs on \"0\" disks, which is no number above 0",
        ),
        (
            "expect = ",
            "weight.other = 5\nexpect = ",
            "my.toml:19: read-4k has no fio.other",
        ),
        (
            "expect = ",
            "io_latency_us.r = 0\nexpect = ",
            "io_latency_us is 0",
        ),
        (
            "command = [\"false\"]",
            "",
            "needs exactly one of fio, workload and command",
        ),
    ] {
        study(&program, &STUDY.replacen(from, to, 1));
        program
            .run(&["study", "./my.toml", "--dry-run"])
            .ends(2, &[says]);
    }
}

fn cells(result: &Value) -> Vec<(&str, usize)> {
    let cells = result["cells"].as_array().expect("cells").iter();
    let rounds = |cell: &Value| cell["result"]["rounds"].as_array().expect("rounds").len();
    cells
        .map(|cell| (cell["name"].as_str().expect("a name"), rounds(cell)))
        .collect()
}

/// The optional arms of `STUDY` that no disk has.
fn ensure_left_out(result: &Value) {
    assert_eq!(result["arms"], serde_json::json!(["none", "few", "kyber"]));
    let left_out = &result["left_out"][0];
    assert_eq!(left_out["arm"], "deep");
    let why = left_out["why"].as_str().expect("a reason");
    for says in [
        "iosched/nothing",
        "has no queue/nothing",
        "offers only none,",
    ] {
        assert!(why.contains(says), "{why}");
    }
}

/// That each of its cells but the third and fourth, which cannot run, had a block before any had two.
fn ensure_interleaved(result: &Value) {
    let begun = |cell: usize, block: u64| {
        let rounds = result["cells"][cell]["result"]["rounds"]
            .as_array()
            .expect("rounds");
        let of_block = rounds.iter().filter(|round| round["block"] == block);
        let times: Vec<&str> = of_block
            .filter_map(|round| round["started"].as_str())
            .collect();
        times[0].to_owned()
    };
    let second = begun(0, 1).min(begun(1, 1)).min(begun(5, 1));
    assert!(
        [0, 1, 5].into_iter().all(|cell| begun(cell, 0) < second),
        "{second}"
    );
}

#[test]
#[ignore = "root"]
fn all_cells_are_run_and_one_that_fails_does_not_end_the_others() {
    let program = Program::new(BINARY);
    // One that this disk cannot run; the last cell is that of A/A.
    let wide = "\n[[cell]]\nname = \"wide\"\ndisks = \"2\"\nfio.r = \"rw=randread\"\n";
    let last = "\n[[cell]]\nname = \"last\"\nfio.r = \"rw=randread\\nbs=4k\\nioengine=psync\"\n";
    study(&program, &(STUDY.to_owned() + wide + last));
    let run = ["study", "./my.toml", "-o", "result", "--seed", "7"];
    let ended = program
        .run(&run)
        .ends(0, &["made loop", "left out: deep: mq-deadline has no"]);
    for says in [
        "SIMULATED",
        "fails was given up",
        "wide was given up: wide runs on 2 disks, and there are 1",
        "left out: deep: ",
    ] {
        assert!(ended.stdout.contains(says), "{}", ended.stdout);
    }
    assert!(
        ended.stdout.contains("read-64k  throughput"),
        "{}",
        ended.stdout
    );
    let result = program.result("result");
    assert_eq!(result["status"], "complete");
    ensure_left_out(&result);
    assert_eq!(
        cells(&result),
        [
            ("read-4k", 6),
            ("read-64k", 6),
            // A block of its three arms, each of which fails.
            ("fails", 3),
            ("wide", 0),
            ("last", 6),
            ("A/A", 4)
        ]
    );
    assert_eq!(result["cells"][5]["placebo_of"], "last");
    assert!(
        ended
            .stdout
            .contains("A/A, the reference against itself in last")
    );
    assert!(
        result["cells"][2]["hopeless"]
            .as_str()
            .is_some_and(|why| why.contains("failed"))
    );
    for round in result["cells"][0]["result"]["rounds"]
        .as_array()
        .expect("rounds")
    {
        assert!(round["problem"].is_null(), "{round:#}");
    }
    ensure_interleaved(&result);
    let again = program.run(&["report", "result"]).ends(0, &[]).stdout;
    assert!(ended.stdout.starts_with(&again), "{again}");
    let csv = program.run(&["report", "result", "--format", "csv"]);
    let csv = csv.ends(0, &[]).stdout;
    assert!(
        csv.starts_with("host,device,model,kernel,workload,index,") && csv.contains(",read-64k,"),
        "{csv}"
    );
    // A cell that was given up has no answer, so no gate passes.
    let gate = ["gate", "result", "--format", "json"];
    let gate: Value = serde_json::from_str(&program.run(&gate).ends(4, &[]).stdout).expect("JSON");
    assert_eq!(gate["outcome"], "incomparable");
    assert_eq!(gate["cells"][1]["run"]["workload"], "read-64k");
    let one = serde_json::to_vec(&result["cells"][0]["result"]).expect("JSON");
    fs::write(program.file("one"), one).expect("a file");
    let one = program.run(&["report", "one"]).ends(0, &[]).stdout;
    assert!(
        one.contains("read-4k") && one.contains("throughput"),
        "{one}"
    );
    assert_eq!(traces_of(ended.pid), [""; 0]);
}

#[test]
#[ignore = "root"]
fn an_interrupted_study_keeps_and_prints_its_blocks() {
    let program = Program::new(BINARY);
    study(&program, &STUDY.replace("blocks = 2", "blocks = 500"));
    // Not the disk that its file names: it must be the same again.
    let run = ["study", "./my.toml", "scratch:ram*2", "-o", "result"];
    let mut study = program.start(&[&run[..], &["--cells", "read-*"]].concat());
    let passed = || {
        let bytes = fs::read(program.file("result")).unwrap_or_default();
        let result: Value = serde_json::from_slice(&bytes).unwrap_or_default();
        result["cells"].is_array() && cells(&result).iter().all(|(_, rounds)| *rounds > 2)
    };
    study.until(Duration::from_secs(180), "two passes", passed);
    let pid = Pid::from_raw(study.id() as i32).expect("a PID");
    kill_process(pid, Signal::INT).expect("a process of ours");
    let ended = study
        .end()
        .ends(130, &["the completed blocks are in result"]);
    assert!(
        ended.stdout.contains("NOT COMPLETE: interrupted"),
        "{}",
        ended.stdout
    );
    let result = program.result("result");
    assert_eq!(result["status"], "interrupted");
    assert_eq!(traces_of(ended.pid), [""; 0]);
    goes_on(&program);
}

/// A plan of one more block, so that it ends soon.
fn shortened(result: &Value) -> Value {
    let mut result = result.clone();
    for cell in result["cells"].as_array_mut().expect("cells") {
        let cell = &mut cell["result"];
        let done = cell["rounds"].as_array().expect("rounds").last();
        let last = done.expect("a round")["block"].as_u64().expect("a number") + 1;
        cell["design"]["stopping"]["blocks"] = (last + 1).into();
        let plan = cell["plan"]["rounds"].as_array_mut().expect("a plan");
        plan.retain(|round| round["block"].as_u64() <= Some(last));
    }
    result
}

/// From where it ended, and to its end.
fn goes_on(program: &Program) {
    let before = program.result("result");
    fs::write(program.file("result"), shortened(&before).to_string()).expect("a shorter plan");
    let resume = ["study", "--resume", "result"];
    let ended = program
        .run(&resume)
        .ends(0, &["continues the study", "runs fio (", "sets kyber"]);
    assert!(!ended.stdout.contains("NOT COMPLETE"), "{}", ended.stdout);
    let after = program.result("result");
    assert_eq!(after["status"], "complete");
    let scratch = &after["cells"][0]["result"]["device"]["scratch"];
    assert_eq!(
        (&scratch["model"], &scratch["luns"]),
        (&"ram".into(), &2.into())
    );
    let rounds = |result: &Value, cell: usize| {
        let rounds = &result["cells"][cell]["result"]["rounds"];
        rounds.as_array().expect("rounds").clone()
    };
    for cell in 0..cells(&before).len() {
        let (old, new) = (rounds(&before, cell), rounds(&after, cell));
        assert!(new.len() >= old.len());
        assert_eq!(old[..], new[..old.len()], "what was measured stays");
    }
    assert_eq!(traces_of(ended.pid), [""; 0]);
    program
        .run(&resume)
        .ends(2, &["is complete: there is nothing to resume"]);
}

#[test]
#[ignore = "root"]
fn a_file_system_on_four_luns_is_one_target() {
    let program = Program::new(BINARY);
    let on_btrfs = STUDY.replace("device = \"ram\"", "device = \"ssd*4+btrfs\"");
    study(&program, &on_btrfs.replace("blocks = 2", "blocks = 1"));
    let run = [
        "study",
        "./my.toml",
        "-o",
        "result",
        "--cells",
        "read-64k",
        "--scratch-size",
        "64M",
    ];
    let ended = program
        .run(&run)
        .ends(0, &["btrfs (raid10)", "a scratch file of 64 MiB"]);
    let result = program.result("result");
    let members = &result["cells"][0]["result"]["device"]["group"]["members"];
    assert_eq!(members.as_array().map(Vec::len), Some(4));
    assert_eq!(traces_of(ended.pid), [""; 0]);
}

/// Everything that a cell can ask for besides fio's options; for cold caches, see tests/page_cache.rs.
const EQUIPPED: &str = r#"
name = "equipped"
title = "Prepared files, a load beside, weights"
device = "ssd+ext4"
arms = ["none", "bfq,iosched/low_latency=0"]
metrics = ["elapsed"]
prepare = [["dd", "if=/dev/zero", "of={prepared}/content", "bs=64k", "count=16", "conv=fsync"]]

[times]
ramp_s = 0.5
round_s = 2
blocks = 1

[[cell]]
name = "beside"
command = ["dd", "if={prepared}/content", "of=/dev/null", "bs=4k", "iflag=direct"]
beside.writer = "rw=write\nbs=64k\nioengine=psync"
lead_s = 0.5

[[cell]]
name = "weights"
fio.heavy = "rw=randread\nbs=64k\nioengine=libaio\niodepth=8"
fio.light = "rw=randread\nbs=64k\nioengine=libaio\niodepth=8"
weight.heavy = 800
metrics = ["heavy.throughput", "light.throughput"]

[[cell]]
name = "limits"
fio.free = "rw=randread\nbs=4k\nioengine=libaio\niodepth=8"
fio.limited = "rw=randread\nbs=4k\nioengine=libaio\niodepth=8"
io_max.limited = "riops=100"
metrics = ["free.iops", "limited.iops"]

[[cell]]
name = "target"
fio.late = "rw=randread\nbs=4k\nioengine=psync"
io_latency_us.late = 2000
metrics = ["late.iops"]
"#;

/// Its commands leave the stage's number on the disk, and the cells refuse another one.
const STAGES: &str = r#"
name = "stages"
title = "One state of the disk after the other"
device = "ram"
arms = ["none", "kyber"]
metrics = ["elapsed"]

[times]
ramp_s = 0
round_s = 0.2
blocks = 2

[[stage]]
name = "first"
number = 1
prepare = [["sh", "-c", "printf %4096d {stage.number} | dd of={device} oflag=direct bs=4k status=none"]]

[[stage]]
name = "second"
number = 2
prepare = [["sh", "-c", "printf %4096d {stage.number} | dd of={device} oflag=direct bs=4k status=none"]]

[[cell]]
name = "reads-{stage}"
command = ["sh", "-c", "dd if={device} iflag=direct bs=4k count=1 status=none | grep -q ' {stage.number}$'"]

[[cell]]
name = "again-{stage}"
command = ["sh", "-c", "dd if={device} iflag=direct bs=4k count=1 status=none | grep -q ' {stage.number}$'"]
"#;

#[test]
fn stages_are_shown_and_wrong_ones_are_refused() {
    let program = Program::new(BINARY);
    study(&program, STAGES);
    let dry = ["study", "./my.toml", "--dry-run", "--cells", "*-second"];
    let dry = program.run(&dry).ends(0, &[]).stdout;
    assert!(
        dry.contains("makes second") && dry.contains("printf %4096d 2 |"),
        "{dry}"
    );
    assert!(!dry.contains("first"), "{dry}");
    for (from, to, says) in [
        (
            "name = \"second\"",
            "name = \"first\"",
            "my.toml:19: two stages have the name first",
        ),
        (
            "reads-{stage}",
            "reads",
            "my.toml:24: reads does not name the {stage}",
        ),
        (
            "device = \"ram\"",
            "device = \"ram+ext4\"",
            "prepare names {device}, on which the file system",
        ),
        (
            "[[stage]]",
            "[axes]\nstage = [1]\n\n[[stage]]",
            "my.toml:17: an axis cannot have the name stage",
        ),
    ] {
        study(&program, &STAGES.replacen(from, to, 1));
        program
            .run(&["study", "./my.toml", "--dry-run"])
            .ends(2, &[says]);
    }
}

#[test]
#[ignore = "root"]
fn stages_follow_each_other_and_an_interrupted_one_is_made_again() {
    let program = Program::new(BINARY);
    study(&program, STAGES);
    let run = ["study", "./my.toml", "-o", "result", "--seed", "3"];
    let ended = program.run(&run).ends(0, &["makes the stage second"]);
    assert!(
        ended.stdout.contains("stages first, second"),
        "{}",
        ended.stdout
    );
    let mut result = program.result("result");
    let complete = [
        ("reads-first", 4),
        ("reads-second", 4),
        ("again-first", 4),
        ("again-second", 4),
        ("A/A", 4),
    ];
    assert_eq!(cells(&result), complete);
    let started = |cell: usize| -> Vec<String> {
        let rounds = result["cells"][cell]["result"]["rounds"].as_array();
        let rounds = rounds.expect("rounds").iter();
        rounds
            .map(|round| round["started"].as_str().expect("a time").to_owned())
            .collect()
    };
    for (first, second) in [(0, 1), (2, 3), (0, 4)] {
        assert!(started(first).iter().max() <= started(second).iter().min());
    }
    // As if it had been killed in the second stage: the disk, a new one, must get there before the missing rounds.
    result["status"] = "interrupted".into();
    for cell in [1, 3] {
        let cell = &mut result["cells"][cell]["result"];
        cell["status"] = "interrupted".into();
        cell["rounds"].as_array_mut().expect("rounds").truncate(2);
    }
    let bytes = serde_json::to_vec(&result).expect("JSON");
    fs::write(program.file("result"), bytes).expect("a file");
    let ended = program
        .run(&["study", "--resume", "result"])
        .ends(0, &["makes the stage second"]);
    assert!(!ended.stderr.contains("makes the stage first"));
    let result = program.result("result");
    assert_eq!(cells(&result), complete);
    for cell in [1, 3] {
        for round in result["cells"][cell]["result"]["rounds"]
            .as_array()
            .expect("rounds")
        {
            assert!(round["problem"].is_null(), "{round:#}");
        }
    }
}

#[test]
#[ignore = "root"]
fn stages_of_a_real_device_need_the_owners_word() {
    let (disk, program) = (LoopDevice::new(64 << 20), Program::new(BINARY));
    let canary = b"what nobody may overwrite";
    fs::write(disk.node(), canary).expect("the device");
    let node = disk.node();
    for (name, says) in [("fill", "`blkdiscard -f"), ("./my.toml", "`sh -c")] {
        study(&program, STAGES);
        program
            .run(&["study", name, &node, "--quick"])
            .ends(5, &[says, "may overwrite", "--destroy-data"]);
    }
    // Nobody is there to answer for it.
    program
        .run(&["study", "./my.toml", &node, "--destroy-data"])
        .ends(5, &["--yes-destroy"]);
    let mut begin = vec![0; canary.len()];
    fs::File::open(&node)
        .and_then(|mut file| std::io::Read::read_exact(&mut file, &mut begin))
        .expect("the device");
    assert_eq!(begin, canary);
    let name = &disk.device.name;
    program
        .run(&[
            "study",
            "./my.toml",
            &node,
            "--destroy-data",
            "--yes-destroy",
            name,
            "-o",
            "result",
        ])
        .ends(0, &[]);
    assert_eq!(program.result("result")["status"], "complete");
}

#[test]
#[ignore = "root"]
fn cells_have_prepared_files_company_and_weights() {
    let program = Program::new(BINARY);
    study(&program, EQUIPPED);
    let run = [
        "study",
        "./my.toml",
        "-o",
        "result",
        "--scratch-size",
        "64M",
    ];
    let ended = program.run(&run).ends(0, &["a scratch file of 64 MiB"]);
    let result = program.result("result");
    assert_eq!(result["status"], "complete", "{}", result["error"]);
    let rounds = |name: &str| {
        let mut cells = result["cells"].as_array().expect("cells").iter();
        let cell = cells.find(|cell| cell["name"] == name).expect("the cell");
        let rounds = cell["result"]["rounds"].as_array().expect("rounds");
        assert!(
            rounds.iter().all(|round| round["problem"].is_null()),
            "{rounds:?}"
        );
        rounds.clone()
    };
    for round in rounds("beside") {
        let iops = |label: &str| round["metrics"][format!("{label}.iops")].as_f64();
        assert!(
            iops("command") > Some(0.0) && iops("writer") > Some(0.0),
            "{round}"
        );
    }
    for round in rounds("weights") {
        let of = |label: &str| {
            round["metrics"][format!("{label}.throughput")]
                .as_f64()
                .expect("bytes/s")
        };
        let ratio = of("heavy") / of("light");
        match round["scheduler"].as_str() {
            Some("bfq") => assert!(ratio > 3.0, "{ratio} under bfq"),
            _ => assert!((0.5..2.0).contains(&ratio), "{ratio} under none"),
        }
    }
    // The kernel's limit is exact over a second; a round has two, and a begin.
    for round in rounds("limits") {
        let iops = |label: &str| {
            round["metrics"][format!("{label}.iops")]
                .as_f64()
                .expect("I/Os per s")
        };
        assert!((80.0..=130.0).contains(&iops("limited")), "{round}");
        assert!(iops("free") > 500.0, "{round}");
    }
    // Kernels without io.latency say so; the other cells go on.
    let mut cells = result["cells"].as_array().expect("cells").iter();
    let target = cells.find(|cell| cell["name"] == "target");
    if !Path::new("/sys/fs/cgroup/cgroup.controllers").exists() {
        let why = target.and_then(|cell| cell["hopeless"].as_str());
        let why = why.expect("a reason");
        assert!(why.contains("have no io.latency"), "{why}");
    }
    assert_eq!(traces_of(ended.pid), [""; 0]);
}

/// Its rounds are slower the more there were, so that no pilot tells how long they take. What it reads is prepared twice.
const SLOWER: &str = r#"
name = "slower"
title = "Rounds that get slower"
device = "ram+ext4"
arms = ["none", "mq-deadline"]
metrics = ["elapsed"]
prepare = [["dd", "if=/dev/zero", "of={prepared}/content", "bs=4k", "count=1", "conv=excl,fsync", "status=none"]]

[times]
ramp_s = 0
round_s = 0.2

[[cell]]
name = "slower"
command = ["sh", "-c", "dd if={prepared}/content of=/dev/null iflag=direct bs=4k count=1 status=none; echo >> rounds; [ $(wc -l < rounds) -le 12 ] || sleep 4"]
"#;

#[test]
#[ignore = "root"]
fn a_budget_is_kept_although_blocks_take_longer_than_the_pilot_said() {
    const LIMIT_S: u64 = 70;
    let program = Program::new(BINARY);
    study(&program, SLOWER);
    let limit = format!("{LIMIT_S}s");
    let run = ["study", "./my.toml", "-o", "result", "--budget", &limit];
    let begin = std::time::Instant::now();
    let ended = program.run(&run).ends(0, &["2 pilot blocks took"]);
    // One block, and what comes before and after the rounds.
    let took_s = begin.elapsed().as_secs();
    assert!(took_s <= LIMIT_S + 30, "{took_s} s");
    let says = "the time was over after ";
    assert!(ended.stdout.contains(says), "{}", ended.stdout);
    let result = program.result("result");
    assert_eq!(result["status"], "complete");
    let cut = result["budget"]["cut"].as_array().expect("cells");
    assert_eq!(cut.len(), 2, "the cell and A/A: {cut:?}");
    let own = cut.iter().find(|it| it["cell"] == "slower");
    let blocks = own.expect("the cell")["blocks"].as_u64().expect("a number");
    assert!((1..20).contains(&blocks), "{blocks}");
    assert_eq!(cells(&result)[0], ("slower", 2 * blocks as usize));
    // Too few blocks show nothing, which is no pass.
    let gate = program.run(&["gate", "result"]).ends(4, &[]).stdout;
    assert!(gate.contains("the time of --budget was over"), "{gate}");
    // Others can read it.
    let again = program.run(&["report", "result"]).ends(0, &[]).stdout;
    assert!(again.contains(says), "{again}");
    assert_eq!(traces_of(ended.pid), [""; 0]);
}

/// One read of each of four blocks, which the disk has to count.
const COUNTED: &str = r#"
name = "counted"
title = "Counts that must be exact"
device = "ram"
arms = ["none", "mq-deadline"]
metrics = ["elapsed"]

[times]
ramp_s = 0
round_s = 0.2
blocks = 2

[[cell]]
name = "four"
command = ["dd", "if={device}", "of=/dev/null", "iflag=direct", "bs=4k", "count=4", "status=none"]
exact = [
    { arm = "none", metric = "command.ios", count = "4" },
    { arm = "mq-deadline", metric = "command.ios", count = "4" },
]
"#;

#[test]
#[ignore = "root"]
fn counts_that_a_study_asserts_are_held_against_every_round() {
    let program = Program::new(BINARY);
    for (wrong, says, exit_code) in [
        (
            None,
            "Counts that the study asserts: 2 of 2 hold, exactly in 4 of 4 rounds",
            // They hold, and two blocks decide nothing else.
            4,
        ),
        (
            Some("count = \"5\" }"),
            "NOT EXACT: four: command.ios of none is 5 in 0 of 2 rounds, and 4 in another",
            3,
        ),
    ] {
        let count = "count = \"4\" }";
        study(
            &program,
            &COUNTED.replacen(count, wrong.unwrap_or(count), 1),
        );
        let run = ["study", "./my.toml", "-o", "result", "--force"];
        let ended = program.run(&run).ends(0, &[]);
        assert!(ended.stdout.contains(says), "{}", ended.stdout);
        let gate = program.run(&["gate", "result"]);
        let gate = gate.ends(exit_code, &[]).stdout;
        assert_eq!(
            wrong.is_some(),
            gate.contains("not what the study asserts"),
            "{gate}"
        );
    }
    for (from, to, says) in [
        ("count = \"4\"", "count = \"four\"", "is no count"),
        (
            "metric = \"command.ios\"",
            "metric = \"elapsed\"",
            "elapsed is no count",
        ),
        (
            "arm = \"none\"",
            "arm = \"bfq\"",
            "my.toml:14: four has an exact count of bfq, which is no arm",
        ),
    ] {
        study(&program, &COUNTED.replacen(from, to, 1));
        program
            .run(&["study", "./my.toml", "--dry-run"])
            .ends(2, &[says]);
    }
}
