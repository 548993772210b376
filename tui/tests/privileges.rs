//! What each command needs of rights, what it gives up, and that `iosched doctor` says just that. Root only:
//! `cargo test -p iosched-tui --test privileges -- --ignored --test-threads=1`.

#[path = "../../tests/support/mod.rs"]
mod support;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use support::program::{Ended, Program, Started};
use support::{LoopDevice, run};

const BINARY: &str = env!("CARGO_BIN_EXE_iosched");
const SIZE_BYTES: u64 = 16 << 20;
const NOBODY: &str = "65534";
/// Numbers of linux/capability.h.
const SYS_ADMIN: u32 = 21;
const BPF: u32 = 39;

/// The binary where nobody can reach it, and a state directory that is not nobody's.
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
        // Where it runs.
        let open = fs::Permissions::from_mode(0o755);
        fs::set_permissions(setpriv.directory(), open).expect("its mode");
        Place { setpriv, directory }
    }

    /// As a user that has only these capabilities, as `,+bpf,+perfmon`.
    fn start(&self, capabilities: &str, arguments: &[&str]) -> Started {
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
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        self.setpriv.start(&[&words, arguments].concat())
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
    disk.set("scheduler", "mq-deadline");
    disk.set("iosched/read_expire", "120");
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
    assert!(disk.get("scheduler").contains("[mq-deadline]"));
    assert_eq!(disk.get("iosched/read_expire"), "120");
    assert!(program.journals().is_empty());
    // As it says.
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
    // Another user's I/O, by name.
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
        effective(pid) == 1 << BPF
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

fn read(disk: &LoopDevice, count: u32) {
    let (input, count) = (format!("if={}", disk.node()), format!("count={count}"));
    run(
        "dd",
        &[&input, "of=/dev/null", "bs=4k", &count, "iflag=direct"],
    );
}

/// Of a running process, by bit.
fn effective(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("its status");
    let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    u64::from_str_radix(line.expect("CapEff").trim(), 16).expect("a number")
}

#[test]
#[ignore = "root"]
fn a_watch_gives_up_what_it_needs_no_more() {
    let (disk, program) = (LoopDevice::new(SIZE_BYTES), Program::new(BINARY));
    let mut started = program.start(&[
        "stat",
        &disk.node(),
        "-i",
        "0.5",
        "-n",
        "8",
        "--output",
        "json",
    ]);
    let pid = started.id();
    let mut allowed = 1u64 << BPF;
    if !Path::new("/sys/kernel/debug/block").exists() {
        allowed |= 1 << SYS_ADMIN;
    }
    started.until(Duration::from_secs(30), "it gave up the rest", || {
        effective(pid) == allowed
    });
    // Owners come and go, and their places are given to others: that takes the right that it kept.
    for _ in 0..3 {
        let input = format!("if={}", disk.node());
        run(
            "dd",
            &[&input, "of=/dev/null", "bs=4k", "count=20", "iflag=direct"],
        );
    }
    let ended = started.end().ends(0, &[]);
    let depths: Vec<Value> = ended
        .stdout
        .lines()
        .map(|line| {
            serde_json::from_str::<Value>(line).expect("JSON")["devices"][0]["hardware_depth"]
                .clone()
        })
        .collect();
    assert!(depths.iter().all(Value::is_u64), "{depths:?}");
}
