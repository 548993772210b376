//! Reports and gates are functions of a result file: the same file, the same bytes and the same exit code.
//! `UPDATE=1 cargo test --test report` writes the expected files anew.

mod support;

#[path = "report/consumers.rs"]
mod consumers; // the programs that the formats are for

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use support::program::Program;

const BINARY: &str = env!("CARGO_BIN_EXE_iosched-ab");

fn data(name: &str) -> PathBuf {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/report");
    directory.join(name)
}

fn path(name: &str) -> String {
    data(name).display().to_string()
}

#[track_caller]
fn is_as_kept(name: &str, found: &str) {
    if std::env::var_os("UPDATE").is_some() {
        fs::write(data(name), found).expect("a file");
    }
    let kept = fs::read_to_string(data(name)).expect("an expected file");
    assert!(kept == found, "{name} is no longer what it was:\n{found}");
}

fn report(format: &str) -> String {
    let program = Program::new(BINARY);
    let arguments = ["report", &path("result.json"), "--format", format];
    let ended = program.run(&arguments).ends(0, &[]);
    assert_eq!(ended.stderr, "");
    ended.stdout
}

#[test]
fn each_format_is_as_it_was() {
    for (format, file) in [
        ("text", "result.txt"),
        ("csv", "result.csv"),
        ("markdown", "result.md"),
        ("junit", "result.xml"),
        ("ktap", "result.ktap"),
        ("benchfmt", "result.bench"),
        ("bmf", "result.bmf.json"),
        ("openmetrics", "result.prom"),
    ] {
        is_as_kept(file, &report(format));
    }
}

#[test]
fn json_is_the_file_itself() {
    let kept = fs::read(data("result.json")).expect("a result");
    let kept: Value = serde_json::from_slice(&kept).expect("JSON");
    let found: Value = serde_json::from_str(&report("json")).expect("JSON");
    assert!(found == kept);
}

#[test]
fn one_format_is_two_files() {
    let program = Program::new(BINARY);
    let result = path("result.json");
    let start = ["report", &result, "--format", "github-benchmark"];
    program.run(&start).ends(2, &["-o NAME"]);
    program
        .run(&[&start[..], &["-o", "gh"]].concat())
        .ends(0, &[]);
    for name in ["gh-smaller.json", "gh-bigger.json"] {
        let found = fs::read_to_string(program.file(name)).expect("a file");
        is_as_kept(name, &found);
        // What github-action-benchmark asks of an entry.
        let entries: Vec<Value> = serde_json::from_str(&found).expect("a list");
        assert!(!entries.is_empty());
        for entry in entries {
            assert!(entry["name"].is_string() && entry["unit"].is_string());
            assert!(entry["value"].is_f64(), "{entry}");
        }
    }
}

#[test]
fn a_killed_run_has_its_conclusions_too() {
    let program = Program::new(BINARY);
    changed(&program, "killed", |result| {
        result["status"] = json!("running");
        result["comparisons"] = json!([]);
    });
    let ended = program.run(&["report", "killed"]).ends(0, &[]);
    assert!(ended.stdout.contains("NOT COMPLETE"), "{}", ended.stdout);
    assert!(
        ended.stdout.contains("worse by more than"),
        "{}",
        ended.stdout
    );
}

#[test]
fn a_report_can_go_to_a_file() {
    let program = Program::new(BINARY);
    let result = path("result.json");
    let ended = program
        .run(&["report", &result, "--format", "csv", "-o", "x.csv"])
        .ends(0, &[]);
    assert_eq!(ended.stdout, "");
    let found = fs::read_to_string(program.file("x.csv")).expect("a file");
    assert_eq!(found, report("csv"));
    let nowhere = ["report", &result, "-o", "no/such/directory/x"];
    program.run(&nowhere).ends(5, &["no/such/directory/x"]);
}

/// A copy of the result with changes.
fn changed(program: &Program, name: &str, change: impl FnOnce(&mut Value)) {
    let bytes = fs::read(data("result.json")).expect("a result");
    let mut result: Value = serde_json::from_slice(&bytes).expect("JSON");
    change(&mut result);
    fs::write(program.file(name), result.to_string()).expect("a file");
}

#[test]
fn a_gate_answers_by_its_exit_code() {
    let program = Program::new(BINARY);
    let result = path("result.json");
    // bfq has half the throughput.
    let ended = program.run(&["gate", &result]).ends(3, &["1 of 6"]);
    is_as_kept("gate.txt", &ended.stdout);
    program
        .run(&["gate", &result, "--mode", "beyond-margin"])
        .ends(3, &[]);
    // Without that one.
    let without_bfq = |result: &mut Value| {
        let comparisons = result["comparisons"].as_array_mut().expect("a list");
        comparisons.retain(|c| c["arm"] != "bfq" || c["metric"]["name"] != "throughput");
    };
    changed(&program, "good", without_bfq);
    program.run(&["gate", "good"]).ends(0, &[]);
    let strict = ["gate", "good", "--require-verdict"];
    program.run(&strict).ends(4, &["have no decision"]);
    let noninferior = ["gate", "good", "--mode", "noninferior"];
    program.run(&noninferior).ends(4, &[]);
    changed(&program, "half", |result| {
        result["status"] = json!("interrupted");
    });
    program.run(&["gate", "half"]).ends(4, &["not complete"]);
    changed(&program, "invalid", |result| {
        let excluded = result["excluded"].as_array_mut().expect("a list");
        excluded.extend(vec![excluded[0].clone(); 4]);
    });
    program
        .run(&["gate", "invalid"])
        .ends(6, &["5 of 12 blocks"]);
    program.run(&["gate", "no-such-file"]).ends(2, &[]);
}

#[test]
fn a_gate_against_earlier_results() {
    let program = Program::new(BINARY);
    let result = path("result.json");
    let same = ["gate", &result, "--baseline", &result];
    // Half the throughput, as before.
    let ended = program.run(&same).ends(0, &[]);
    assert!(ended.stdout.contains("ASSUMED"), "{}", ended.stdout);
    changed(&program, "fast", |result| {
        for comparison in result["comparisons"].as_array_mut().expect("a list") {
            let estimate = comparison["estimate"].as_f64().expect("a number");
            comparison["estimate"] = json!(estimate + 0.5);
        }
    });
    program
        .run(&["gate", &result, "--baseline", "fast"])
        .ends(3, &["failed the gate"]);
    changed(&program, "elsewhere", |result| {
        result["device"]["model"] = json!("Another disk");
    });
    let elsewhere = ["gate", &result, "--baseline", &result, "elsewhere"];
    program
        .run(&elsewhere)
        .ends(4, &["incomparable", "Another disk"]);
    changed(&program, "kernel", |result| {
        result["environment"]["kernel_release"] = json!("6.1.0");
    });
    let kernel = ["gate", &result, "--baseline", "kernel"];
    program.run(&kernel).ends(4, &["6.1"]);
    program
        .run(&[&kernel[..], &["--other-kernel"]].concat())
        .ends(0, &[]);
}
