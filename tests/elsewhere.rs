//! Settings of arms that are not the disk's: of a control group, of the system, and what commands do. However a run ends,
//! all of them are as before. Root only: `cargo test --test elsewhere -- --ignored --test-threads=1`.

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;
use support::ends::{end, interrupt, kill, kill_with_guardian};
use support::fio::Fio;
use support::program::{Ended, Program, Started};
use support::traces::within;
use support::{LoopDevice, READ_ONE};

const BINARY: &str = support::under_test!("iosched-ab");
const SOON: Duration = Duration::from_secs(5);
const BACKGROUND: &str = "/proc/sys/vm/dirty_background_";
const SWAPPINESS: &str = "/proc/sys/vm/swappiness";
const WHILE: Duration = Duration::from_secs(60);

/// A group of this test, in the hierarchy that limits I/O here.
struct Group {
    directory: PathBuf,
    is_unified: bool,
}

impl Group {
    fn new() -> Group {
        let name = format!("elsewhere-{}", std::process::id());
        let older = Path::new("/sys/fs/cgroup/blkio");
        let is_unified = !older.is_dir();
        let root = if is_unified {
            Path::new("/sys/fs/cgroup")
        } else {
            older
        };
        let directory = root.join(name);
        fs::create_dir(&directory).expect("a control group");
        Group {
            directory,
            is_unified,
        }
    }

    fn take(&self, pid: u32) {
        fs::write(self.directory.join("cgroup.procs"), pid.to_string()).expect("a process");
    }

    fn file(&self) -> PathBuf {
        self.directory.join(if self.is_unified {
            "io.max"
        } else {
            "blkio.throttle.read_iops_device"
        })
    }

    /// A part of an arm.
    fn reads(&self, a_second: u32) -> String {
        let name = self.directory.file_name().expect("a name").display();
        if self.is_unified {
            format!("cgroup:/{name}/io.max=riops={a_second}")
        } else {
            format!("cgroup:/{name}/blkio.throttle.read_iops_device={a_second}")
        }
    }

    /// Past the code under test.
    fn limit(&self, disk: &LoopDevice, a_second: u32) {
        let (major, minor) = (disk.device.major, disk.device.minor);
        let key = if self.is_unified { "riops=" } else { "" };
        let text = format!("{major}:{minor} {key}{a_second}");
        fs::write(self.file(), text).expect("a limit");
    }

    fn text(&self) -> String {
        fs::read_to_string(self.file()).expect("a file")
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.directory);
    }
}

fn background() -> (String, String) {
    let read = |unit: &str| fs::read_to_string(format!("{BACKGROUND}{unit}")).expect("a number");
    (read("bytes"), read("ratio"))
}

/// Commands for an arm, which leave a number in the queue of the disk and a line in a log.
struct Hook {
    directory: tempfile::TempDir,
}

impl Hook {
    fn new() -> Hook {
        let directory = tempfile::tempdir().expect("a directory");
        let script = "#!/bin/sh\n\
            echo \"$1 $IOSCHED_ARM\" >> \"${0%/*}/log\"\n\
            echo $2 > /sys/block/${IOSCHED_DEVICE#/dev/}/queue/nomerges\n";
        let path = directory.path().join("hook");
        fs::write(&path, script).expect("a script");
        support::run("chmod", &["+x", &path.display().to_string()]);
        Hook { directory }
    }

    fn arm(&self) -> String {
        let path = self.directory.path().join("hook");
        let path = path.display();
        format!("hooked=none,exec:{path} on 2,undo:{path} off 0")
    }

    fn log(&self) -> String {
        fs::read_to_string(self.directory.path().join("log")).unwrap_or_default()
    }
}

fn rounds(result: &Value) -> &Vec<Value> {
    result["rounds"].as_array().expect("rounds")
}

fn finished(program: &Program) -> usize {
    let bytes = fs::read(program.file("result")).unwrap_or_default();
    let result: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    result["rounds"].as_array().map_or(0, Vec::len)
}

/// A run of a command, with arms that set something in each place.
struct Everywhere {
    disk: LoopDevice,
    group: Group,
    hook: Hook,
    program: Program,
    before: (String, String),
}

impl Everywhere {
    fn new() -> Everywhere {
        let disk = LoopDevice::in_memory(64 << 20);
        let group = Group::new();
        // The user's own.
        group.limit(&disk, 5000);
        Everywhere {
            disk,
            group,
            hook: Hook::new(),
            program: Program::new(BINARY),
            before: background(),
        }
    }

    fn start(&self) -> Started {
        let node = self.disk.node();
        let group = format!("limited=none,{}", self.group.reads(100));
        let hook = self.hook.arm();
        let system = "system=none,vm.dirty_background_bytes=33554432";
        let script = format!("{READ_ONE}; sleep 0.1");
        let arms = [
            "--arm", "none", "--arm", &group, "--arm", system, "--arm", &hook,
        ];
        let how = ["--rounds", "100", "-o", "result", "--", "sh", "-c", &script];
        self.program
            .start(&[&["run", &node], &arms[..], &how].concat())
    }

    /// What it has changed is in force.
    fn until(&self, child: &mut Started, what: &str, is_in_force: impl Fn() -> bool) {
        child.until(WHILE, what, || {
            finished(&self.program) >= 8 && is_in_force()
        });
    }

    fn is_limited(&self) -> bool {
        !self.group.text().contains("5000")
    }

    fn is_hooked(&self) -> bool {
        self.disk.get("nomerges") == "2"
    }

    fn is_undone(&self) -> bool {
        self.group.text().contains("5000")
            && background() == self.before
            && !self.is_hooked()
            && self.program.journals().is_empty()
    }

    fn restore(&self) -> Option<Ended> {
        let binary = Path::new(BINARY).with_file_name("iosched");
        if !binary.exists() {
            println!("skipped: {} was not built", binary.display());
            return None;
        }
        Some(Ended::of(self.program.command_of(&binary, &["restore"])))
    }
}

/// What is in force when a signal comes.
type Moment = (&'static str, fn(&Everywhere) -> bool);
const MOMENTS: [Moment; 3] = [
    ("a limit", Everywhere::is_limited),
    ("a setting of the system", |all| background() != all.before),
    ("a command", Everywhere::is_hooked),
];

#[test]
#[ignore = "root"]
fn each_place_is_as_before_after_a_kill() {
    for (what, is_in_force) in MOMENTS {
        let all = Everywhere::new();
        let mut child = all.start();
        all.until(&mut child, what, || is_in_force(&all));
        end(child, kill);
        within(SOON, what, || all.is_undone());
    }
}

#[test]
#[ignore = "root"]
fn each_place_is_as_before_after_an_interrupt() {
    let all = Everywhere::new();
    let mut child = all.start();
    all.until(&mut child, "a command", || all.is_hooked());
    end(child, interrupt).ends(130, &["interrupted by signal"]);
    // At once: nothing is left to the guardian.
    assert!(all.is_undone(), "{} {:?}", all.group.text(), background());
    // Each time it was undone before another arm came.
    let log = all.hook.log();
    let lines: Vec<&str> = log.lines().collect();
    assert!(lines.len() > 4, "{log}");
    for (index, line) in lines.iter().enumerate() {
        let expected = if index % 2 == 0 {
            "off hooked"
        } else {
            "on hooked"
        };
        assert_eq!(*line, expected, "{log}");
    }
}

#[test]
#[ignore = "root"]
fn restore_puts_each_place_back_where_the_guardian_was_killed_too() {
    for (what, is_in_force) in MOMENTS {
        let all = Everywhere::new();
        let mut child = all.start();
        all.until(&mut child, what, || is_in_force(&all));
        end(child, kill_with_guardian);
        assert!(!all.is_undone());
        let Some(restored) = all.restore() else {
            return;
        };
        restored.ends(0, &[]);
        assert!(all.is_undone(), "{} {:?}", all.group.text(), background());
    }
}

/// The kernel keeps the limit: what the run measures of a load that wants more is the limit itself.
#[test]
#[ignore = "root"]
fn a_limit_is_measured_as_what_it_is() {
    let (disk, group, program) = (
        LoopDevice::new(64 << 20),
        Group::new(),
        Program::new(BINARY),
    );
    let load = Fio::start(
        &disk.node(),
        "--rw=randread --ioengine=psync --time_based --runtime=600",
    );
    group.take(load.pid());
    let node = disk.node();
    let arm = format!("limited=none,{}", group.reads(150));
    let arms = ["--arm", "none", "--arm", &arm, "--rounds", "3"];
    let how = ["--workload", "live", "--round-time", "2s", "--ramp", "1s"];
    let what = ["--metric", "read_iops", "--allow-mounted", "-o", "result"];
    program
        .run(&[&["run", &node], &arms[..], &how, &what].concat())
        .ends(0, &[]);
    let result = program.result("result");
    let name = arm.split_once(',').expect("a setting").1;
    let name = &name[..name
        .find("=riops")
        .or_else(|| name.rfind('='))
        .expect("a value")];
    for round in rounds(&result) {
        let settings = &round["evidence"]["applied"]["effective"]["settings"];
        let setting = settings[name].as_str().expect("its value");
        let iops = round["metrics"]["read_iops"].as_f64().expect("a rate");
        if round["arm"] == "limited" {
            assert!(setting.contains("150"), "{setting}");
            assert!((iops - 150.0).abs() < 15.0, "{iops}");
        } else {
            assert!(!setting.contains("150"), "{setting}");
            assert!(iops > 300.0, "{iops}");
        }
    }
    assert!(!group.text().contains("150"), "{}", group.text());
    drop(load);
}

/// Somebody else changes what an arm has set, in the middle of it.
#[test]
#[ignore = "root"]
fn what_others_change_meanwhile_is_noticed() {
    let all = Everywhere::new();
    let mut child = all.start();
    all.until(&mut child, "a limit", || all.is_limited());
    child.until(WHILE, "a round that does not count", || {
        // It may come between two rounds.
        if all.is_limited() {
            all.group.limit(&all.disk, 77);
        }
        let bytes = fs::read(all.program.file("result")).unwrap_or_default();
        let result: Value = serde_json::from_slice(&bytes).unwrap_or_default();
        let rounds = result["rounds"].as_array().cloned().unwrap_or_default();
        rounds.iter().any(|round| {
            let problem = round["problem"].as_str().unwrap_or_default();
            round["exclusion"] == "drifted_settings" && problem.contains("cgroup:")
        })
    });
    end(child, interrupt);
    assert!(all.is_undone());
}

/// A group that is removed takes its settings with it; the rest is put back, and the run says what was missing.
#[test]
#[ignore = "root"]
fn a_group_that_vanishes_ends_the_run_in_order() {
    let all = Everywhere::new();
    let mut child = all.start();
    all.until(&mut child, "a command", || all.is_hooked());
    fs::remove_dir(&all.group.directory).expect("an empty group");
    child
        .end()
        .ends(1, &["the control group was removed", "/elsewhere-"]);
    assert_eq!(background(), all.before);
    assert!(!all.is_hooked() && all.program.journals().is_empty());
}

/// Exit code, arm, and what is said of it.
fn wrong(all: &Everywhere) -> Vec<(i32, String, &'static str)> {
    let name = &all.disk.device.name;
    let hook = all.hook.directory.path().join("hook");
    let hook = hook.display();
    let weight = if all.group.is_unified {
        "io.bfq.weight"
    } else {
        "blkio.bfq.weight_device"
    };
    vec![
        (
            2,
            "none,cgroup:/no-such-group/io.max=riops=5".to_owned(),
            "no-such-group",
        ),
        (
            2,
            format!("none,cgroup:/x/{weight}=300"),
            "only bfq acts on it",
        ),
        (
            2,
            "none,vm.dirty_background_ratio=900".to_owned(),
            "the kernel refuses 900",
        ),
        (
            2,
            "none,exec:/no/such,undo:true".to_owned(),
            "no program /no/such",
        ),
        (2, "none,exec:true".to_owned(), "undo:COMMAND"),
        (
            1,
            "none,exec:true,undo:false".to_owned(),
            "/false`: exit status: 1",
        ),
        // What undoes must leave all as it is where there is nothing to undo.
        (
            1,
            format!("none,exec:true,undo:{hook} off 1"),
            "nomerges: 0 -> 1",
        ),
        (
            1,
            format!("none,exec:false,undo:{hook} off 0"),
            "/false`: exit status: 1",
        ),
        // The kernel has the limit in its other unit, or none.
        (
            2,
            "none,vm.dirty_background_ratio=0".to_owned(),
            "must be 1 or more",
        ),
        (
            2,
            format!("none,nomerges=1,exec:{hook} on 2,undo:{hook} off 0"),
            "changed what the arm sets: nomerges, now 2",
        ),
        (
            2,
            format!("none,exec:sh -c 'echo kyber > /sys/block/{name}/queue/scheduler',undo:true"),
            "the scheduler, now kyber",
        ),
        (
            1,
            format!("none,vm.swappiness=50,exec:true,undo:sh -c 'echo 50 > {SWAPPINESS}'"),
            "left vm.swappiness",
        ),
    ]
}

/// Nothing is changed, and nothing is measured.
#[test]
#[ignore = "root"]
fn what_cannot_work_is_refused_before_the_first_round() {
    let all = Everywhere::new();
    let node = all.disk.node();
    let swappiness = fs::read_to_string(SWAPPINESS).expect("a number");
    for (code, arm, says) in wrong(&all) {
        let arms = ["--arm", "none", "--arm", &format!("other={arm}")];
        let how = ["--rounds", "2", "-o", "result", "--", "sh", "-c", READ_ONE];
        let ended = all
            .program
            .run(&[&["run", &node], &arms[..], &how].concat());
        ended.ends(code, &[says]);
        all.disk.set("nomerges", "0");
        assert!(all.is_undone(), "{arm}");
        assert_eq!(
            fs::read_to_string(SWAPPINESS).expect("a number"),
            swappiness
        );
        assert_eq!(finished(&all.program), 0);
        let _ = fs::remove_file(all.program.file("result"));
    }
}

/// The command is still at work when what it does is undone: it is ended before.
#[test]
#[ignore = "root"]
fn a_command_that_outlives_a_kill_changes_nothing_afterwards() {
    let own = fs::read_to_string(SWAPPINESS).expect("a number");
    for with_guardian in [false, true] {
        let all = Everywhere::new();
        let marks = all.hook.directory.path().join("begun");
        let slow = format!(
            "slow=none,exec:sh -c 'touch {}; sleep 2; echo 33 > {SWAPPINESS}',\
            undo:sh -c 'echo {} > {SWAPPINESS}'",
            marks.display(),
            own.trim()
        );
        let node = all.disk.node();
        let arms = ["--arm", "kyber", "--arm", &slow, "--rounds", "5"];
        let how_long = ["-o", "result", "--", "sh", "-c", READ_ONE];
        let run = [&["run", &node], &arms[..], &how_long].concat();
        let mut child = all.program.start(&run);
        child.until(WHILE, "its command", || marks.exists());
        end(
            child,
            if with_guardian {
                kill_with_guardian
            } else {
                kill
            },
        );
        if with_guardian {
            let Some(restored) = all.restore() else {
                return;
            };
            restored.ends(0, &[]);
        }
        within(SOON, "all put back", || all.program.journals().is_empty());
        std::thread::sleep(Duration::from_secs(3));
        assert_eq!(fs::read_to_string(SWAPPINESS).expect("a number"), own);
    }
}

/// An undo command that stops to work in the middle is an error with its words, and the journal keeps what is not undone.
#[test]
#[ignore = "root"]
fn an_undo_that_fails_is_told_and_kept() {
    let all = Everywhere::new();
    let mut child = all.start();
    all.until(&mut child, "a command", || all.is_hooked());
    let path = all.hook.directory.path().join("hook");
    let script = fs::read(&path).expect("a script");
    fs::write(&path, "#!/bin/sh\necho it is stuck\nexit 7\n").expect("a script");
    let ended = child.end();
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    assert!(ended.stderr.contains("it is stuck"), "{}", ended.stderr);
    assert_eq!(
        (background(), all.program.journals().len()),
        (all.before.clone(), 1)
    );
    fs::write(&path, script).expect("a script");
    let Some(restored) = all.restore() else {
        return;
    };
    let restored = restored.ends(0, &[]);
    assert!(
        restored.stdout.contains("hook off 0`: restored"),
        "{}",
        restored.stdout
    );
    assert!(all.is_undone());
}

/// A short run of a reader and a writer on a simulated disk.
fn probe_hog(program: &Program, rounds: &str, more: &[&[&str]]) -> Ended {
    let what = [
        "run",
        "scratch:ssd",
        "--workload",
        "probe-hog",
        "-o",
        "result",
    ];
    let how = ["--rounds", rounds, "--round-time", "2s", "--ramp", "1s"];
    program.run(&[&what[..], &how, &more.concat()].concat())
}

const LIMITED: &str = "limited=none,cgroup:{hog}/io.max=wbps=20000000 rbps=max";

/// A limit for one process of the workload, in the rounds of one arm: the kernel's limit is the truth.
#[test]
#[ignore = "root"]
fn an_arm_limits_a_process_of_the_workload_alone() {
    let program = Program::new(BINARY);
    let metric = ["--metric", "hog.throughput"];
    let weights = "weights=bfq,cgroup:{hog}/io.bfq.weight=50";
    let arms = ["--arm", "none", "--arm", LIMITED, "--arm", weights];
    probe_hog(&program, "2", &[&metric, &arms]).ends(0, &[]);
    let result = program.result("result");
    let mut limited = 0;
    for round in rounds(&result) {
        let written = round["metrics"]["hog.throughput"].as_f64().expect("a rate");
        match round["arm"].as_str() {
            Some("limited") => {
                limited += 1;
                assert!((written / 20e6 - 1.0).abs() < 0.15, "{written}");
            }
            Some("none") => assert!(written > 50e6, "{written}"),
            _ => {}
        }
    }
    assert_eq!(limited, 2);
    let wrong = [
        ("{hgo}/io.max=riops=9", "its processes are: hog, probe"),
        ("{hog}/io.max=riops=0", "KEY=VALUE"),
        ("{hog}/io.max=iops=9", "KEY=VALUE"),
        ("{hog}/io.bfq.weight=9", "only bfq acts on it"),
        ("{hog}/io.cost.qos=enable=1", "only in the root"),
    ];
    for (setting, says) in wrong {
        let arm = format!("a=none,cgroup:{setting}");
        let arms = ["--arm", "none", "--arm", &arm, "--force"];
        probe_hog(&program, "2", &[&metric, &arms]).ends(2, &[says]);
    }
    let disk = LoopDevice::new(64 << 20);
    let node = disk.node();
    let live = ["run", &node, "--workload", "live", "--allow-mounted"];
    let arms = ["--arm", "none", "--arm", LIMITED];
    let ended = program.run(&[&live[..], &arms].concat());
    ended.ends(2, &["by its path"]);
}

/// A limit of --keep decides for and against arms, in the sentence and in the gate.
#[test]
#[ignore = "root"]
fn a_limit_of_the_user_decides() {
    let program = Program::new(BINARY);
    let arms = ["--arm", "none", "--arm", LIMITED];
    let prefer = ["--prefer", "hog.throughput"];
    let keep = ["--keep", "hog.throughput:at least 40MB/s"];
    let ended = probe_hog(&program, "6", &[&prefer, &keep, &arms]).ends(0, &[]);
    assert!(
        ended.stdout.starts_with("Keep none: limited is worse"),
        "{}",
        ended.stdout
    );
    let result = program.result("result");
    let of = |arm: &str| {
        let limits = result["limits"].as_array().expect("limits");
        let own = limits.iter().find(|it| it["arm"] == arm);
        own.expect("its limit").clone()
    };
    assert_eq!(of("none")["holds"], true);
    assert_eq!(of("limited")["holds"], false);
    assert_eq!(of("limited")["blocks_beyond"], 6);
    let mut lines = ended.stdout.lines();
    let said = lines.find(|line| line.starts_with("Limit: "));
    let said = said.expect("a line of the limit");
    assert!(
        said.contains("at least 40.0 MB/s") && said.contains("beyond in 6 of 6 blocks"),
        "{said}"
    );
    program.run(&["gate", "result"]).ends(3, &["1 of 1"]);
}
