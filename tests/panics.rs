//! A bug of iosched in the middle of its work: the disk is as before, and the last words are what a report of the bug needs.
//! Root only: `cargo test --test panics --example test_helper -- --ignored --test-threads=1`.

mod support;

use iosched_host::scheduler;
use support::program::Program;
use support::{LoopDevice, helper};

const BINARY: &str = support::under_test!("iosched-ab");

#[test]
#[ignore = "root"]
fn after_a_panic_in_any_stage_the_disk_is_as_before_and_the_bug_is_described() {
    let disk = LoopDevice::of_a_user();
    let before = scheduler::read(&disk.device).expect("its queue");
    let program = Program::new(BINARY);
    let path = helper();
    for stage in [
        "preflight",
        "start",
        "round",
        "between",
        "switch",
        "thread",
        "report",
    ] {
        let arguments = ["panic", stage, &disk.node(), BINARY];
        let output = program.command_of(&path, &arguments).output();
        let output = output.expect("the helper");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(101), "{stage}: {said}");
        let thread = if stage == "thread" { "other" } else { "main" };
        for part in [
            "this is a bug in iosched",
            &format!("thread {thread}, tests/support/bug.rs:"),
            ": on purpose\n",
            concat!("iosched ", env!("CARGO_PKG_VERSION"), ", Linux "),
            &format!("panic {stage} {} {BINARY}\n", disk.node()),
            "Every change to the machine was undone.",
            "Please report this",
        ] {
            assert!(said.contains(part), "{stage}: {part}: {said}");
        }
        let now = scheduler::read(&disk.device).expect("its queue");
        assert_eq!(now, before, "{stage}");
        assert!(program.journals().is_empty(), "{stage}");
    }
}
