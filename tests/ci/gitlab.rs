//! The job template for GitLab.

use std::process::Output;

use serde_json::Value;

use super::{HOSTILE, Job, SHORT_RUN, endings, good, recorded, text, yaml};

fn template() -> Value {
    yaml("contrib/ci/gitlab.yml")[".iosched"].clone()
}

fn lines(template: &Value, section: &str) -> String {
    let lines = template[section].as_array().expect("lines").iter();
    let lines = lines.map(|line| line.as_str().expect("a text"));
    lines.collect::<Vec<_>>().join("\n")
}

/// Runs both sections in one shell, as the runner does.
fn run(job: &Job, given: &[(&str, &str)]) -> Output {
    let template = template();
    let declared = template["variables"].as_object().expect("variables");
    let mut variables: Vec<(String, String)> = declared
        .keys()
        .map(|name| (name.clone(), text(&declared[name], "").to_owned()))
        .collect();
    for (name, value) in given {
        let known = variables.iter_mut().find(|(other, _)| other == name);
        *known.unwrap_or_else(|| panic!("no variable {name}")) =
            ((*name).to_owned(), (*value).to_owned());
    }
    let script = lines(&template, "before_script") + "\n" + &lines(&template, "script");
    job.bash(&script, &variables)
}

#[test]
fn the_page_uses_variables_that_exist() {
    let page = super::of_the_page(1);
    assert_eq!(page["schedulers"]["extends"], ".iosched");
    let given = page["schedulers"]["variables"].as_object();
    let given: Vec<(&str, &str)> = given
        .expect("variables")
        .iter()
        .map(|(name, value)| (&**name, value.as_str().expect("a text")))
        .collect();
    let ended = run(&Job::with_recorded(&good(), 0), &given);
    assert_eq!(ended.status.code(), Some(4), "{ended:?}");
}

#[test]
fn the_job_ends_as_the_gate_and_publishes_what_it_found() {
    for (result, run_code, code, cases) in endings() {
        let job = Job::with_recorded(&result, run_code);
        let ended = run(&job, &[]);
        assert_eq!(ended.status.code(), Some(code), "{ended:?}");
        assert_eq!(job.published("iosched-results"), cases);
    }
    let template = template();
    let artifacts = &template["artifacts"];
    assert_eq!(artifacts["when"], "always");
    assert_eq!(artifacts["reports"]["junit"], "iosched-results/junit.xml");
    assert_eq!(artifacts["paths"][0], "iosched-results/");
}

/// For instance one that could not restore the device.
#[test]
fn a_run_that_failed_does_not_pass() {
    let job = Job::with_recorded(&good(), 1);
    assert_eq!(run(&job, &[]).status.code(), Some(1));
    assert_eq!(job.published("iosched-results"), [5, 1, 0, 0]);
}

#[test]
fn variables_are_arguments_as_they_stand() {
    let job = Job::with_recorded(&recorded(), 0);
    let ended = run(
        &job,
        &[
            ("IOSCHED_DEVICE", "sda; touch pwned"),
            ("IOSCHED_ARMS", &format!("none\n{HOSTILE}\n")),
            ("IOSCHED_WORKLOAD", ""),
            ("IOSCHED_RUN_OPTIONS", "--job=db.fio\n"),
            ("IOSCHED_GATE_OPTIONS", "--mode=beyond-margin\n--arm=bfq\n"),
            ("IOSCHED_BASELINES", "recorded\n"),
        ],
    );
    assert!(ended.status.success(), "as before: {ended:?}");
    let expected = [
        "run",
        "sda; touch pwned",
        "-o",
        "iosched-results/result.json",
        "--force",
        "--arm",
        "none",
        "--arm",
        HOSTILE,
        "--job=db.fio",
    ];
    assert_eq!(job.read("run.log").lines().collect::<Vec<_>>(), expected);
    assert!(!job.has("pwned"));
    assert_eq!(job.published("iosched-results"), [0, 3, 0, 0]);
}

#[test]
#[ignore = "root"]
fn the_job_runs_on_a_scratch_device() {
    let job = Job::with_tool();
    let options = [
        ("IOSCHED_RUN_OPTIONS", SHORT_RUN),
        ("IOSCHED_GATE_OPTIONS", "--require-verdict\n"),
    ];
    let ended = run(&job, &options);
    assert_eq!(ended.status.code(), Some(4), "{ended:?}");
    assert_eq!(job.published("iosched-results"), [0, 0, 0, 2]);
    super::tells_the_truth(&job);
}
