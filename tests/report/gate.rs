//! The gate in each of its formats: the same exit code, and what the programs that read them see.

use std::fs::{self, File};
use std::process::{Command, Stdio};

use quick_junit::{NonSuccessKind, Report, TestCaseStatus};
use serde_json::{Value, json};

use crate::support::program::{Ended, Program};
use crate::{
    BINARY, changed, data, is_as_kept, path, with_differences, with_foreign_io, without_the_loss,
};

const FORMATS: [&str; 5] = ["text", "json", "markdown", "html", "junit"];

/// Passed, skipped, failed, and errors, as cargo-nextest's library reads them.
fn read_junit(xml: &str) -> [usize; 4] {
    let report = Report::deserialize_from_str(xml).expect("JUnit");
    let mut found = [0; 4];
    for suite in &report.test_suites {
        for case in &suite.test_cases {
            assert_eq!(
                case.classname.as_ref().expect("a class").as_str(),
                "iosched-ab.randread"
            );
            found[match case.status {
                TestCaseStatus::Success { .. } => 0,
                TestCaseStatus::Skipped { .. } => 1,
                TestCaseStatus::NonSuccess { kind, .. } => match kind {
                    NonSuccessKind::Failure => 2,
                    NonSuccessKind::Error => 3,
                },
            }] += 1;
        }
        let counts = [suite.skipped, suite.failures, suite.errors];
        assert_eq!(counts, found[1..], "{xml}");
        assert_eq!(suite.tests, found.iter().sum::<usize>(), "{xml}");
        assert!(suite.timestamp.is_some(), "{xml}");
    }
    found
}

/// With this exit code in every format; returns the JSON.
fn gate(program: &Program, arguments: &[&str], code: i32, junit: [usize; 4]) -> Value {
    let mut found = Value::Null;
    for format in FORMATS {
        let start = ["gate", "--format", format];
        let ended = program
            .run(&[&start[..], arguments].concat())
            .ends(code, &[]);
        match format {
            "json" => found = serde_json::from_str(&ended.stdout).expect("JSON"),
            "junit" => assert_eq!(read_junit(&ended.stdout), junit, "{}", ended.stdout),
            "html" => {
                let word = match code {
                    0 => "✓ passed",
                    3 => "✗ failed",
                    _ => "",
                };
                assert!(ended.stdout.contains(word), "{word}");
                assert!(ended.stdout.ends_with("</html>"));
            }
            _ => assert!(!ended.stdout.is_empty()),
        }
    }
    assert_eq!(found["exit_code"], code);
    let has_code = |errors: usize, failures: usize| match (failures, errors) {
        (0, 0) => code == 0,
        (0, _) => code == 4 || code == 6,
        _ => code == 3,
    };
    assert!(has_code(junit[3], junit[2]), "{junit:?}");
    is_valid(program, &found);
    found
}

/// By the schema in docs/, as Python's jsonschema reads it.
fn is_valid(program: &Program, found: &Value) {
    let schema = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/gate-1.schema.json");
    fs::write(program.file("found.json"), found.to_string()).expect("a file");
    let script = "import json, sys, jsonschema\n\
        schema, found = (json.load(open(path)) for path in sys.argv[1:])\n\
        jsonschema.Draft202012Validator.check_schema(schema)\n\
        jsonschema.Draft202012Validator(schema).validate(found)\n\
        found['checks'].append({}); found['outcome'] = 'maybe'\n\
        assert len(list(jsonschema.Draft202012Validator(schema).iter_errors(found))) > 1";
    let has_it = Command::new("python3")
        .args(["-c", "import jsonschema"])
        .output();
    if !has_it.is_ok_and(|output| output.status.success()) {
        println!("skipped: python3 with jsonschema cannot be run");
        return;
    }
    let mut python = Command::new("python3");
    let checked = python.args(["-c", script, schema, &program.file("found.json")]);
    let output = checked.output().expect("python3");
    assert!(output.status.success(), "{output:?} {found:#}");
}

#[test]
fn each_format_of_a_gate_is_as_it_was() {
    let program = Program::new(BINARY);
    let result = path("result.json");
    for (format, file) in [
        ("json", "gate.json"),
        ("markdown", "gate.md"),
        ("junit", "gate.xml"),
    ] {
        let ended = program.run(&["gate", &result, "--format", format]);
        is_as_kept(file, &ended.ends(3, &["1 of 6"]).stdout);
    }
}

#[test]
fn the_exit_code_is_the_same_in_every_format() {
    let program = Program::new(BINARY);
    let result = path("result.json");
    let failed = gate(&program, &[&result], 3, [4, 1, 1, 0]);
    assert_eq!(failed["outcome"], "failed");
    assert_eq!(failed["checks"][0]["outcome"], "failed");
    assert_eq!(failed["checks"][0]["basis"], "own");

    changed(&program, "good", without_the_loss);
    let passed = gate(&program, &["good"], 0, [5, 1, 0, 0]);
    assert_eq!(passed["outcome"], "passed");
    let strict = ["good", "--require-verdict"];
    let undecided = gate(&program, &strict, 4, [5, 0, 0, 1]);
    assert_eq!(undecided["outcome"], "undecided");
    assert_eq!(undecided["rules"]["require_verdict"], true);
    let noninferior = ["good", "--mode", "noninferior"];
    gate(&program, &noninferior, 4, [5, 0, 0, 1]);

    changed(&program, "invalid", with_foreign_io);
    let found = gate(&program, &["invalid"], 6, [0, 0, 0, 7]);
    assert_eq!(found["outcome"], "invalid");
    assert_eq!(found["checks"], json!([]));
    let why = found["why_nothing"][0].as_str().expect("a reason");
    assert!(why.contains("5 of 12 blocks"), "{why}");
    for status in ["running", "interrupted", "failed"] {
        changed(&program, "half", |result| result["status"] = json!(status));
        let found = gate(&program, &["half"], 4, [0, 0, 0, 7]);
        assert_eq!(found["outcome"], "incomparable", "{status}");
        assert_eq!(found["run"]["status"], status);
    }
}

#[test]
fn a_report_calls_no_run_without_an_answer_passed_or_skipped() {
    let program = Program::new(BINARY);
    let of = |name: &str, format| -> Ended {
        let arguments = ["report", name, "--format", format];
        program.run(&arguments).ends(0, &[])
    };
    changed(&program, "invalid", with_foreign_io);
    changed(&program, "half", |result| {
        result["status"] = json!("interrupted");
    });
    // No interval: no number of such blocks decides.
    changed(&program, "undecidable", |result| {
        let row = &mut result["comparisons"][3];
        row["interval"] = Value::Null;
        row["ratio_interval"] = Value::Null;
    });
    for (name, junit) in [
        ("invalid", [0, 0, 0, 7]),
        ("half", [0, 0, 0, 7]),
        ("undecidable", [4, 0, 1, 1]),
        (&path("result.json"), [4, 1, 1, 0]),
    ] {
        assert_eq!(read_junit(&of(name, "junit").stdout), junit, "{name}");
        let ktap = of(name, "ktap").stdout;
        let [passed, skipped, failed, errors] = junit;
        let skips = ktap.matches("# SKIP").count();
        assert_eq!(skips, skipped, "{ktap}");
        assert_eq!(ktap.matches("\nok ").count(), passed + skipped, "{ktap}");
        assert_eq!(ktap.matches("\nnot ok ").count(), failed + errors, "{ktap}");
        is_tap(&program, &ktap, failed + errors);
    }
}

/// Perl's harness counts the same failures. KTAP's first line is unknown to it, and no fault.
fn is_tap(program: &Program, ktap: &str, failed: usize) {
    let file = program.file("cases.t");
    fs::write(&file, ktap).expect("a file");
    let output = match Command::new("prove").args(["-e", "cat", &file]).output() {
        Ok(output) => output,
        Err(error) => {
            println!("skipped: prove cannot be run: {error}");
            return;
        }
    };
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.success(), failed == 0, "{output:?}");
    assert!(!text.contains("Parse errors"), "{text}");
    if failed > 0 {
        assert!(text.contains(&format!("Failed: {failed})")), "{text}");
    }
}

#[test]
fn a_gate_against_earlier_results_has_every_format() {
    let program = Program::new(BINARY);
    let result = path("result.json");
    let same = [&*result, "--baseline", &*result];
    // Half the throughput, as before.
    let found = gate(&program, &same, 0, [0, 6, 0, 0]);
    assert_eq!(found["baselines"], json!([result]));
    assert_eq!(found["checks"][0]["basis"], "assumed");
    let mut arguments = vec!["fast".to_owned(), "--baseline".to_owned()];
    changed(&program, "fast", |result| later(result, 0.8, 18));
    for night in 1..=17 {
        let name = format!("night-{night}");
        let added = if night < 11 { 0.0 } else { 0.8 };
        changed(&program, &name, |result| later(result, added, night));
        arguments.push(name);
    }
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let ended = program.run(&[&["gate"], &arguments[..], &["--format", "junit"]].concat());
    let since = "changed by x2.23 (x2.23 .. x2.23) with night-11, started 2026-05-11T01:00:00Z";
    let [_, _, failed, _] = read_junit(&ended.stdout);
    assert!(
        failed > 0 && ended.stdout.contains(since),
        "{}",
        ended.stdout
    );
    let ended = program.run(&[&["gate"], &arguments[..], &["--format", "json"]].concat());
    let found: Value = serde_json::from_str(&ended.ends(3, &[]).stdout).expect("JSON");
    is_valid(&program, &found);
    let checks = found["checks"].as_array().expect("a list");
    for check in checks {
        assert_eq!(check["level_change"]["since"], "night-11");
        assert_eq!(check["level_change"]["runs_since"], 8);
        assert_eq!(
            (&check["basis"], &check["baselines"]),
            (&json!("prediction"), &json!(17))
        );
    }
    // Nothing of another disk is held to the rules.
    changed(&program, "elsewhere", |result| {
        result["device"]["model"] = json!("Another disk");
    });
    let elsewhere = [&*result, "--baseline", "elsewhere"];
    let found = gate(&program, &elsewhere, 4, [0, 0, 0, 7]);
    assert_eq!(found["outcome"], "incomparable");
}

/// A night later, with every difference shifted.
fn later(result: &mut Value, added: f64, night: usize) {
    result["started"] = json!(format!("2026-05-{night:02}T01:00:00Z"));
    with_differences(result, added);
}

#[test]
fn a_gate_judges_what_is_selected() {
    let program = Program::new(BINARY);
    let result = path("result.json");
    let latency = [&*result, "--metric", "total_p99", "--arm", "bfq"];
    let found = gate(&program, &latency, 0, [1, 0, 0, 0]);
    assert_eq!(
        (&found["family"], &found["metrics"]),
        (&json!(6), &json!(["total_p99"]))
    );
    let all = gate(&program, &[&result], 3, [4, 1, 1, 0]);
    let same = all["checks"].as_array().expect("a list");
    let same = same
        .iter()
        .find(|check| check["metric"] == "total_p99" && check["arm"] == "bfq");
    assert_eq!(
        same,
        Some(&found["checks"][0]),
        "its interval is that of all six"
    );
    let two = [&*result, "--metric", "jain_bytes", "--metric", "throughput"];
    gate(&program, &two, 3, [3, 0, 1, 0]);
    let ended = program
        .run(&[&["gate"], &latency[..]].concat())
        .ends(0, &[]);
    let words = "1 of 6 primary comparisons were selected";
    assert!(ended.stdout.contains(words), "{}", ended.stdout);
    // Invalid is invalid, whatever is selected, and an unknown name is the first thing to say.
    changed(&program, "invalid", with_foreign_io);
    gate(&program, &["invalid", "--arm", "bfq"], 6, [0, 0, 0, 4]);
    let unknown = ["gate", "invalid", "--metric", "read_total_mean"];
    let says = ["read_total_mean", "throughput, total_p99, jain_bytes"];
    program.run(&unknown).ends(2, &says);
    let reference = ["gate", &result, "--arm", "none"];
    let says = ["\"none\"", "bfq, mq-deadline,iosched/read_expire=100"];
    program.run(&reference).ends(2, &says);
}

#[test]
fn a_gate_can_write_to_a_file() {
    let program = Program::new(BINARY);
    let result = path("result.json");
    let to_file = ["gate", &result, "--format", "junit", "-o", "junit.xml"];
    let ended = program.run(&to_file).ends(3, &["1 of 6"]);
    assert_eq!(ended.stdout, "");
    let kept = fs::read_to_string(data("gate.xml")).expect("a file");
    let written = || fs::read_to_string(program.file("junit.xml")).expect("a file");
    assert_eq!(written(), kept);
    program.run(&to_file).ends(5, &["will not be overwritten"]);
    fs::write(program.file("junit.xml"), "").expect("a file");
    program
        .run(&[&to_file[..], &["--force"]].concat())
        .ends(3, &[]);
    assert_eq!(written(), kept);
    // No input is lost, whatever is forced.
    changed(&program, "good", without_the_loss);
    let onto = [
        "gate",
        &result,
        "--baseline",
        "good",
        "-o",
        "good",
        "--force",
    ];
    program.run(&onto).ends(5, &["good is the input"]);
    let shown = [&to_file[..4], &["-o", "-"]].concat();
    let ended = program.run(&shown).ends(3, &[]);
    assert!(ended.stdout == kept && !fs::exists(program.file("-")).expect("its absence"));
    let nowhere = ["gate", &result, "-o", "no/such/directory/x"];
    program.run(&nowhere).ends(5, &["no/such/directory/x"]);
}

#[test]
fn a_gate_that_nobody_reads_fails_all_the_same() {
    let program = Program::new(BINARY);
    let mut command = program.command(&["gate", &path("result.json")]);
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    command.stdout(writer);
    Ended::of(command).ends(3, &["1 of 6"]);
}

#[test]
fn a_result_can_come_from_standard_input() {
    let program = Program::new(BINARY);
    let from = |arguments: &[&str], input: Stdio| -> Ended {
        let mut command = program.command(arguments);
        command.stdin(input);
        Ended::of(command)
    };
    let file = || Stdio::from(File::open(data("result.json")).expect("a result"));
    for arguments in [["gate", "-"], ["report", "-"]] {
        let named = program.run(&[arguments[0], &path("result.json")]);
        let found = from(&arguments, file());
        assert_eq!((found.code, found.stdout), (named.code, named.stdout));
    }
    let (reader, writer) = std::io::pipe().expect("a pipe");
    let cat = Command::new("cat")
        .arg(data("result.json"))
        .stdout(writer)
        .spawn();
    from(&["gate", "-"], reader.into()).ends(3, &["1 of 6"]);
    assert!(cat.expect("cat").wait().expect("its end").success());
    let baseline = ["gate", &path("result.json"), "--baseline", "-"];
    from(&baseline, file()).ends(0, &[]);
    // Distrusted like a file.
    let says = ["standard input is not a result"];
    fs::write(program.file("text"), "no result").expect("a file");
    let text = || Stdio::from(File::open(program.file("text")).expect("a file"));
    from(&["report", "-"], text()).ends(2, &says);
    let large = File::create(program.file("large")).expect("a file");
    large.set_len((256 << 20) + 1).expect("its length");
    let large = || Stdio::from(File::open(program.file("large")).expect("a file"));
    from(&["report", "-"], large()).ends(2, &["standard input", "the limit of 256 MiB"]);
    let zero = File::open("/dev/zero").expect("a device");
    from(&["gate", "-"], zero.into()).ends(2, &["it is a device"]);
    let twice = ["gate", "-", "--baseline", "-"];
    from(&twice, file()).ends(2, &["more than once"]);
}

/// On a terminal, and in the log of a CI, both streams are read together.
#[test]
fn why_nothing_was_judged_is_read_once() {
    let program = Program::new(BINARY);
    changed(&program, "elsewhere", |result| {
        result["device"]["model"] = json!("Another disk");
    });
    let both = File::create(program.file("log")).expect("a file");
    let arguments = ["gate", &path("result.json"), "--baseline", "elsewhere"];
    let mut command = program.command(&arguments);
    command.stdout(both.try_clone().expect("the same file"));
    command.stderr(both);
    let ended = Ended::of(command);
    let log = fs::read_to_string(program.file("log")).expect("the log");
    assert_eq!(ended.code, Some(4), "{log}");
    assert_eq!(log.matches("Another disk").count(), 1, "{log}");
    // Whoever reads one of them reads why.
    let apart = program.run(&arguments).ends(4, &["Another disk"]);
    assert!(apart.stdout.contains("Another disk"), "{}", apart.stdout);
}

#[test]
fn text_is_as_wide_as_the_user_says() {
    let program = Program::new(BINARY);
    let width = |columns: &str| {
        let mut command = program.command(&["report", &path("result.json")]);
        command.env("COLUMNS", columns);
        let text = Ended::of(command).ends(0, &[]).stdout;
        // Long labels are never cut.
        let sentences = text.lines().filter(|line| !line.trim().contains("  "));
        let widths = sentences.map(|line| line.chars().count());
        widths.max().expect("sentences")
    };
    assert!(width("70") <= 70, "{}", width("70"));
    assert!(width("") > 100 && width("wide") > 100);
}
