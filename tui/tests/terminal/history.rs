//! Going back through the intervals, and files of them: what they count is what fio did, as jq reads it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::pty::Terminal;
use super::support::LoopDevice;
use super::support::program::Program;
use super::{BINARY, Load, SIZE_BYTES};

const LEFT: &str = "\x1b[D";
const READS: &str = "300";

/// By jq, over all intervals of a file.
fn jq(file: &str, filter: &str) -> String {
    let script = "zcat \"$0\" | jq -rs \"$1\"";
    let output = Command::new("sh")
        .args(["-c", script, file, filter])
        .output();
    let output = output.expect("zcat and jq");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout)
        .expect("text")
        .trim()
        .to_owned()
}

#[test]
#[ignore = "root"]
fn a_snapshot_counts_what_fio_did_and_nobody_can_replay_it() {
    let (disk, program) = (LoopDevice::in_memory(SIZE_BYTES), Program::new(BINARY));
    let (file, node) = (program.file("busy.jsonl.gz"), disk.node());
    let snapshot = program
        .command(&["snapshot", &file, &node, "-i", "0.5", "-n", "16"])
        .stderr(Stdio::piped())
        .spawn()
        .expect("iosched");
    std::thread::sleep(Duration::from_secs(3)); // it attaches
    let fio = Command::new("fio")
        .args(["--name=reader", "--rw=randread", "--bs=4k", "--direct=1"])
        .args(["--ioengine=psync", "--rate_iops=150", "--number_ios", READS])
        .args(["--filename", &node])
        .stdout(Stdio::null())
        .status();
    assert!(fio.expect("fio").success());
    let ended = snapshot.wait_with_output().expect("its end");
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success(), "{said}");
    assert!(said.contains("16 intervals in "), "{said}");

    let own = ".[1:][].interval.owners[] | select(.comm == \"fio\")";
    assert_eq!(jq(&file, &format!("[{own} | .ops[0].ios] | add")), READS);
    let bytes = 300 * 4096;
    assert_eq!(
        jq(&file, &format!("[{own} | .ops[0].bytes] | add")),
        bytes.to_string()
    );
    assert_eq!(jq(&file, "length"), "17");
    assert_eq!(
        jq(&file, "[.[].interval_s // empty | . > 0.4 and . < 5] | all"),
        "true"
    );

    // Another user, with nothing but the file.
    for path in [program.directory(), file.as_ref()] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("readable");
    }
    let arguments = [
        "--reuid=65534",
        "--regid=65534",
        "--clear-groups",
        BINARY,
        "replay",
        &file,
    ];
    let mut terminal = Terminal::start(&program, "setpriv", &arguments, (120, 40));
    terminal.until("REPLAY");
    terminal.until("written 2");
    terminal.keys("3[");
    terminal.until("15 intervals back");
    terminal.keys("-- "); // plays, at 4 intervals per second
    terminal.until("PLAYING");
    terminal.until("fio");
    terminal.keys("f");
    terminal.until("a replay switches nothing");
    terminal.keys("q");
    let (status, written) = terminal.end();
    assert_eq!(status.code(), Some(0), "{written}");
    let refused = program
        .command(&["snapshot", &file, &node])
        .output()
        .expect("iosched");
    assert_eq!(refused.status.code(), Some(5));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("will not be overwritten"));
}

#[test]
#[ignore = "root"]
fn one_goes_back_and_writes_what_is_held() {
    let (disk, program) = (LoopDevice::in_memory(SIZE_BYTES), Program::new(BINARY));
    let _load = Load::on(&disk);
    let arguments = [&*disk.node(), "-i", "0.25"];
    let mut terminal = Terminal::start(&program, BINARY, &arguments, (120, 40));
    terminal.until("reads");
    std::thread::sleep(Duration::from_secs(1));
    terminal.keys(" ");
    terminal.until("FROZEN");
    terminal.keys(&LEFT.repeat(2));
    terminal.until("intervals back");
    terminal.keys("W");
    terminal.until("/iosched-history-");
    terminal.keys(" ");
    terminal.until("every 0.25 s");
    terminal.keys("q");
    assert_eq!(terminal.end().0.code(), Some(0));
    let file = program.export("iosched-history-").expect("the file");
    let intervals: usize = jq(&file, "length - 1").parse().expect("a number");
    assert!(intervals >= 4, "{intervals}");
    let numbers = jq(&file, "[.[1:][].interval | .end_ns > .start_ns] | all");
    assert_eq!(numbers, "true");

    let text = program.file("notes.txt");
    fs::write(&text, "no history\n").expect("a file");
    for (file, why) in [
        (&text, "is not a history"),
        (&program.file("none"), "cannot be read"),
    ] {
        let terminal = Terminal::start(&program, BINARY, &["replay", file], (120, 40));
        let (status, written) = terminal.end();
        assert_eq!(status.code(), Some(2), "{written}");
        assert!(written.contains(why), "{written}");
    }
}

#[test]
#[ignore = "root"]
fn without_a_history_there_is_nothing_to_go_back_to() {
    let (disk, program) = (LoopDevice::in_memory(SIZE_BYTES), Program::new(BINARY));
    let _load = Load::on(&disk);
    let arguments = [&*disk.node(), "-i", "0.25", "--no-history"];
    let mut terminal = Terminal::start(&program, BINARY, &arguments, (120, 40));
    terminal.until("reads");
    terminal.keys(" ");
    terminal.until("FROZEN");
    for key in [LEFT, "W"] {
        terminal.keys(key);
        terminal.until("the history is off, by --no-history or the configuration");
        terminal.keys("?");
        terminal.until("Help");
        terminal.keys("1");
        terminal.until("Overview");
    }
    terminal.keys("q");
    assert_eq!(terminal.end().0.code(), Some(0));
    assert_eq!(program.export("iosched-history-"), None);
}
