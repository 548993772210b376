//! The composite action for GitHub.

use std::collections::BTreeMap;
use std::process::{Command, Output};

use serde_json::Value;

use super::{HOSTILE, Job, SHORT_RUN, endings, good, recorded, root, text, yaml};

const ACTION: &str = "contrib/ci/github/action.yml";

fn action() -> Value {
    yaml(ACTION)
}

fn step<'a>(action: &'a Value, name: &str) -> &'a Value {
    let steps = action["runs"]["steps"].as_array().expect("steps");
    let found = steps.iter().find(|step| step["name"] == name);
    found.unwrap_or_else(|| panic!("no step {name}"))
}

/// The inputs: the defaults, and what the user gives.
fn inputs(action: &Value, given: &[(&str, &str)]) -> BTreeMap<String, String> {
    let declared = action["inputs"].as_object().expect("inputs");
    let mut inputs: BTreeMap<String, String> = declared
        .iter()
        .map(|(name, input)| (name.clone(), text(input, "/default").to_owned()))
        .collect();
    for (name, value) in given {
        let replaced = inputs.insert((*name).to_owned(), (*value).to_owned());
        assert!(replaced.is_some(), "{name} is not an input");
    }
    inputs
}

/// Runs one step as the runner does.
fn run(job: &Job, name: &str, given: &[(&str, &str)]) -> Output {
    let action = action();
    let inputs = inputs(&action, given);
    let step = step(&action, name);
    assert_eq!(step["shell"], "bash");
    let directory = root().join(ACTION);
    let directory = directory
        .parent()
        .expect("a directory")
        .display()
        .to_string();
    let variables = step["env"].as_object().expect("variables").iter();
    let mut variables: Vec<(String, String)> = variables
        .map(|(name, value)| {
            let mut value = value.as_str().expect("a text").to_owned();
            value = value.replace("${{ github.action_path }}", &directory);
            for (input, given) in &inputs {
                value = value.replace(&format!("${{{{ inputs.{input} }}}}"), given);
            }
            (name.clone(), value)
        })
        .collect();
    for name in ["GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY"] {
        let path = job.file(name).display().to_string();
        variables.push((name.to_owned(), path));
    }
    job.bash(text(step, "/run"), &variables)
}

#[test]
fn no_input_becomes_part_of_a_script() {
    let action = action();
    let steps = action["runs"]["steps"].as_array().expect("steps");
    for script in steps.iter().filter_map(|step| step["run"].as_str()) {
        assert!(!script.contains("${{"), "{script}");
    }
    // The reports are made whatever became of the run.
    assert!(text(step(&action, "Gate"), "/if").contains("!cancelled()"));
    assert!(text(step(&action, "Publish"), "/if").contains("!cancelled()"));
}

#[test]
fn the_page_uses_inputs_that_exist() {
    let jobs = &super::of_the_page(0)["jobs"];
    let given = jobs["schedulers"]["steps"][0]["with"].as_object();
    let given: Vec<(&str, &str)> = given
        .expect("inputs")
        .iter()
        .map(|(name, value)| (&**name, value.as_str().expect("a text")))
        .collect();
    let job = Job::with_recorded(&good(), 0);
    assert!(run(&job, "Run", &given).status.success());
    let ended = run(&job, "Gate", &given);
    assert_eq!(ended.status.code(), Some(4), "{ended:?}");
}

#[test]
fn the_job_ends_as_the_gate_and_publishes_what_it_found() {
    for (result, run_code, code, cases) in endings() {
        let job = Job::with_recorded(&result, run_code);
        assert!(run(&job, "Install", &[]).status.success());
        assert_eq!(run(&job, "Run", &[]).status.code(), Some(run_code));
        let ended = run(&job, "Gate", &[]);
        assert_eq!(ended.status.code(), Some(code), "{ended:?}");
        assert_eq!(job.published("iosched-results"), cases);
        assert_eq!(job.read("GITHUB_OUTPUT"), format!("exit-code={code}\n"));
        let page = job.read("iosched-results/gate.md");
        assert_eq!(job.read("GITHUB_STEP_SUMMARY"), page);
    }
}

#[test]
fn inputs_are_arguments_as_they_stand() {
    let job = Job::with_recorded(&good(), 0);
    let given = [
        ("device", "sda; touch pwned"),
        (
            "arms",
            &*format!("none\ntight=kyber,iosched/read_lat_nsec=1000000\n\n{HOSTILE}"),
        ),
        ("workload", "a $(touch pwned)"),
        ("run-options", "--rounds=8\n--metric=throughput:5\n"),
        ("directory", "a directory"),
    ];
    assert!(run(&job, "Run", &given).status.success());
    let expected = [
        "run",
        "sda; touch pwned",
        "-o",
        "a directory/result.json",
        "--force",
        "--workload",
        "a $(touch pwned)",
        "--arm",
        "none",
        "--arm",
        "tight=kyber,iosched/read_lat_nsec=1000000",
        "--arm",
        HOSTILE,
        "--rounds=8",
        "--metric=throughput:5",
    ];
    assert_eq!(job.read("run.log").lines().collect::<Vec<_>>(), expected);
    assert!(!job.has("pwned"));
    let given = [
        ("directory", "a directory"),
        ("gate-options", "--require-verdict\n--metric=total_p99\n"),
    ];
    let ended = run(&job, "Gate", &given);
    assert_eq!(ended.status.code(), Some(4), "{ended:?}");
    assert_eq!(job.published("a directory"), [1, 0, 0, 1]);
}

#[test]
fn a_gate_has_baselines_and_refuses_what_is_none() {
    let job = Job::with_recorded(&recorded(), 0);
    assert!(run(&job, "Run", &[]).status.success());
    let earlier = [("baselines", "recorded\nrecorded\n")];
    let ended = run(&job, "Gate", &earlier);
    assert!(ended.status.success(), "as before: {ended:?}");
    assert!(job.read("GITHUB_STEP_SUMMARY").contains("2 earlier runs"));
    let none = [("baselines", "no-such-file")];
    assert_eq!(run(&job, "Gate", &none).status.code(), Some(2));
    let unknown = [("gate-options", "--metric=iops")];
    assert_eq!(run(&job, "Gate", &unknown).status.code(), Some(2));
}

#[test]
fn a_run_that_leaves_nothing_has_no_reports() {
    let job = Job::with_recorded(&good(), 0);
    // An old result is not taken for that of this run.
    assert!(run(&job, "Run", &[]).status.success());
    job.program(
        "iosched-ab",
        &format!("[ $1 = run ] && exit 5; exec {} \"$@\"", super::BINARY),
    );
    assert_eq!(run(&job, "Run", &[]).status.code(), Some(5));
    assert_eq!(run(&job, "Gate", &[]).status.code(), Some(2));
    assert!(!job.has("GITHUB_STEP_SUMMARY"));
}

#[test]
fn a_runner_without_the_tool_builds_it_from_the_sources_of_the_action() {
    let job = Job::new();
    if Command::new("sh")
        .args(["-c", "command -v iosched-ab"])
        .output()
        .is_ok_and(|found| found.status.success())
    {
        println!("skipped: iosched-ab is installed here");
        return;
    }
    // No package is installed by a test.
    job.program("apt-get", "exit 1");
    job.program("make", "pwd >>make.log; echo \"$@\" >>make.log; test -x \"$2/contrib/setup.sh\" -a -f \"$2/Makefile\"");
    let script = text(step(&action(), "Install"), "/run").to_owned();
    assert!(script.contains("\"$SOURCE/contrib/setup.sh\" build demo\n"));
    let script = script.replace("\"$SOURCE/contrib/setup.sh\" build demo\n", "");
    let source = root()
        .join("contrib/ci/github/../../..")
        .display()
        .to_string();
    let ended = job.bash(&script, &[("SOURCE".to_owned(), source.clone())]);
    assert!(ended.status.success(), "{ended:?}");
    let log = job.read("make.log");
    let calls: Vec<&str> = log.lines().skip(1).step_by(2).collect();
    assert_eq!(
        calls,
        [format!("-C {source}"), format!("-C {source} install")]
    );
}

#[test]
fn actionlint_finds_no_fault() {
    // It reads workflows, and with one the action that it uses.
    let job = Job::new();
    let directory = job.file(".github/workflows");
    std::fs::create_dir_all(&directory).expect("a directory");
    std::fs::create_dir_all(job.file("action")).expect("a directory");
    std::fs::copy(root().join(ACTION), job.file("action/action.yml")).expect("a copy");
    let workflow = "on: push\njobs:\n  schedulers:\n    runs-on: ubuntu-24.04\n    steps:\n      \
        - uses: ./action\n        with:\n          device: scratch:ssd\n";
    std::fs::write(directory.join("ci.yml"), workflow).expect("a file");
    let git = Command::new("git")
        .args(["init", "-q"])
        .current_dir(job.file(""))
        .output();
    assert!(git.is_ok_and(|output| output.status.success()));
    match Command::new("actionlint")
        .current_dir(job.file(""))
        .output()
    {
        Ok(output) => assert!(output.status.success(), "{output:?}"),
        Err(error) => println!("skipped: actionlint cannot be run: {error}"),
    }
}

#[test]
#[ignore = "root"]
fn the_action_runs_on_a_scratch_device() {
    let job = Job::with_tool();
    assert!(run(&job, "Install", &[]).status.success());
    let ended = run(&job, "Run", &[("run-options", SHORT_RUN)]);
    assert!(ended.status.success(), "{ended:?}");
    let ended = run(&job, "Gate", &[("gate-options", "--require-verdict\n")]);
    assert_eq!(ended.status.code(), Some(4), "{ended:?}");
    assert_eq!(job.published("iosched-results"), [0, 0, 0, 2]);
    super::tells_the_truth(&job);
}
