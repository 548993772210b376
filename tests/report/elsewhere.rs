//! `iosched-read`, which runs where there is neither BPF nor root, says the same.

use std::path::{Path, PathBuf};

use crate::support::program::{Ended, Program};
use crate::{BINARY, path};

/// The program that `make` ships, or that was built beside the other one.
fn reader() -> PathBuf {
    match option_env!("IOSCHED_SHIPPED_READ") {
        Some(path) => path.into(),
        None => Path::new(BINARY).with_file_name("iosched-read"),
    }
}

fn both(program: &Program, arguments: &[&str]) -> [Ended; 2] {
    [
        program.run(arguments),
        Ended::of(program.command_of(&reader(), arguments)),
    ]
}

/// Also of a command that ends with an error.
#[track_caller]
fn says_the_same(arguments: &[&str], code: Option<i32>) {
    let program = Program::new(BINARY);
    let [one, other] = both(&program, arguments);
    assert_eq!(one.code, other.code, "{arguments:?}: {other:#?}");
    assert!(code.is_none_or(|code| one.code == Some(code)), "{one:#?}");
    assert_eq!(one.stdout, other.stdout, "{arguments:?}");
    let said = one.stderr.replace("iosched-ab: ", "iosched-read: ");
    assert_eq!(said, other.stderr, "{arguments:?}");
}

#[test]
fn the_program_without_bpf_says_the_same() {
    if !reader().exists() {
        return println!("skipped: iosched-read is not built; `cargo build -p iosched-read` does");
    }
    let result = path("result.json");
    for format in [
        "text",
        "html",
        "json",
        "csv",
        "markdown",
        "junit",
        "ktap",
        "benchfmt",
        "bmf",
        "openmetrics",
    ] {
        says_the_same(&["report", &result, "--format", format], Some(0));
    }
    says_the_same(&["report", &result, "--format", "blkparse"], Some(2));
    says_the_same(&["report", "/dev/null"], Some(2));
    says_the_same(&["report", "/nowhere"], Some(2));
    for format in ["text", "html", "json", "markdown", "junit"] {
        for mode in ["worse", "beyond-margin", "noninferior"] {
            says_the_same(&["gate", &result, "--format", format, "--mode", mode], None);
        }
    }
    for format in [
        "udev", "hwdb", "tuned", "tmpfiles", "nixos", "ansible", "gke",
    ] {
        says_the_same(&["persist", &result, "--format", format], None);
    }
    says_the_same(&["metrics"], Some(0));
}
