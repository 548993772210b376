//! The steps of contrib/ci, as far as a shell can run them: on recorded results, and as root on a scratch device.
//! Root: `cargo test --test ci -- --ignored --test-threads=1`.

mod support;

#[path = "ci/github.rs"]
mod github;
#[path = "ci/gitlab.rs"]
mod gitlab;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use quick_junit::{NonSuccessKind, Report, TestCaseStatus};
use serde_json::{Value, json};
use tempfile::TempDir;

const BINARY: &str = support::under_test!("iosched-ab");
/// Runs that decide nothing within seconds: with two blocks there is no interval.
const SHORT_RUN: &str = "--rounds=2\n--round-time=1s\n--ramp=200ms\n--seed=7\n";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A YAML file as JSON.
fn yaml(path: &str) -> Value {
    let text = fs::read_to_string(root().join(path)).expect("a file");
    serde_yaml_ng::from_str(&text).expect("YAML")
}

/// The example with this number in docs/ci.md.
fn of_the_page(number: usize) -> Value {
    let page = fs::read_to_string(root().join("docs/ci.md")).expect("the page");
    let examples = page.split("```yaml\n").skip(1);
    let mut examples = examples.map(|rest| rest.split("```").next().expect("its end"));
    serde_yaml_ng::from_str(examples.nth(number).expect("an example")).expect("YAML")
}

fn text<'a>(value: &'a Value, path: &str) -> &'a str {
    let found = value.pointer(path).and_then(Value::as_str);
    found.unwrap_or_else(|| panic!("no text at {path} in {value:#}"))
}

/// A working directory with programs that stand before all others on the path.
struct Job {
    work: TempDir,
    programs: TempDir,
}

impl Job {
    fn new() -> Job {
        let job = Job {
            work: TempDir::new().expect("a directory"),
            programs: TempDir::new().expect("a directory"),
        };
        job.program("sudo", "exec \"$@\"");
        job
    }

    /// One that has the tool under test installed.
    fn with_tool() -> Job {
        let job = Job::new();
        job.program("iosched-ab", &format!("exec {BINARY} \"$@\""));
        job
    }

    /// One whose runs leave a copy of `result`, end with `code`, and write their arguments to `run.log`.
    fn with_recorded(result: &Value, code: i32) -> Job {
        let job = Job::new();
        fs::write(job.file("recorded"), result.to_string()).expect("a file");
        let script = format!(
            "[ \"$1\" = run ] || exec {BINARY} \"$@\"\n\
            printf '%s\\n' \"$@\" >run.log\n\
            while [ \"$1\" != -o ]; do shift; done\n\
            cp recorded \"$2\"\n\
            exit {code}"
        );
        job.program("iosched-ab", &script);
        job
    }

    fn program(&self, name: &str, script: &str) {
        let path = self.programs.path().join(name);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("a program");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("its mode");
    }

    fn file(&self, name: &str) -> PathBuf {
        self.work.path().join(name)
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.file(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    fn has(&self, name: &str) -> bool {
        self.file(name).exists()
    }

    /// As the runners of both hosts run a script.
    fn bash(&self, script: &str, variables: &[(String, String)]) -> Output {
        is_clean(script);
        let file = self.file("script.sh");
        fs::write(&file, script).expect("a file");
        let path = std::env::var("PATH").expect("a path");
        let path = format!("{}:{path}", self.programs.path().display());
        let mut bash = Command::new("bash");
        bash.args(["--noprofile", "--norc", "-eo", "pipefail"])
            .arg(&file)
            .envs(variables.iter().map(|(name, value)| (name, value)))
            .env("PATH", path)
            .env("IOSCHED_STATE_DIR", self.work.path().join("state"))
            .current_dir(self.work.path())
            .stdin(Stdio::null());
        bash.output().expect("bash")
    }

    /// Files that every job leaves behind, as their readers see them: passed, skipped, failed, errors.
    fn published(&self, directory: &str) -> [usize; 4] {
        let gate: Value =
            serde_json::from_str(&self.read(&format!("{directory}/gate.json"))).expect("JSON");
        let page = self.read(&format!("{directory}/gate.md"));
        let summary = gate["summary"].as_str().expect("a summary");
        assert!(page.contains("**Gate**"), "{summary}: {page}");
        let xml = self.read(&format!("{directory}/junit.xml"));
        let report = Report::deserialize_from_str(&xml).expect("JUnit");
        let mut found = [0; 4];
        let suites = report.test_suites.iter();
        for case in suites.flat_map(|suite| &suite.test_cases) {
            found[match &case.status {
                TestCaseStatus::Success { .. } => 0,
                TestCaseStatus::Skipped { .. } => 1,
                TestCaseStatus::NonSuccess { kind, .. } => match kind {
                    NonSuccessKind::Failure => 2,
                    NonSuccessKind::Error => 3,
                },
            }] += 1;
        }
        found
    }
}

/// By shellcheck, where it is installed.
fn is_clean(script: &str) {
    let file = tempfile::NamedTempFile::new().expect("a file");
    fs::write(file.path(), script).expect("a file");
    // Variables of the host's, and of the step before.
    let arguments = ["--shell=bash", "--exclude=SC2154"];
    match Command::new("shellcheck")
        .args(arguments)
        .arg(file.path())
        .output()
    {
        Ok(output) => assert!(output.status.success(), "{output:?}"),
        Err(error) => println!("skipped: shellcheck cannot be run: {error}"),
    }
}

fn recorded() -> Value {
    let path = root().join("tests/data/report/result.json");
    serde_json::from_slice(&fs::read(path).expect("a result")).expect("JSON")
}

/// Nothing is worse.
fn good() -> Value {
    let mut result = recorded();
    for round in result["rounds"].as_array_mut().expect("a list") {
        let is_worse = round["arm"] == "bfq";
        let throughput = round["metrics"].get_mut("throughput");
        if let Some(value) = throughput.filter(|_| is_worse) {
            *value = json!(value.as_f64().expect("a number") * 2.0);
        }
    }
    result
}

fn invalid() -> Value {
    let mut result = recorded();
    for round in result["rounds"].as_array_mut().expect("a list") {
        let block = round["block"].as_u64().expect("a number");
        if round["arm"] == "bfq" && (4..8).contains(&block) {
            round["problem"] = json!("ForeignIo");
            round["exclusion"] = json!("foreign_io");
        }
    }
    result
}

fn interrupted() -> Value {
    let mut result = recorded();
    result["status"] = json!("interrupted");
    result
}

/// The result that a run leaves, how it ends, how the job ends, and its test cases.
fn endings() -> Vec<(Value, i32, i32, [usize; 4])> {
    vec![
        (good(), 0, 0, [5, 1, 0, 0]),
        (recorded(), 0, 3, [4, 1, 1, 0]),
        (invalid(), 6, 6, [0, 0, 0, 7]),
        (interrupted(), 130, 4, [0, 0, 0, 7]),
    ]
}

/// Tries to be more than an argument.
const HOSTILE: &str = "none; touch pwned $(touch pwned) `touch pwned` \"; touch pwned";

/// The machine's name, as `uname` knows it, and times that fit two rounds of a second each.
fn tells_the_truth(job: &Job) {
    let xml = job.read("iosched-results/junit.xml");
    let name = Command::new("uname").arg("-n").output().expect("uname");
    let name = String::from_utf8(name.stdout).expect("UTF-8");
    let hostname = format!(" hostname=\"{}\"", name.trim());
    assert!(xml.contains(&hostname), "{xml}");
    let report = Report::deserialize_from_str(&xml).expect("JUnit");
    let suite = &report.test_suites[0];
    let whole = suite.time.expect("the run's time").as_secs_f64();
    for case in &suite.test_cases {
        let of_arm = case.time.expect("the arm's time").as_secs_f64();
        assert!(of_arm > 1.5 && of_arm < whole, "{of_arm} of {whole} s");
    }
}
