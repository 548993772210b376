//! The privileges that each command needs and drops, and what `iosched doctor` reports about them. Root only: `cargo
//! test -p iosched-tui --test privileges -- --ignored --test-threads=1`.

#[path = "../../tests/support/mod.rs"]
mod support;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use support::program::{Ended, Program, Started};
use support::{LoopDevice, run};

const BINARY: &str = support::under_test!("iosched");
const SIZE_BYTES: u64 = 16 << 20;
const NOBODY: &str = "65534";
/// From linux/capability.h.
const BPF: u32 = 39;
/// A queue depth below the one that the loop driver requested.
const DEPTH: u32 = 16;

/// The binary in a place that user nobody can reach, and a state directory that does not belong to nobody.
struct Place {
    setpriv: Program,
    directory: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let readable = fs::Permissions::from_mode(0o755);
        fs::set_permissions(directory.path(), readable.clone()).expect("its mode");
        let copy = directory.path().join("iosched");
        fs::copy(BINARY, &copy).expect("a copy");
        fs::set_permissions(&copy, readable).expect("its mode");
        let setpriv = Program::new("setpriv");
        // Its working directory.
        let open = fs::Permissions::from_mode(0o755);
        fs::set_permissions(setpriv.directory(), open).expect("its mode");
        Place { setpriv, directory }
    }

    /// Starts it as a user with only these capabilities, such as `,+bpf,+perfmon`.
    fn start(&self, capabilities: &str, arguments: &[&str]) -> Started {
        let words = self.words(capabilities, arguments);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        self.setpriv.start(&words)
    }

    /// The arguments of setpriv.
    fn words(&self, capabilities: &str, arguments: &[&str]) -> Vec<String> {
        let set = |name: &str| format!("--{name}=-all{capabilities}");
        let program = self.directory.path().join("iosched");
        let words = [
            format!("--reuid={NOBODY}"),
            format!("--regid={NOBODY}"),
            "--clear-groups".to_owned(),
            set("inh-caps"),
            set("ambient-caps"),
            set("bounding-set"),
            program.display().to_string(),
        ];
        let arguments = arguments.iter().map(|&argument| argument.to_owned());
        words.into_iter().chain(arguments).collect()
    }

    /// The same with limits for locked memory in KiB: soft and hard.
    fn with_locked(&self, kib: [u64; 2], capabilities: &str, arguments: &[&str]) -> Ended {
        let [soft, hard] = kib.map(|kib| kib << 10);
        let mut words = vec![format!("--memlock={soft}:{hard}"), "setpriv".to_owned()];
        words.extend(self.words(capabilities, arguments));
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        Ended::of(self.setpriv.command_of(Path::new("prlimit"), &words))
    }

    fn as_nobody(&self, capabilities: &str, arguments: &[&str]) -> Ended {
        self.start(capabilities, arguments).end()
    }
}

fn state(diagnosis: &Value, name: &str) -> String {
    let items = diagnosis["items"].as_array().expect("a list");
    let found = items.iter().find(|item| item["name"] == name);
    let found = found.unwrap_or_else(|| panic!("no {name} in {diagnosis:#}"));
    found["state"].as_str().expect("a word").to_owned()
}

fn json(ended: &Ended) -> Value {
    serde_json::from_str(&ended.stdout).unwrap_or_else(|e| panic!("{e}: {ended:#?}"))
}

#[test]
#[ignore = "root"]
fn a_doctor_that_finds_all_in_order_is_right_and_changes_nothing() {
    let (disk, program) = (LoopDevice::new(SIZE_BYTES), Program::new(BINARY));
    // 5.10 has no scheduler for loop devices.
    let has_schedulers = disk.get("scheduler").contains("mq-deadline");
    if has_schedulers {
        disk.set("scheduler", "mq-deadline");
        disk.set("iosched/read_expire", "120");
    } else {
        println!(
            "skipped: check that scheduler and settings are unchanged: {}",
            disk.get("scheduler")
        );
    }
    let ended = program
        .run(&["doctor", &disk.node(), "--json"])
        .ends(0, &[]);
    let found = json(&ended);
    let disk_item = format!("disk {}", disk.device.name);
    for name in [
        "BTF",
        "probe",
        "tracepoint block_rq_issue",
        "CAP_BPF",
        &disk_item,
        "journal",
    ] {
        assert_eq!(state(&found, name), "ok", "{name}");
    }
    assert_eq!(
        (&found["can_measure"], &found["can_switch"]),
        (&true.into(), &true.into())
    );
    if has_schedulers {
        assert!(disk.get("scheduler").contains("[mq-deadline]"));
        assert_eq!(disk.get("iosched/read_expire"), "120");
    }
    assert!(program.journals().is_empty());
    // The command that doctor recommends.
    program.run(&["set", &disk.node(), "none"]).ends(0, &[]);
    program
        .run(&["stat", &disk.node(), "-i", "0.1", "-n", "1"])
        .ends(0, &[]);
    let text = program.run(&["doctor", &disk.node()]).ends(0, &[]).stdout;
    assert!(
        text.ends_with("measure: yes; switch schedulers: yes\n"),
        "{text}"
    );
}

#[test]
#[ignore = "root"]
fn without_rights_doctor_and_the_commands_say_the_same() {
    let (disk, place) = (LoopDevice::new(SIZE_BYTES), Place::new());
    let ended = place.as_nobody("", &["doctor", &disk.node(), "--json"]);
    let found = json(&ended);
    ended.ends(1, &["cannot measure or switch schedulers here"]);
    for name in [
        "probe",
        "CAP_BPF",
        "CAP_PERFMON",
        "scratch devices",
        "journal",
    ] {
        assert_eq!(state(&found, name), "missing", "{name}");
    }
    place
        .as_nobody("", &["stat", &disk.node(), "-n", "1"])
        .ends(5, &["not permitted", "CAP_BPF and CAP_PERFMON"]);
    place
        .as_nobody("", &["set", &disk.node(), "none"])
        .ends(5, &["only root can change a scheduler"]);
}

#[test]
#[ignore = "root"]
fn two_capabilities_are_enough_to_measure() {
    let (disk, place) = (LoopDevice::new(SIZE_BYTES), Place::new());
    let both = ",+bpf,+perfmon";
    let ended = place.as_nobody(both, &["doctor", &disk.node(), "--json"]);
    let found = json(&ended);
    ended.ends(1, &["cannot switch schedulers here"]);
    assert_eq!(state(&found, "probe"), "ok");
    assert_eq!(state(&found, "CAP_SYS_ADMIN"), "missing");
    // Another user's I/O, with the process name.
    let stat = [
        "stat",
        &disk.node(),
        "-i",
        "4",
        "-n",
        "1",
        "--output",
        "json",
    ];
    let mut started = place.start(both, &stat);
    let pid = started.id();
    started.until(Duration::from_secs(60), "its first snapshot", || {
        capabilities(pid, "CapEff:") == 1 << BPF
    });
    read(&disk, 50);
    let record = json(&started.end().ends(0, &[]));
    let processes = record["processes"].as_array().expect("a list");
    let dd = processes
        .iter()
        .find(|process| process["comm"] == "dd")
        .expect("dd");
    assert!(
        (45..=50).contains(&dd["reads"].as_u64().expect("a number")),
        "{dd:#}"
    );
    for one in [",+bpf", ",+perfmon"] {
        place
            .as_nobody(one, &["stat", &disk.node(), "-n", "1"])
            .ends(5, &["not permitted"]);
    }
}

/// Before 5.11 maps count as locked memory, and a too small limit gives the same error as a missing capability.
#[test]
#[ignore = "root"]
fn too_little_locked_memory_is_told_from_a_missing_capability() {
    let (disk, place) = (LoopDevice::new(SIZE_BYTES), Place::new());
    let (both, node) = (",+bpf,+perfmon", disk.node());
    let stat = ["stat", &node, "-i", "0.1", "-n", "1"];
    let refused = place.with_locked([64, 64], both, &stat);
    let doctor = place.with_locked([64, 64], both, &["doctor", &node, "--json"]);
    if !doctor.stdout.contains("memlock") {
        refused.ends(0, &[]);
        println!("skipped: this kernel does not count maps as locked memory");
        return;
    }
    println!("{}", refused.stderr);
    assert!(!refused.stderr.contains("CAP_BPF"), "{refused:#?}");
    let refused = refused.ends(5, &["64 KiB together", "`ulimit -l ", "CAP_SYS_RESOURCE"]);
    let found = json(&doctor);
    assert_eq!(
        [state(&found, "probe"), state(&found, "memlock")],
        ["missing"; 2]
    );
    place
        .with_locked([64, 64], ",+bpf", &stat)
        .ends(5, &["CAP_BPF and CAP_PERFMON", "LimitMEMLOCK="]);

    let rest = refused.stderr.split_once("LimitMEMLOCK=").expect("it").1;
    let needed_kib: u64 = rest
        .split_once('K')
        .expect("KiB")
        .0
        .parse()
        .expect("a number");
    let is_measured = |kib: [u64; 2], capabilities: &str| {
        let ended = place.with_locked(kib, capabilities, &stat);
        assert!(matches!(ended.code, Some(0 | 5)), "{ended:#?}");
        ended.code == Some(0)
    };
    // The kernel returns the locked memory of ended processes a moment later.
    let is_soon_measured = |kib, capabilities: &str| {
        (0..20).any(|_| {
            std::thread::sleep(Duration::from_millis(100));
            is_measured(kib, capabilities)
        })
    };
    assert!(is_soon_measured([needed_kib; 2], both));
    assert!(is_soon_measured([64, needed_kib], both), "the hard limit");
    assert!(is_soon_measured([64, 64], ",+bpf,+perfmon,+sys_resource"));
    assert!(!is_measured([needed_kib * 9 / 10; 2], both), "nine tenths");
}

fn read(disk: &LoopDevice, count: u32) {
    let (input, count) = (format!("if={}", disk.node()), format!("count={count}"));
    run(
        "dd",
        &[&input, "of=/dev/null", "bs=4k", &count, "iflag=direct"],
    );
}

/// Whether a running process has this capability in the set with this name in /proc.
fn capabilities(pid: u32, set: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("its status");
    let line = status.lines().find_map(|line| line.strip_prefix(set));
    u64::from_str_radix(line.expect("the set").trim(), 16).expect("a number")
}

#[test]
#[ignore = "root"]
fn a_watch_gives_up_what_it_needs_no_more() {
    gives_up_the_rest(
        "test -e /sys/kernel/debug/block || mount -t debugfs debugfs /sys/kernel/debug",
    );
}

#[test]
#[ignore = "root"]
fn a_watch_gives_up_as_much_where_debugfs_is_not_mounted() {
    gives_up_the_rest("test ! -e /sys/kernel/debug/block || umount -l /sys/kernel/debug");
}

/// `prepare` is run by a shell before, in its own mount namespace, so that debugfs does not change for other
/// processes.
fn gives_up_the_rest(prepare: &str) {
    let (disk, program) = (LoopDevice::new(SIZE_BYTES), Program::new(BINARY));
    // Only debugfs shows this depth.
    disk.set("nr_requests", &DEPTH.to_string());
    let script = format!("{{ {prepare}; }} && exec \"$@\"");
    let shell = ["--mount", "sh", "-c", &script, "sh", BINARY];
    let details = "order,fairness,merges,stages";
    let stat = [
        "stat",
        &disk.node(),
        "-i",
        "0.5",
        "-n",
        "8",
        "--detail",
        details,
    ];
    let words = [&shell[..], &stat, &["--output", "json"]].concat();
    let mut command = program.command_of(Path::new("unshare"), &words);
    let mut started = Started::of(&mut command);
    let pid = started.id();
    started.until(Duration::from_secs(60), "it gave up the rest", || {
        ["CapEff:", "CapPrm:"].map(|set| capabilities(pid, set)) == [1 << BPF; 2]
    });
    // Owners end, and their entries are reused: that needs the capability that it kept.
    for _ in 0..3 {
        read(&disk, 20);
    }
    let ended = started.end().ends(0, &[]);
    let records: Vec<Value> = ended
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let depths: Vec<&Value> = records
        .iter()
        .map(|record| &record["devices"][0]["hardware_depth"])
        .collect();
    assert_eq!(depths, [DEPTH; 8]);
    let reads = records.iter().flat_map(|record| {
        let processes = record["processes"].as_array().expect("a list");
        processes.iter().filter(|process| process["comm"] == "dd")
    });
    let (mut sum, mut groups) = (0, Vec::new());
    for process in reads {
        sum += process["reads"].as_u64().expect("a number");
        groups.push(process["cgroup"].as_str().unwrap_or_default());
    }
    assert!((55..=60).contains(&sum), "{sum} reads of dd");
    assert!(
        groups.iter().all(|group| group.starts_with('/')),
        "{groups:?}"
    );
}
