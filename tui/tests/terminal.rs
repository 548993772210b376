//! The terminal UI on a real device under load: screens, switches, a rotation, and every way to end it, after which
//! the device and the terminal must be as before. Root only: `cargo test -p iosched-tui --test terminal -- --ignored
//! --test-threads=1`.

#[path = "terminal/history.rs"]
mod history;
#[path = "terminal/jobs.rs"]
mod jobs;
#[path = "terminal/pointer.rs"]
mod pointer;
#[path = "terminal/pty.rs"]
mod pty;
#[path = "terminal/rights.rs"]
mod rights;
#[path = "terminal/rotations.rs"]
mod rotations;
#[path = "../../tests/support/mod.rs"]
mod support;

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use iosched_host::scheduler;
use iosched_result::report::text::{self, Look};
use iosched_result::report::{csv, markdown, openmetrics};
use iosched_result::types::queue::State;
use iosched_result::types::result::{ResultFile, Round};
use pty::Terminal;
use rustix::process::Signal;
use rustix::termios::{Action, LocalModes, OutputModes, tcflow, tcgetattr};
use serde_json::Value;
use support::LoopDevice;
use support::direct::{self, Aligned, BLOCK};
use support::program::Program;

const BINARY: &str = support::under_test!("iosched");
const SIZE_BYTES: u64 = 64 << 20;
const ENTER: &str = "\r";
const LEAVES_SCREEN: &str = "\x1b[?1049l";

/// Reads at random positions with O_DIRECT until it is dropped.
struct Load {
    ends: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Load {
    fn on(disk: &LoopDevice) -> Self {
        Load::at(&disk.node())
    }

    fn at(node: &str) -> Self {
        let ends = Arc::new(AtomicBool::new(false));
        let start = |seed: u64| {
            let (node, ends) = (node.to_owned(), ends.clone());
            std::thread::spawn(move || read_until(&node, seed, &ends))
        };
        let threads = (1..=4).map(start).collect();
        Load { ends, threads }
    }
}

fn read_until(node: &str, mut seed: u64, ends: &AtomicBool) {
    let file = direct::readable(node);
    let mut memory = Aligned::new(BLOCK);
    while !ends.load(Ordering::Relaxed) {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let place = (seed >> 33) % (SIZE_BYTES / 4096) * 4096;
        file.read_exact_at(memory.bytes(BLOCK), place)
            .expect("a read");
        std::thread::sleep(Duration::from_micros(500));
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

fn state(disk: &LoopDevice) -> State {
    scheduler::read(&disk.device).expect("its queue")
}

/// Waits for the first sample.
fn started(program: &Program, disk: &LoopDevice, size: (u16, u16)) -> Terminal {
    let mut terminal = Terminal::start(program, BINARY, &[&disk.node(), "-i", "0.25"], size);
    terminal.until("scheduler none");
    terminal.until("reads");
    terminal
}

/// From none to mq-deadline, the next one in the list.
fn flip(terminal: &mut Terminal, disk: &LoopDevice) {
    terminal.keys("f");
    terminal.until("Switch the scheduler");
    terminal.keys(ENTER);
    terminal.until("The queue was frozen for");
    assert_ne!(
        disk.get("scheduler").find("[none]"),
        Some(0),
        "{}",
        disk.get("scheduler")
    );
    terminal.keys(ENTER);
    terminal.until("restore on exit");
}

fn eventually(what: &str, is_so: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while !is_so() {
        assert!(Instant::now() < deadline, "not so: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The file must be readable as a result. The schema in docs/ is generated from the types, so what they represent
/// without loss is valid.
fn is_a_result(json: &Value, reference: &str) {
    let file: ResultFile = serde_json::from_value(json.clone()).expect("an A/B's result");
    assert_eq!(&serde_json::to_value(&file).expect("JSON"), json);
    assert!(file.rounds.len() >= 2 && file.finished.is_some());
    assert_eq!(file.design.arms[file.design.reference].label, reference);
    let of_disk = |round: &Round| round.evidence.device.name == file.device.device.name;
    assert!(file.rounds.iter().all(of_disk));
    for (format, text) in [
        (
            "text",
            text::render(
                &file,
                Look {
                    all: true,
                    ..Look::default()
                },
            ),
        ),
        ("markdown", markdown::render(&file)),
        ("csv", csv::render(&[&file])),
        ("openmetrics", openmetrics::render(&[&file])),
    ] {
        let arms = file.design.arms.iter();
        let missing: Vec<&str> = arms
            .map(|arm| &*arm.label)
            .filter(|label| !text.contains(label))
            .collect();
        assert!(missing.is_empty(), "{format} lacks {missing:?}:\n{text}");
    }
}

#[test]
fn without_a_terminal_it_is_stat() {
    let program = Program::new(BINARY);
    program
        .run(&["no-such-disk"])
        .ends(2, &["no-such-disk: no such device"]);
    program
        .run(&["--demo"])
        .ends(2, &["--demo needs a terminal", "iosched-ab demo"]);
}

/// The row of an arm begins with its label and the number of its rounds.
fn has_rounds(screen: &str, arm: &str) -> bool {
    screen.lines().any(|line| {
        let rest = line.trim_start().strip_prefix(arm);
        let rounds = rest.and_then(|rest| rest.split_whitespace().next()?.parse().ok());
        rounds.is_some_and(|rounds: u32| rounds > 0)
    })
}

#[test]
#[ignore = "root"]
fn every_screen_shows_the_load_and_a_rotation_compares() {
    let (disk, program) = (LoopDevice::in_memory(SIZE_BYTES), Program::new(BINARY));
    disk.set("scheduler", "none");
    disk.set("read_ahead_kb", "64");
    let before = state(&disk);
    let _load = Load::on(&disk);
    let mut terminal = started(&program, &disk, (120, 40));
    let me = std::process::id().to_string();
    for (key, text) in [
        ("2", "one scheduler so far"),
        ("3", &*me),
        ("4", "in issue order"),
        ("5", "Jain's index: device time"),
        ("6", "|none"),
        ("?", "restore what was changed, and quit"),
        ("1", "of an I/O's time is queue wait"),
    ] {
        terminal.keys(key);
        terminal.until(text);
    }
    terminal.resize((39, 12));
    terminal.until("needs 40x10");
    terminal.resize((40, 10));
    terminal.until("wait p50");
    terminal.resize((120, 40));
    terminal.until("of an I/O's time is queue wait");
    terminal.keys("3");
    terminal.until(&me);
    terminal.keys(ENTER);
    terminal.until("queue wait of reads");
    terminal.keys("x");
    terminal.until("/iosched-processes-");

    // The first two arms, with the shortest rounds.
    terminal.keys("F");
    terminal.until("Rotate the schedulers");
    let arms = before.available.len();
    for _ in 1..arms {
        terminal.keys("j");
    }
    for _ in 2..arms {
        terminal.keys(" k");
    }
    terminal.until_screen("two arms chosen", |screen| {
        screen.matches("[x]").count() == 2
    });
    terminal.keys("hhh");
    terminal.until("3 s each");
    terminal.keys(ENTER);
    terminal.until("rotating, block");
    let two = &before.available[..2];
    terminal.until_screen("a round of each arm", |screen| {
        two.iter().all(|arm| has_rounds(screen, arm))
    });
    terminal.keys("x");
    terminal.until("/iosched-live-");
    let exported = program.export("iosched-live-").expect("the export");
    is_a_result(&program.result(&exported), &before.active);

    // After it stops, the previous scheduler is active.
    terminal.keys("F");
    terminal.until("rotation ended after");
    assert_eq!(state(&disk).active, before.active);

    quit(&mut terminal);
    let (status, written) = terminal.end();
    assert_eq!(status.code(), Some(0), "{written}");
    assert!(
        written.contains(LEAVES_SCREEN) && written.contains("none and its settings are restored")
    );
    assert_eq!(state(&disk), before);
    assert!(program.journals().is_empty());
}

#[test]
#[ignore = "root"]
fn another_hand_is_noticed_and_not_undone_before_the_end() {
    let (disk, program) = (LoopDevice::in_memory(SIZE_BYTES), Program::new(BINARY));
    disk.set("scheduler", "none");
    let _load = Load::on(&disk);
    let mut terminal = started(&program, &disk, (80, 24));
    disk.set("scheduler", "mq-deadline");
    terminal.until("another program switched none to mq-deadline");
    terminal.keys("q");
    assert_eq!(terminal.end().0.code(), Some(0));
    assert!(
        disk.get("scheduler").contains("[mq-deadline]"),
        "another program's change must not be restored"
    );
}

#[test]
#[ignore = "root"]
fn another_hand_ends_a_rotation() {
    let (disk, program) = (LoopDevice::in_memory(SIZE_BYTES), Program::new(BINARY));
    disk.set("scheduler", "none");
    let before = state(&disk);
    let _load = Load::on(&disk);
    let mut terminal = started(&program, &disk, (120, 40));
    terminal.keys("F");
    terminal.until("Rotate the schedulers");
    terminal.keys("\r");
    terminal.until("rotating, block");
    // The rounds are long, so nothing else switches now.
    std::thread::sleep(Duration::from_millis(1500));
    let other = if disk.get("scheduler").contains("[bfq]") {
        "kyber"
    } else {
        "bfq"
    };
    disk.set("scheduler", other);
    terminal.until("the rotation was stopped");
    quit(&mut terminal);
    assert_eq!(terminal.end().0.code(), Some(0));
    assert_eq!(state(&disk), before);
}

#[test]
#[ignore = "root"]
fn signals_put_back_the_scheduler_and_the_terminal() {
    let (disk, program) = (LoopDevice::in_memory(SIZE_BYTES), Program::new(BINARY));
    disk.set("scheduler", "none");
    let before = state(&disk);
    for (signal, code) in [(Signal::TERM, 143), (Signal::INT, 130), (Signal::HUP, 129)] {
        let _load = Load::on(&disk);
        let mut terminal = started(&program, &disk, (80, 24));
        flip(&mut terminal, &disk);
        if signal == Signal::HUP {
            terminal.hang_up();
        } else {
            terminal.signal(signal);
        }
        let (status, written) = terminal.end();
        assert_eq!(status.code(), Some(code), "{written}");
        assert!(written.contains(LEAVES_SCREEN), "{signal:?}");
        assert_eq!(state(&disk), before, "{signal:?}");
        assert!(program.journals().is_empty());
    }
}

/// As with Ctrl-S or a connection that stalls: every write to the terminal blocks.
#[test]
#[ignore = "root"]
fn a_terminal_that_nobody_reads_keeps_no_setting() {
    let (disk, program) = (LoopDevice::in_memory(SIZE_BYTES), Program::new(BINARY));
    disk.set("scheduler", "none");
    let before = state(&disk);
    let _load = Load::on(&disk);
    let mut terminal = started(&program, &disk, (200, 50));
    flip(&mut terminal, &disk);
    tcflow(terminal.other_side(), Action::OOff).expect("stopped output");
    std::thread::sleep(Duration::from_secs(2));
    terminal.signal(Signal::TERM);
    let (status, written) = terminal.end();
    assert_eq!(status.code(), Some(143), "{written}");
    assert_eq!(state(&disk), before);
    assert!(program.journals().is_empty());
}

#[test]
#[ignore = "root"]
fn the_guardian_puts_back_what_a_killed_one_changed() {
    let (disk, program) = (LoopDevice::in_memory(SIZE_BYTES), Program::new(BINARY));
    disk.set("scheduler", "none");
    let before = state(&disk);
    let terminal = {
        let _load = Load::on(&disk);
        let mut terminal = started(&program, &disk, (80, 24));
        flip(&mut terminal, &disk);
        terminal
    };
    assert_eq!(program.journals().len(), 1);
    is_killed_and_all_is_back(terminal, &program, &disk, &before);
}

fn is_killed_and_all_is_back(
    terminal: Terminal,
    program: &Program,
    disk: &LoopDevice,
    before: &State,
) {
    let screen = terminal.other_side();
    assert!(!is_for_a_shell(&screen), "raw");
    terminal.signal(Signal::KILL);
    let (_, written) = terminal.end();
    eventually("the settings are back", || {
        state(disk) == *before && program.journals().is_empty()
    });
    eventually("a shell can use the terminal", || is_for_a_shell(&screen));
    assert!(
        written.contains(LEAVES_SCREEN),
        "the guardian leaves the screen"
    );
}

/// Lines are edited and echoed.
fn is_for_a_shell(terminal: &File) -> bool {
    let modes = tcgetattr(terminal).expect("its modes");
    let wanted = LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG;
    modes.local_modes.contains(wanted) && modes.output_modes.contains(OutputModes::OPOST)
}

#[test]
#[ignore = "root"]
fn what_is_to_stay_stays() {
    let (disk, program) = (LoopDevice::in_memory(SIZE_BYTES), Program::new(BINARY));
    disk.set("scheduler", "none");
    let _load = Load::on(&disk);
    let mut terminal = started(&program, &disk, (80, 24));
    flip(&mut terminal, &disk);
    assert_eq!(program.journals().len(), 1);
    terminal.keys("f");
    terminal.until("[x] restore everything on exit");
    terminal.keys("p");
    terminal.until("[ ] restore everything on exit");
    terminal.keys(ENTER);
    terminal.until("The queue was frozen for");
    let chosen = state(&disk).active;
    terminal.keys("\r");
    terminal.until("KEPT on exit");
    assert!(program.journals().is_empty());
    terminal.keys("q");
    let (status, written) = terminal.end();
    assert_eq!(status.code(), Some(0));
    assert!(
        written.contains(&format!("{chosen} stays, as you chose")),
        "{written}"
    );
    assert_eq!(state(&disk).active, chosen);
}

/// While something is changed or recorded.
fn quit(terminal: &mut Terminal) {
    terminal.keys("q");
    terminal.until("Enter quits");
    terminal.keys(ENTER);
}

/// The name of the demo's disk on the screen.
fn disk_of(screen: &str) -> String {
    let words = screen.split_whitespace();
    let name = words
        .filter_map(|word| word.strip_suffix(':'))
        .find(|word| word.starts_with("loop"));
    name.expect("a loop device").to_owned()
}

#[test]
#[ignore = "root"]
fn the_demo_brings_its_disk_and_leaves_nothing() {
    for is_killed in [false, true] {
        let program = Program::new(BINARY);
        let mut terminal = Terminal::start(&program, BINARY, &["--demo"], (80, 24));
        terminal.until_screen("probe and hog", |screen| {
            screen.contains(" probe ") && screen.contains(" hog ")
        });
        let disk = disk_of(&terminal.screen());
        let backing = format!("/sys/block/{disk}/loop/backing_file");
        assert!(std::path::Path::new(&backing).exists(), "{backing}");
        if is_killed {
            terminal.signal(Signal::KILL);
            terminal.end();
        } else {
            terminal.keys("q");
            assert_eq!(terminal.end().0.code(), Some(0));
        }
        eventually("all of it is gone", || {
            !std::path::Path::new(&backing).exists() && program.journals().is_empty()
        });
    }
}
