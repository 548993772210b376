//! The programs that read the formats, where they are installed.

use std::process::Command;

use crate::{data, path};

fn output(program: &str, arguments: &[&str]) -> Option<std::process::Output> {
    match Command::new(program).args(arguments).output() {
        Ok(output) => Some(output),
        Err(error) => {
            println!("skipped: {program} cannot be run: {error}");
            None
        }
    }
}

#[test]
fn benchstat_reads_the_benchmark_format() {
    let file = path("result.bench");
    let arguments = ["-col", "/arm", "-filter", ".unit:throughput-B/s", &file];
    let Some(output) = output("benchstat", &arguments) else {
        return;
    };
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && output.stderr.is_empty(),
        "{output:?}"
    );
    // 12 blocks of each arm, and half the throughput.
    for expected in ["none", "bfq", "throughput-B/s", "p=0.000 n=12", "-49.85%"] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
}

#[test]
fn promtool_finds_no_fault_with_the_metrics() {
    let stdin = std::fs::File::open(data("result.prom")).expect("a file");
    let checked = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(stdin)
        .output();
    match checked {
        Ok(output) => assert!(output.status.success(), "{output:?}"),
        Err(error) => println!("skipped: promtool cannot be run: {error}"),
    }
}

#[test]
fn the_junit_report_is_well_formed() {
    let Some(output) = output("xmllint", &["--noout", &path("result.xml")]) else {
        return;
    };
    assert!(output.status.success(), "{output:?}");
}
