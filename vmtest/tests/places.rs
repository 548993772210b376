//! Settings of control groups as arms set them, on each kernel: which there are, that each is put back, also after a kill,
//! and that the group's processes feel it. Profile `truth`: on two
//! emulated CPUs the probe's beginning beside a load may stop the guest.

#[allow(dead_code)] // each test binary uses its part
#[path = "../../tests/support/program.rs"]
mod program;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use iosched_host::places::{Moment, Places};
use iosched_host::system::cgroup::group_file::missing;
use iosched_result::types::arm::Arm;
use iosched_result::types::arm::group_file::{self, GroupFile};
use iosched_vmtest::{Disk, Fio};
use program::{Program, Started};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

const ROOT: &str = "/sys/fs/cgroup";

/// A file, the value that an arm sets, and the value that the user had set before.
const VALUES: [(&str, &str, &str); 7] = [
    (
        "io.cost.qos",
        "enable=1 ctrl=user rpct=95 rlat=5000",
        "enable=1 ctrl=user rpct=90.00 rlat=10000 wpct=90.00 wlat=10000 min=50.00 max=150.00",
    ),
    (
        "io.cost.model",
        "ctrl=user model=linear rbps=100000000 rseqiops=5000 rrandiops=4000",
        "ctrl=user model=linear rbps=50000000 rseqiops=9000 rrandiops=8000 wbps=50000000 wseqiops=9000 wrandiops=8000",
    ),
    ("io.max", "riops=100", "riops=5000 wbps=1048576"),
    ("io.latency", "target=5000", "target=75000"),
    ("io.weight", "300", "50"),
    ("io.bfq.weight", "300", "50"),
    ("io.prio.class", "idle", "restrict-to-be"),
];

/// The kernel takes a weight where this is on.
const COST: &str = "cgroup:/io.cost.qos=enable=1";

struct Group(&'static str);

impl Group {
    fn new(name: &'static str) -> Group {
        fs::create_dir(Path::new(ROOT).join(name)).expect("a control group");
        Group(name)
    }

    fn start(&self, fio: impl FnOnce() -> Fio) -> Fio {
        let enter = |group: &Path| fs::write(group.join("cgroup.procs"), "0").expect("a move");
        enter(&Path::new(ROOT).join(self.0));
        let started = fio();
        enter(Path::new(ROOT));
        started
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = fs::remove_dir(Path::new(ROOT).join(self.0));
    }
}

/// The files that this kernel has, with the arm's value and the user's; where they are in the group `of`.
fn there(
    of: &str,
) -> Vec<(
    String,
    PathBuf,
    &'static GroupFile,
    &'static str,
    &'static str,
)> {
    let files = VALUES.iter().map(|(name, value, own)| {
        let file = group_file::of(name).expect("a known file");
        let group = if file.is_of_the_root { "" } else { of };
        let name = format!(
            "cgroup:{}/{name}",
            if group.is_empty() {
                String::new()
            } else {
                format!("/{group}")
            }
        );
        let path = Path::new(ROOT).join(group).join(file.name);
        (name, path, file, *value, *own)
    });
    let is_there = |(name, path, file, ..): &(String, PathBuf, &GroupFile, &str, &str)| {
        let group = if file.is_of_the_root {
            "/".to_owned()
        } else {
            format!("/{of}")
        };
        let lack = missing(&group, file).expect("an answer");
        match &lack {
            None => println!("{}: there", file.name),
            Some(lack) => println!("skipped: {}: {}; {}", file.name, lack.what, lack.hint),
        }
        assert_eq!(lack.is_none(), path.exists(), "{name}");
        lack.is_none()
    };
    files.filter(is_there).collect()
}

/// As the kernel shows it for the disk.
fn text(path: &Path, disk: &Disk) -> String {
    let number = format!("{}:{}", disk.device.major, disk.device.minor);
    let text = fs::read_to_string(path).expect("a file");
    if path.ends_with("io.prio.class") {
        return text;
    }
    let line = text
        .lines()
        .find(|line| line.starts_with(&number))
        .unwrap_or_default();
    // What the kernel chooses itself is what no line means.
    let automatic = ["enable=0 ctrl=auto", "ctrl=auto model"];
    if automatic.iter().any(|text| line.contains(text)) {
        return String::new();
    }
    line.to_owned()
}

fn own(disk: &Disk, path: &Path, value: &str) {
    let text = if path.ends_with("io.prio.class") {
        value.to_owned()
    } else {
        format!("{}:{} {value}", disk.device.major, disk.device.minor)
    };
    fs::write(path, &text).unwrap_or_else(|error| panic!("{}: {text}: {error}", path.display()));
}

/// Slow, so that the emulated CPUs are not what its load waits for.
fn disk() -> Disk {
    let disk = Disk::null_blk(10_000_000, &[("hw_queue_depth", "4")]);
    disk.set_scheduler("bfq");
    disk
}

const MOMENTS: [Moment; 2] = [Moment::Any, Moment::UnderItsScheduler];

fn apply(places: &Places, arm: &Arm) {
    for moment in MOMENTS {
        places.apply(arm, moment).expect("a setting");
    }
}

fn restore(places: &Places) {
    for saved in MOMENTS
        .into_iter()
        .flat_map(|moment| places.saved(moment).rev())
    {
        saved.restore().expect("a setting");
    }
}

#[test]
fn each_setting_is_made_and_put_back() {
    let (disk, _group) = (disk(), Group::new("places"));
    for is_the_users in [false, true] {
        for (name, path, _, value, users) in there("places") {
            if is_the_users {
                own(&disk, &path, users);
                println!("{name}: {users} is the user's");
            }
            let before = text(&path, &disk);
            let first = if name.ends_with("io.weight") {
                COST
            } else {
                "nomerges=1"
            };
            let arms: Vec<Arm> = [
                "bfq".to_owned(),
                format!("other=bfq,{first},{name}={value}"),
            ]
            .iter()
            .map(|text| text.parse().expect("an arm"))
            .collect();
            let places =
                Places::take(std::slice::from_ref(&disk.device), &arms).expect("its values");
            apply(&places, &arms[1]);
            let during = text(&path, &disk);
            println!("{name}: {before:?}, {during:?}");
            assert_ne!(during, before, "{name}");
            apply(&places, &arms[0]);
            assert_eq!(text(&path, &disk), before, "{name}");
            apply(&places, &arms[1]);
            restore(&places);
            assert_eq!(text(&path, &disk), before, "{name}");
            restore(&places);
        }
    }
}

fn rounds(program: &Program) -> Vec<Value> {
    let bytes = fs::read(program.file("result")).unwrap_or_default();
    let result: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    result["rounds"].as_array().cloned().unwrap_or_default()
}

/// All that there are, in one arm each, and the user's own values before.
#[test]
fn a_kill_leaves_nothing() {
    let (disk, _group) = (disk(), Group::new("places"));
    let files = there("places");
    for (_, path, _, _, users) in &files {
        own(&disk, path, users);
    }
    let state = || {
        let texts = files
            .iter()
            .map(|(name, path, ..)| (name.clone(), text(path, &disk)));
        texts.collect::<BTreeMap<_, _>>()
    };
    let before = state();
    let mut arms = vec!["--arm".to_owned(), "none".to_owned()];
    for (index, (name, _, _, value, _)) in files.iter().enumerate() {
        arms.extend(["--arm".to_owned(), format!("arm{index}=bfq,{name}={value}")]);
    }
    let arms: Vec<&str> = arms.iter().map(String::as_str).collect();
    let program = Program::new("iosched-ab");
    let node = disk.node();
    let script = "dd if=$IOSCHED_DEVICE of=/dev/null bs=4k count=16 iflag=direct 2>/dev/null";
    let how = ["--rounds", "20", "-o", "result", "--", "sh", "-c", script];
    let mut child: Started = program.start(&[&["run", node.as_str()], &arms[..], &how].concat());
    child.until(Duration::from_secs(120), "rounds of each arm", || {
        rounds(&program).len() >= 2 * files.len() + 2 && state() != before
    });
    let pid = Pid::from_raw(child.id() as i32).expect("a process");
    kill_process(pid, Signal::KILL).expect("a process of ours");
    child.end();
    let end = Instant::now() + Duration::from_secs(20);
    while state() != before || !program.journals().is_empty() {
        assert!(Instant::now() < end, "{before:#?}\n{:#?}", state());
        std::thread::sleep(Duration::from_millis(50));
    }
    for round in rounds(&program) {
        assert_eq!(round["exclusion"], Value::Null, "{round:#}");
    }
}

/// The kernel forgets it with each switch to another scheduler, though no arm sets it.
#[test]
fn a_weight_of_the_user_outlives_the_schedulers() {
    let (disk, group) = (disk(), Group::new("places"));
    let path = Path::new(ROOT).join(group.0).join("io.bfq.weight");
    own(&disk, &path, "70");
    let before = text(&path, &disk);
    let program = Program::new("iosched-ab");
    let node = disk.node();
    let script = format!(
        "dd if=$IOSCHED_DEVICE of=/dev/null bs=4k count=16 iflag=direct 2>/dev/null; \
        echo $IOSCHED_ARM $(grep -c ' 70' {}) >> seen",
        path.display()
    );
    let arms = ["--arm", "none", "--arm", "bfq", "--rounds", "3"];
    let how = ["-o", "result", "--", "sh", "-c", &script];
    program
        .run(&[&["run", node.as_str()], &arms[..], &how].concat())
        .ends(0, &[]);
    assert!(before.ends_with(" 70"), "{before}");
    assert_eq!(text(&path, &disk), before);
    let seen = fs::read_to_string(program.file("seen")).expect("what it saw");
    println!("{seen}");
    let count = |line: &str| seen.lines().filter(|seen| *seen == line).count();
    assert_eq!((count("bfq 1"), count("none 0")), (3, 3), "{seen}");
}

/// A reader that wants more than its limit gets what the limit says.
#[test]
fn a_limit_is_felt_under_its_arm_alone() {
    let (disk, group) = (disk(), Group::new("places"));
    let job = "--rw=randread --iodepth=4 --time_based --runtime=600 --size=64m";
    let load = group.start(|| Fio::start(&disk.node(), job));
    let program = Program::new("iosched-ab");
    let node = disk.node();
    let limited = "limited=none,cgroup:/places/io.max=riops=60";
    let arms = ["--arm", "none", "--arm", limited, "--rounds", "2"];
    let how = ["--workload", "live", "--round-time", "3s", "--ramp", "1s"];
    let more = ["--metric", "read_iops", "--allow-mounted", "-o", "result"];
    program
        .run(&[&["run", node.as_str()], &arms[..], &how, &more].concat())
        .ends(0, &[]);
    for round in rounds(&program) {
        let iops = round["metrics"]["read_iops"].as_f64().expect("a rate");
        println!("{}: {iops:.1} reads a second", round["arm"]);
        if round["arm"] == "limited" {
            assert!((iops - 60.0).abs() < 9.0, "{iops}");
        } else {
            assert!(iops > 150.0, "{iops}");
        }
    }
    drop(load);
}

/// The groups that each round makes for its command, as the command itself finds them.
#[test]
fn a_group_of_the_workload_has_what_its_arm_says() {
    let disk = disk();
    let program = Program::new("iosched-ab");
    let node = disk.node();
    let script = "group=/sys/fs/cgroup$(cut -d : -f 3 /proc/self/cgroup); \
        for file in io.max io.weight io.bfq.weight; do \
        [ ! -e $group/$file ] || sed \"s/^/$IOSCHED_ARM $file /\" $group/$file; done >> seen; \
        dd if=$IOSCHED_DEVICE of=/dev/null bs=4k count=60 iflag=direct 2>/dev/null";
    let number = format!("{}:{}", disk.device.major, disk.device.minor);
    let cost = format!("{COST},cgroup:{{command}}/io.weight=300");
    let arms = [
        (
            "limited",
            "cgroup:{command}/io.max=riops=20",
            "io.max",
            "rbps=max wbps=max riops=20 wiops=max",
        ),
        ("cost", &cost, "io.weight", "300"),
        (
            "bfq",
            "cgroup:{command}/io.bfq.weight=300",
            "io.bfq.weight",
            "300",
        ),
    ];
    let texts = arms.map(|(label, setting, ..)| {
        let scheduler = if label == "bfq" { "bfq" } else { "none" };
        format!("{label}={scheduler},{setting}")
    });
    let mut run = vec!["run", &node, "--arm", "none"];
    for text in &texts {
        run.extend(["--arm", text]);
    }
    run.extend(["--rounds", "2", "-o", "result", "--", "sh", "-c", script]);
    program.run(&run).ends(0, &[]);
    let seen = fs::read_to_string(program.file("seen")).expect("what the command saw");
    println!("{seen}");
    for (label, _, file, value) in arms {
        let count = |of: &str| {
            let line = format!("{of} {file} {number} {value}");
            seen.lines().filter(|seen| **seen == line).count()
        };
        assert_eq!((count(label), count("none")), (2, 0), "{label}: {seen}");
    }
    let elapsed = |arm: &str| -> Vec<f64> {
        let of_arm = rounds(&program)
            .into_iter()
            .filter(|round| round["arm"] == arm);
        of_arm
            .map(|round| round["metrics"]["elapsed"].as_f64().expect("a time"))
            .collect()
    };
    let (limited, free) = (elapsed("limited"), elapsed("none"));
    println!("{limited:?} s at 20 reads a second, {free:?} s without a limit");
    assert!(
        limited.iter().all(|s| (2.5..3.6).contains(s)),
        "{limited:?}"
    );
    assert!(free.iter().all(|s| *s < 2.0), "{free:?}");
}
