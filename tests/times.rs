//! Times of rounds that the program chooses by a pilot. Root only: `cargo test --test times -- --ignored --test-threads=1`.

mod support;

use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use support::LoopDevice;
use support::program::Program;
use support::traces::traces_of;

const BINARY: &str = support::under_test!("iosched-ab");
const READS: [&str; 6] = [
    "--arm",
    "none",
    "--arm",
    "mq-deadline",
    "--workload",
    "randread",
];

fn seconds(value: &Value, path: &str) -> f64 {
    let found = value.pointer(path).and_then(Value::as_f64);
    found.unwrap_or_else(|| panic!("no number at {path} in {value:#}"))
}

/// Interrupted in the pilot, resumed, and carried out.
#[test]
#[ignore = "root"]
fn a_pilot_chooses_what_is_not_named_and_an_interrupted_one_begins_again() {
    let (disk, program) = (LoopDevice::in_memory(256 << 20), Program::new(BINARY));
    let node = disk.node();
    let how = ["--round-time", "1s", "--rounds", "2", "-o", "result"];
    let mut child = program.start(&[&["run", &node], &READS[..], &how].concat());
    child.until(Duration::from_secs(60), "a pilot's workload", || {
        let name = "inflight";
        let path = format!("/sys/block/{}/{name}", disk.device.name);
        std::fs::read_to_string(path).is_ok_and(|text| !text.trim_start().starts_with("0 "))
    });
    let pid = child.id();
    kill_process(
        Pid::from_raw(pid.cast_signed()).expect("a PID"),
        Signal::INT,
    )
    .expect("its end");
    let ended = child.end();
    ended.ends(
        130,
        &["pilot, 10 s", "continue with `iosched-ab run --resume"],
    );
    assert_eq!(traces_of(pid), [""; 0], "left on the machine");
    let interrupted = program.result("result");
    assert_eq!(interrupted["status"], "interrupted");
    assert_eq!(interrupted["rounds"], Value::Array(Vec::new()));
    assert!(interrupted["times"].is_null());

    let resumed = program.run(&["run", "--resume", "result"]);
    resumed.ends(
        0,
        &[
            "pilot, 10 s: none",
            "pilot, 10 s: mq-deadline",
            "each round 1 s after a ramp of",
        ],
    );
    let result = program.result("result");
    assert_eq!(result["design"]["auto_times"]["ramp"], true);
    assert_eq!(result["design"]["auto_times"]["round_time"], false);
    assert_eq!(result["design"]["round_time_s"], 1.0);
    let ramp_s = seconds(&result, "/design/ramp_s");
    assert!([1.0, 2.0, 3.0, 5.0].contains(&ramp_s), "{ramp_s}");
    let pilot = result["times"]["pilot"].as_array().expect("a pilot");
    assert_eq!(pilot.len(), 2);
    for round in pilot {
        // 250 ms each, for 10 s.
        let series = round["series"].as_array().expect("series");
        let iops = series
            .iter()
            .find(|it| it["metric"] == "iops")
            .expect("its I/Os");
        let values = iops["values"].as_array().expect("values");
        assert!((38..=40).contains(&values.len()), "{}", values.len());
        assert!(
            values
                .iter()
                .all(|value| value.as_f64().is_some_and(|it| it > 0.0))
        );
    }
    // Each round says what its time was spent on, and the parts are what the run took.
    let rounds = result["rounds"].as_array().expect("rounds");
    assert_eq!(rounds.len(), 4);
    let mut sum_s = 0.0;
    for round in rounds {
        let times = &round["evidence"]["times"];
        for part in ["switch_s", "start_s", "ramp_s", "end_s"] {
            sum_s += seconds(times, &format!("/{part}"));
        }
        let off = seconds(times, "/ramp_s") - ramp_s;
        assert!((0.0..0.5).contains(&off), "{times:#}");
        sum_s += seconds(round, "/window_s");
    }
    let took_s = seconds(&result, "/rounds_took_s");
    assert!(
        (0.9..=1.001).contains(&(sum_s / took_s)),
        "{sum_s} of {took_s}"
    );
    let report = program.run(&["report", "result"]).ends(0, &[]);
    for words in ["The rounds took", "each round 1 s after a ramp of"] {
        assert!(report.stdout.contains(words), "{}", report.stdout);
    }
}

/// A workload that cannot run is told after the first round, without times to wait for.
#[test]
#[ignore = "root"]
fn a_pilot_of_a_workload_that_fails_ends_soon() {
    let (disk, program) = (LoopDevice::in_memory(64 << 20), Program::new(BINARY));
    std::fs::write(
        program.file("job.fio"),
        "[job]\nrw=randread\nbs=1g\nioengine=psync\n",
    )
    .expect("a job");
    let node = disk.node();
    let job = [
        "--arm", "none", "--arm", "bfq", "--job", "job.fio", "-o", "result",
    ];
    let begun = std::time::Instant::now();
    let ended = program.run(&[&["run", &node], &job[..]].concat());
    assert_ne!(ended.code, Some(0), "{ended:#?}");
    assert!(
        ended
            .stderr
            .contains("the workload failed in every round of the first block"),
        "{ended:#?}"
    );
    assert!(
        begun.elapsed() < Duration::from_secs(20),
        "{:?}",
        begun.elapsed()
    );
    assert_eq!(traces_of(ended.pid), [""; 0], "left on the machine");
}
