//! Output formats, filters, and the other commands.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::support::program::{Ended, Program};
use crate::support::{LoopDevice, run};
use crate::watch::{attached, record, stat};
use crate::{BINARY, SIZE_BYTES, number};

fn read(disk: &LoopDevice) {
    let input = format!("if={}", disk.node());
    run(
        "dd",
        &[&input, "of=/dev/null", "bs=4k", "count=200", "iflag=direct"],
    );
}

/// The output of `stat` for 200 reads by dd.
fn of_200_reads(rest: &[&str]) -> String {
    let (disk, program) = (LoopDevice::in_memory(SIZE_BYTES), Program::new(BINARY));
    let started = stat(&program, &disk.node(), 2, rest);
    read(&disk);
    started.end().ends(0, &[]).stdout
}

#[test]
#[ignore = "root"]
fn csv_has_a_row_for_the_device_and_one_for_the_process() {
    let text = of_200_reads(&["--output", "csv"]);
    let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
    assert!(rows.len() >= 3, "{text}");
    let column = |name: &str| rows[0].iter().position(|field| *field == name).expect(name);
    for row in &rows {
        assert_eq!(row.len(), 26, "{row:?}");
    }
    let (device, dd) = (
        &rows[1],
        rows.iter()
            .find(|row| row[column("comm")] == "dd")
            .expect("dd"),
    );
    assert_eq!((device[column("pid")], device[column("comm")]), ("", ""));
    for row in [device, dd] {
        let reads: u64 = row[column("reads")].parse().expect("a number");
        let bytes: u64 = row[column("bytes")].parse().expect("a number");
        let p50: u64 = row[column("device_p50_ns")].parse().expect("a number");
        // See `exactly` for the few reads that no probe can see.
        assert!((190..=200).contains(&reads), "{row:?}");
        assert_eq!(bytes, reads * 4096);
        assert!((100..1_000_000_000).contains(&p50));
    }
}

#[test]
#[ignore = "root"]
fn text_has_its_columns() {
    let text = of_200_reads(&[]);
    for column in [
        "PID", "COMM", "READ/s", "WRITE/s", "BYTES/s", "WAIT p50", "DEV p50", "MERGES", "CGROUP",
    ] {
        assert!(text.contains(column), "{column}: {text}");
    }
    for word in ["depth 128", "queue wait p50", "device p50", " dd "] {
        assert!(text.contains(word), "{word}: {text}");
    }
    let by_device = of_200_reads(&["--by", "device"]);
    assert!(
        by_device.contains("queue wait p50") && !by_device.contains("COMM"),
        "{by_device}"
    );
}

/// A process can choose any name.
#[test]
#[ignore = "root"]
fn no_name_reaches_the_terminal_as_more_than_text() {
    const NAME: &str = "=\u{1b}[2J\u{9b}m\n|,\"";
    let (disk, program) = (LoopDevice::in_memory(SIZE_BYTES), Program::new(BINARY));
    let dd = program.directory().join(NAME);
    std::fs::copy("/bin/dd", &dd).expect("dd");
    let tried = Command::new(&dd).arg("if=/dev/null").output().expect("dd");
    if !tried.status.success() {
        println!("skipped: this dd is one of many programs in a file, and goes by its name");
        return;
    }
    let input = format!("if={}", disk.node());
    let printed = |output: &str| {
        let started = stat(&program, &disk.node(), 2, &["--output", output]);
        run(
            dd.to_str().expect("UTF-8"),
            &[&input, "of=/dev/null", "bs=4k", "count=50", "iflag=direct"],
        );
        let text = started.end().ends(0, &[]).stdout;
        assert!(
            !text.contains(|c: char| c != '\n' && c.is_control()),
            "{text:?}"
        );
        text
    };
    let text = printed("text");
    assert!(text.contains("=?[2J?m?|,\""), "{text}");
    let record: Value = serde_json::from_str(&printed("json")).expect("JSON");
    let processes = record["processes"].as_array().expect("a list");
    assert!(
        processes.iter().any(|row| row["comm"] == NAME),
        "{processes:#?}"
    );
    let csv = printed("csv");
    assert!(csv.contains(",\"'=?[2J?m?|,\"\"\","), "{csv}");
}

#[test]
#[ignore = "root"]
fn disks_that_come_and_go_are_told() {
    let program = Program::new(BINARY);
    let goes = LoopDevice::in_memory(SIZE_BYTES);
    let started = attached(program.start(&["stat", "-n", "5", "-i", "1"]));
    let comes = LoopDevice::in_memory(SIZE_BYTES);
    let came = format!("{} was added and is not measured", name_of(&comes));
    let went = format!("{} was removed", name_of(&goes));
    drop(goes);
    let ended = started.end().ends(0, &[&came, &went]);
    assert_eq!(ended.stderr.matches(&came).count(), 1, "{}", ended.stderr);
    // If disks were named, other disks are not reported.
    let named = attached(program.start(&["stat", &comes.node(), "-n", "3", "-i", "1"]));
    let another = LoopDevice::in_memory(SIZE_BYTES);
    let ended = named.end().ends(0, &[]);
    assert!(
        !ended.stderr.contains(&name_of(&another)),
        "{}",
        ended.stderr
    );
}

fn name_of(disk: &LoopDevice) -> String {
    disk.node().trim_start_matches("/dev/").to_owned()
}

#[test]
#[ignore = "root"]
fn processes_are_added_up_by_control_group() {
    let text = of_200_reads(&["--by", "cgroup", "--json"]);
    let record: Value = serde_json::from_str(&text).expect("JSON");
    let rows = record["processes"].as_array().expect("a list");
    let busiest = &rows[0];
    assert_eq!(busiest["pid"], Value::Null);
    assert_eq!(busiest["comm"], "1 process");
    assert!(
        (190..=200).contains(&number(busiest, "/reads")),
        "{busiest:#}"
    );
    assert!(
        busiest["cgroup"]
            .as_str()
            .is_some_and(|path| path.starts_with('/')),
        "{busiest:#}"
    );
}

/// In a PID namespace, no process is mistaken for an ended one.
#[test]
#[ignore = "root"]
fn in_a_pid_namespace_it_says_that_no_place_is_given_away() {
    let disk = LoopDevice::in_memory(SIZE_BYTES);
    let watch = ["stat", &disk.node(), "-n", "1", "-i", "0.1"];
    let ended = Program::new(BINARY).run(&watch).ends(0, &[]);
    assert!(!ended.stderr.contains("namespace"), "{}", ended.stderr);
    let apart = ["--pid", "--fork", "--mount-proc", BINARY];
    let output = Command::new("unshare").args(apart).args(watch).output();
    let output = output.expect("unshare");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("runs in its own PID namespace"), "{said}");
}

/// Without rows, the device is still printed.
#[test]
#[ignore = "root"]
fn devices_alone_have_their_fairness_and_stages() {
    let wanted = ["--by", "device", "--detail", "fairness,stages", "--json"];
    let record: Value = serde_json::from_str(&of_200_reads(&wanted)).expect("JSON");
    assert_eq!(record["processes"], Value::Array(Vec::new()));
    let device = &record["devices"][0];
    let compared = number(device, "/fairness/flows") + number(device, "/fairness/left_out");
    assert!(compared > 0, "{device:#}");
    assert!(
        number(&device["ops"][0], "/total/count") >= 190,
        "{device:#}"
    );
    let text = of_200_reads(&["--by", "device", "--detail", "fairness"]);
    assert!(
        text.contains("Jain's index") && !text.contains("PID"),
        "{text}"
    );
}

#[test]
#[ignore = "root"]
fn one_process_can_be_watched() {
    let (disk, program) = (LoopDevice::in_memory(SIZE_BYTES), Program::new(BINARY));
    // It waits for input before it becomes dd.
    let script = format!(
        "read word; exec dd if={} of=/dev/null bs=4k count=50 iflag=direct status=none",
        disk.node()
    );
    let mut one = Command::new("sh")
        .args(["-c", &script])
        .stdin(Stdio::piped())
        .spawn()
        .expect("sh");
    let pid = one.id();
    let started = stat(
        &program,
        &disk.node(),
        3,
        &["--output", "json", "--pid", &pid.to_string()],
    );
    read(&disk);
    one.stdin
        .take()
        .expect("its input")
        .write_all(b"go\n")
        .expect("a word");
    assert!(one.wait().expect("its end").success());
    let record = record(started);
    let rows = record["processes"].as_array().expect("a list");
    assert_eq!(rows.len(), 1, "{rows:#?}");
    assert_eq!(rows[0]["pid"], pid);
    assert!((46..=50).contains(&number(&rows[0], "/reads")), "{rows:#?}");
    let device = &record["devices"][0];
    assert!(
        number(device, "/ops/0/ios") >= 236,
        "the device has both: {device:#}"
    );
}

#[test]
#[ignore = "root"]
fn control_groups_can_be_watched() {
    let text = of_200_reads(&["--output", "json", "--cgroup", "/"]);
    let record: Value = serde_json::from_str(&text).expect("JSON");
    let found = record["processes"].as_array().expect("a list").len();
    assert!(found >= 1, "{record:#}");
}

#[test]
#[ignore = "root"]
fn schedulers_are_listed_and_set() {
    let (disk, program) = (LoopDevice::in_memory(SIZE_BYTES), Program::new(BINARY));
    let (name, node) = (disk.device.name.as_str(), disk.node());
    disk.set("scheduler", "none");
    disk.set("nr_requests", "127");
    disk.set("nr_requests", "128");
    let ended = program
        .run(&[
            "set",
            &node,
            "mq-deadline,iosched/fifo_batch=3,nr_requests=64",
        ])
        .ends(0, &[]);
    for says in [
        &format!("{name}: none -> mq-deadline"),
        "iosched/fifo_batch: 3 (new)",
        "nr_requests: 128 -> 64",
    ] {
        assert!(ended.stdout.contains(says), "{says}: {}", ended.stdout);
    }
    assert!(disk.get("scheduler").contains("[mq-deadline]"));
    assert_eq!(
        (disk.get("iosched/fifo_batch"), disk.get("nr_requests")),
        ("3".into(), "64".into())
    );
    let text = program.run(&["schedulers", name]).ends(0, &[]).stdout;
    assert!(
        text.contains(&format!("{name}: ")) && text.contains("[mq-deadline]"),
        "{text}"
    );
    assert!(text.contains("depth 128"), "{text}");
    let json = program.run(&["schedulers", "--json"]).ends(0, &[]).stdout;
    let all: Value = serde_json::from_str(&json).expect("JSON");
    let rows = all.as_array().expect("a list");
    let row = rows
        .iter()
        .find(|row| row["device"] == name)
        .expect("our disk");
    assert_eq!(row["active"], "mq-deadline");
    assert_eq!(row["hardware_depth"]["depth"], 128);
    assert_eq!(row["settings"]["iosched/fifo_batch"], "3");
    assert_eq!(row["size_bytes"], SIZE_BYTES);

    // An invalid setting changes nothing.
    for (arm, says) in [
        ("nosuch", "no scheduler \"nosuch\""),
        ("cfq", "removed in Linux 5.0"),
        (
            "mq-deadline,iosched/nosuch=1",
            "no attribute \"iosched/nosuch\"",
        ),
        (
            "mq-deadline,read_expire=1",
            "did you mean iosched/read_expire?",
        ),
        ("mq-deadline,nr_requests=many", "nr_requests=many"),
    ] {
        program.run(&["set", &node, arm]).ends(2, &[says]);
        assert_eq!(
            (disk.get("iosched/fifo_batch"), disk.get("nr_requests")),
            ("3".into(), "64".into()),
            "{arm}"
        );
    }
}

#[test]
fn what_is_no_disk_is_a_usage_error() {
    let program = Program::new(BINARY);
    for arguments in [
        &["stat", "no-such-disk", "-n", "1"][..],
        &["schedulers", "no-such-disk"],
        &["set", "no-such-disk", "none"],
    ] {
        program
            .run(arguments)
            .ends(2, &["no-such-disk: no such device"]);
    }
    program.run(&["stat", "-i", "0"]).ends(2, &["0.1 to 86400"]);
    program.run(&["restore"]).ends(0, &[]);
    assert_eq!(program.files(), [""; 0]);
    assert!(!program.state().join("journal").exists());
}

/// A reader that closes the pipe, such as `head`.
fn read_by_nobody(program: &Program, arguments: &[&str]) {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let mut command = program.command(arguments);
    command.stdout(writer);
    let ended = Ended::of(command).ends(0, &[]);
    assert_eq!(ended.stderr, "", "{arguments:?}");
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let program = Program::new(BINARY);
    for arguments in [
        &["completions", "bash"][..],
        &["completions", "zsh"],
        &["schedulers"],
        &["restore", "--list"],
        &["--help"],
    ] {
        read_by_nobody(&program, arguments);
    }
}

#[test]
#[ignore = "root"]
fn measuring_ends_with_its_reader() {
    let (disk, program) = (LoopDevice::in_memory(SIZE_BYTES), Program::new(BINARY));
    let node = disk.node();
    for output in ["text", "json", "csv"] {
        let look = ["stat", &node, "-i", "0.1", "--output", output];
        read_by_nobody(&program, &look);
    }
}

#[test]
#[ignore = "root"]
fn without_root_it_says_what_is_missing() {
    let (disk, program) = (LoopDevice::in_memory(SIZE_BYTES), Program::new(BINARY));
    let node = disk.node();
    let as_nobody = |rest: &[&str]| {
        let copy = program.file("iosched");
        std::fs::copy(BINARY, &copy).expect("a copy");
        run("chmod", &["-R", "a+rX", &program.file("")]);
        let setpriv = ["--reuid=65534", "--regid=65534", "--clear-groups", &copy];
        Ended::of(program.command_of(Path::new("setpriv"), &[&setpriv, rest].concat()))
    };
    as_nobody(&["set", &node, "none"]).ends(5, &["only root can change a scheduler", "sudo"]);
    as_nobody(&["stat", &node, "-n", "1"]).ends(5, &["root", "sudo"]);
    let listed = as_nobody(&["schedulers", &node]).ends(0, &[]);
    assert!(listed.stdout.contains(&disk.device.name));
}

/// An empty table would say that it did no I/O.
#[test]
#[ignore = "root"]
fn what_does_not_exist_cannot_be_selected() {
    let program = Program::new(BINARY);
    for (words, says) in [
        (["--pid", "999999999"], "there is no process 999999999"),
        (
            ["--cgroup", "/no/such"],
            "there is no control group /no/such",
        ),
        (
            ["--unit", "no-such"],
            "the unit no-such has no control group",
        ),
    ] {
        let how = ["stat", "-i", "0.2", "-n", "1"];
        program.run(&[&how[..], &words].concat()).ends(2, &[says]);
    }
    // One that exists and does nothing is no error, and all are below the root.
    let own = std::process::id().to_string();
    for words in [["--pid", &own], ["--cgroup", "/"]] {
        let how = ["stat", "-i", "0.2", "-n", "1"];
        program.run(&[&how[..], &words].concat()).ends(0, &[]);
    }
}
