//! Signals while a report computes, and while nobody reads what it prints.

use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::*;

fn sample() -> String {
    fs::read_to_string(data("result.json")).expect("a result")
}

/// The signal ends it soon, and in order.
#[track_caller]
fn is_ended(mut child: Child, signal: Signal, code: i32) {
    std::thread::sleep(Duration::from_secs(2));
    let ended = child.try_wait().expect("a state");
    assert!(ended.is_none(), "it ended before the signal");
    let sent = Instant::now();
    kill_process(Pid::from_child(&child), signal).expect("a signal");
    let status = child.wait().expect("its end");
    assert!(
        sent.elapsed() < Duration::from_secs(5),
        "{:?}",
        sent.elapsed()
    );
    assert_eq!((status.code(), status.signal()), (Some(code), None));
}

/// A result of so many rounds that its conclusions take long.
#[test]
fn a_signal_ends_a_long_report_at_once() {
    let program = Program::new(BINARY);
    let mut result: Value = serde_json::from_str(&sample()).expect("a result");
    result["status"] = "running".into();
    let rounds = result["rounds"].as_array().expect("rounds").clone();
    let planned = result["plan"]["rounds"].as_array().expect("a plan").clone();
    let blocks = planned.last().expect("a round")["block"]
        .as_u64()
        .expect("a block")
        + 1;
    let repeat = |all: &[Value]| -> Vec<Value> {
        let again = |index: usize| {
            let mut one = all[index % all.len()].clone();
            let before = blocks * (index / all.len()) as u64;
            one["index"] = index.into();
            one["block"] = (one["block"].as_u64().expect("a block") + before).into();
            one
        };
        (0..all.len() * 100).map(again).collect()
    };
    result["rounds"] = repeat(&rounds).into();
    result["plan"]["rounds"] = repeat(&planned).into();
    result["design"]["stopping"] = json!({ "kind": "open" });
    fs::write(program.file("large"), result.to_string()).expect("a file");
    for words in [&["report", "large"][..], &["gate", "large"]] {
        let mut command = program.command(words);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped());
        is_ended(child.spawn().expect("started"), Signal::INT, 130);
    }
}

#[test]
fn a_signal_ends_what_nobody_reads() {
    let program = Program::new(BINARY);
    fs::write(program.file("result"), sample()).expect("a file");
    // Larger than a pipe.
    let mut command = program.command(&["report", "result", "--format", "json"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped());
    is_ended(child.spawn().expect("started"), Signal::TERM, 143);
}
