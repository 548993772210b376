//! Between the owner's word and the last write: whatever happens to the disk meanwhile ends the run before it writes.
//! Root only: `cargo test --test consent -- --ignored --test-threads=1`.

mod support;

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use iosched_host::scheduler;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use support::program::{Ended, Program};
use support::traces::{arguments, differences, processes_with, within};
use support::{LoopDevice, Mounted, run, unmount};

const BINARY: &str = support::under_test!("iosched-ab");
const SIZE_BYTES: u64 = 64 << 20;
const PATIENCE: Duration = Duration::from_secs(40);
const CANARY: &[u8] = b"what nobody may overwrite";
/// The place of the canary, which the workload would overwrite.
const PLACE: u64 = 32 << 20;

/// A run that asks its question on a terminal of its own.
struct Asking {
    disk: LoopDevice,
    before: scheduler::State,
    child: Child,
    screen: Arc<Mutex<String>>,
}

impl Asking {
    fn about(disk: LoopDevice, program: &Program) -> Self {
        let before = scheduler::read(&disk.device).expect("its queue");
        let node = disk.node();
        let how = "--arm none --arm kyber --rounds 1 -o result --destroy-data";
        let write = format!(
            "dd if=/dev/urandom of={node} bs=4k count=16 seek={} oflag=direct status=none",
            PLACE / 4096
        );
        let line = format!("{BINARY} run {node} {how} -- {write}");
        let mut child = program
            .command_of(Path::new("script"), &["-qec", &line, "/dev/null"])
            .stdin(Stdio::piped())
            .spawn()
            .expect("script");
        let screen = Arc::new(Mutex::new(String::new()));
        let (mut output, written) = (child.stdout.take().expect("its output"), screen.clone());
        std::thread::spawn(move || {
            let mut piece = [0; 4096];
            while let Ok(count @ 1..) = output.read(&mut piece) {
                let text = String::from_utf8_lossy(&piece[..count]).into_owned();
                written.lock().expect("the screen").push_str(&text);
            }
        });
        let asking = Asking {
            disk,
            before,
            child,
            screen,
        };
        within(PATIENCE, "the question", || {
            asking.seen().contains("to continue")
        });
        asking
    }

    fn seen(&self) -> String {
        self.screen.lock().expect("the screen").clone()
    }

    /// Its exit code and all that it said, and the disk.
    fn answered(mut self) -> (LoopDevice, Option<i32>, String) {
        let mut keys = self.child.stdin.take().expect("its input");
        writeln!(keys, "{}", self.disk.device.name).expect("typed");
        let code = self.child.wait().expect("its end").code();
        drop(keys);
        std::thread::sleep(Duration::from_millis(100)); // its last words are on their way
        let text = self.seen();
        let now = scheduler::read(&self.disk.device).expect("its queue");
        assert_eq!(differences(&self.before, &now), [""; 0], "{text}");
        (self.disk, code, text)
    }

    #[track_caller]
    fn expect_refusal(self, says: &str) -> LoopDevice {
        let (disk, code, text) = self.answered();
        assert_eq!(code, Some(1), "{text}");
        for says in ["no longer what you agreed to overwrite", says] {
            assert!(text.contains(says), "{says:?} is not in {text}");
        }
        assert_eq!(canary(&disk), CANARY, "{text}");
        disk
    }
}

fn disk() -> LoopDevice {
    let disk = LoopDevice::new(SIZE_BYTES);
    run("mkfs.ext4", &["-q", &disk.node()]);
    let file = fs::File::options()
        .write(true)
        .open(disk.node())
        .expect("the node");
    file.write_all_at(CANARY, PLACE).expect("written");
    file.sync_all().expect("on the disk");
    disk
}

fn canary(disk: &LoopDevice) -> Vec<u8> {
    run("blockdev", &["--flushbufs", &disk.node()]);
    let mut bytes = vec![0; CANARY.len()];
    let file = fs::File::open(disk.node()).expect("the node");
    file.read_exact_at(&mut bytes, PLACE).expect("read");
    bytes
}

#[test]
#[ignore = "root"]
fn an_undisturbed_question_is_followed_by_the_run() {
    let program = Program::new(BINARY);
    let (disk, code, text) = Asking::about(disk(), &program).answered();
    assert_eq!(code, Some(0), "{text}");
    assert_ne!(canary(&disk), CANARY);
}

#[test]
#[ignore = "root"]
fn a_disk_that_is_mounted_meanwhile_is_not_written() {
    let program = Program::new(BINARY);
    let asking = Asking::about(disk(), &program);
    let mounted = Mounted::new(&asking.disk.node());
    fs::write(mounted.path().join("file"), CANARY).expect("a file");
    let node = asking.disk.node();
    let disk = asking.expect_refusal("is mounted on");
    assert_eq!(
        fs::read(mounted.path().join("file")).expect("the file"),
        CANARY
    );
    drop(mounted);
    run("fsck.ext4", &["-fn", &node]);
    drop(disk);
}

#[test]
#[ignore = "root"]
fn a_disk_that_is_claimed_meanwhile_is_not_written() {
    let program = Program::new(BINARY);
    let asking = Asking::about(disk(), &program);
    let held = claim(&asking.disk).expect("an exclusive open");
    let disk = asking.expect_refusal("another process has opened it exclusively");
    drop((held, disk));
}

#[test]
#[ignore = "root"]
fn a_disk_that_becomes_swap_meanwhile_is_not_written() {
    let program = Program::new(BINARY);
    let asking = Asking::about(disk(), &program);
    let node = asking.disk.node();
    run("mkswap", &["-f", &node]);
    let on = std::process::Command::new("swapon")
        .arg(&node)
        .status()
        .expect("swapon");
    if !on.success() {
        println!("skipped: this machine takes no swap");
        asking.answered();
        return;
    }
    let disk = asking.expect_refusal("is swap space");
    run("swapoff", &[&node]);
    drop(disk);
}

#[test]
#[ignore = "root"]
fn a_disk_of_another_size_is_not_written() {
    let program = Program::new(BINARY);
    let asking = Asking::about(disk(), &program);
    let file = fs::read_to_string(asking.disk.device.sysfs("loop/backing_file")).expect("its file");
    let file = fs::File::options()
        .write(true)
        .open(file.trim())
        .expect("its file");
    file.set_len(SIZE_BYTES * 2).expect("its size");
    run("losetup", &["-c", &asking.disk.node()]);
    asking.expect_refusal("its size changed from 67108864 to 134217728 bytes");
}

/// As long as the question stands the name stays with the disk: a detached loop device is not given to another file.
#[test]
#[ignore = "root"]
fn a_disk_that_is_let_go_meanwhile_is_not_another_one() {
    let program = Program::new(BINARY);
    let asking = Asking::about(disk(), &program);
    let node = asking.disk.node();
    let other = tempfile::NamedTempFile::new().expect("a file");
    other.as_file().set_len(SIZE_BYTES).expect("its size");
    run("losetup", &["--detach", &node]);
    let path = other.path().display().to_string();
    let bound = std::process::Command::new("losetup")
        .args([&node, &path])
        .output();
    assert!(
        !bound.expect("losetup").status.success(),
        "it is still held"
    );
    let Asking {
        disk,
        mut child,
        screen,
        ..
    } = asking;
    let mut keys = child.stdin.take().expect("its input");
    writeln!(keys, "no").expect("typed");
    let code = child.wait().expect("its end").code();
    assert_eq!(code, Some(5), "{:?}", screen.lock());
    // It is free now, and was only waiting for that.
    within(PATIENCE, "its end", || {
        !disk.device.sysfs("loop/backing_file").exists()
    });
    run("losetup", &[&node, &path]);
    drop(disk);
}

/// Whoever has made it meanwhile keeps it.
#[test]
#[ignore = "root"]
fn a_result_that_came_meanwhile_is_not_overwritten() {
    let program = Program::new(BINARY);
    let asking = Asking::about(disk(), &program);
    fs::write(program.directory().join("result"), CANARY).expect("a file");
    let (disk, code, text) = asking.answered();
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("writing result"), "{text}");
    assert_eq!(canary(&disk), CANARY);
    assert_eq!(
        fs::read(program.directory().join("result")).expect("the file"),
        CANARY
    );
}

/// Also with half a line typed.
#[test]
#[ignore = "root"]
fn a_signal_ends_the_question() {
    let program = Program::new(BINARY);
    let mut asking = Asking::about(disk(), &program);
    let mut keys = asking.child.stdin.take().expect("its input");
    write!(keys, "lo\x04").expect("typed");
    std::thread::sleep(Duration::from_millis(300));
    let node = asking.disk.node();
    let is_ab = |pid: &u32| arguments(*pid)[0].ends_with("iosched-ab");
    let pid = processes_with(&node)
        .into_iter()
        .find(is_ab)
        .expect("it asks");
    let pid = rustix::process::Pid::from_raw(pid as i32).expect("a pid");
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("ours");
    let begin = Instant::now();
    let code = asking.child.wait().expect("its end").code();
    assert_eq!(code, Some(130), "{}", asking.seen());
    assert!(begin.elapsed() < Duration::from_secs(10));
    drop(keys);
    assert_eq!(canary(&asking.disk), CANARY);
}

fn claim(disk: &LoopDevice) -> rustix::io::Result<rustix::fd::OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::EXCL | OFlags::CLOEXEC;
    rustix::fs::open(disk.node(), flags, Mode::empty())
}

/// The built-in workloads and fio jobs need it for nobody else.
#[test]
#[ignore = "root"]
fn nobody_can_claim_a_disk_that_is_being_overwritten() {
    let (disk, program) = (LoopDevice::in_memory(SIZE_BYTES), Program::new(BINARY));
    let node = disk.node();
    let word = ["--destroy-data", "--yes-destroy", &disk.device.name];
    let how = [
        "--rounds",
        "3",
        "--ramp",
        "0s",
        "--round-time",
        "0.5s",
        "-o",
        "result",
    ];
    let arms = [
        "run",
        &node,
        "--arm",
        "none",
        "--arm",
        "kyber",
        "--workload",
        "randwrite",
    ];
    let mut child = program.start(&[&arms[..], &word, &how].concat());
    child.until(PATIENCE, "the claim", || {
        claim(&disk).err() == Some(Errno::BUSY)
    });
    let begin = Instant::now();
    let mut looks = 0;
    while child.child().try_wait().expect("its state").is_none() {
        let is_last_moment = begin.elapsed() > Duration::from_millis(2500);
        assert!(
            claim(&disk).is_err() || is_last_moment,
            "claimed in the middle"
        );
        looks += 1;
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(looks > 20, "{looks}");
    let ended = child.end();
    // On a busy machine the probe may miss the end of a request, and a block does not count.
    let is_for_the_probe = ended.code == Some(6) && ended.stdout.contains("the probe lost");
    assert!(ended.code == Some(0) || is_for_the_probe, "{ended:#?}");
    claim(&disk).expect("free again");
}

/// A command may need it for itself, as mkfs does; what it leaves behind ends the run before the next round.
#[test]
#[ignore = "root"]
fn a_command_may_claim_the_disk_and_what_stays_of_it_ends_the_run() {
    let (disk, program) = (LoopDevice::new(SIZE_BYTES), Program::new(BINARY));
    let node = disk.node();
    let before = scheduler::read(&disk.device).expect("its queue");
    let word = ["--destroy-data", "--yes-destroy", &disk.device.name];
    let start = [
        "run", &node, "--arm", "none", "--arm", "kyber", "--rounds", "3",
    ];
    let run_with = |script: &str, output: &str| -> Ended {
        let command = ["-o", output, "--", "sh", "-c", script];
        program.run(&[&start[..], &word, &command].concat())
    };
    run_with("mkfs.ext4 -q -F $IOSCHED_DEVICE", "made").ends(0, &[]);
    let point = program.directory().join("point");
    fs::create_dir(&point).expect("a directory");
    let script = format!(
        "mkfs.ext4 -q -F $IOSCHED_DEVICE; if [ $IOSCHED_ROUND = 2 ]; then mount $IOSCHED_DEVICE {}; fi",
        point.display()
    );
    let ended = run_with(&script, "left");
    let is_mounted = !run("findmnt", &["-n", &point.display().to_string()]).is_empty();
    unmount(&point.display().to_string());
    ended.ends(
        1,
        &[
            "no longer what you agreed to overwrite",
            "is mounted on",
            "the completed rounds are in",
        ],
    );
    assert!(is_mounted);
    let rounds = program.result("left")["rounds"]
        .as_array()
        .map_or(0, Vec::len);
    assert_eq!(rounds, 3, "the third one mounted it");
    let now = scheduler::read(&disk.device).expect("its queue");
    assert_eq!(differences(&before, &now), [""; 0]);
}
