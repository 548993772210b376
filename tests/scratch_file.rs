//! Workloads in a file of their own on a mounted disk: what else is on the disk stays as it is, and nothing is left.
//! Root only: `cargo test --test scratch_file -- --ignored --test-threads=1`.

#[path = "scratch_file/places.rs"]
mod places; // where there may be none
mod support;
#[path = "scratch_file/troubles.rs"]
mod troubles; // what goes wrong meanwhile
#[path = "scratch_file/volumes.rs"]
mod volumes; // on simulated disks

use std::fs;
use std::path::{Path, PathBuf};

use iosched_host::scheduler;
use iosched_result::types::queue::State;
use serde_json::Value;
use support::program::{Ended, Program};
use support::traces::{differences, traces_of};
use support::{LoopDevice, Mounted, run};

const BINARY: &str = support::under_test!("iosched-ab");
const ARMS: [&str; 4] = ["--arm", "none,nr_requests=8", "--arm", "kyber"];
const TIMES: [&str; 4] = ["--ramp", "0.2s", "--round-time", "0.6s"];
const MIB: u64 = 1 << 20;

/// An ext4 with somebody's data on it, on a disk with settings of its user's.
struct Volume {
    disk: LoopDevice,
    mounted: Option<Mounted>,
    data: Vec<u8>,
    before: State,
}

impl Volume {
    fn new() -> Self {
        Self::of(256 * MIB)
    }

    fn of(size_bytes: u64) -> Self {
        let disk = LoopDevice::in_memory(size_bytes);
        let eager = "lazy_itable_init=0,lazy_journal_init=0";
        run("mkfs.ext4", &["-q", "-m", "0", "-E", eager, &disk.node()]);
        disk.set("scheduler", "mq-deadline");
        disk.set("nr_requests", "64");
        let mounted = Mounted::new(&disk.node());
        let mut data = vec![0; 3_000_001];
        fs::File::open("/dev/urandom")
            .and_then(|mut source| std::io::Read::read_exact(&mut source, &mut data))
            .expect("random bytes");
        fs::write(mounted.path().join("data"), &data).expect("a file");
        Volume {
            before: scheduler::read(&disk.device).expect("its queue"),
            mounted: Some(mounted),
            disk,
            data,
        }
    }

    fn path(&self) -> PathBuf {
        self.mounted.as_ref().expect("mounted").path()
    }

    fn name(&self) -> String {
        self.path().display().to_string()
    }

    /// But for what mkfs and [`Volume::of`] made.
    fn files(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.path()).expect("a directory");
        let paths = entries.map(|entry| entry.expect("an entry").path());
        paths
            .filter(|path| !path.ends_with("lost+found") && !path.ends_with("data"))
            .collect()
    }

    /// Neither the file system nor what was on it nor the queue are other than before.
    #[track_caller]
    fn ends_as_before(mut self, program: &Program, pid: u32) {
        assert_eq!(traces_of(pid), [""; 0]);
        assert!(program.journals().is_empty());
        assert_eq!(self.files(), [""; 0].map(PathBuf::from));
        let now = scheduler::read(&self.disk.device).expect("its queue");
        assert_eq!(differences(&self.before, &now), [""; 0]);
        // Read from the disk, not from the cache.
        self.mounted = None;
        run("e2fsck", &["-fn", &self.disk.node()]);
        let again = Mounted::new(&self.disk.node());
        let data = fs::read(again.path().join("data")).expect("the file");
        assert!(data == self.data, "somebody's file was changed");
    }
}

fn ab(program: &Program, device: &str, arguments: &[&[&str]]) -> Ended {
    let start = ["run", device, "-o", "result", "--force", "--seed", "11"];
    program.run(&[&start[..], &arguments.concat()].concat())
}

fn rounds(result: &Value) -> &Vec<Value> {
    result["rounds"].as_array().expect("rounds")
}

fn count(value: &Value, path: &str) -> u64 {
    let found = value.pointer(path).and_then(Value::as_u64);
    found.unwrap_or_else(|| panic!("no count at {path} in {value:#}"))
}

/// A job file of so little I/O that nothing else spoils its rounds on a busy machine.
fn slow_job(program: &Program, direction: &str) -> [&'static str; 2] {
    let job = format!("[slow]\nrw={direction}\nbs=4k\ndirect=1\nrate_iops=300\n");
    fs::write(program.file("slow.fio"), job).expect("a job file");
    ["--job", "slow.fio"]
}

/// Share of the bytes that fio says it moved that the probe saw on the device.
fn share_on_the_device(round: &Value, direction: &str, op: usize) -> f64 {
    let seen = count(round, &format!("/evidence/device/ops/{op}/bytes")) as f64;
    let path = format!("/evidence/outcome/jobs/0/{direction}/bytes_per_s");
    let told = round.pointer(&path).and_then(Value::as_f64);
    seen / round["window_s"].as_f64().expect("a window") / told.expect("a rate")
}

#[test]
#[ignore = "root"]
fn writes_on_a_mount_point_go_to_a_file_of_their_own() {
    let (volume, program) = (Volume::new(), Program::new(BINARY));
    let how = ["--workload", "seqwrite", "--rounds", "2"];
    let both = [&ARMS[..], &how, &TIMES, &["--allow-mounted"]];
    // A dry run says the same and makes nothing.
    let free = |volume: &Volume| {
        let space = rustix::fs::statvfs(volume.path()).expect("the free space");
        space.f_bavail * space.f_frsize
    };
    let tenth = free(&volume) / 10 / MIB;
    let says = format!(
        "a scratch file of {tenth} MiB below {} (ext4)",
        volume.name()
    );
    let dry = [&both[..], &[&["--dry-run"]]].concat();
    ab(&program, &volume.name(), &dry).ends(0, &[&says]);
    assert!(program.files().is_empty() && volume.files().is_empty());
    assert_eq!(free(&volume) / 10 / MIB, tenth);

    let ended = ab(&program, &volume.name(), &both).ends(0, &[&says, &format!("writing {says}")]);
    assert!(ended.stdout.contains(&format!("in {says}")), "{ended:#?}");
    let result = program.result("result");
    assert_eq!(result["status"], "complete");
    let place = &result["workload"]["scratch_file"];
    assert_eq!(place["directory"], *volume.name());
    assert_eq!(place["file_system"], "ext4");
    assert_eq!(count(place, "/size_bytes"), tenth * MIB);
    assert_eq!(rounds(&result).len(), 4);
    for round in rounds(&result) {
        assert!(round["problem"].is_null(), "{round:#}");
        let share = share_on_the_device(round, "write", 1);
        assert!((0.5..2.0).contains(&share), "{share}");
    }
    let pid = ended.pid;
    volume.ends_as_before(&program, pid);
}

/// Extents that were never written are read without any I/O.
#[test]
#[ignore = "root"]
fn reads_of_a_scratch_file_reach_the_disk() {
    let (volume, program) = (Volume::new(), Program::new(BINARY));
    let (node, directory) = (volume.disk.node(), volume.path().join("below"));
    fs::create_dir(&directory).expect("a directory");
    let start = [
        "aa",
        &node,
        "-o",
        "result",
        "--rounds",
        "1",
        "--allow-mounted",
    ];
    let place = [
        "--scratch",
        directory.to_str().expect("UTF-8"),
        "--scratch-size",
        "40M",
    ];
    let how = slow_job(&program, "randread");
    let ended = program.run(&[&start[..], &place, &how, &TIMES].concat());
    let pid = ended.ends(0, &["a scratch file of 40 MiB"]).pid;
    let result = program.result("result");
    for round in rounds(&result) {
        assert!(round["problem"].is_null(), "{round:#}");
        let share = share_on_the_device(round, "read", 0);
        assert!((0.5..2.0).contains(&share), "{share}");
    }
    fs::remove_dir(&directory).expect("empty again");
    volume.ends_as_before(&program, pid);
}

#[test]
#[ignore = "root"]
fn a_command_finds_an_empty_directory_in_each_round() {
    let (volume, program) = (Volume::new(), Program::new(BINARY));
    let script = "echo $(stat -c '%a %u' $IOSCHED_SCRATCH) $(ls -A $IOSCHED_SCRATCH) $(dirname $IOSCHED_SCRATCH) >> log
        [ -e $IOSCHED_SCRATCH/data ] || touch $IOSCHED_SCRATCH/data
        mkdir $IOSCHED_SCRATCH/a && ln -s /etc $IOSCHED_SCRATCH/a/link && mkfifo $IOSCHED_SCRATCH/pipe &&
        dd if=/dev/zero of=$IOSCHED_SCRATCH/a/file bs=64k count=16 oflag=direct status=none";
    let command = ["--", "sh", "-c", script];
    for (size, finds) in [(&[][..], ""), (&["--scratch-size", "20M"], "data ")] {
        let name = volume.name();
        let how = ["--scratch", &name, "--rounds", "2", "--allow-mounted"];
        let arguments = [&ARMS[..], &how, size, &command];
        let ended = ab(&program, &volume.disk.node(), &arguments).ends(0, &[]);
        assert_eq!(traces_of(ended.pid), [""; 0]);
        let log = fs::read_to_string(program.file("log")).expect("a log");
        let lines: Vec<&str> = log.lines().collect();
        let expected = format!("700 0 {finds}{name}");
        assert_eq!(lines, [expected.as_str(); 4]);
        fs::remove_file(program.file("log")).expect("a log");
        assert!(Path::new("/etc/passwd").exists(), "no link is followed");
        let result = program.result("result");
        let size_bytes = &result["workload"]["scratch_file"]["size_bytes"];
        assert_eq!(size_bytes.as_u64(), (!size.is_empty()).then_some(20 * MIB));
    }
    volume.ends_as_before(&program, 0);
}
