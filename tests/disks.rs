//! Several disks compared as one: switched together, added up, and put back, whatever happens to one of them. Root only:
//! `cargo test --test disks -- --ignored --test-threads=1`.

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use iosched_host::preflight;
use iosched_host::scheduler::{self, SavedQueue};
use iosched_host::system::device::Device;
use iosched_result::types::arm::Arm;
use iosched_result::types::queue::State;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use support::program::{Ended, Program};
use support::traces::{QueueAndData, differences, processes_with, traces_of, within};
use support::{LoopDevice, Mounted, READ_ONE, run, sync, unmount};

const BINARY: &str = support::under_test!("iosched-ab");
const SIZE_BYTES: u64 = 256 << 20;
const SOON: Duration = Duration::from_secs(10);
const ARMS: [&str; 4] = [
    "--arm",
    "none,nr_requests=32",
    "--arm",
    "bfq,read_ahead_kb=64",
];
/// A little of each disk, so that there is something to measure.
const READ_ALL: &str = "for d in $IOSCHED_DEVICES; do \
    dd if=$d of=/dev/null bs=4k count=16 iflag=direct status=none; done";

/// Two disks with settings of their user's, not the same on both.
struct Pair {
    disks: [LoopDevice; 2],
    before: [State; 2],
}

impl Pair {
    fn new() -> Self {
        let disks = [(); 2].map(|()| LoopDevice::in_memory(SIZE_BYTES));
        disks[0].set("scheduler", "mq-deadline");
        disks[0].set("iosched/read_expire", "333");
        disks[1].set("scheduler", "none");
        disks[1].set("nr_requests", "16");
        disks[1].set("scheduler", "kyber");
        let before = disks.each_ref().map(state);
        Pair { disks, before }
    }

    fn nodes(&self) -> [String; 2] {
        self.disks.each_ref().map(LoopDevice::node)
    }

    /// One file system over both, mounted.
    fn btrfs(&self) -> Mounted {
        let [first, second] = self.nodes();
        let how = ["-q", "-d", "raid0", "-m", "raid1", &first, &second];
        run("mkfs.btrfs", &how);
        Mounted::new(&first)
    }

    /// In the order of their numbers, as results have them.
    fn names(&self) -> Vec<&str> {
        let mut devices: Vec<&Device> = self.disks.iter().map(|disk| &disk.device).collect();
        devices.sort_by_key(|device| device.minor);
        devices.iter().map(|device| device.name.as_str()).collect()
    }

    fn changes(&self) -> Vec<String> {
        let pairs = self.before.iter().zip(&self.disks);
        let changes = pairs.flat_map(|(before, disk)| differences(before, &state(disk)));
        changes.collect()
    }

    #[track_caller]
    fn are_as_before(&self, program: &Program, pid: u32) {
        assert_eq!(self.changes(), [""; 0]);
        assert_eq!(traces_of(pid), [""; 0]);
        assert!(program.journals().is_empty());
        for node in self.nodes() {
            assert!(processes_with(&node).is_empty());
        }
    }
}

fn state(disk: &LoopDevice) -> State {
    scheduler::read(&disk.device).expect("its queue")
}

/// A comparison on these devices, saved as `result`.
fn ab(program: &Program, devices: &[&str], arguments: &[&[&str]]) -> Ended {
    let start = [
        &["run"],
        devices,
        &["-o", "result", "--force", "--seed", "11"],
    ]
    .concat();
    program.run(&[&start, &arguments.concat()[..]].concat())
}

fn rounds(result: &Value) -> &Vec<Value> {
    result["rounds"].as_array().expect("rounds")
}

/// Each round had its arm on each disk, and what was added up is there.
#[track_caller]
fn had_their_arms(result: &Value, names: &[&str]) {
    for round in rounds(result) {
        let evidence = &round["evidence"];
        assert_eq!(round["problem"], Value::Null);
        let members = evidence["members"].as_array().expect("members");
        let devices: Vec<&str> = members
            .iter()
            .map(|member| member["device"].as_str().expect("a name"))
            .collect();
        assert_eq!(devices, names);
        for member in members {
            let effective = &member["applied"]["effective"];
            assert_eq!(effective["active"], round["scheduler"], "{round:#}");
            let (name, value) = match round["scheduler"].as_str() {
                Some("none") => ("nr_requests", "32"),
                _ => ("read_ahead_kb", "64"),
            };
            assert_eq!(effective["settings"][name], value);
        }
        assert_eq!(members[0]["applied"], evidence["applied"]);
    }
}

#[test]
#[ignore = "root"]
fn a_btrfs_of_two_disks_is_switched_and_measured_as_one() {
    let (pair, program) = (Pair::new(), Program::new(BINARY));
    let mounted = pair.btrfs();
    let point = mounted.path().display().to_string();
    let file = mounted.path().join("file").display().to_string();
    let source = [
        "if=/dev/urandom",
        &format!("of={file}"),
        "bs=1M",
        "count=16",
    ];
    run(
        "dd",
        &[&source[..], &["conv=fsync", "status=none"]].concat(),
    );
    sync(&pair.disks.each_ref());

    let [a, b] = pair.names()[..] else {
        panic!("two disks")
    };
    let script = format!(
        "reads() {{ cut -c1-20 /sys/block/{a}/stat /sys/block/{b}/stat | awk '{{ print $1 }}' | paste -sd' '; }}; \
        first=$(reads); dd if={file} of=/dev/null bs=256k iflag=direct status=none; \
        echo $first $(reads) >> log"
    );
    let how = ["--rounds", "3", "--", "sh", "-c", &script];
    // All that speaks against it at once, each with its disk.
    let member = |name: &str| format!("{name} is a member of the mounted btrfs");
    let says = [&member(a), &member(b), "--allow-mounted"];
    ab(&program, &[&point], &[&ARMS, &how]).ends(5, &says);
    assert_eq!(pair.changes(), [""; 0]);

    let layers = format!("{a}, {b} are switched together and measured as one");
    let allowed = ["--allow-mounted"];
    let ended = ab(&program, &[&point], &[&ARMS, &allowed, &how]).ends(0, &[&layers]);
    assert!(ended.stdout.contains(&layers), "{}", ended.stdout);
    pair.are_as_before(&program, ended.pid);
    let result = program.result("result");
    had_their_arms(&result, &[a, b]);
    let group = &result["device"]["group"];
    assert_eq!(group["named"], serde_json::json!([point]));
    for (member, name) in group["members"].as_array().expect("two").iter().zip([a, b]) {
        assert_eq!(member["device"]["name"], name);
        assert_eq!(member["size_bytes"], SIZE_BYTES);
    }
    assert_eq!(result["waiting"][0]["hardware_depth"], 64, "of both");

    // The kernel's counts of each, added up.
    let log = fs::read_to_string(program.file("log")).expect("the command's log");
    assert_eq!(log.lines().count(), rounds(&result).len());
    for (line, round) in log.lines().zip(rounds(&result)) {
        let counts: Vec<u64> = line
            .split(' ')
            .map(|count| count.parse().expect("a number"))
            .collect();
        let [of_a, of_b] = [counts[2] - counts[0], counts[3] - counts[1]];
        assert!(of_a > 0 && of_b > 0, "both were read: {line}");
        let device = &round["evidence"]["device"];
        assert_eq!(device["ops"][0]["ios"], of_a + of_b, "{line}");
        let owners = round["evidence"]["owners"].as_array().expect("owners");
        for (name, count) in [(a, of_a), (b, of_b)] {
            let its = owners.iter().filter(|owner| owner["key"]["device"] == name);
            let reads = its.map(|owner| owner["ops"][0]["ios"].as_u64().expect("a count"));
            assert_eq!(reads.sum::<u64>(), count, "{name}: {line}");
        }
    }
    let report = program.run(&["report", "result"]).ends(0, &[]).stdout;
    assert!(
        report.contains(&format!("\n{point}")) && report.contains(&layers),
        "{report}"
    );
}

#[test]
#[ignore = "root"]
fn a_scratch_file_on_a_btrfs_is_on_both_disks_and_so_must_the_run_be() {
    let (pair, program) = (Pair::new(), Program::new(BINARY));
    let nodes = pair.nodes();
    let mounted = pair.btrfs();
    let point = mounted.path().display().to_string();
    let job = "[slow]\nrw=randwrite\nbs=64k\nioengine=psync\nrate_iops=300\ndirect=1\n";
    fs::write(program.file("slow.fio"), job).expect("a job file");
    let load = ["--job", "slow.fio", "--allow-mounted"];
    let size = ["--scratch-size", "32M"];
    let time = ["--rounds", "1", "--ramp", "0.1s", "--round-time", "1s"];

    let there = ["--scratch", point.as_str()];
    let says = ["not part of"];
    ab(
        &program,
        &[&nodes[0]],
        &[&ARMS, &load, &size, &time, &there],
    )
    .ends(5, &says);
    assert_eq!(pair.changes(), [""; 0]);

    let ended = ab(&program, &[&point], &[&ARMS, &load, &size, &time]).ends(0, &["scratch file"]);
    pair.are_as_before(&program, ended.pid);
    let left = fs::read_dir(mounted.path()).expect("the file system");
    assert_eq!(left.count(), 0, "nothing is left on it");
    let result = program.result("result");
    assert_eq!(result["workload"]["scratch_file"]["file_system"], "btrfs");
    for round in rounds(&result) {
        let owners = round["evidence"]["owners"].as_array().expect("owners");
        for name in pair.names() {
            let its = owners.iter().filter(|owner| owner["key"]["device"] == name);
            let bytes = its.map(|owner| owner["ops"][1]["bytes"].as_u64().expect("a count"));
            assert!(bytes.sum::<u64>() > 0, "{name} was written: {owners:#?}");
        }
    }
}

#[test]
#[ignore = "root"]
fn disks_that_are_named_one_by_one_share_a_workload() {
    let (pair, program) = (Pair::new(), Program::new(BINARY));
    let nodes = pair.nodes();
    let [first, second] = &nodes;
    let how = [
        "--workload",
        "randread-qd1",
        "--rounds",
        "1",
        "--ramp",
        "0.1s",
    ];
    let time = ["--round-time", "0.5s"];
    let ended = ab(&program, &[second, first], &[&ARMS, &how, &time]).ends(0, &[]);
    pair.are_as_before(&program, ended.pid);
    let result = program.result("result");
    had_their_arms(&result, &pair.names());
    for round in rounds(&result) {
        let owners = round["evidence"]["owners"].as_array().expect("owners");
        for name in pair.names() {
            let of_fio = |owner: &&Value| owner["key"]["device"] == name && owner["comm"] == "fio";
            assert!(
                owners.iter().any(|owner| of_fio(&owner)),
                "{name} in {round:#}"
            );
        }
    }
    // Nobody's word is enough for both at once.
    let write = ["--workload", "randwrite", "--destroy-data", "--rounds", "1"];
    let says = ["would overwrite several disks", "name one"];
    ab(&program, &[first, second], &[&ARMS, &write]).ends(5, &says);
    // A disk and itself are one.
    let command = ["--rounds", "1", "--", "sh", "-c", READ_ALL];
    ab(&program, &[first, first], &[&ARMS, &command]).ends(0, &[]);
    let result = program.result("result");
    assert_eq!(result["device"]["group"], Value::Null);
    assert_eq!(
        result["rounds"][0]["evidence"]["device"]["ops"][0]["ios"],
        16
    );
    let scratch = [first.as_str(), "scratch:ssd"];
    ab(&program, &scratch, &[&ARMS, &command]).ends(2, &["cannot be combined"]);
    assert_eq!(pair.changes(), [""; 0]);
}

#[test]
#[ignore = "root"]
fn a_disk_that_another_has_locked_keeps_all_untouched() {
    let (pair, program) = (Pair::new(), Program::new(BINARY));
    let [first, second] = &pair.nodes();
    let command = ["--rounds", "1", "--", "sh", "-c", READ_ONE];
    for (locked, node) in pair.disks.iter().zip([first, second]) {
        let look = || {
            pair.disks
                .each_ref()
                .map(|disk| QueueAndData::of(&disk.device))
        };
        let before = look();
        let lock = preflight::lock(&locked.device).expect("a lock");
        let says = format!("{node} is locked by process {}", std::process::id());
        ab(&program, &[first, second], &[&ARMS, &command]).ends(5, &[&says]);
        drop(lock);
        assert_eq!(look(), before);
        for disk in &pair.disks {
            drop(preflight::lock(&disk.device).expect("free again"));
        }
    }
}

/// An attribute that reads as it did and takes nothing.
struct Stuck(PathBuf);

impl Stuck {
    fn new(directory: &Path, disk: &LoopDevice, attribute: &str) -> Self {
        let file = directory.join("stuck");
        fs::write(&file, disk.get(attribute)).expect("a file");
        let path = disk.device.sysfs("queue").join(attribute);
        let (from, to) = (file.display().to_string(), path.display().to_string());
        run("mount", &["--bind", &from, &to]);
        let stuck = Stuck(path);
        run("mount", &["-o", "remount,bind,ro", &to]);
        stuck
    }
}

impl Drop for Stuck {
    fn drop(&mut self) {
        unmount(&self.0.display().to_string());
    }
}

#[test]
#[ignore = "root"]
fn where_one_disk_refuses_an_arm_none_has_it() {
    let (pair, program) = (Pair::new(), Program::new(BINARY));
    let [first, second] = &pair.nodes();
    let script = format!("touch ran; {READ_ONE}");
    let command = ["--rounds", "1", "--", "sh", "-c", &script];
    let arms = ["--arm", "bfq,nomerges=2", "--arm", "none,nomerges=2"];
    // The last one: the other has been switched by then.
    let last = pair.disks.iter().max_by_key(|disk| disk.device.minor);
    let last = last.expect("two");
    let stuck = Stuck::new(program.directory(), last, "nomerges");
    // It is back at once, not only at the end of a run.
    let mut devices = pair.disks.each_ref().map(|disk| disk.device.clone());
    devices.sort_by_key(|device| device.minor);
    let arm: Arm = arms[1].parse().expect("an arm");
    let saved = devices
        .each_ref()
        .map(|device| SavedQueue::take(device, std::slice::from_ref(&arm)).expect("its queue"));
    let error = scheduler::apply_onto_all(&devices, &arm, &saved).expect_err("stuck");
    assert!(format!("{error:#}").contains("nomerges"), "{error:#}");
    assert_eq!(pair.changes(), [""; 0]);

    // A run is refused before anything is changed, because the value could not be put back.
    let says = ["nomerges", &last.device.name, "could not be restored"];
    let ended = ab(&program, &[first, second], &[&arms, &command]).ends(5, &says);
    drop(stuck);
    pair.are_as_before(&program, ended.pid);
    assert!(!Path::new(&program.file("ran")).exists());
    assert!(!Path::new(&program.file("result")).exists());
    // A setting that no disk has is refused before the first is touched.
    let look = || {
        pair.disks
            .each_ref()
            .map(|disk| QueueAndData::of(&disk.device))
    };
    let before = look();
    let unknown = ["--arm", "bfq,nosuch=2", "--arm", "none"];
    ab(&program, &[first, second], &[&unknown, &command]).ends(2, &["nosuch"]);
    assert_eq!(look().map(|now| now.queue), before.map(|then| then.queue));
}

#[test]
#[ignore = "root"]
fn a_setting_that_changes_on_one_disk_spoils_its_rounds() {
    let (pair, program) = (Pair::new(), Program::new(BINARY));
    let [first, second] = &pair.nodes();
    let attribute = pair.disks[1].device.sysfs("queue/nomerges");
    let script = format!(
        "{READ_ALL}; if [ $IOSCHED_BLOCK = 1 ]; then echo 2 > {}; fi",
        attribute.display()
    );
    let how = ["--rounds", "2", "--", "sh", "-c", &script];
    let says = format!(
        "settings changed: {} nomerges: 0 -> 2",
        pair.disks[1].device.name
    );
    let ended = ab(&program, &[first, second], &[&ARMS, &how]).ends(6, &[&says]);
    pair.are_as_before(&program, ended.pid);
}

/// A run of many rounds on both, in the middle of one.
fn killed(pair: &Pair, program: &Program) -> u32 {
    let [first, second] = &pair.nodes();
    let script = format!("{READ_ALL}; sleep 0.1");
    let start = ["run", first, second, "-o", "result", "--rounds", "6"];
    let command = ["--", "sh", "-c", &script];
    let mut child = program.start(&[&start[..], &ARMS, &command].concat());
    child.until(Duration::from_secs(60), "rounds and changes", || {
        let result = fs::read(program.file("result")).unwrap_or_default();
        let result: Option<Value> = serde_json::from_slice(&result).ok();
        result.is_some_and(|result| rounds(&result).len() >= 3)
            && pair.before.iter().zip(&pair.disks).all(|(before, disk)| {
                scheduler::read(&disk.device).is_ok_and(|now| now.active != before.active)
            })
    });
    let pid = child.id();
    kill_process(Pid::from_raw(pid as i32).expect("a pid"), Signal::KILL).expect("ours");
    assert_eq!(child.end().code, None);
    pid
}

#[test]
#[ignore = "root"]
fn after_sigkill_all_disks_are_as_they_were_and_the_run_can_go_on() {
    let (pair, program) = (Pair::new(), Program::new(BINARY));
    let pid = killed(&pair, &program);
    within(SOON, "all put back", || {
        pair.changes().is_empty() && program.journals().is_empty() && traces_of(pid).is_empty()
    });
    let done = rounds(&program.result("result")).len();
    // With another disk in the place of one it is another group.
    let file = fs::read_to_string(program.file("result")).expect("a result");
    let last = &pair.disks[1].device;
    let number = |n: u64| format!("\"minor\":{},\"diskseq\":{n}", last.minor);
    let diskseq = last.diskseq.expect("a number");
    let other = file.replace(&number(diskseq), &number(diskseq + 1));
    assert_ne!(other, file);
    fs::write(program.file("other"), other).expect("a file");
    let refused = program.run(&["run", "--resume", "other"]);
    refused.ends(5, &["disk number", "start a new run"]);

    let says = format!("continuing after {done} rounds");
    let ended = program
        .run(&["run", "--resume", "result"])
        .ends(0, &[&says]);
    pair.are_as_before(&program, ended.pid);
    let result = program.result("result");
    assert_eq!(
        (rounds(&result).len(), &result["status"]),
        (12, &"complete".into())
    );
    had_their_arms(&result, &pair.names());
}
