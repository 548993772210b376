//! The guardian itself is killed.

use super::*;

#[test]
#[ignore = "root"]
fn a_killed_guardian_is_replaced_and_the_new_one_guards() {
    let Running {
        disk,
        before,
        program,
        child,
    } = Running::start();
    let first = guardian_of(child.id());
    send(first, Signal::KILL);
    within(SOON, "another guardian", || {
        let now: Vec<u32> = guardians_of(child.id());
        now.len() == 1 && now[0] != first
    });
    let second = guardian_of(child.id());
    let rounds = Running::rounds(&program);
    within(SOON, "a round after it", || {
        Running::rounds(&program) > rounds
    });
    let says = format!("process {first} was killed, and process {second} replaced it");
    let notes = program.result("result")["notes"].to_string();
    assert!(notes.contains(&says), "{notes}");
    let ended = end(child, kill);
    within(SOON, "all put back", || {
        Running::is_undone(&disk, &before, &program, ended.pid)
    });
}

/// A binary that is gone cannot be started again.
#[test]
#[ignore = "root"]
fn a_guardian_that_cannot_be_replaced_ends_the_run() {
    let disk = LoopDevice::of_a_user();
    let before = scheduler::read(&disk.device).expect("its queue");
    let directory = tempfile::tempdir().expect("a directory");
    let copy = directory.path().join("iosched-ab");
    fs::copy(BINARY, &copy).expect("a copy");
    let program = Program::new(&copy.display().to_string());
    let node = disk.node();
    let how = [
        "--rounds",
        "40",
        "-o",
        "result",
        "--",
        "sh",
        "-c",
        &format!("{READ_ONE}; sleep 0.1"),
    ];
    let mut child =
        program.start(&[&["run", &node, "--arm", "none", "--arm", "bfq"], &how[..]].concat());
    child.until(Duration::from_secs(60), "a round", || {
        Running::rounds(&program) >= 1
    });
    let guardian = guardian_of(child.id());
    fs::remove_file(&copy).expect("no binary");
    send(guardian, Signal::KILL);
    let ended = child.end().ends(
        1,
        &[
            "the guardian process was killed",
            "could not be started",
            "every change was undone",
        ],
    );
    assert!(Running::is_undone(&disk, &before, &program, ended.pid));
    assert_eq!(program.result("result")["status"], "failed");
}
