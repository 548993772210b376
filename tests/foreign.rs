//! Files that another user could have written, as input of root's commands; and files in the way of its output.
//! Root only: `cargo test --test foreign -- --ignored --test-threads=1`.

mod support;

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use iosched_host::scheduler;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use support::program::{Ended, Program};
use support::traces::differences;
use support::{LoopDevice, READ_ONE};

const BINARY: &str = support::under_test!("iosched-ab");
const SOON: Duration = Duration::from_secs(10);

/// An interrupted run of a command that leaves a trace, and a victim that nothing may touch.
struct Interrupted {
    disk: LoopDevice,
    program: Program,
    before: scheduler::State,
    victim: PathBuf,
}

type Edit = Box<dyn FnOnce(&mut Value)>;

const PRECIOUS: &str = "precious";

impl Interrupted {
    fn new() -> Self {
        let (disk, program) = (LoopDevice::in_memory(64 << 20), Program::new(BINARY));
        let before = scheduler::read(&disk.device).expect("its queue");
        let node = disk.node();
        let arms = ["--arm", "none", "--arm", "fast=kyber,nr_requests=64"];
        let how = ["--rounds", "40", "-o", "result", "--", "sh", "-c"];
        let script = &format!("echo ran >> log; {READ_ONE}; sleep 0.05");
        let mut child = program.start(&[&["run", &node], &arms[..], &how, &[script]].concat());
        child.until(Duration::from_secs(60), "a round", || {
            fs::read_to_string(program.directory().join("log"))
                .is_ok_and(|log| log.lines().count() > 2)
        });
        kill_process(
            Pid::from_raw(child.id() as i32).expect("a pid"),
            Signal::INT,
        )
        .expect("ours");
        child.end().ends(130, &[]);
        let victim = program.directory().join("victim");
        fs::write(&victim, PRECIOUS).expect("a file");
        let interrupted = Interrupted {
            disk,
            program,
            before,
            victim,
        };
        interrupted.forget();
        interrupted
    }

    fn forget(&self) {
        let _ = fs::remove_file(self.program.directory().join("log"));
    }

    fn ran(&self) -> bool {
        self.program.directory().join("log").exists()
    }

    /// A copy of the result with a change in it.
    fn crafted(&self, name: &str, edit: impl FnOnce(&mut Value)) -> PathBuf {
        let mut result = self.program.result("result");
        edit(&mut result);
        let path = self.program.directory().join(name);
        fs::write(&path, result.to_string()).expect("a file");
        path
    }

    fn resume(&self, words: &[&str]) -> Ended {
        self.program.run(&[&["run", "--resume"], words].concat())
    }

    /// Nothing was run, set or written.
    #[track_caller]
    fn nothing_happened(&self, what: &str) {
        assert!(!self.ran(), "{what}: the command ran");
        assert_eq!(
            fs::read_to_string(&self.victim).expect("the victim"),
            PRECIOUS,
            "{what}"
        );
        let now = scheduler::read(&self.disk.device).expect("its queue");
        assert_eq!(differences(&self.before, &now), [""; 0], "{what}");
        assert!(self.program.journals().is_empty(), "{what}");
    }
}

#[test]
#[ignore = "root"]
fn what_a_result_file_asks_for_passes_the_checks_of_a_command_line() {
    let interrupted = Interrupted::new();
    let victim = interrupted.victim.display().to_string();
    let climb = format!("../../../../../../../..{victim}");
    let arm = |field: &'static str, value: Value| {
        move |result: &mut Value| result["design"]["arms"][1][field] = value
    };
    let cases: Vec<(&str, Edit)> = vec![
        (
            "an absolute path",
            Box::new(arm("settings", json!([[victim, "overwritten"]]))),
        ),
        (
            "a path that climbs",
            Box::new(arm("settings", json!([[climb, "overwritten"]]))),
        ),
        (
            "the scheduler as an attribute",
            Box::new(arm("settings", json!([["scheduler", "bfq"]]))),
        ),
        (
            "two lines",
            Box::new(arm("settings", json!([["nomerges", "1\n2"]]))),
        ),
        (
            "another scheduler than its name",
            Box::new(arm("scheduler", json!("bfq"))),
        ),
        (
            "a path as scheduler",
            Box::new(arm("requested", json!(victim))),
        ),
        (
            "a label of two lines",
            Box::new(arm("label", json!("a\nb"))),
        ),
        (
            "a part whose label is a path",
            Box::new({
                let label = format!("..{victim}");
                move |result: &mut Value| {
                    result["workload"]["description"] = json!({ "kind": "fio", "name": "x", "processes": [
                        { "label": label, "job": "[a]\nrw=read\n", "is_background": false }] });
                }
            }),
        ),
        (
            "a job that starts a program",
            Box::new(|result: &mut Value| {
                result["workload"]["description"] = json!({ "kind": "fio", "name": "x", "processes": [
                    { "label": "a", "job": "[a]\nrw=read\nexec_prerun=sh -c 'echo >> log'\n", "is_background": false }] });
            }),
        ),
    ];
    for (what, edit) in cases {
        let path = interrupted.crafted("crafted", edit);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("a mode");
        let ended = interrupted.resume(&["crafted", "--trust"]);
        assert!(matches!(ended.code, Some(2 | 5)), "{what}: {ended:#?}");
        interrupted.nothing_happened(what);
    }
}

#[test]
#[ignore = "root"]
fn a_file_of_another_is_shown_and_run_only_on_the_users_word() {
    let interrupted = Interrupted::new();
    let (file, link) = ("crafted", interrupted.program.directory().join("link"));
    let path = interrupted.crafted(file, |_| {});
    symlink(&path, &link).expect("a link");
    let mode = |mode| fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("a mode");
    let shown = [
        "crafted continues",
        "runs sh -c 'echo ran >> log; dd ",
        "sets kyber,nr_requests=64",
        "--trust",
    ];
    for open in [0o666, 0o664, 0o602] {
        mode(open);
        interrupted.resume(&[file]).ends(
            5,
            &[&shown[..], &["allows other users to write it"]].concat(),
        );
        interrupted.nothing_happened("a mode");
    }
    mode(0o600);
    interrupted.resume(&["link"]).ends(5, &["symbolic link"]);
    std::os::unix::fs::chown(&path, Some(65534), None).expect("another owner");
    interrupted
        .resume(&[file])
        .ends(5, &["it belongs to user 65534"]);
    interrupted.nothing_happened("an owner");
    let mut child = interrupted
        .program
        .start(&["run", "--resume", file, "--trust"]);
    child.until(Duration::from_secs(60), "a round", || interrupted.ran());
    kill_process(
        Pid::from_raw(child.id() as i32).expect("a pid"),
        Signal::INT,
    )
    .expect("ours");
    child.end().ends(130, &shown[..3]);
    // Its own is gone on with at once, and says what it runs.
    interrupted.forget();
    let mut child = interrupted.program.start(&["run", "--resume", "result"]);
    child.until(Duration::from_secs(60), "a round", || interrupted.ran());
    kill_process(
        Pid::from_raw(child.id() as i32).expect("a pid"),
        Signal::INT,
    )
    .expect("ours");
    child.end().ends(130, &[shown[1], shown[2]]);
}

/// A result that is saved after every round can be gone on with under any umask.
#[test]
#[ignore = "root"]
fn a_result_is_never_writable_by_others() {
    for umask in [0o000, 0o002, 0o077] {
        let (disk, program) = (
            LoopDevice::in_memory(64 << 20),
            Program::new(BINARY).with_umask(umask),
        );
        let node = disk.node();
        let two = [
            "run", &node, "--arm", "none", "--arm", "kyber", "--rounds", "1",
        ];
        program
            .run(&[&two[..], &["-o", "result", "--", "sh", "-c", READ_ONE]].concat())
            .ends(0, &[]);
        let mode = fs::metadata(program.directory().join("result"))
            .expect("a result")
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o644 & !umask, "umask {umask:03o}: {mode:o}");
    }
}

#[test]
#[ignore = "root"]
fn a_file_that_is_there_is_not_overwritten() {
    let interrupted = Interrupted::new();
    let program = &interrupted.program;
    let node = interrupted.disk.node();
    let run = |more: &[&str]| {
        let two = [
            "run", &node, "--arm", "none", "--arm", "kyber", "--rounds", "1",
        ];
        program.run(
            &[
                &two[..],
                more,
                &["--", "sh", "-c", &format!("echo ran >> log; {READ_ONE}")],
            ]
            .concat(),
        )
    };
    let kept = fs::read(program.directory().join("result")).expect("a result");
    run(&["-o", "result"]).ends(5, &["result exists", "--resume", "--force"]);
    interrupted.nothing_happened("an existing file");
    assert_eq!(
        fs::read(program.directory().join("result")).expect("a result"),
        kept
    );
    for (place, says) in [
        ("no/such/directory", "cannot be written"),
        ("/dev/null", "not a regular file"),
        ("/proc/self/status", "exists"),
    ] {
        run(&["-o", place]).ends(5, &[says]);
        interrupted.nothing_happened(place);
    }
    run(&["-o", "result", "--force"]).ends(0, &[]);
    assert_eq!(program.result("result")["status"], "complete");
    program
        .run(&["demo", "-o", "result"])
        .ends(5, &["result exists"]);
    let report =
        |more: &[&str]| program.run(&[&["report", "result", "--format", "csv"], more].concat());
    report(&["-o", "victim"]).ends(5, &["victim exists"]);
    report(&["-o", "result", "--force"]).ends(5, &["is the input of this report"]);
    assert_eq!(program.result("result")["status"], "complete");
    report(&["-o", "table"]).ends(0, &[]);
    report(&["-o", "table", "--force"]).ends(0, &[]);
}

fn fifo(path: &Path) {
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, mode, 0)
        .expect("a fifo");
}

/// Neither waits for the other side.
#[test]
#[ignore = "root"]
fn pipes_and_devices_are_answered_at_once() {
    let interrupted = Interrupted::new();
    let program = &interrupted.program;
    fifo(&program.directory().join("pipe"));
    let node = interrupted.disk.node();
    let two = [
        "run", &node, "--arm", "none", "--arm", "kyber", "--rounds", "1",
    ];
    let begin = Instant::now();
    for device in ["/dev/zero", &node, "/dev/null"] {
        program
            .run(&["report", device])
            .ends(2, &["it is a device"]);
        program
            .run(&["run", "--resume", device])
            .ends(2, &["it is a device"]);
        program
            .run(&[&two[..], &["--job", device]].concat())
            .ends(2, &["it is a device"]);
        program
            .run(&["gate", "result", "--baseline", device])
            .ends(2, &["it is a device"]);
    }
    for command in [&["report"][..], &["gate"], &["run", "--resume"]] {
        let ended = program.run(&[command, &["pipe"]].concat());
        ended.ends(2, &["is empty, or a pipe to which nobody writes"]);
    }
    program
        .run(&[&two[..], &["--job", "pipe"]].concat())
        .ends(5, &["it is not a regular file", "--trust"]);
    program
        .run(&[&two[..], &["--trust", "--job", "pipe"]].concat())
        .ends(5, &["contains no job"]);
    program
        .run(&[&two[..], &["-o", "pipe", "--", "sh", "-c", READ_ONE]].concat())
        .ends(5, &["not a regular file"]);
    program
        .run(&["report", "result", "-o", "pipe"])
        .ends(5, &["not a regular file"]);
    assert!(begin.elapsed() < SOON, "{:?}", begin.elapsed());
    interrupted.nothing_happened("pipes");
}

/// A pipe whose writer says nothing is waited for, until a signal comes.
#[test]
#[ignore = "root"]
fn a_pipe_that_says_nothing_ends_with_a_signal() {
    let program = Program::new(BINARY);
    let path = program.directory().join("pipe");
    fifo(&path);
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143), (Signal::HUP, 129)] {
        let _writer = fs::File::options()
            .read(true)
            .write(true)
            .open(&path)
            .expect("both ends");
        let child = program.start(&["report", "pipe"]);
        std::thread::sleep(Duration::from_millis(300));
        let begin = Instant::now();
        kill_process(Pid::from_raw(child.id() as i32).expect("a pid"), signal).expect("ours");
        child.end().ends(code, &["interrupted"]);
        assert!(begin.elapsed() < SOON);
    }
}

#[test]
#[ignore = "root"]
fn a_closed_standard_output_is_noticed_before_the_first_round() {
    let interrupted = Interrupted::new();
    let node = interrupted.disk.node();
    let run = |redirection: &str| {
        let line = format!(
            "exec {BINARY} run {node} --arm none --arm kyber --rounds 1 -o - -- sh -c 'echo ran >> log; {READ_ONE}' {redirection}"
        );
        let mut command = interrupted
            .program
            .command_of(Path::new("sh"), &["-c", &line]);
        command.stdout(Stdio::null());
        Ended::of(command)
    };
    run(">&-").ends(5, &["standard output is closed", "-o"]);
    interrupted.nothing_happened("a closed standard output");
    // Whoever throws it away means it.
    run(">/dev/null").ends(0, &[]);
}

/// Whoever may rename a round's directory could have root write through a link of his.
#[test]
#[ignore = "root"]
fn temporary_files_do_not_go_where_others_can_replace_them() {
    let (disk, program) = (LoopDevice::in_memory(64 << 20), Program::new(BINARY));
    let theirs = tempfile::tempdir().expect("a directory");
    let node = disk.node();
    let run = || {
        let two = [
            "run", &node, "--arm", "none", "--arm", "kyber", "--rounds", "1",
        ];
        let mut command = program.command(
            &[
                &two[..],
                &["-o", "result", "--force", "--", "sh", "-c", READ_ONE],
            ]
            .concat(),
        );
        command.env("TMPDIR", theirs.path());
        Ended::of(command)
    };
    std::os::unix::fs::chown(theirs.path(), Some(65534), None).expect("another owner");
    run().ends(5, &["temporary files would go to", "set TMPDIR"]);
    std::os::unix::fs::chown(theirs.path(), Some(0), None).expect("its owner");
    fs::set_permissions(theirs.path(), fs::Permissions::from_mode(0o777)).expect("a mode");
    run().ends(5, &["temporary files would go to"]);
    fs::set_permissions(theirs.path(), fs::Permissions::from_mode(0o1777)).expect("a mode");
    run().ends(0, &[]);
}
