//! A run writes what was named: a partition, a mapping or a link never becomes the disk below it, nor what is beside
//! it. Root only: `cargo test --test partitions -- --ignored --test-threads=1`.

mod support;

use std::fs;
use std::os::unix::fs::{FileExt, symlink};
use std::path::PathBuf;

use iosched_host::system::device::{Disks, disk_number};
use serde_json::json;
use support::program::Program;
use support::{LoopDevice, Mounted, run};

const BINARY: &str = support::under_test!("iosched-ab");
const SIZE_BYTES: u64 = 320 << 20;
const FIRST: std::ops::Range<u64> = 1 << 20..17 << 20;
const SECOND: std::ops::Range<u64> = 17 << 20..160 << 20;
const THIRD: std::ops::Range<u64> = 160 << 20..310 << 20;
/// Bytes of all of the disk that nothing writes.
const UNTOUCHED: u8 = 0xa5;
const ARMS: [&str; 4] = ["--arm", "none", "--arm", "mq-deadline"];

/// A disk of three partitions.
struct Parted {
    disk: LoopDevice,
}

impl Parted {
    fn new() -> Self {
        let disk = LoopDevice::in_memory(SIZE_BYTES);
        let file = fs::File::options().write(true).open(disk.node());
        let file = file.expect("the node");
        let piece = vec![UNTOUCHED; 1 << 20];
        for at in (0..SIZE_BYTES).step_by(piece.len()) {
            file.write_all_at(&piece, at).expect("written");
        }
        file.sync_all().expect("on the disk");
        for (number, place) in (1..).zip([FIRST, SECOND, THIRD]) {
            disk.add_partition_at(number, place.start, place.end - place.start);
        }
        Parted { disk }
    }

    fn node(&self, number: u32) -> String {
        format!("{}p{number}", self.disk.node())
    }

    fn name(&self, number: u32) -> String {
        format!("{}p{number}", self.disk.device.name)
    }

    /// Where bytes were changed: from the first to the last MiB.
    fn changed(&self) -> Option<(u64, u64)> {
        run("blockdev", &["--flushbufs", &self.disk.node()]);
        let file = fs::File::open(self.disk.node()).expect("the node");
        let mut piece = vec![0; 1 << 20];
        let mut found = None;
        for at in (0..SIZE_BYTES).step_by(piece.len()) {
            file.read_exact_at(&mut piece, at).expect("read");
            if piece.iter().any(|byte| *byte != UNTOUCHED) {
                found = Some((found.map_or(at, |(first, _)| first), at + (1 << 20)));
            }
        }
        found
    }
}

/// Where the raw I/O of a workload goes, if this is named.
#[track_caller]
fn targets(word: &str) -> Vec<PathBuf> {
    let (disks, _) = Disks::resolve(&[word.to_owned()]).expect(word);
    disks.nodes()
}

#[track_caller]
fn goes_to(word: &str, nodes: &[&str]) {
    let expected: Vec<PathBuf> = nodes.iter().map(PathBuf::from).collect();
    assert_eq!(targets(word), expected, "{word}");
}

#[test]
#[ignore = "root"]
fn every_way_to_name_a_device_leads_to_that_device() {
    let parted = Parted::new();
    let (disk, first, second) = (parted.disk.node(), parted.node(1), parted.node(2));
    goes_to(&disk, &[&disk]);
    goes_to(&parted.disk.device.name, &[&disk]);
    goes_to(&first, &[&first]);
    goes_to(&parted.name(1), &[&first]);
    let links = tempfile::TempDir::new().expect("a temporary directory");
    let link = |to: &str| {
        let link = links.path().join(to.replace('/', "-"));
        symlink(to, &link).expect("a symlink");
        link.display().to_string()
    };
    goes_to(&link(&disk), &[&disk]);
    goes_to(&link(&first), &[&first]);
    {
        run("mkfs.ext4", &["-q", "-F", &second]);
        let mounted = Mounted::new(&second);
        goes_to(&mounted.path().display().to_string(), &[&second]);
    }
    {
        let third = parted.node(3);
        run("mkfs.btrfs", &["-q", "-f", &second, &third]);
        let mounted = Mounted::new(&second);
        goes_to(&mounted.path().display().to_string(), &[&second, &third]);
        // Each disk once, however many of its partitions are meant.
        let word = mounted.path().display().to_string();
        let (disks, _) = Disks::resolve(&[word]).expect("resolved");
        assert_eq!(disks.members, std::slice::from_ref(&parted.disk.device));
    }
    // One built on the partition is itself, whatever is below.
    let above = LoopDevice::over(first.as_ref());
    goes_to(&above.node(), &[&above.node()]);
    let number = |node: &str| {
        use std::os::unix::fs::MetadataExt;
        fs::metadata(node).expect("a node").rdev()
    };
    assert_eq!(disk_number(number(&first)), number(&disk));
    assert_eq!(disk_number(number(&disk)), number(&disk));
}

#[test]
#[ignore = "root"]
fn a_mapping_on_a_partition_is_itself() {
    let parted = Parted::new();
    let first = parted.node(1);
    let name = format!("iosched-test-{}", std::process::id());
    let table = format!("0 {} linear {first} 0", (FIRST.end - FIRST.start) / 512);
    let how = ["create", "--noudevsync", &name, "--table", &table];
    let made = std::process::Command::new("dmsetup").args(how).output();
    if !made.as_ref().is_ok_and(|it| it.status.success()) {
        println!("skipped: no device mapper: {made:?}");
        return;
    }
    let mapped = format!("/dev/mapper/{name}");
    let node = run("readlink", &["-f", &mapped]);
    let found = [&mapped, &node].map(|word| targets(word));
    run("dmsetup", &["remove", "--noudevsync", &name]);
    assert_eq!(found, [[PathBuf::from(&node)], [PathBuf::from(&node)]]);
}

#[test]
#[ignore = "root"]
fn a_command_that_writes_to_its_device_writes_to_the_partition_alone() {
    let (parted, program) = (Parted::new(), Program::new(BINARY));
    let write = "echo $IOSCHED_DEVICE $IOSCHED_DEVICES >>devices; \
        dd if=/dev/zero of=$IOSCHED_DEVICE bs=1M oflag=direct conv=notrunc status=none || true";
    let node = parted.node(1);
    let how = ["--rounds", "1", "-o", "result", "--", "sh", "-c", write];
    let (part, disk) = (parted.name(1), &parted.disk.device.name);
    let layers = format!(
        "{part} is a partition: {disk} is switched and measured as a whole; raw I/O goes to {part}"
    );
    let run = program.run(&[&["run", &node], &ARMS[..], &how].concat());
    run.ends(0, &[&layers]);
    assert_eq!(parted.changed(), Some((FIRST.start, FIRST.end)));
    let devices = fs::read_to_string(program.file("devices")).expect("written by the command");
    assert_eq!(devices, format!("{node} {node}\n").repeat(2));
    let group = &program.result("result")["device"]["group"];
    assert_eq!(group["named"], json!([part]), "resumed on the same");
    assert_eq!(group["members"][0]["device"]["name"], json!(disk));
    let report = program.run(&["report", "result"]).ends(0, &[]);
    assert!(report.stdout.contains(&layers), "{}", report.stdout);
}

#[test]
#[ignore = "root"]
fn a_job_that_may_destroy_data_writes_to_the_partition_alone() {
    let (parted, program) = (Parted::new(), Program::new(BINARY));
    run("mkfs.ext4", &["-q", "-F", &parted.node(1)]);
    let ended = |more: &[&str]| {
        let how = ["--workload", "randwrite", "--rounds", "1", "-o", "result"];
        let times = ["--round-time", "1s", "--ramp", "0.2s", "--force"];
        let node = parted.node(1);
        program.run(&[&["run", &node], &ARMS[..], &how, &times, more].concat())
    };
    let (part, disk) = (parted.name(1), parted.disk.device.name.as_str());
    ended(&[]).ends(5, &[&format!("the workload overwrites {part}")]);
    let destroy = ["--destroy-data", "--yes-destroy"];
    // The disk is more than was named.
    let refused = ended(&[&destroy[..], &[disk]].concat());
    refused.ends(5, &[&format!("is not the name or serial number of {part}")]);
    let before = parted.changed().expect("the file system");
    assert!(FIRST.start <= before.0 && before.1 <= FIRST.end);

    let done = ended(&[&destroy[..], &[&part]].concat());
    let done = done.ends(0, &[&format!("{part} contains ext4; it will be lost")]);
    assert!(!done.stderr.contains("has partitions"), "{}", done.stderr);
    let after = parted.changed().expect("what was written");
    assert!(FIRST.start <= after.0 && after.1 <= FIRST.end, "{after:?}");
}

#[test]
#[ignore = "root"]
fn a_neighbour_in_use_is_neither_written_nor_a_place_for_scratch_files() {
    let (parted, program) = (Parted::new(), Program::new(BINARY));
    run("mkfs.ext4", &["-q", "-F", &parted.node(2)]);
    let mounted = Mounted::new(&parted.node(2));
    let point = mounted.path().display().to_string();
    let how = [
        "--rounds",
        "1",
        "-o",
        "result",
        "--round-time",
        "1s",
        "--force",
    ];
    let ended = |number: u32, more: &[&str]| {
        let node = parted.node(number);
        let workload = ["--workload", "randwrite", "--ramp", "0.2s"];
        program.run(&[&["run", &node], &ARMS[..], &how, &workload, more].concat())
    };
    let name = parted.name(1);
    let destroy = ["--destroy-data", "--yes-destroy", &name];
    let is_mounted = format!("{} is mounted on {point}", parted.name(2));
    // The scheduler is that of all partitions, so their users are asked.
    ended(1, &destroy).ends(5, &[&is_mounted, "--allow-mounted"]);
    let allowed = [&destroy[..], &["--allow-mounted"]].concat();
    ended(1, &allowed).ends(0, &[&is_mounted]);
    let second = parted.name(2);
    let destroy_second = [
        "--destroy-data",
        "--yes-destroy",
        &second,
        "--allow-mounted",
    ];
    ended(2, &destroy_second).ends(5, &[&format!("{is_mounted}: it must not be written")]);

    let scratch = [
        "--scratch",
        &point,
        "--scratch-size",
        "16M",
        "--allow-mounted",
    ];
    let elsewhere = format!("is on {second}");
    ended(1, &scratch).ends(5, &[&elsewhere, &format!("not part of {name}")]);
    ended(2, &scratch).ends(0, &[]);
}
