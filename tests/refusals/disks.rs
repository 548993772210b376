//! Refusals that need a disk to be refused. Root only.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use crate::support::program::{Ended, Program};
use crate::support::traces::QueueAndData;
use crate::support::{LoopDevice, Mounted, run, sync};
use crate::{ARMS, BINARY, READ, ab, refuses};

const SIZE_BYTES: u64 = 64 << 20;

/// Runs it on a disk of ours and sees that neither its queue nor its data were touched.
#[track_caller]
fn leaves_alone(
    disks: &[&LoopDevice],
    device: &str,
    arguments: &[&[&str]],
    code: i32,
    says: &[&str],
) {
    sync(disks);
    let look = || {
        disks
            .iter()
            .map(|disk| QueueAndData::of(&disk.device))
            .collect::<Vec<_>>()
    };
    let before = look();
    refuses(device, arguments, code, says);
    assert_eq!(look(), before);
}

/// A disk under mq-deadline with settings of its user's, so that a switch would show.
fn disk() -> LoopDevice {
    let disk = LoopDevice::in_memory(SIZE_BYTES);
    disk.set("scheduler", "mq-deadline");
    disk.set("nr_requests", "64");
    disk
}

const WRITE: [&str; 3] = ["--workload", "randwrite", "--destroy-data"];

#[test]
#[ignore = "root"]
fn what_the_device_does_not_have_is_a_usage_error() {
    let disk = disk();
    let node = disk.node();
    let unknown = ["--arm", "none", "--arm", "nosuch"];
    let says = ["no scheduler \"nosuch\"", "mq-deadline", &disk.device.name];
    leaves_alone(&[&disk], &node, &[&unknown, &READ], 2, &says);
    let says = ["unknown workload sleep", "randread"];
    leaves_alone(
        &[&disk],
        &node,
        &[&ARMS, &["--workload", "sleep"]],
        2,
        &says,
    );
    let says = [
        "the reference bfq is not one of the arms",
        "none, mq-deadline",
    ];
    leaves_alone(
        &[&disk],
        &node,
        &[&ARMS, &READ, &["--reference", "bfq"]],
        2,
        &says,
    );
    let job = ["--job", "no-such.fio"];
    leaves_alone(
        &[&disk],
        &node,
        &[&ARMS, &job],
        2,
        &["cannot read the job file no-such.fio"],
    );
}

/// A round may take hours, so a setting that the kernel does not have or refuses is told before the first one.
#[test]
#[ignore = "root"]
fn a_misspelled_setting_is_told_before_anything_runs() {
    let disk = disk();
    let node = disk.node();
    let of = |bfq: &'static str| ["--arm", "none", "--arm", bfq, "--rounds", "2"];
    let touch = ["--", "touch", "it-ran"];
    let settings = || iosched_host::scheduler::read(&disk.device).expect("its settings");
    let before = settings();
    for (bfq, says) in [
        ("bfq,low_latncy=0", "did you mean iosched/low_latency?"),
        ("bfq,nr_request=64", "did you mean nr_requests?"),
    ] {
        for dry in [&["--dry-run"][..], &[]] {
            leaves_alone(&[&disk], &node, &[&of(bfq), dry, &READ], 2, &[says]);
            leaves_alone(&[&disk], &node, &[&of(bfq), dry, &touch], 2, &[says]);
        }
    }
    for (bfq, says) in [
        (
            "bfq,iosched/low_latncy=0",
            "did you mean iosched/low_latency?",
        ),
        (
            "bfq,iosched/low_latency=2",
            "iosched/low_latency=2 reads back as 1",
        ),
    ] {
        // The kernel is asked: the disk is switched, and switched back.
        refuses(&node, &[&of(bfq), &touch], 2, &[says]);
        assert_eq!(settings(), before);
    }
}

#[test]
#[ignore = "root"]
fn a_job_file_that_sets_the_scheduler_is_refused() {
    let disk = disk();
    let mut job = tempfile::NamedTempFile::new().expect("a file");
    job.write_all(b"[a]\nrw=randread\nioscheduler=none\n")
        .expect("a job");
    let path = job.path().display().to_string();
    let says = [
        "ioscheduler",
        "would change the scheduler under test",
        &path,
    ];
    leaves_alone(
        &[&disk],
        &disk.node(),
        &[&ARMS, &["--job", &path]],
        5,
        &says,
    );
}

#[test]
#[ignore = "root"]
fn a_mounted_disk_is_never_written_by_whatever_name() {
    let disk = disk();
    let mounted = Mounted::ext4(&disk.node());
    let says = format!(
        "{} is mounted on {}",
        disk.device.name,
        mounted.path().display()
    );
    let links = tempfile::TempDir::new().expect("a directory");
    let link = links.path().join("disk");
    symlink(disk.node(), &link).expect("a symlink");
    for name in [
        disk.node(),
        link.display().to_string(),
        mounted.path().display().to_string(),
    ] {
        leaves_alone(
            &[&disk],
            &name,
            &[&ARMS, &WRITE],
            5,
            &[&says, "must not be written"],
        );
        let force = ["--allow-mounted"];
        leaves_alone(&[&disk], &name, &[&ARMS, &WRITE, &force], 5, &[&says]);
        leaves_alone(
            &[&disk],
            &name,
            &[&ARMS, &READ],
            5,
            &[&says, "--allow-mounted"],
        );
    }
}

#[test]
#[ignore = "root"]
fn a_disk_with_a_mounted_partition_is_never_written() {
    let disk = disk();
    let partition = disk.add_partition();
    let _mounted = Mounted::ext4(&partition);
    let says = format!("{}p1 is mounted on", disk.device.name);
    for name in [partition, disk.node()] {
        leaves_alone(&[&disk], &name, &[&ARMS, &WRITE], 5, &[&says]);
    }
}

#[test]
#[ignore = "root"]
fn the_second_member_of_a_btrfs_is_never_written() {
    let disks = [
        LoopDevice::in_memory(256 << 20),
        LoopDevice::in_memory(256 << 20),
    ];
    let (first, second) = (disks[0].node(), disks[1].node());
    run(
        "mkfs.btrfs",
        &["-q", "-d", "raid1", "-m", "raid1", &first, &second],
    );
    let _mounted = Mounted::new(&first);
    let both = [&disks[0], &disks[1]];
    leaves_alone(
        &both,
        &second,
        &[&ARMS, &WRITE],
        5,
        &["is a member of the mounted btrfs"],
    );
}

#[test]
#[ignore = "root"]
fn writes_need_the_owners_word() {
    let disk = disk();
    for name in ["randwrite", "seqwrite", "randrw", "probe-hog"] {
        let workload = ["--workload", name];
        let says = [&disk.device.name, "overwrites", "--destroy-data"];
        leaves_alone(&[&disk], &disk.node(), &[&ARMS, &workload], 5, &says);
    }
    let mut job = tempfile::NamedTempFile::new().expect("a file");
    job.write_all(b"[a]\nrw=randwrite\nbs=4k\n").expect("a job");
    let path = job.path().display().to_string();
    leaves_alone(
        &[&disk],
        &disk.node(),
        &[&ARMS, &["--job", &path]],
        5,
        &["--destroy-data"],
    );
}

#[test]
#[ignore = "root"]
fn a_flag_alone_destroys_nothing() {
    let disk = disk();
    let (node, name) = (disk.node(), disk.device.name.as_str());
    let says = ["there is no terminal to confirm", name, "--yes-destroy"];
    leaves_alone(&[&disk], &node, &[&ARMS, &WRITE], 5, &says);
    let wrong = ["--yes-destroy", "sda-not-this-one"];
    let says = ["\"sda-not-this-one\" is not", name];
    leaves_alone(&[&disk], &node, &[&ARMS, &WRITE, &wrong], 5, &says);
    // A command that is said to write is no exception, and the word alone is none either.
    let command = ["--destroy-data", "--", "true"];
    leaves_alone(
        &[&disk],
        &node,
        &[&ARMS, &command],
        5,
        &["no terminal to confirm"],
    );
    let word = ["--yes-destroy", name, "--", "true"];
    leaves_alone(&[&disk], &node, &[&ARMS, &word], 2, &["--destroy-data"]);
}

/// The output of `script` for a run on a terminal of its own, with this typed into it.
fn on_a_terminal(program: &Program, device: &str, typed: &str) -> Ended {
    let how = "--arm none --arm kyber --rounds 1 -o result --destroy-data";
    let write =
        "sh -c 'dd if=/dev/urandom of=$IOSCHED_DEVICE bs=4k count=4 oflag=direct status=none'";
    let line = format!("{BINARY} run {device} {how} -- {write}");
    let mut command = program.command_of(Path::new("script"), &["-qec", &line, "/dev/null"]);
    let mut child = command
        .stdin(std::process::Stdio::piped())
        .spawn()
        .expect("script");
    let mut keys = child.stdin.take().expect("its input");
    writeln!(keys, "{typed}").expect("typed");
    let ended = Ended::wait(child);
    drop(keys);
    ended
}

#[test]
#[ignore = "root"]
fn the_name_typed_back_is_the_owners_word() {
    let disk = disk();
    let before = QueueAndData::of(&disk.device);
    let program = Program::new(BINARY);
    let refused = on_a_terminal(&program, &disk.node(), "yes");
    assert_eq!(refused.code, Some(5), "{refused:#?}");
    let says = format!("Type {} to continue", disk.device.name);
    assert!(refused.stdout.contains(&says), "{refused:#?}");
    assert_eq!(QueueAndData::of(&disk.device), before);
    let done = on_a_terminal(&program, &disk.node(), &disk.device.name);
    assert_eq!(done.code, Some(0), "{done:#?}");
    sync(&[&disk]);
    let after = QueueAndData::of(&disk.device);
    assert_eq!(after.queue, before.queue);
    assert_ne!(after, before, "it was written");
}

#[test]
#[ignore = "root"]
fn without_root_it_says_so() {
    let disk = disk();
    let before = QueueAndData::of(&disk.device);
    let program = Program::new(BINARY);
    // Where anyone may run it and write: what is missing is root alone.
    let copy = program.directory().join("iosched-ab");
    fs::copy(BINARY, &copy).expect("a copy");
    for path in [program.directory(), program.state(), &copy] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o777)).expect("a mode");
    }
    let as_nobody = |state_mode: u32, arguments: &[&[&str]]| {
        fs::set_permissions(program.state(), fs::Permissions::from_mode(state_mode))
            .expect("a mode");
        let setpriv = ["--reuid=65534", "--regid=65534", "--clear-groups"];
        let copy = copy.display().to_string();
        let arguments = [&setpriv[..], &[&copy], &arguments.concat()].concat();
        Ended::of(program.command_of(Path::new("setpriv"), &arguments))
    };
    let node = disk.node();
    for state_mode in [0o777, 0o755] {
        let ended = as_nobody(state_mode, &[&["run", &node], &ARMS, &READ]);
        ended.ends(5, &["only root can change a scheduler", "run it with sudo"]);
        let ended = as_nobody(state_mode, &[&["run", "scratch:ssd"], &ARMS, &READ]);
        ended.ends(5, &["only root can create a scratch device"]);
        as_nobody(state_mode, &[&["demo"]]).ends(5, &["only root"]);
        as_nobody(state_mode, &[&["scratch"]]).ends(5, &["only root"]);
    }
    assert_eq!(QueueAndData::of(&disk.device), before);
    assert_eq!(program.files(), ["iosched-ab"]);
}

#[test]
#[ignore = "root"]
fn a_dry_run_prints_the_schedule_and_touches_nothing() {
    let disk = disk();
    let arms = [
        "--arm",
        "noop",
        "--arm",
        "deadline",
        "--arm",
        "fast=none,nr_requests=32",
    ];
    let options = ["--dry-run", "--rounds", "6", "--seed", "7"];
    let before = QueueAndData::of(&disk.device);
    let program = Program::new(BINARY);
    let look = || ab(&program, &disk.node(), &[&arms, &WRITE, &options]);
    let ended = look().ends(0, &["noop", "none", "deadline", "mq-deadline", "note"]);
    let lines: Vec<&str> = ended.stdout.lines().collect();
    assert_eq!(lines.len(), 7, "{}", ended.stdout);
    assert_eq!(lines[0], "seed 7");
    for (index, line) in lines[1..].iter().enumerate() {
        let rest = line
            .strip_prefix(&format!("block {}: ", index + 1))
            .expect("a block");
        let mut labels: Vec<&str> = rest.split("  ").collect();
        labels.sort_unstable();
        assert_eq!(labels, ["deadline", "fast", "noop"], "every arm once");
    }
    assert_eq!(
        look().stdout,
        ended.stdout,
        "the same seed is the same schedule"
    );
    assert_eq!(QueueAndData::of(&disk.device), before);
    assert_eq!(program.files(), [""; 0]);
    assert!(!program.state().join("journal").exists());
    let ended = ab(&program, "scratch:ssd", &[&arms, &WRITE, &options]);
    assert_eq!(ended.ends(0, &["would be made"]).stdout.lines().count(), 7);
    ab(
        &program,
        "scratch:ssd",
        &[&arms, &["--workload", "sleep"], &options],
    )
    .ends(2, &["unknown workload sleep"]);
}
