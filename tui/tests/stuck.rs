//! A write to a queue that does not return: the program ends and reports where it is stuck, and the disk is restored
//! once the write returns. The disk hangs because the process that serves it is stopped.
//! Root only: `cargo test -p iosched-tui --test stuck -- --ignored`.

#[path = "../../tests/support/mod.rs"]
mod support;
#[allow(dead_code)] // each test binary uses a part of it
mod watch;

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use iosched_host::scheduler;
use iosched_host::system::device::Device;
use rustix::process::{Pid, Signal, kill_process};
use support::program::Program;
use support::traces::{differences, within};

const IOSCHED: &str = support::under_test!("iosched");
const SOON: Duration = Duration::from_secs(20);

/// A scratch device with a server that can be stopped.
struct Served {
    server: Child,
    device: Device,
}

impl Served {
    fn start(program: &Program, iosched_ab: &Path) -> Option<Self> {
        let mut server = program
            .command_of(iosched_ab, &["scratch", "--json", "--size", "64M"])
            .stderr(Stdio::null())
            .spawn()
            .expect("iosched-ab");
        let mut line = String::new();
        let output = server.stdout.take().expect("its output");
        BufReader::new(output).read_line(&mut line).expect("a line");
        let scratch: serde_json::Value = serde_json::from_str(&line).expect("JSON");
        let node = scratch["device"].as_str().expect("a node");
        let device = Device::resolve(node).expect("the device").device;
        let served = Served { server, device };
        if scratch["fallback"].is_null() {
            return Some(served);
        }
        println!("skipped: no simulated disk here: {}", scratch["fallback"]);
        None
    }

    /// Returns once no thread of it answers requests.
    fn stop(&self) {
        self.signal(Signal::STOP);
        let tasks = format!("/proc/{}/task", self.server.id());
        within(SOON, "a server that has stopped", || {
            let mut tasks = std::fs::read_dir(&tasks).expect("its threads");
            tasks.all(|task| {
                let path = task.expect("a thread").path().join("stat");
                let text = std::fs::read_to_string(path).unwrap_or_default();
                text.rsplit(") ")
                    .next()
                    .is_some_and(|rest| rest.starts_with('T'))
            })
        });
    }

    fn signal(&self, signal: Signal) {
        let pid = Pid::from_child(&self.server);
        kill_process(pid, signal).expect("a process of ours");
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.signal(Signal::CONT);
        self.signal(Signal::INT);
        let _ = self.server.wait();
    }
}

#[test]
#[ignore = "root"]
fn a_write_that_does_not_return_is_reported_and_undone_when_it_does() {
    let iosched_ab = Path::new(IOSCHED).with_file_name("iosched-ab");
    if !iosched_ab.exists() {
        return println!("skipped: {} was not built", iosched_ab.display());
    }
    // The server's own journal is ignored.
    let (programs, server) = (Program::new(IOSCHED), Program::new(IOSCHED));
    let Some(served) = Served::start(&server, &iosched_ab) else {
        return;
    };
    let before = scheduler::read(&served.device).expect("its queue");
    served.stop();
    let node = served.device.node().display().to_string();
    let mut reader = Command::new("dd")
        .args([
            &format!("if={node}"),
            "of=/dev/null",
            "bs=4k",
            "count=1",
            "iflag=direct",
        ])
        .stderr(Stdio::null())
        .spawn()
        .expect("dd");
    within(SOON, "a request in flight", || {
        served
            .device
            .attribute("inflight")
            .is_ok_and(|text| !text.starts_with('0'))
    });
    let begin = Instant::now();
    let ended = programs.run(&["set", &node, "kyber"]);
    let took = begin.elapsed();
    let ended = ended.ends(
        1,
        &[
            "the kernel has not returned from a write to",
            "queue/scheduler",
            "for 15 s",
            "if a request to the disk hangs",
        ],
    );
    assert!(
        took < Duration::from_secs(60),
        "{took:?}: it waits with the kernel"
    );
    // The kernel function in which the write waits: the freeze of the queue.
    let names_a_place = ["freeze", "elevator", "blk", "elv", "schedule"];
    assert!(
        names_a_place.iter().any(|word| ended.stderr.contains(word)),
        "{ended:#?}"
    );
    assert_eq!(programs.journals().len(), 1, "it must not be undone yet");
    // No other write happens meanwhile.
    programs
        .run(&["set", &node, "bfq"])
        .ends(5, &["is locked by process"]);
    served.signal(Signal::CONT);
    assert!(reader.wait().expect("dd").success());
    within(SOON, "all is back", || {
        let now = scheduler::read(&served.device).expect("its queue");
        programs.journals().is_empty() && differences(&before, &now).is_empty()
    });
    programs.run(&["set", &node, "bfq"]).ends(0, &[]);
}

/// Submits I/O to the device that never completes.
#[test]
#[ignore = "root"]
fn who_waits_for_a_disk_that_hangs_stays_listed() {
    let iosched_ab = Path::new(IOSCHED).with_file_name("iosched-ab");
    if !iosched_ab.exists() {
        return println!("skipped: {} was not built", iosched_ab.display());
    }
    let (program, server) = (Program::new(IOSCHED), Program::new(IOSCHED));
    let Some(served) = Served::start(&server, &iosched_ab) else {
        return;
    };
    let node = served.device.node().display().to_string();
    let rest = ["stat", &node, "-n", "4", "-i", "1", "--output", "json"];
    let started = watch::attached(program.start(&rest));
    served.signal(Signal::STOP);
    let mut reader = Command::new("dd")
        .args([&format!("if={node}"), "of=/dev/null", "bs=4k", "count=1"])
        .arg("iflag=direct")
        .stderr(Stdio::null())
        .spawn()
        .expect("dd");
    let ended = started.end();
    served.signal(Signal::CONT);
    assert!(reader.wait().expect("dd").success());
    let ended = ended.ends(0, &[]);
    let last = ended.stdout.lines().last().expect("a record");
    let record: serde_json::Value = serde_json::from_str(last).expect("JSON");
    let rows = record["processes"].as_array().expect("a list");
    let row = rows.iter().find(|row| row["pid"] == reader.id());
    let row = row.unwrap_or_else(|| panic!("not listed: {record:#}"));
    assert_eq!((&row["comm"], &row["ios"]), (&"dd".into(), &0.into()));
    let now = &row["in_flight"];
    assert_eq!((&now["queued"], &now["issued"]), (&0.into(), &1.into()));
    let age_ns = now["oldest_ns"].as_u64().expect("an age");
    assert!((1_000_000_000..5_000_000_000).contains(&age_ns), "{age_ns}");
    assert_eq!(record["devices"][0]["in_flight"], *now);
}

/// More readers than tags: those without one have a row while they wait, with how long, and no share above 1 when they go on.
#[test]
#[ignore = "root"]
fn who_waits_for_a_tag_of_a_disk_that_hangs_is_listed_too() {
    const READERS: usize = 8;
    let iosched_ab = Path::new(IOSCHED).with_file_name("iosched-ab");
    if !iosched_ab.exists() {
        return println!("skipped: {} was not built", iosched_ab.display());
    }
    let (program, server) = (Program::new(IOSCHED), Program::new(IOSCHED));
    let Some(served) = Served::start(&server, &iosched_ab) else {
        return;
    };
    std::fs::write(served.device.sysfs("queue/scheduler"), "none").expect("none");
    let node = served.device.node().display().to_string();
    let rest = [
        "stat", &node, "-n", "6", "-i", "1", "--detail", "fairness", "--output", "json",
    ];
    let started = watch::attached(program.start(&rest));
    served.signal(Signal::STOP);
    let reads = (0..READERS).map(|reader| {
        Command::new("dd")
            .args([&format!("if={node}"), "of=/dev/null", "bs=4k", "count=2"])
            .args(["iflag=direct", &format!("skip={}", reader * 100)])
            .stderr(Stdio::null())
            .spawn()
            .expect("dd")
    });
    let mut readers: Vec<Child> = reads.collect();
    // Three intervals or more in which nothing moves.
    std::thread::sleep(Duration::from_millis(3500));
    served.signal(Signal::CONT);
    for reader in &mut readers {
        assert!(reader.wait().expect("dd").success());
    }
    let ended = started.end().ends(0, &[]);
    let records: Vec<serde_json::Value> = ended
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let rows = |record: &serde_json::Value| -> Vec<serde_json::Value> {
        let all = record["processes"].as_array().expect("a list");
        let is_reader =
            |row: &&serde_json::Value| readers.iter().any(|reader| row["pid"] == reader.id());
        all.iter().filter(is_reader).cloned().collect()
    };
    let tags = 4;
    let hung = records.iter().find(|record| rows(record).len() == READERS);
    let hung = hung.unwrap_or_else(|| panic!("not all are listed: {records:#?}"));
    let listed = rows(hung);
    let all = &hung["devices"][0]["in_flight"];
    let waiting = (all["issued"].as_u64(), all["blocked"].as_u64());
    assert_eq!(
        waiting,
        (Some(tags), Some(READERS as u64 - tags)),
        "{hung:#}"
    );
    for row in &listed {
        let now = &row["in_flight"];
        let parts =
            ["queued", "issued", "blocked"].map(|part| now[part].as_u64().expect("a number"));
        assert_eq!(parts.iter().sum::<u64>(), 1, "{row:#}");
        let age_ns = now["oldest_ns"].as_u64().expect("an age");
        assert!((500_000_000..8_000_000_000).contains(&age_ns), "{age_ns}");
    }
    for row in records.iter().flat_map(rows) {
        let shares = [&row["fairness"]["backlogged_share"], &row["stalled_share"]];
        for share in shares.map(|share| share.as_f64().expect("a share")) {
            assert!(share <= 1.01, "{row:#}");
        }
    }
}

/// Its process cannot be killed, and nothing limits its time.
#[test]
#[ignore = "root"]
fn a_disk_that_stands_still_ends_a_run_without_a_limit() {
    let iosched_ab = Path::new(IOSCHED).with_file_name("iosched-ab");
    if !iosched_ab.exists() {
        return println!("skipped: {} was not built", iosched_ab.display());
    }
    let binary = iosched_ab.to_str().expect("UTF-8");
    let (program, server) = (Program::new(binary), Program::new(IOSCHED));
    let Some(served) = Served::start(&server, &iosched_ab) else {
        return;
    };
    let before = scheduler::read(&served.device).expect("its queue");
    let node = served.device.node().display().to_string();
    let read = "dd if=$IOSCHED_DEVICE of=/dev/null bs=64k count=200 iflag=direct status=none";
    let how = ["--rounds", "20", "-o", "result", "--", "sh", "-c", read];
    let arms = ["--arm", "none", "--arm", "mq-deadline"];
    let mut run = program.start(&[&["run", &node], &arms[..], &how].concat());
    let rounds = || {
        let bytes = std::fs::read(program.file("result")).unwrap_or_default();
        let result: serde_json::Value = serde_json::from_slice(&bytes).unwrap_or_default();
        result["rounds"].as_array().map_or(0, Vec::len)
    };
    run.until(Duration::from_secs(60), "two rounds", || rounds() >= 2);
    served.stop();
    let begin = Instant::now();
    let ended = run.end();
    // The limit, the end of the command's group, and a write of the scheduler that does not return.
    assert!(begin.elapsed() < Duration::from_secs(150), "{ended:#?}");
    // Stopped between two rounds, the next switch hangs instead.
    let causes = ["stands still", "the kernel has not returned from a write"];
    let is_said = causes.iter().any(|says| ended.stderr.contains(says));
    assert!(is_said, "{ended:#?}");
    ended.ends(1, &["some settings were not restored"]);
    assert!(rounds() >= 2, "the rounds are kept");
    served.signal(Signal::CONT);
    within(SOON, "all is back", || {
        let now = scheduler::read(&served.device).expect("its queue");
        program.journals().is_empty() && differences(&before, &now).is_empty()
    });
}
