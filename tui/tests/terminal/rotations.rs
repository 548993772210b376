//! A rotation keeps what was set, pauses, and tells what it found.

use std::time::Duration;

use iosched_result::types::result::{ResultFile, Round};

use super::pty::Terminal;
use super::support::LoopDevice;
use super::support::program::Program;
use super::{BINARY, ENTER, Load, SIZE_BYTES, eventually, has_rounds, is_a_result, quit, state};

#[test]
#[ignore = "root"]
fn a_rotation_keeps_what_was_set_in_its_turns_and_after_it() {
    let (disk, program) = (LoopDevice::in_memory(SIZE_BYTES), Program::new(BINARY));
    disk.set("scheduler", "mq-deadline");
    disk.set("iosched/read_expire", "80"); // a multiple of a jiffy
    disk.set("nr_requests", "32");
    let before = state(&disk);
    let _load = Load::on(&disk);
    let arguments = [&*disk.node(), "-i", "0.25", "--arm", "none"];
    let mut terminal = Terminal::start(&program, BINARY, &arguments, (120, 40));
    terminal.until("scheduler mq-deadline");
    terminal.until("reads");
    terminal.keys("F");
    terminal.until("[x] mq-deadline (present)");
    terminal.until("[x] none");
    terminal.keys("hhh");
    terminal.until("3 s each");
    terminal.keys(ENTER);
    terminal.until_screen("a round of each arm", |screen| {
        let arms = ["mq-deadline (present)", "none"];
        arms.iter().all(|arm| has_rounds(screen, arm))
    });
    terminal.keys("x");
    terminal.until("/iosched-live-");
    let json = program.result(&program.export("iosched-live-").expect("the export"));
    is_a_result(&json, "mq-deadline (present)");
    let file: ResultFile = serde_json::from_value(json).expect("a result");
    let present = |round: &&Round| round.arm == "mq-deadline (present)";
    for round in file.rounds.iter().filter(present) {
        let settings = &round.evidence.applied.effective.settings;
        assert_eq!(settings["iosched/read_expire"], "80");
        assert_eq!(settings["nr_requests"], "32");
    }
    terminal.keys("F");
    terminal.until("rotation ended after");
    assert_eq!(state(&disk), before, "while the program runs");
    quit(&mut terminal);
    assert_eq!(terminal.end().0.code(), Some(0));
    assert_eq!(state(&disk), before);
}

/// Reads everything that it is told on the way: progress, pause, what was written, what it found.
#[test]
#[ignore = "root"]
fn a_rotation_pauses_and_what_it_found_is_told_at_the_end() {
    let (disk, program) = (LoopDevice::in_memory(SIZE_BYTES), Program::new(BINARY));
    disk.set("scheduler", "mq-deadline");
    disk.set("iosched/read_expire", "80");
    let before = state(&disk);
    let _load = Load::on(&disk);
    let arguments = [&*disk.node(), "-i", "0.25", "--arm", "none"];
    let mut terminal = Terminal::start(&program, BINARY, &arguments, (120, 40));
    terminal.until("scheduler mq-deadline");
    terminal.until("reads");
    terminal.keys("P");
    terminal.until("no rotation is running");
    terminal.keys("F");
    terminal.until("Rotate the schedulers");
    terminal.keys("hhh");
    terminal.until("3 s each");
    terminal.keys(ENTER);
    terminal.until_screen("the next arm and when it comes", |screen| {
        ["none in ", "mq-deadline (present) in "]
            .iter()
            .any(|next| screen.contains(next))
    });
    terminal.until_screen("a round of each arm", |screen| {
        let arms = ["mq-deadline (present)", "none"];
        arms.iter().all(|arm| has_rounds(screen, arm))
    });
    terminal.keys("a");
    terminal.until("Whose I/O is compared");
    terminal.keys(" \r");
    terminal.until(": queue wait of reads");
    terminal.keys("\u{1a}");
    terminal.until("P pauses it");
    terminal.keys("P");
    terminal.until("rotation PAUSED");
    eventually("the settings from before", || state(&disk) == before);
    std::thread::sleep(Duration::from_secs(4));
    assert_eq!(state(&disk), before, "no turn begins");
    terminal.keys("P");
    terminal.until_screen("another round", |screen| {
        let is_open = ["no verdict yet", "not decided"]
            .iter()
            .any(|it| screen.contains(it));
        screen.contains("rotating, block") && is_open
    });
    quit(&mut terminal);
    let (status, written) = terminal.end();
    assert_eq!(status.code(), Some(0), "{written}");
    assert!(written.contains(": Not decided: "), "{written}");
    let file = written
        .split("written: ")
        .last()
        .and_then(|text| text.split_whitespace().next());
    let json = program.result(file.expect("a file"));
    is_a_result(&json, "mq-deadline (present)");
    assert_eq!(state(&disk), before);
}
