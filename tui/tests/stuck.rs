//! A kernel that does not return from a write to a queue: the program ends with a word on where it is stuck, and the disk is
//! put back once the write returns. The disk hangs because who serves it is stopped.
//! Root only: `cargo test -p iosched-tui --test stuck -- --ignored`.

#[path = "../../tests/support/mod.rs"]
mod support;

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use iosched::device::Device;
use iosched::scheduler;
use rustix::process::{Pid, Signal, kill_process};
use support::program::Program;
use support::traces::{differences, within};

const IOSCHED: &str = env!("CARGO_BIN_EXE_iosched");
const SOON: Duration = Duration::from_secs(20);

/// A scratch device with a server that can be stopped.
struct Served {
    server: Child,
    device: Device,
}

impl Served {
    fn start(program: &Program, iosched_ab: &Path) -> Option<Self> {
        let mut server = program
            .command_of(iosched_ab, &["scratch", "--json", "--size", "64M"])
            .stderr(Stdio::null())
            .spawn()
            .expect("iosched-ab");
        let mut line = String::new();
        let output = server.stdout.take().expect("its output");
        BufReader::new(output).read_line(&mut line).expect("a line");
        let scratch: serde_json::Value = serde_json::from_str(&line).expect("JSON");
        let node = scratch["device"].as_str().expect("a node");
        let device = Device::resolve(node).expect("the device").device;
        let served = Served { server, device };
        if scratch["fallback"].is_null() {
            return Some(served);
        }
        println!("skipped: no simulated disk here: {}", scratch["fallback"]);
        None
    }

    fn signal(&self, signal: Signal) {
        let pid = Pid::from_child(&self.server);
        kill_process(pid, signal).expect("a process of ours");
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.signal(Signal::CONT);
        self.signal(Signal::INT);
        let _ = self.server.wait();
    }
}

#[test]
#[ignore = "root"]
fn a_write_that_does_not_return_is_reported_and_undone_when_it_does() {
    let iosched_ab = Path::new(IOSCHED).with_file_name("iosched-ab");
    if !iosched_ab.exists() {
        return println!("skipped: {} was not built", iosched_ab.display());
    }
    // The server's own journal is none of what is looked at.
    let (programs, server) = (Program::new(IOSCHED), Program::new(IOSCHED));
    let Some(served) = Served::start(&server, &iosched_ab) else {
        return;
    };
    let before = scheduler::read(&served.device).expect("its queue");
    served.signal(Signal::STOP);
    let node = served.device.node().display().to_string();
    let mut reader = Command::new("dd")
        .args([
            &format!("if={node}"),
            "of=/dev/null",
            "bs=4k",
            "count=1",
            "iflag=direct",
        ])
        .stderr(Stdio::null())
        .spawn()
        .expect("dd");
    within(SOON, "a request in flight", || {
        served
            .device
            .attribute("inflight")
            .is_ok_and(|text| !text.starts_with('0'))
    });
    let begin = Instant::now();
    let ended = programs.run(&["set", &node, "kyber"]);
    let took = begin.elapsed();
    let ended = ended.ends(
        1,
        &[
            "the kernel has not returned from a write to",
            "queue/scheduler",
            "for 15 s",
            "if a request to the disk hangs",
        ],
    );
    assert!(
        took < Duration::from_secs(60),
        "{took:?}: it waits with the kernel"
    );
    // The place: in the freeze of the queue, in this kernel's words.
    let names_a_place = ["freeze", "elevator", "blk", "elv", "schedule"];
    assert!(
        names_a_place.iter().any(|word| ended.stderr.contains(word)),
        "{ended:#?}"
    );
    assert_eq!(programs.journals().len(), 1, "it is not undone yet");
    // Nobody else writes there meanwhile.
    programs
        .run(&["set", &node, "bfq"])
        .ends(5, &["is locked by process"]);
    served.signal(Signal::CONT);
    assert!(reader.wait().expect("dd").success());
    within(SOON, "all is back", || {
        let now = scheduler::read(&served.device).expect("its queue");
        programs.journals().is_empty() && differences(&before, &now).is_empty()
    });
    programs.run(&["set", &node, "bfq"]).ends(0, &[]);
}
