//! `--workload live`: the arms take turns over a load that somebody else has started. Root only:
//! `cargo test --test live -- --ignored --test-threads=1`.

mod support;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use iosched_host::safety::journal::Journal;
use iosched_host::scheduler;
use iosched_host::scratch::Scratch;
use iosched_result::types::scratch::model::DiskModel;
use serde_json::Value;
use support::fio::Fio;
use support::program::Program;
use support::traces::within;

const BINARY: &str = support::under_test!("iosched-ab");
const PROBE: &str = "--rw=randread --bs=4k --ioengine=psync";
const HOG: &str = "--rw=read --bs=256k --ioengine=libaio --iodepth=32";
/// About 200 reads of 64 KiB a second.
const STEADY: &str = "--rw=randread --bs=64k --ioengine=psync --rate_iops=200";
const SHORT: [&str; 4] = ["--round-time", "3s", "--ramp", "1s"];

fn ssd() -> (Scratch, String) {
    let journal = Journal::create().expect("a journal");
    let scratch = Scratch::create(DiskModel::Ssd, 256 << 20, &journal).expect("a scratch device");
    let node = format!("/dev/{}", scratch.device_name());
    (scratch, node)
}

/// A load of somebody else; it ends when it is dropped.
fn load(node: &str, job: &str) -> Fio {
    Fio::start(node, &format!("{job} --time_based --runtime=600"))
}

fn attribute(node: &str, name: &str) -> String {
    let path = Path::new("/sys/block")
        .join(node.trim_start_matches("/dev/"))
        .join("queue")
        .join(name);
    fs::read_to_string(path)
        .expect("an attribute")
        .trim()
        .to_owned()
}

fn set(node: &str, name: &str, value: &str) {
    let path = Path::new("/sys/block")
        .join(node.trim_start_matches("/dev/"))
        .join("queue")
        .join(name);
    fs::write(path, value).expect("an attribute to write");
}

fn rounds(result: &Value) -> &Vec<Value> {
    result["rounds"].as_array().expect("rounds")
}

fn comparison<'a>(result: &'a Value, metric: &str) -> &'a Value {
    let rows = result["comparisons"].as_array().expect("comparisons");
    let row = rows.iter().find(|row| row["metric"]["name"] == metric);
    row.unwrap_or_else(|| panic!("no row for {metric}"))
}

fn verdict<'a>(result: &'a Value, metric: &str) -> &'a Value {
    &comparison(result, metric)["verdict"]
}

#[test]
#[ignore = "root"]
fn a_disk_that_is_made_for_the_run_has_no_load() {
    let program = Program::new(BINARY);
    let arms = ["--arm", "none", "--arm", "bfq", "-o", "result"];
    let run = ["run", "scratch:ssd", "--workload", "live"];
    program
        .run(&[&run[..], &arms].concat())
        .ends(2, &["there is no load on it"]);
    assert!(program.files().is_empty(), "{:?}", program.files());
}

/// A reader beside a hog, once started by others and once by the run itself.
#[test]
#[ignore = "root"]
fn a_live_run_agrees_with_a_run_of_the_same_load() {
    let ((_scratch, node), program) = (ssd(), Program::new(BINARY));
    let name = node.trim_start_matches("/dev/");
    let arms = [
        "--arm",
        "none",
        "--arm",
        "kyber",
        "--reference",
        "none",
        "--rounds",
        "6",
    ];
    let short = ["--round-time", "2s", "--ramp", "500ms"];
    let how = ["--metric", "throughput", "-o"];
    {
        let _load = [load(&node, PROBE), load(&node, HOG)];
        let live = [
            &["run", &node, "--allow-mounted", "--workload", "live"],
            &arms[..],
            &short,
            &how,
            &["live"],
        ];
        program.run(&live.concat()).ends(0, &[]);
    }
    let own = [
        &[
            "run",
            &node,
            "--workload",
            "probe-hog",
            "--destroy-data",
            "--yes-destroy",
            name,
        ],
        &arms[..],
        &short,
        &how,
        &["own"],
    ];
    program.run(&own.concat()).ends(0, &[]);
    let (live, own) = (program.result("live"), program.result("own"));
    // A busy machine can leave either of them unclear, but not make them contradict each other.
    for result in [&own, &live] {
        for contradiction in ["worse", "equivalent"] {
            assert_ne!(verdict(result, "throughput"), contradiction);
        }
        let ratio = &comparison(result, "throughput")["ratio"];
        assert!(
            ratio.as_f64() > Some(1.05),
            "{ratio} of a load that kyber speeds up"
        );
    }
    // Whether a closed loop asks for more is said, whatever came out.
    let arrivals = program.run(&["report", "live"]).ends(0, &[]).stdout;
    assert!(
        arrivals.contains("Arrivals: reads under kyber"),
        "{arrivals}"
    );
    assert!(
        rounds(&live)
            .iter()
            .all(|round| round["evidence"]["foreign"].is_null())
    );
}

/// The kernel's own counter is the truth, read by a program that is not iosched's. Under kyber nothing can be read in any round:
/// that must not favour it.
#[test]
#[ignore = "root"]
fn the_application_judges_and_its_silence_counts_against_the_arm() {
    let ((_scratch, node), program) = (ssd(), Program::new(BINARY));
    let _load = load(&node, PROBE);
    let name = node.trim_start_matches("/dev/");
    let script = format!(
        "#!/bin/sh\ngrep -qF '[kyber]' /sys/block/{name}/queue/scheduler && exit 3\nawk '{{print $1}}' /sys/block/{name}/stat\n"
    );
    let path = program.file("reads");
    fs::write(&path, script).expect("a script");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("its mode");
    let run = ["run", &node, "--allow-mounted", "--workload", "live"];
    let arms = [
        "--arm", "none", "--arm", "kyber", "--rounds", "6", "-o", "result",
    ];
    let metric = ["--metric-cmd", "reads:higher:counter=./reads"];
    let ended = program
        .run(&[&run[..], &arms, &SHORT, &metric].concat())
        .ends(0, &["kyber: counts as worse", "exit status: 3"]);
    assert!(ended.stdout.contains("from ./reads"), "{}", ended.stdout);
    let result = program.result("result");
    let mut agreeing = 0;
    for round in rounds(&result) {
        let own = round["reported"]["reads"].as_f64();
        if round["arm"] == "kyber" {
            assert_eq!((own, &round["censored"]), (None, &Value::from("failed")));
            continue;
        }
        let measured = round["metrics"]["read_iops"].as_f64().expect("I/Os");
        let ratio = own.expect("a rate") / measured;
        assert!((0.99..1.01).contains(&ratio), "{ratio} of {measured}/s");
        agreeing += 1;
    }
    assert_eq!(agreeing, 6);
    assert_eq!(verdict(&result, "reads"), "worse");
    program
        .run(&["gate", "result"])
        .ends(3, &["failed the gate"]);
    assert!(scheduler_is(&node, "none"), "as it was");
}

#[test]
#[ignore = "root"]
fn a_metric_that_is_not_there_ends_the_run_at_once() {
    let ((_scratch, node), program) = (ssd(), Program::new(BINARY));
    fs::write(
        program.file("page"),
        "# TYPE tps_total counter\ntps_total 5\n",
    )
    .expect("a page");
    let run = [
        "run",
        &node,
        "--allow-mounted",
        "--workload",
        "live",
        "-o",
        "result",
    ];
    let arms = ["--arm", "none", "--arm", "kyber"];
    for (metric, code, says) in [
        (
            ["--metric-file", "tps:higher=page#tps_totl"],
            5,
            "did you mean tps_total?",
        ),
        (
            ["--metric-cmd", "tps:higher=no-such-program"],
            5,
            "no-such-program",
        ),
        (
            ["--metric-url", "tps:higher=http://127.0.0.1:1/#tps"],
            5,
            "127.0.0.1:1",
        ),
        (
            ["--metric-url", "tps:higher=https://127.0.0.1/#tps"],
            2,
            "curl",
        ),
        (
            ["--metric-file", "tps=page#tps_total"],
            2,
            "tps:higher or tps:lower",
        ),
    ] {
        program
            .run(&[&run[..], &arms, &metric].concat())
            .ends(code, &[says]);
    }
    let right = ["--metric-file", "tps:higher=page#tps_total"];
    program
        .run(&[&run[..], &arms, &right, &["--metric", "tsp"]].concat())
        .ends(2, &["did you mean tps?"]);
    let fio = ["run", &node, "--workload", "randread", "-o", "result"];
    program
        .run(&[&fio[..], &arms, &right].concat())
        .ends(2, &["--workload live"]);
    assert_eq!(program.files(), ["page"], "nothing was begun");
}

#[test]
#[ignore = "root"]
fn an_arm_that_breaks_the_condition_is_stopped() {
    let ((_scratch, node), program) = (ssd(), Program::new(BINARY));
    let _load = [load(&node, PROBE), load(&node, HOG)];
    let command = [
        "run",
        &node,
        "--allow-mounted",
        "--workload",
        "live",
        "--rounds",
        "4",
        "-o",
        "result",
    ];
    let arms = ["--arm", "present", "--arm", "kyber"];
    // Without a scheduler requests do not wait: whoever finds no tag stands still.
    let stop = [
        "--stop-if",
        "read_queue_wait_p50 > 8ms for 1s",
        "--metric",
        "throughput",
    ];
    let ended = program
        .run(&[&command, &arms[..], &SHORT, &stop].concat())
        .ends(0, &["kyber: counts as worse"]);
    assert!(
        ended.stdout.contains("STOPPED: kyber in block 1"),
        "{}",
        ended.stdout
    );
    let result = program.result("result");
    let stopped = rounds(&result)
        .iter()
        .filter(|round| round["censored"] == "stopped");
    assert_eq!(stopped.count(), 1, "once, and never again");
    assert!(rounds(&result).len() <= 2, "only the reference is left");
    assert!(scheduler_is(&node, "none"), "as it was");
}

#[test]
#[ignore = "root"]
fn the_present_settings_are_an_arm() {
    let ((_scratch, node), program) = (ssd(), Program::new(BINARY));
    set(&node, "scheduler", "mq-deadline");
    set(&node, "iosched/read_expire", "80");
    let _load = load(&node, PROBE);
    let command = [
        "run",
        &node,
        "--allow-mounted",
        "--workload",
        "live",
        "--rounds",
        "2",
        "-o",
        "result",
    ];
    let arms = ["--arm", "present", "--arm", "none", "--metric", "iops"];
    program
        .run(&[&command, &arms[..], &SHORT].concat())
        .ends(0, &[]);
    let result = program.result("result");
    assert_eq!(result["design"]["reference"], 0);
    let of_present: Vec<&Value> = rounds(&result)
        .iter()
        .filter(|round| round["arm"] == "present")
        .collect();
    assert_eq!(of_present.len(), 2);
    for round in of_present {
        let settings = &round["evidence"]["applied"]["effective"]["settings"];
        assert_eq!(settings["iosched/read_expire"], "80");
    }
    assert!(scheduler_is(&node, "mq-deadline"));
    assert_eq!(attribute(&node, "iosched/read_expire"), "80");
}

#[test]
#[ignore = "root"]
fn a_participant_has_its_own_numbers() {
    let ((_scratch, node), program) = (ssd(), Program::new(BINARY));
    let (steady, other) = (load(&node, STEADY), load(&node, PROBE));
    let pid = steady.pid().to_string();
    let command = [
        "run",
        &node,
        "--allow-mounted",
        "--workload",
        "live",
        "--rounds",
        "2",
        "-o",
        "result",
    ];
    let arms = ["--arm", "none", "--arm", "mq-deadline", "--pid", &pid];
    program
        .run(&[&command, &arms[..], &SHORT].concat())
        .ends(0, &[]);
    let result = program.result("result");
    for round in rounds(&result) {
        let number = |name: &str| {
            round["metrics"][format!("pid{pid}.{name}")]
                .as_f64()
                .expect("a number")
        };
        // All that it reads, and nothing of the other's 4 KiB.
        let (own, bytes) = (number("throughput"), number("throughput") / number("iops"));
        assert!((bytes - 65536.0).abs() < 1.0, "{bytes}");
        assert!(
            round["metrics"]["throughput"]
                .as_f64()
                .expect("the device's")
                > own
        );
        assert!(round["metrics"][format!("pid{pid}.read_queue_wait_mean")].is_number());
    }
    drop(other);
}

#[test]
#[ignore = "root"]
fn a_round_waits_for_load_and_the_run_ends_in_time() {
    let ((_scratch, node), program) = (ssd(), Program::new(BINARY));
    let command = [
        "run",
        &node,
        "--allow-mounted",
        "--workload",
        "live",
        "--rounds",
        "100",
        "-o",
        "result",
    ];
    let arms = ["--arm", "none", "--arm", "mq-deadline"];
    let when = [
        "--only-when",
        "iops > 50",
        "--for",
        "16s",
        "--metric",
        "iops",
    ];
    let child = program.start(&[&command, &arms[..], &SHORT, &when].concat());
    within(Duration::from_secs(20), "a result file", || {
        Path::new(&program.file("result")).exists()
    });
    std::thread::sleep(Duration::from_secs(3));
    assert!(
        rounds(&program.result("result")).is_empty(),
        "there was no load yet"
    );
    let _load = load(&node, STEADY);
    child.end().ends(0, &[]);
    let result = program.result("result");
    assert!(
        result["notes"].to_string().contains("--for"),
        "{}",
        result["notes"]
    );
    let done = rounds(&result).len();
    assert!((1..8).contains(&done), "{done}");
    assert!(scheduler_is(&node, "none"), "as it was");
}

fn scheduler_is(node: &str, name: &str) -> bool {
    let device = iosched_host::system::device::Device::resolve(node)
        .expect("the disk")
        .device;
    scheduler::choice(&device).expect("its scheduler").active == name
}
