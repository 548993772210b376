//! Files that lead to actions, as docs/security.md lists them: each row against the binary.

mod support;

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::Path;

use serde_json::Value;
use support::program::Program;

const BINARY: &str = support::under_test!("iosched-ab");
const NOBODY: u32 = 65534;

const STUDY: &str = r#"
name = "innocent"
title = "Reads"
device = "ram"
arms = ["none", "mq-deadline"]
metrics = ["iops:5"]

[times]
ramp_s = 0
round_s = 1
blocks = 1

[[cell]]
name = "reads"
command = ["touch", "it-ran"]
"#;

/// A row of the table: what it is, a file of that kind, and the command that uses it, in which `FILE` is its name.
struct Row {
    what: &'static str,
    content: String,
    command: &'static [&'static str],
}

fn rows() -> Vec<Row> {
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/report/result.json");
    let sample = fs::read_to_string(sample).expect("a result");
    let mut interrupted: Value = serde_json::from_str(&sample).expect("JSON");
    interrupted["status"] = "interrupted".into();
    vec![
        Row {
            what: "a study's file",
            content: STUDY.to_owned(),
            command: &["study", "./FILE"],
        },
        Row {
            what: "a fio job file",
            content: "[reads]\nrw=randread\n".to_owned(),
            command: &[
                "run",
                "scratch:ram",
                "--arm",
                "none",
                "--arm",
                "bfq",
                "--job",
                "FILE",
                "--dry-run",
            ],
        },
        Row {
            what: "a result file for `run --resume`",
            content: interrupted.to_string(),
            command: &["run", "--resume", "FILE"],
        },
        Row {
            what: "a result file for `persist`",
            content: sample,
            command: &["persist", "FILE"],
        },
    ]
}

/// `tests/study.rs` has a result of a study.
const ELSEWHERE: [&str; 1] = ["a result file for `study --resume`"];

#[test]
fn the_table_lists_what_is_tested() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/security.md");
    let page = fs::read_to_string(page).expect("the page");
    let mut listed: Vec<&str> = page
        .lines()
        .filter(|line| line.starts_with("| ") && line.contains("otherwise `--trust`"))
        .filter_map(|line| line.split(" | ").next()?.strip_prefix("| "))
        .collect();
    let mut tested: Vec<&str> = rows().iter().map(|row| row.what).collect();
    tested.extend(ELSEWHERE);
    listed.sort_unstable();
    tested.sort_unstable();
    assert_eq!(listed, tested);
}

/// Runs the row's command on this file: refused, and with --trust not for that reason.
#[track_caller]
fn refused(program: &Program, row: &Row, file: &str, why: &str) {
    let mut words: Vec<String> = row
        .command
        .iter()
        .map(|it| it.replace("FILE", file))
        .collect();
    let run = |words: &[String]| {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        program.run(&words)
    };
    run(&words).ends(5, &["another user", why, "--trust"]);
    assert!(!program.files().contains(&"it-ran".to_owned()));
    // The file is wanted, without being run.
    match row.command[0] {
        "study" => words.push("--print".to_owned()),
        _ => words.push("--trust".to_owned()),
    }
    let trusted = run(&words);
    assert!(!trusted.stderr.contains(why), "{}: {trusted:#?}", row.what);
}

#[test]
fn a_file_that_others_can_write_is_refused() {
    for row in rows() {
        let program = Program::new(BINARY);
        let path = program.directory().join("file.toml");
        fs::write(&path, &row.content).expect("a file");
        for mode in [0o666, 0o664] {
            fs::set_permissions(&path, Permissions::from_mode(mode)).expect("its mode");
            refused(
                &program,
                &row,
                "file.toml",
                "allows other users to write it",
            );
        }
        fs::set_permissions(&path, Permissions::from_mode(0o600)).expect("its mode");
        if row.command[1] != "--resume" {
            symlink(&path, program.directory().join("link.toml")).expect("a link");
            refused(&program, &row, "link.toml", "symbolic link");
        }
    }
}

#[test]
#[ignore = "root"]
fn a_file_that_another_user_owns_or_can_replace_is_refused() {
    for row in rows() {
        let program = Program::new(BINARY);
        let at = |name: &str| program.directory().join(name);
        for directory in ["theirs", "open"] {
            fs::create_dir(at(directory)).expect("a directory");
            fs::write(at(directory).join("file.toml"), &row.content).expect("a file");
        }
        fs::write(at("file.toml"), &row.content).expect("a file");
        chown(at("file.toml"), Some(NOBODY), Some(NOBODY)).expect("another owner");
        chown(at("theirs"), Some(NOBODY), Some(NOBODY)).expect("another owner");
        fs::set_permissions(at("open"), Permissions::from_mode(0o777)).expect("its mode");
        refused(&program, &row, "file.toml", "belongs to user 65534");
        refused(
            &program,
            &row,
            "theirs/file.toml",
            "which belongs to user 65534",
        );
        refused(
            &program,
            &row,
            "open/file.toml",
            "allows other users to replace it",
        );
    }
}

/// With `--trust` the same file runs its command.
#[test]
#[ignore = "root"]
fn a_study_that_is_trusted_runs() {
    let program = Program::new(BINARY);
    let path = program.directory().join("study.toml");
    fs::write(&path, STUDY).expect("a study");
    fs::set_permissions(&path, Permissions::from_mode(0o666)).expect("its mode");
    program
        .run(&["study", "./study.toml"])
        .ends(5, &["another user", "--trust"]);
    assert!(!program.files().contains(&"it-ran".to_owned()));
    let trusted = program.run(&["study", "./study.toml", "--trust", "-o", "result"]);
    assert!(
        program.files().contains(&"it-ran".to_owned()),
        "{trusted:#?}"
    );
}

#[test]
#[ignore = "root"]
fn state_below_a_directory_of_another_user_is_refused() {
    let program = Program::new(BINARY);
    let theirs = program.directory().join("theirs");
    fs::create_dir(&theirs).expect("a directory");
    chown(&theirs, Some(NOBODY), Some(NOBODY)).expect("another owner");
    let run = [
        "run",
        "scratch:ram",
        "--arm",
        "none",
        "--arm",
        "mq-deadline",
        "--rounds",
        "1",
        "--",
        "touch",
        "it-ran",
    ];
    let mut command = program.command(&run);
    command.env("IOSCHED_STATE_DIR", theirs.join("state"));
    support::program::Ended::of(command)
        .ends(5, &["another user can replace", "IOSCHED_STATE_DIR"]);
    assert!(!theirs.join("state").exists());
    assert!(!program.files().contains(&"it-ran".to_owned()));
}

#[test]
fn the_name_of_a_study_stays_in_the_directory() {
    let program = Program::new(BINARY);
    for name in ["x/../../elsewhere", "", "a b", "..\\u001b[2J", "/etc/x"] {
        let text = STUDY.replace("\"innocent\"", &format!("\"{name}\""));
        fs::write(program.directory().join("a.toml"), text).expect("a study");
        let ended = program.run(&["study", "./a.toml", "--dry-run"]);
        ended.ends(2, &["a.toml:2: the name of a study"]);
    }
}

/// A terminal's escape sequences and marks of direction.
#[test]
fn what_a_study_says_is_printed_without_hidden_characters() {
    let program = Program::new(BINARY);
    let text = STUDY
        .replace(
            "\"Reads\"",
            "\"\\u001b]0;title\\u0007\"\nabout = \"\\u202eesrever \\u009b31m\"",
        )
        .replace("\"reads\"", "\"cell\\u001b[2J\"");
    fs::write(program.directory().join("a.toml"), text).expect("a study");
    let ended = program.run(&["study", "./a.toml", "--dry-run"]);
    let said = ended.ends(0, &[]).stdout;
    let is_hidden = |c: char| c != '\n' && (c.is_control() || c == '\u{202e}');
    assert!(!said.contains(is_hidden), "{said:?}");
    let arms = [
        "--arm",
        "x\u{202e}y=none",
        "--arm",
        "bfq",
        "--dry-run",
        "--workload",
        "randread",
    ];
    let run = [&["run", "scratch:ram"][..], &arms].concat();
    program.run(&run).ends(2, &["cannot be seen"]);
}
