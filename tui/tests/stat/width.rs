//! What a terminal of 80 columns shows: no line is wider, and nobody has to scroll for the columns that matter.

use std::process::{Child, Command, Stdio};

use crate::pty::Terminal;
use crate::support::LoopDevice;
use crate::support::program::Program;
use crate::{BINARY, SIZE_BYTES};

/// Ends with the test.
struct Reader(Child);

impl Drop for Reader {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A writer that syncs and is read beside, under a long name.
fn busy(disk: &LoopDevice) -> Reader {
    let script = format!(
        "while :; do dd if=/dev/zero of={0} bs=64k count=20 oflag=direct conv=fsync; dd if={0} of=/dev/null bs=4k count=99 iflag=direct; done",
        disk.node()
    );
    let child = Command::new("sh")
        .args(["-c", &script])
        .stderr(Stdio::null())
        .spawn();
    Reader(child.expect("sh"))
}

/// What it wrote on a terminal of so many columns, line by line.
fn on_terminal(columns: u16, arguments: &[&str]) -> Vec<String> {
    let program = Program::new(BINARY);
    let (status, written) = Terminal::start(&program, BINARY, arguments, (columns, 24)).end();
    assert!(status.success(), "{arguments:?}: {written}");
    let written = written.replace('\r', "");
    written.lines().map(str::to_owned).collect()
}

#[test]
#[ignore = "root"]
fn no_line_is_wider_than_the_terminal() {
    let disk = LoopDevice::in_memory(SIZE_BYTES);
    let node = disk.node();
    let _load = busy(&disk);
    let once = ["-n", "1", "-i", "0.5"];
    let looks: [&[&str]; 6] = [
        &["stat", &node],
        &["stat", &node, "--by", "cgroup"],
        &["stat", &node, "--by", "file"],
        &["stat", &node, "--light"],
        &[
            "stat",
            &node,
            "--detail",
            "order,fairness,merges,stages,waits,asked",
        ],
        &["stat", &node, "--detail", "syncs"],
    ];
    for look in looks {
        let lines = on_terminal(80, &[look, &once].concat());
        for line in lines
            .iter()
            .filter(|line| !line.starts_with("iosched: note: "))
        {
            assert!(line.chars().count() <= 80, "{look:?}: {line}");
        }
    }
    for look in [&["schedulers"][..], &["schedulers", &node]] {
        for line in on_terminal(80, look) {
            assert!(line.chars().count() <= 80, "{look:?}: {line}");
        }
    }
}

#[test]
#[ignore = "root"]
fn the_columns_that_matter_are_there_and_the_others_on_request() {
    let disk = LoopDevice::in_memory(SIZE_BYTES);
    let node = disk.node();
    let _load = busy(&disk);
    let look = ["stat", &node, "-n", "1", "-i", "0.5"];
    let header = |lines: &[String]| {
        let line = lines.iter().find(|line| line.contains("COMM"));
        line.expect("a table").clone()
    };
    let narrow = on_terminal(80, &look);
    for column in [
        "PID", "COMM", "READ/s", "WRITE/s", "BYTES/s", "WAIT p99", "DEV p99",
    ] {
        assert!(header(&narrow).contains(column), "{column}: {narrow:#?}");
    }
    assert!(!header(&narrow).contains("OLDEST"), "{narrow:#?}");
    assert!(
        narrow.iter().any(|line| line.contains("--wide")),
        "{narrow:#?}"
    );
    for (columns, more) in [(80, &["--wide"][..]), (250, &[])] {
        let all = on_terminal(columns, &[&look, more].concat());
        for column in [
            "WAIT max", "STALL", "DEV max", "MERGES", "NOW", "OLDEST", "CGROUP",
        ] {
            assert!(header(&all).contains(column), "{column}: {all:#?}");
        }
        assert!(!all.iter().any(|line| line.contains("--wide")), "{all:#?}");
    }
}
