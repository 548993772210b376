//! Reports and gates are functions of a result file: the same file, the same bytes and the same exit code.
//! `UPDATE=1 cargo test --test report` writes the expected files anew.

mod support;

#[path = "report/consumers.rs"]
mod consumers; // the programs that the formats are for
#[path = "report/elsewhere.rs"]
mod elsewhere; // the program without BPF
#[path = "report/gate.rs"]
mod gate; // a gate in each of its formats
#[path = "report/hostile_names.rs"]
mod hostile_names; // what others named, in each format
#[path = "report/pages.rs"]
mod pages; // the HTML report
#[path = "report/signals.rs"]
mod signals; // while it computes, and while nobody reads
#[path = "report/traces.rs"]
mod traces; // single requests

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use support::program::{Ended, Program};

const BINARY: &str = support::under_test!("iosched-ab");

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

fn run_in(locale: &str, program: &Program, arguments: &[&str]) -> Ended {
    let mut command = program.command(arguments);
    command.env("LC_ALL", locale);
    Ended::of(command)
}

fn report(format: &str) -> String {
    let program = Program::new(BINARY);
    let arguments = ["report", &path("result.json"), "--format", format];
    let ended = run_in("C.UTF-8", &program, &arguments).ends(0, &[]);
    assert_eq!(ended.stderr, "");
    ended.stdout
}

#[test]
fn a_file_without_a_byte_is_said_to_be_empty() {
    let program = Program::new(BINARY);
    fs::write(program.file("result"), "").expect("a file");
    for command in ["report", "gate"] {
        let ended = program.run(&[command, "result"]);
        ended.ends(2, &["result is empty, or a pipe to which nobody writes"]);
    }
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
fn all_of_it_has_more_metrics_and_the_deciles() {
    let program = Program::new(BINARY);
    let ended = run_in(
        "C.UTF-8",
        &program,
        &["report", &path("result.json"), "--all"],
    );
    is_as_kept("result-all.txt", &ended.ends(0, &[]).stdout);
}

#[test]
fn pictures_fit_the_locale_and_can_be_left_out() {
    let program = Program::new(BINARY);
    let file = path("result.json");
    let text = |locale: &str, more: &[&str]| {
        let ended = run_in(locale, &program, &[&["report", &file], more].concat());
        ended.ends(0, &[]).stdout
    };
    let (unicode, ascii) = (text("C.UTF-8", &[]), text("C", &[]));
    assert!(unicode.contains('●') && unicode.contains('█'), "{unicode}");
    assert!(
        !ascii.contains(['●', '█', '░']) && ascii.contains("Reads by latency"),
        "{ascii}"
    );
    let without = text("C.UTF-8", &["--no-plot"]);
    assert!(
        !without.contains('●') && !without.contains("by latency"),
        "{without}"
    );
}

/// Files of schema 2, in which the metrics lie beside the fields of a round, say the same as those of today.
#[test]
fn a_file_of_the_version_before_is_read() {
    let program = Program::new(BINARY);
    let (old, new) = (path("result-of-schema-2.json"), path("result.json"));
    let of = |file: &str, format: &str| {
        let ended = run_in("C.UTF-8", &program, &["report", file, "--format", format]);
        ended.ends(0, &[]).stdout
    };
    for format in ["text", "html", "markdown", "junit", "ktap", "openmetrics"] {
        assert!(of(&old, format).contains("bfq"), "{format}");
    }
    // Formats that do not depend on the statistics are the same to the byte.
    for format in ["csv", "benchfmt"] {
        assert_eq!(of(&old, format), of(&new, format), "{format}");
    }
    let gate = |file: &str| program.run(&["gate", file]).code;
    assert_eq!(gate(&old), gate(&new));
    let persist = |file: &str| program.run(&["persist", file, "--arm", "bfq"]).code;
    assert_eq!(persist(&old), persist(&new));
}

/// The questions of docs/result.md, asked by jq.
#[test]
fn each_question_has_its_answer() {
    let page = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/result.md"))
        .expect("the page");
    let questions: Vec<&str> = page
        .lines()
        .filter(|line| line.starts_with("jq "))
        .collect();
    assert_eq!(questions.len(), 11);
    if std::process::Command::new("jq")
        .arg("--version")
        .output()
        .is_err()
    {
        println!("skipped: jq is not installed");
        return;
    }
    for question in questions {
        let asked = std::process::Command::new("sh")
            .args(["-c", question])
            .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/report"))
            .output()
            .expect("a shell");
        let complaint = String::from_utf8_lossy(&asked.stderr);
        assert!(asked.status.success(), "{question}: {complaint}");
    }
}

#[test]
fn verdicts_have_colours_where_they_are_wanted() {
    let program = Program::new(BINARY);
    let file = path("result.json");
    let with = |more: &[&str]| {
        let ended = program.run(&[&["report", &file], more].concat());
        ended.ends(0, &[]).stdout
    };
    let plain = with(&[]);
    assert!(!plain.contains('\u{1b}'), "a pipe is no terminal: {plain}");
    assert_eq!(with(&["--color", "never"]), plain);
    let colourful = with(&["--color", "always"]);
    assert!(colourful.contains("\u{1b}[31mworse"), "{colourful:?}");
    assert_eq!(anstream::adapter::strip_str(&colourful).to_string(), plain);
    let file_with_colours = with(&["--color", "always", "-o", "kept.txt"]);
    assert_eq!(file_with_colours, "");
    assert_eq!(
        fs::read_to_string(program.file("kept.txt")).expect("a file"),
        plain
    );
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
        // The demands of github-action-benchmark on an entry.
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

/// Each round with its arm, its metrics and its block.
fn of_rounds(result: &mut Value, mut change: impl FnMut(&str, u64, &mut Value)) {
    for round in result["rounds"].as_array_mut().expect("a list") {
        let arm = round["arm"].as_str().expect("a label").to_owned();
        let block = round["block"].as_u64().expect("a number");
        change(&arm, block, round);
    }
}

/// bfq has the throughput of none.
fn without_the_loss(result: &mut Value) {
    of_rounds(result, |arm, _, round| {
        let throughput = round["metrics"].get_mut("throughput");
        if let ("bfq", Some(value)) = (arm, throughput) {
            *value = json!(value.as_f64().expect("a number") * 2.0);
        }
    });
}

/// A round in each of four more blocks does not count.
fn with_foreign_io(result: &mut Value) {
    of_rounds(result, |arm, block, round| {
        if arm == "bfq" && (4..8).contains(&block) {
            round["problem"] = json!("ForeignIo");
            round["exclusion"] = json!("foreign_io");
        }
    });
    let excluded = result["excluded"].as_array_mut().expect("a list");
    let first = excluded[0].clone();
    for block in 4..8 {
        excluded.push(first.clone());
        excluded.last_mut().expect("a block")["block"] = json!(block);
    }
}

/// Each difference to the reference is that much larger, on the metric's scale.
fn with_differences(result: &mut Value, added: f64) {
    of_rounds(result, |arm, _, round| {
        let metrics = round["metrics"].as_object_mut().expect("metrics");
        for (name, value) in metrics.iter_mut().filter(|_| arm != "none") {
            let own = value.as_f64().expect("a number");
            let is_ratio = name != "jain_bytes";
            *value = json!(if is_ratio {
                own * added.exp()
            } else {
                own + added
            });
        }
    });
}

#[test]
fn a_gate_goes_by_the_rounds_of_a_file() {
    let program = Program::new(BINARY);
    changed(&program, "edited", |result| {
        let row = &mut result["comparisons"][0];
        assert_eq!(row["verdict"], "worse");
        row["verdict"] = json!("better");
    });
    program.run(&["gate", "edited"]).ends(
        3,
        &[
            "throughput: bfq against none: the file says better",
            "its rounds say worse",
        ],
    );
    changed(&program, "cut", |result| {
        result["comparisons"] = json!([]);
    });
    program
        .run(&["gate", "cut"])
        .ends(3, &["the file says nothing, its rounds say worse"]);
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
    changed(&program, "good", without_the_loss);
    program.run(&["gate", "good"]).ends(0, &[]);
    let strict = ["gate", "good", "--require-verdict"];
    program.run(&strict).ends(4, &["are not decided"]);
    let noninferior = ["gate", "good", "--mode", "noninferior"];
    program.run(&noninferior).ends(4, &[]);
    changed(&program, "half", |result| {
        result["status"] = json!("interrupted");
    });
    program.run(&["gate", "half"]).ends(4, &["not complete"]);
    changed(&program, "invalid", with_foreign_io);
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
    changed(&program, "fast", |result| with_differences(result, 0.8));
    program
        .run(&["gate", &result, "--baseline", "fast"])
        .ends(3, &["failed the gate"]);
    // Longer latencies since the eleventh of May; the baselines are given newest first.
    let mut history = vec![
        "gate".to_owned(),
        "fast".to_owned(),
        "--baseline".to_owned(),
    ];
    for night in 1..=17 {
        let name = format!("night-{night}");
        let from = if night < 11 {
            path("result.json")
        } else {
            program.file("fast")
        };
        let bytes = fs::read(from).expect("a result");
        let mut result: Value = serde_json::from_slice(&bytes).expect("JSON");
        result["started"] = json!(format!("2026-05-{night:02}T01:00:00Z"));
        fs::write(program.file(&name), result.to_string()).expect("a file");
        history.insert(3, name);
    }
    let history: Vec<&str> = history.iter().map(String::as_str).collect();
    let ended = program.run(&history).ends(3, &[]);
    for words in [
        "worse by more than 10 % since night-11",
        "started 2026-05-11T01:00:00Z: 10 runs before, 8 since.",
    ] {
        assert!(ended.stdout.contains(words), "{words}: {}", ended.stdout);
    }
    changed(&program, "elsewhere", |result| {
        result["device"]["model"] = json!("Another disk");
    });
    let elsewhere = ["gate", &result, "--baseline", &result, "elsewhere"];
    program
        .run(&elsewhere)
        .ends(4, &["cannot be compared", "Another disk"]);
    changed(&program, "kernel", |result| {
        result["environment"]["kernel_release"] = json!("6.1.0");
    });
    let kernel = ["gate", &result, "--baseline", "kernel"];
    program.run(&kernel).ends(4, &["6.1"]);
    program
        .run(&[&kernel[..], &["--other-kernel"]].concat())
        .ends(0, &[]);
}
