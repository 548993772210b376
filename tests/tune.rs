//! Searches for the best arm on simulated disks. Root only: `cargo test --test tune -- --ignored --test-threads=1`.

mod support;

use std::fs;
use std::path::Path;
use std::time::Duration;

use iosched_host::safety::journal::Journal;
use iosched_host::scratch::Scratch;
use iosched_result::types::scratch::model::DiskModel;
use serde_json::Value;
use support::program::Program;
use support::traces::within;

const BINARY: &str = support::under_test!("iosched-ab");
const SHORT: [&str; 4] = ["--round-time", "500ms", "--ramp", "200ms"];

/// Empty while it is not there, in the middle of a switch.
fn queue(name: &str, attribute: &str) -> String {
    let path = Path::new("/sys/block")
        .join(name)
        .join("queue")
        .join(attribute);
    fs::read_to_string(path)
        .unwrap_or_default()
        .trim()
        .to_owned()
}

/// An SSD whose owner has chosen mq-deadline, under which a reader beside a writer waits ten times as long as under others.
fn badly_set() -> (Scratch, String) {
    let journal = Journal::create().expect("a journal");
    let scratch = Scratch::create(DiskModel::Ssd, 256 << 20, &journal).expect("a scratch device");
    let name = scratch.device_name().to_owned();
    let set = |attribute: &str, value: &str| {
        let path = Path::new("/sys/block")
            .join(&name)
            .join("queue")
            .join(attribute);
        fs::write(path, value).expect("an attribute to write");
    };
    set("scheduler", "mq-deadline");
    set("iosched/read_expire", "300");
    (scratch, name)
}

fn search<'a>(name: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let of_all = [
        "tune",
        name,
        "--workload",
        "probe-hog",
        "--destroy-data",
        "--yes-destroy",
        name,
        "--prefer",
        "probe.read_clat_mean",
        "--keep",
        "hog.throughput:50",
        "-o",
        "result",
    ];
    [&of_all[..], &SHORT, more].concat()
}

fn rounds(result: &Value) -> usize {
    let stages = result["stages"].as_array().map_or(0, |stages| {
        let each = stages
            .iter()
            .map(|it| it["result"]["rounds"].as_array().map_or(0, Vec::len));
        each.sum()
    });
    stages + result["referee"]["rounds"].as_array().map_or(0, Vec::len)
}

/// Killed in its first stage, it leaves the disk as it was, and goes on to its end.
#[test]
#[ignore = "root"]
fn a_search_that_was_killed_goes_on_and_fresh_rounds_give_the_answer() {
    let ((_scratch, name), program) = (badly_set(), Program::new(BINARY));
    let arms = "# two of them\nnone\n\nkyber\nmq-deadline,iosched/no_such=1\n";
    fs::write(program.file("arms"), arms).expect("a file");
    program
        .run(&search(&name, &["--space", "arms"]))
        .ends(2, &["no_such"]);
    fs::write(
        program.file("arms"),
        arms.replace("mq-deadline,iosched/no_such=1\n", ""),
    )
    .expect("a file");
    let mut child = program.start(&search(&name, &["--space", "arms"]));
    within(Duration::from_secs(60), "some rounds", || {
        Path::new(&program.file("result")).exists() && rounds(&program.result("result")) >= 4
    });
    child.child().kill().expect("a process to kill");
    drop(child);
    within(Duration::from_secs(10), "the guardian", || {
        queue(&name, "scheduler").contains("[mq-deadline]")
    });
    within(Duration::from_secs(10), "the guardian", || {
        queue(&name, "iosched/read_expire") == "300"
    });
    let before = rounds(&program.result("result"));
    // There is no answer in it.
    program
        .run(&["gate", "result"])
        .ends(6, &["claims nothing"]);
    program
        .run(&["run", "--resume", "result"])
        .ends(2, &["result of a search"]);
    let resume = [
        "tune",
        "--resume",
        "result",
        "--destroy-data",
        "--yes-destroy",
        &name,
    ];
    let ended = program.run(&resume).ends(0, &["continuing after"]);
    assert!(ended.stdout.starts_with("Use "), "{}", ended.stdout);
    let result = program.result("result");
    assert_eq!(result["status"], "complete");
    assert!(rounds(&result) > before);
    let referee = result["referee"]["rounds"].as_array().expect("rounds");
    assert!(referee.len() >= 40, "20 blocks: {}", referee.len());
    let rows = result["referee"]["comparisons"]
        .as_array()
        .expect("comparisons");
    let row = rows
        .iter()
        .find(|row| row["metric"]["name"] == "probe.read_clat_mean");
    assert_eq!(row.expect("a row")["verdict"], "better");
    program
        .run(&["gate", "result", "--arm", "none"])
        .ends(0, &[]);
    let page = program
        .run(&["report", "result", "--format", "html"])
        .ends(0, &[]);
    assert!(page.stdout.contains("The path of the search"));
    program.run(&resume).ends(2, &["is complete"]);
    assert!(
        queue(&name, "scheduler").contains("[mq-deadline]"),
        "as it was"
    );
    assert_eq!(queue(&name, "iosched/read_expire"), "300");
}

fn proposer(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("contrib")
        .join(name);
    path.display().to_string()
}

/// By both programs of contrib/; what they name is tried, and the referee judges.
#[test]
#[ignore = "root"]
fn programs_name_arms() {
    let ((_scratch, name), program) = (badly_set(), Program::new(BINARY));
    let optuna = support::python().map(|python| {
        format!(
            "{} {}",
            python.get_program().display(),
            proposer("propose-optuna.py")
        )
    });
    if optuna.is_none() {
        println!("skipped: Optuna is not installed (contrib/setup.sh test)");
    }
    for command in std::iter::once(proposer("propose-random")).chain(optuna) {
        let more = [
            "--propose",
            &command,
            "--proposals",
            "5",
            "--budget",
            "60s",
            "--force",
        ];
        let ended = program.run(&search(&name, &more)).ends(0, &["proposals"]);
        assert!(ended.stdout.contains("The referee"), "{}", ended.stdout);
        let result = program.result("result");
        let candidates = result["candidates"].as_array().expect("candidates");
        let named = candidates
            .iter()
            .filter(|it| it["from"] == "proposal")
            .count();
        assert!((1..=5).contains(&named), "{named} by {command}");
        assert!(
            result["referee"]["rounds"]
                .as_array()
                .is_some_and(|it| it.len() >= 16)
        );
    }
    assert!(
        queue(&name, "scheduler").contains("[mq-deadline]"),
        "as it was"
    );
}

#[test]
#[ignore = "root"]
fn what_cannot_be_searched_is_refused_and_nothing_is_changed() {
    let ((_scratch, name), program) = (badly_set(), Program::new(BINARY));
    let fio = ["tune", &name, "--workload", "randread", "-o", "result"];
    program.run(&fio).ends(2, &["--prefer throughput"]);
    let prefer = |more: &[&'static str]| [&fio[..], &["--prefer", "iops"], more].concat();
    program
        .run(&[
            "tune",
            &name,
            "--workload",
            "live",
            "--prefer",
            "iops",
            "-o",
            "result",
        ])
        .ends(2, &["run --workload live"]);
    fs::write(program.file("empty"), "# nothing\n").expect("a file");
    program
        .run(&prefer(&["--space", "empty"]))
        .ends(2, &["has no arms"]);
    program
        .run(&prefer(&["--space", "missing"]))
        .ends(2, &["cannot read"]);
    program
        .run(&prefer(&["--propose", "a 'b"]))
        .ends(2, &["is no command"]);
    program
        .run(&prefer(&[
            "--budget",
            "20s",
            "--round-time",
            "2s",
            "--ramp",
            "1s",
        ]))
        .ends(2, &["the budget is too short"]);
    program
        .run(&prefer(&["--propose", "no-such-program"]))
        .ends(2, &["there is no program"]);
    fs::write(program.file("twice"), "bfq\nbfq\n").expect("a file");
    program
        .run(&prefer(&["--space", "twice"]))
        .ends(2, &["twice has \"bfq\" twice"]);
    fs::remove_file(program.file("twice")).expect("a file");
    let room = ["--budget", "150s", "--round-time", "1s", "--ramp", "100ms"];
    let fits = program
        .run(&prefer(&[&room[..], &["--dry-run"]].concat()))
        .ends(0, &[]);
    assert!(
        fits.stdout.contains("the budget has no time for it"),
        "{}",
        fits.stdout
    );
    let dry = program.run(&prefer(&["--dry-run"])).ends(0, &[]);
    assert!(
        dry.stdout.contains("mq-deadline,iosched/fifo_batch=1"),
        "{}",
        dry.stdout
    );
    assert!(
        queue(&name, "scheduler").contains("[mq-deadline]"),
        "as it was"
    );
    assert_eq!(program.files(), ["empty"]);
}

#[test]
#[ignore = "root"]
fn a_program_that_fails_or_names_what_is_not_the_disks_is_no_tuner() {
    let ((_scratch, name), program) = (badly_set(), Program::new(BINARY));
    let times = [
        "--round-time",
        "500ms",
        "--ramp",
        "100ms",
        "--budget",
        "60s",
        "--force",
    ];
    let asks = |command: &'static str| {
        let of_all = [
            "tune",
            &name,
            "--workload",
            "randread",
            "--prefer",
            "iops",
            "-o",
            "result",
        ];
        let line = [&of_all[..], &["--propose", command], &times].concat();
        program.run(&line)
    };
    asks("sh -c 'exit 3'").ends(1, &["exit status: 3", "--resume"]);
    let evil = "#!/bin/sh\necho none,exec:/bin/true,undo:/bin/true\n";
    fs::write(program.file("evil"), evil).expect("a script");
    asks("sh evil").ends(0, &[]);
    let skipped = program.result("result")["skipped"].to_string();
    assert!(
        skipped.contains("is not a setting of the disk"),
        "{skipped}"
    );
    assert!(
        queue(&name, "scheduler").contains("[mq-deadline]"),
        "as it was"
    );
}
