//! `iosched why` on a simulated disk with few slots, where it is known who waits behind whom. Root only: `cargo test -p
//! iosched-tui --test why -- --ignored --test-threads=1`.

#[path = "../../tests/support/mod.rs"]
mod support;

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use iosched_host::safety::journal::Journal;
use iosched_host::scratch::Scratch;
use iosched_host::system::device::Device;
use iosched_result::types::scratch::model::DiskModel;
use serde_json::Value;
use support::program::Program;

const BINARY: &str = support::under_test!("iosched");
const SAMPLE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../tests/data/report/result.json"
);

/// Ends with the test.
struct Load(Child);

impl Load {
    fn start(node: &str, job: &str) -> Load {
        let mut command = Command::new("fio");
        command
            .args([
                "--name=load",
                "--thread",
                "--direct=1",
                "--ioengine=libaio",
                "--time_based",
            ])
            .args([
                "--runtime=1h",
                "--output=/dev/null",
                &format!("--filename={node}"),
            ])
            .args(job.split_whitespace())
            .stdout(Stdio::null());
        Load(command.spawn().expect("fio"))
    }

    fn pid(&self) -> u64 {
        u64::from(self.0.id())
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn number(value: &Value, field: &str) -> u64 {
    value[field]
        .as_u64()
        .unwrap_or_else(|| panic!("no {field} in {value:#}"))
}

/// All rows that wait: their parts add up, to the nanosecond.
fn adds_up(device: &Value) {
    for owner in device["owners"].as_array().expect("owners") {
        let behind = owner["behind"].as_array().expect("a list");
        let parts: u64 = behind.iter().map(|of| number(of, "ns")).sum();
        let all = parts + number(owner, "device_idle_ns");
        assert_eq!(all, number(owner, "wait_ns"), "{owner:#}");
    }
}

#[test]
#[ignore = "root"]
fn a_reader_behind_a_writer_is_told() {
    let journal = Journal::create().expect("a journal");
    let scratch = Scratch::create(DiskModel::Ssd, 256 << 20, &journal).expect("a scratch device");
    if let Some(why) = scratch.fallback() {
        return println!("skipped: {why}");
    }
    let device = Device::resolve(scratch.device_name()).expect("it").device;
    let node = device.node().display().to_string();
    std::fs::write(device.sysfs("queue/scheduler"), "mq-deadline").expect("mq-deadline");
    let hog = Load::start(&node, "--rw=write --bs=256k --iodepth=32");
    let reader = Load::start(&node, "--rw=randread --bs=4k --iodepth=1");
    std::thread::sleep(Duration::from_secs(1));

    let program = Program::new(BINARY);
    let ended = program
        .run(&["why", &node, "--for", "3s", "--json"])
        .ends(0, &[]);
    let record: Value = serde_json::from_str(&ended.stdout).expect("JSON");
    let device = &record["devices"][0];
    adds_up(device);
    let owners = device["owners"].as_array().expect("owners");
    let find = |pid: u64| owners.iter().find(|owner| number(owner, "pid") == pid);
    let (reads, writes) = (
        find(reader.pid()).expect("it"),
        find(hog.pid()).expect("it"),
    );
    assert_eq!(
        (&reads["does"], &writes["does"]),
        (&"reads".into(), &"writes".into())
    );
    let behind = &reads["behind"][0];
    let share = number(behind, "ns") as f64 / number(reads, "wait_ns") as f64;
    println!("{share} of {reads:#}");
    assert_eq!(
        (number(behind, "pid"), &behind["does"]),
        (hog.pid(), &"writes".into())
    );
    assert!(share > 0.8, "{share}");
    // Its whole time is wait and service: one at a time, without a pause.
    let busy_ns = number(reads, "wait_ns") + number(reads, "service_ns");
    let off = busy_ns as f64 / (record["time_s"].as_f64().expect("a time") * 1e9) - 1.0;
    assert!(off.abs() < 0.1, "{off}");

    // As text, narrow; of one process only; and Ctrl-C is an early end.
    let begin = Instant::now();
    let pid = hog.pid().to_string();
    let mut started = program.start(&["why", &node, "--for", "10min", "--pid", &pid]);
    std::thread::sleep(Duration::from_secs(3));
    let child = rustix::process::Pid::from_child(started.child());
    rustix::process::kill_process(child, rustix::process::Signal::INT).expect("a signal");
    let ended = started.end().ends(130, &[]);
    println!("{}", ended.stdout);
    assert!(begin.elapsed() < Duration::from_secs(60));
    let has_row = |of: &Load, what: &str| {
        let row = format!(
            "
  fio {} {what}",
            of.pid()
        );
        ended.stdout.contains(&row)
    };
    assert!(has_row(&hog, "writes") && !has_row(&reader, "reads"));
    assert!(ended.stdout.contains("its own writes") && ended.stdout.contains("--workload live"));
    let widest = ended
        .stdout
        .lines()
        .filter(|line| !line.starts_with("    iosched-ab"));
    assert!(
        widest.clone().all(|line| line.chars().count() <= 80),
        "{}",
        ended.stdout
    );
}

#[test]
#[ignore = "root"]
fn where_nobody_does_anything_and_what_is_not_there() {
    let disk = support::LoopDevice::in_memory(64 << 20);
    let program = Program::new(BINARY);
    let ended = program
        .run(&["why", &disk.node(), "--for", "300ms"])
        .ends(0, &[]);
    assert!(
        ended.stdout.starts_with("Nobody used loop"),
        "{}",
        ended.stdout
    );
    program
        .run(&["why", "no-such-disk"])
        .ends(2, &["no-such-disk"]);
    program
        .run(&["why", "--pid", "4194303"])
        .ends(2, &["4194303"]);
    program.run(&["why", "--for", "1x"]).ends(2, &["--for"]);
    program
        .run(&["why", "--for", "2h"])
        .ends(2, &["100ms to 1h"]);
}

/// A result that other code made, and files that are none.
#[test]
fn each_arm_of_a_result_is_told() {
    let sample = SAMPLE;
    let result: Value =
        serde_json::from_slice(&std::fs::read(sample).expect("a result")).expect("JSON");
    let program = Program::new(BINARY);
    let ended = program.run(&["why", sample, "--json"]).ends(0, &[]);
    let records = ended
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"));
    let records: Vec<Value> = records.collect();
    let excluded = result["excluded"].as_array().expect("a list");
    let is_counted = |round: &Value| {
        let is_its =
            |of: &Value| of["block"] == round["block"] && of["attempt"] == round["attempt"];
        !excluded.iter().any(is_its)
    };
    assert_eq!(records.len(), 3);
    for record in &records {
        let rounds = result["rounds"].as_array().expect("rounds").iter();
        let counted: Vec<&Value> = rounds
            .filter(|round| round["arm"] == record["arm"] && is_counted(round))
            .map(|round| &round["evidence"]["why"]["devices"][0])
            .collect();
        let device = &record["devices"][0];
        assert_eq!(number(device, "rounds"), counted.len() as u64);
        adds_up(device);
        let sum: u64 = counted
            .iter()
            .map(|of| number(&of["owners"][0], "wait_ns"))
            .sum();
        assert_eq!(number(&device["owners"][0], "wait_ns"), sum, "{record:#}");
        assert!(device["owners"][0]["behind"][0]["error"].is_number());
    }
    let text = program.run(&["why", sample]).ends(0, &[]).stdout;
    assert!(
        text.starts_with("Under none, in 12 rounds:\n\nreader (40): "),
        "{text}"
    );
    assert!(
        text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );

    let none = program.file("none");
    for (content, says) in [
        ("", "neither a result"),
        ("hello", "neither a result"),
        ("{}", "schema version"),
        ("{\"schema_version\": 3", "is not a result"),
    ] {
        std::fs::write(&none, content).expect("a file");
        program.run(&["why", &none]).ends(2, &[says]);
    }
    let mut silent = result.clone();
    silent["design"]["why"] = false.into();
    for round in silent["rounds"].as_array_mut().expect("rounds") {
        round["evidence"].as_object_mut().expect("it").remove("why");
    }
    std::fs::write(&none, silent.to_string()).expect("a file");
    program.run(&["why", &none]).ends(2, &["--why"]);
    program
        .run(&["why", sample, "--for", "3s"])
        .ends(2, &["--for"]);
    program
        .run(&["why", sample, "--pid", "40"])
        .ends(2, &["--pid"]);
}

/// Names from outside, and numbers at their limits.
#[test]
fn what_others_wrote_does_nothing() {
    let program = Program::new(BINARY);
    let none = program.file("none");
    let mut hostile: Value =
        serde_json::from_slice(&std::fs::read(SAMPLE).expect("a result")).expect("JSON");
    hostile["device"]["device"]["name"] = "sd\u{1b}]0;x\u{7}a".into();
    for round in hostile["rounds"].as_array_mut().expect("rounds") {
        let device = &mut round["evidence"]["why"]["devices"][0];
        device["device"] = "sd\u{1b}]0;x\u{7}a".into();
        device["owners"][0]["name"] = "re\u{1b}[31mader".into();
    }
    std::fs::write(&none, hostile.to_string()).expect("a file");
    for arguments in [&["why", &none][..], &["why", &none, "--json"]] {
        let shown = program.run(arguments).ends(0, &[]).stdout;
        let is_hidden = |c: char| c != '\n' && c.is_control();
        assert!(!shown.contains(is_hidden), "{shown:?}");
    }
    let devices = &mut hostile["rounds"][0]["evidence"]["why"]["devices"];
    let one = devices[0].clone();
    devices.as_array_mut().expect("a list").push(one);
    std::fs::write(&none, hostile.to_string()).expect("a file");
    program
        .run(&["why", &none])
        .ends(2, &["more devices than the result"]);
    let far = "8,0 0 1 0.000000000 1 Q R 8 + 8 [a]\n8,0 0 2 0.000000000 1 G R 8 + 8 [a]\n\
        8,0 0 3 0.000000000 1 Q R 88 + 8 [a]\n8,0 0 4 0.000000000 1 G R 88 + 8 [a]\n\
        8,0 0 5 18446742973.000000000 1 U N [a] 1\n";
    std::fs::write(&none, far).expect("a file");
    program.run(&["why", &none]).ends(0, &[]);
}
