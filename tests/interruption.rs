//! However a run ends, the machine is as it was: by signals, by SIGKILL (the guardian puts all back), and by SIGKILL of
//! both (`iosched restore` does). Root only: `cargo test --test interruption -- --ignored --test-threads=1`.

#[path = "interruption/extended.rs"]
mod extended;
#[path = "interruption/guardian.rs"]
mod guardian;
#[path = "interruption/journals.rs"]
mod journals;
#[path = "interruption/kills.rs"]
mod kills;
#[path = "interruption/resume.rs"]
mod resume;
#[path = "interruption/scratch.rs"]
mod scratch;
mod support;

use std::fs;
use std::path::Path;
use std::time::Duration;

use iosched_host::scheduler;
use iosched_result::types::queue::State;
use rustix::process::Signal;
use serde_json::Value;
use support::ends::{
    end, guardian_of, guardians_of, hang_up, interrupt, kill, kill_with_guardian, send, terminate,
};
use support::program::{Ended, Program, Started};
use support::traces::{arguments, children_of, differences, processes_with, traces_of, within};
use support::{LoopDevice, READ_ONE};

const BINARY: &str = support::under_test!("iosched-ab");
const SOON: Duration = Duration::from_secs(5);

/// The second binary, which has `restore`. None, and said, where only this package was built.
fn restore(program: &Program, arguments: &[&str]) -> Option<Ended> {
    let binary = Path::new(BINARY).with_file_name("iosched");
    if !binary.exists() {
        println!("skipped: {} was not built", binary.display());
        return None;
    }
    let arguments = [&["restore"], arguments].concat();
    Some(Ended::of(program.command_of(&binary, &arguments)))
}

/// A comparison in the middle of its third round or later, on a disk with settings of its user's.
struct Running {
    disk: LoopDevice,
    before: State,
    program: Program,
    child: Started,
}

impl Running {
    fn start() -> Self {
        let disk = LoopDevice::of_a_user();
        let before = scheduler::read(&disk.device).expect("its queue");
        let program = Program::new(BINARY);
        // None of the arms is what the user has.
        let arms = [
            "--arm",
            "none,nr_requests=8",
            "--arm",
            "bfq",
            "--arm",
            "mq-deadline",
        ];
        let node = disk.node();
        let how = ["--workload", "randread", "--rounds", "40", "-o", "result"];
        let times = ["--ramp", "0.2s", "--round-time", "0.8s"];
        let mut child = program.start(&[&["run", &node], &arms[..], &how, &times].concat());
        let pid = child.id();
        child.until(Duration::from_secs(60), "two rounds and a fio", || {
            Self::rounds(&program) >= 2 && Self::fio(&node, pid).is_some()
        });
        Running {
            disk,
            before,
            program,
            child,
        }
    }

    fn rounds(program: &Program) -> usize {
        let Ok(bytes) = fs::read(program.file("result")) else {
            return 0;
        };
        // Written whole or not at all, also while it runs.
        let result: Value = serde_json::from_slice(&bytes).expect("JSON");
        result["rounds"].as_array().map_or(0, Vec::len)
    }

    fn fio(node: &str, program: u32) -> Option<u32> {
        let pids = processes_with(node).into_iter();
        pids.filter(|&pid| pid != program)
            .chain(children_of(program))
            .find(|&pid| arguments(pid)[0].ends_with("fio"))
    }

    fn is_undone(disk: &LoopDevice, before: &State, program: &Program, pid: u32) -> bool {
        let now = scheduler::read(&disk.device).expect("its queue");
        differences(before, &now).is_empty()
            && traces_of(pid).is_empty()
            && program.journals().is_empty()
    }

    /// Ends it so that the program itself still puts everything back.
    fn ends_in_order(self, how: fn(u32), code: i32) {
        let Running {
            disk,
            before,
            program,
            child,
        } = self;
        let ended = end(child, how);
        let says = [
            "interrupted by signal",
            "the completed rounds are in result",
        ];
        let pid = ended.ends(code, &says).pid;
        // At once: nothing is left to the guardian.
        let now = scheduler::read(&disk.device).expect("its queue");
        assert_eq!(differences(&before, &now), [""; 0]);
        assert_eq!(traces_of(pid), [""; 0]);
        assert!(program.journals().is_empty());
        assert!(processes_with(&disk.node()).is_empty());
        let result = program.result("result");
        assert_eq!(result["status"], "interrupted");
        let rounds = result["rounds"].as_array().expect("rounds");
        assert!((2..120).contains(&rounds.len()));
        for round in rounds.iter().filter(|round| !round["problem"].is_null()) {
            // A busy machine is no fault of the end.
            let is_the_machines =
                ["paused", "lost_events"].contains(&round["exclusion"].as_str().unwrap_or(""));
            assert!(
                is_the_machines,
                "{}: {}",
                round["exclusion"], round["problem"]
            );
        }
        assert!(!result["comparisons"].as_array().expect("a list").is_empty());
        program.run(&["report", "result"]).ends(0, &[]);
    }
}

#[test]
#[ignore = "root"]
fn ctrl_c_puts_everything_back() {
    Running::start().ends_in_order(interrupt, 130);
}

#[test]
#[ignore = "root"]
fn sigterm_puts_everything_back() {
    Running::start().ends_in_order(terminate, 143);
}

#[test]
#[ignore = "root"]
fn a_lost_terminal_puts_everything_back() {
    Running::start().ends_in_order(hang_up, 129);
}

#[test]
#[ignore = "root"]
fn after_sigkill_the_guardian_puts_everything_back() {
    let running = Running::start();
    let fio = Running::fio(&running.disk.node(), running.child.id());
    let Running {
        disk,
        before,
        program,
        child,
    } = running;
    let guardian = guardian_of(child.id());
    // As if it were killed while it writes its journal.
    let journal = program
        .journals()
        .into_iter()
        .find(|path| path.extension().is_some_and(|end| end == "json"));
    let journal = journal.expect("a journal");
    let name = journal.file_name().expect("a name").to_string_lossy();
    fs::write(journal.with_file_name(format!(".{name}.1.tmp")), "{").expect("half a journal");
    // Nothing that ends a process in order ends the guardian.
    for signal in [
        Signal::TERM,
        Signal::INT,
        Signal::HUP,
        Signal::QUIT,
        Signal::USR1,
    ] {
        send(guardian, signal);
    }
    let ended = end(child, kill);
    assert_eq!(ended.code, None);
    within(SOON, "all put back", || {
        Running::is_undone(&disk, &before, &program, ended.pid)
    });
    within(SOON, "the guardian's end", || arguments(guardian).len() < 2);
    let fio = fio.map(arguments).unwrap_or_default();
    assert!(fio.len() < 2, "fio still runs: {fio:?}");
    let result = program.result("result");
    assert_eq!(result["status"], "running", "nobody was there to say more");
    assert!(result["rounds"].as_array().expect("rounds").len() >= 2);
    program.run(&["report", "result"]).ends(0, &[]);
}

#[test]
#[ignore = "root"]
fn what_both_leave_behind_is_listed_and_restored() {
    let Running {
        disk,
        before,
        program,
        child,
    } = Running::start();
    let ended = end(child, kill_with_guardian);
    // The kernel ends the workload.
    within(SOON, "fio's end", || {
        processes_with(&disk.node()).is_empty()
    });
    assert_eq!(program.journals().len(), 1);
    let changed = scheduler::read(&disk.device).expect("its queue");
    assert!(!differences(&before, &changed).is_empty());

    // The next start says so, whatever it is for.
    let queue = format!("scheduler and settings of {}", disk.device.name);
    let arms = ["--arm", "none", "--arm", "bfq", "--workload", "randread"];
    let next = program.run(&[&["run", "no-such-disk"], &arms[..]].concat());
    let pid = format!("process {} was killed and left", ended.pid);
    next.ends(2, &[&pid, "iosched restore"]);

    let Some(list) = restore(&program, &["--list"]) else {
        return;
    };
    let list = list.ends(0, &[]).stdout;
    assert!(
        list.contains(&queue) && list.contains(&ended.pid.to_string()),
        "{list}"
    );
    assert_eq!(
        scheduler::read(&disk.device).expect("its queue"),
        changed,
        "only listed"
    );
    assert_eq!(program.journals().len(), 1);
    let done = restore(&program, &[])
        .expect("it is there")
        .ends(0, &[])
        .stdout;
    assert!(done.contains("Everything was restored."), "{done}");
    assert!(Running::is_undone(&disk, &before, &program, ended.pid));
    let again = restore(&program, &[])
        .expect("it is there")
        .ends(0, &[])
        .stdout;
    assert_eq!(again, "Nothing to restore.\n");
}
