//! The scratch device as a disk, as a clock, and as something that must be gone afterwards. Root only:
//! `cargo test --test scratch -- --ignored --test-threads=1`.

mod support;
#[path = "scratch/volumes.rs"]
mod volumes; // file systems and LUNs

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use iosched_files::output::RUNTIME_DIRECTORY;
use iosched_host::safety::journal::{self, Journal};
use iosched_host::scratch::Scratch;
use iosched_result::types::scratch::model::DiskModel;
use support::direct::{self, Aligned, BLOCK};

const MIB: u64 = 1 << 20;

fn scratch(model: DiskModel, size_bytes: u64) -> Scratch {
    let journal = Journal::create().unwrap();
    let scratch = Scratch::create(model, size_bytes, &journal).unwrap();
    assert_eq!(scratch.fallback(), None);
    scratch
}

fn node(scratch: &Scratch) -> PathBuf {
    Path::new("/dev").join(scratch.device_name())
}

fn open(path: &Path) -> File {
    OpenOptions::new()
        .read(true)
        .write(true)
        .open(path)
        .unwrap()
}

/// Numbers that look random and are the same in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) % limit
    }
}

/// Remains of the device that process `maker` made. Others may have theirs on this machine.
fn what_is_left(maker: u32, device: &str) -> Vec<String> {
    let mut left = Vec::new();
    if Path::new("/sys/block").join(device).exists() {
        left.push(device.to_owned());
    }
    let directory = format!("{RUNTIME_DIRECTORY}/iosched-scratch-{maker}-");
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    let ours = mounts.lines().filter(|line| line.contains(&directory));
    left.extend(ours.map(str::to_owned));
    let entries = fs::read_dir(RUNTIME_DIRECTORY).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path().display().to_string());
    left.extend(paths.filter(|path| path.starts_with(&directory)));
    left
}

fn holds_its_data(model: DiskModel) {
    let size_bytes = 16 * MIB;
    let scratch = scratch(model, size_bytes);
    let mut expected = vec![0; size_bytes as usize];
    let mut numbers = Numbers(1);
    let mut memory = Aligned::new(2 * MIB as usize);
    {
        let direct = direct::writable(node(&scratch));
        for round in 0..60_u8 {
            let bytes = (1 + numbers.below(4096)) as usize * 512;
            let offset = numbers.below((size_bytes - bytes as u64) / 512 + 1) * 512;
            let block = memory.bytes(bytes);
            block.fill(round + 1);
            block[0] = 0xFF;
            direct.write_all_at(block, offset).unwrap();
            expected[offset as usize..offset as usize + bytes].copy_from_slice(block);
        }
    }
    {
        let buffered = open(&node(&scratch));
        for round in 100..140_u8 {
            let bytes = 1 + numbers.below(200_000) as usize;
            let offset = numbers.below(size_bytes - bytes as u64 + 1);
            let block = vec![round; bytes];
            buffered.write_all_at(&block, offset).unwrap();
            expected[offset as usize..offset as usize + bytes].copy_from_slice(&block);
        }
        buffered.sync_all().unwrap();
    }
    let direct = direct::writable(node(&scratch));
    for offset in (0..size_bytes).step_by(MIB as usize) {
        let block = memory.bytes(MIB as usize);
        direct.read_exact_at(block, offset).unwrap();
        assert!(
            block == &expected[offset as usize..][..MIB as usize],
            "at {offset}"
        );
    }
    let mut all = Vec::new();
    open(&node(&scratch)).read_to_end(&mut all).unwrap();
    assert!(all == expected, "read through the page cache");
}

#[test]
#[ignore = "root"]
fn the_ssd_holds_its_data() {
    holds_its_data(DiskModel::Ssd);
}

#[test]
#[ignore = "root"]
fn the_ram_device_holds_its_data() {
    holds_its_data(DiskModel::Ram);
}

fn run(command: &str, arguments: &[&str]) {
    let status = Command::new(command).args(arguments).status().unwrap();
    assert!(status.success(), "{command} {arguments:?}: {status}");
}

/// Mounted at a directory for the life of this value.
struct MountedAt(PathBuf);

impl MountedAt {
    fn new(node: &Path, directory: &Path) -> Self {
        run(
            "mount",
            &[
                &node.display().to_string(),
                &directory.display().to_string(),
            ],
        );
        MountedAt(directory.to_owned())
    }
}
impl Drop for MountedAt {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

#[test]
#[ignore = "root"]
fn a_file_system_lives_on_it() {
    if Command::new("mkfs.ext4").arg("-V").output().is_err() {
        println!("skipped: mkfs.ext4 is not installed");
        return;
    }
    let scratch = scratch(DiskModel::Ssd, 64 * MIB);
    let node = node(&scratch);
    let name = node.display().to_string();
    run("mkfs.ext4", &["-q", "-F", &name]);
    let directory = tempfile::tempdir().unwrap();
    let mut numbers = Numbers(7);
    let contents = (0..3_000_001)
        .map(|_| numbers.below(256) as u8)
        .collect::<Vec<_>>();
    {
        let mounted = MountedAt::new(&node, directory.path());
        for number in 0..12 {
            fs::write(mounted.0.join(number.to_string()), &contents[number..]).unwrap();
        }
        for number in 0..6 {
            fs::remove_file(mounted.0.join(number.to_string())).unwrap();
        }
        run("fstrim", &[&mounted.0.display().to_string()]);
    }
    run("fsck.ext4", &["-f", "-n", &name]);
    let mounted = MountedAt::new(&node, directory.path());
    for number in 6..12 {
        let found = fs::read(mounted.0.join(number.to_string())).unwrap();
        assert!(found == contents[number..], "file {number}");
    }
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

fn read_times(scratch: &Scratch, offsets: impl Iterator<Item = u64>) -> Vec<Duration> {
    let direct = direct::writable(node(scratch));
    let mut memory = Aligned::new(BLOCK);
    offsets
        .map(|offset| {
            let start = Instant::now();
            direct.read_exact_at(memory.bytes(BLOCK), offset).unwrap();
            start.elapsed()
        })
        .collect()
}

#[test]
#[ignore = "root"]
fn the_ssd_takes_the_time_of_its_truth() {
    let scratch = scratch(DiskModel::Ssd, 64 * MIB);
    let timing = scratch.truth().timing.clone().unwrap();
    let promised = Duration::from_nanos(timing.service_ns(BLOCK as u64));
    let mut numbers = Numbers(1);
    let places = (0..900).map(|_| numbers.below(64 * 256) * BLOCK as u64);
    let mut found = read_times(&scratch, places);
    found.sort();
    // Other programs here delay a read and hasten none: the median holds from below, the fastest tenth from above.
    assert!(
        found[450] > promised.mul_f64(0.95),
        "{:?} is less than {promised:?}",
        found[450]
    );
    assert!(
        found[90] < promised.mul_f64(1.10),
        "{:?} is more than {promised:?}",
        found[90]
    );
    assert!(scratch.is_healthy());
    assert!(scratch.punctuality().unwrap().replies >= 900);
}

#[test]
#[ignore = "root"]
fn the_hdd_seeks() {
    let scratch = scratch(DiskModel::Hdd, 64 * MIB);
    let mut numbers = Numbers(3);
    // A random place, and the one behind it, in turn: what else runs here delays both.
    let places = (0..200).flat_map(|_| {
        let place = numbers.below(64 * 256 - 1) * BLOCK as u64;
        [place, place + BLOCK as u64]
    });
    let times = read_times(&scratch, places);
    let (random, in_order): (Vec<_>, Vec<_>) = times.chunks(2).map(|two| (two[0], two[1])).unzip();
    let mean = random.iter().sum::<Duration>() / 200;
    let timing = scratch.truth().timing.clone().unwrap();
    let promised = Duration::from_nanos(timing.random_service_ns(BLOCK as u64));
    assert!(mean > promised.mul_f64(0.9), "{mean:?}");
    let (random, in_order) = (median(random), median(in_order));
    assert!(random > in_order * 4, "{random:?}, in order {in_order:?}");
    let rotational = format!("/sys/block/{}/queue/rotational", scratch.device_name());
    assert_eq!(fs::read_to_string(rotational).unwrap().trim(), "1");
}

#[test]
#[ignore = "root"]
fn a_flush_takes_its_time() {
    let scratch = scratch(DiskModel::Ssd, 16 * MIB);
    let file = open(&node(&scratch));
    let times = (0..20).map(|number| {
        file.write_all_at(&[1; 512], number * 8192).unwrap();
        let start = Instant::now();
        file.sync_all().unwrap();
        start.elapsed()
    });
    let fastest = times.min().unwrap();
    // The write of 1 ms, then the flush of 2 ms.
    assert!(fastest > Duration::from_micros(2800), "{fastest:?}");
}

#[test]
#[ignore = "root"]
fn every_scheduler_can_be_used_and_the_depth_stays() {
    let scratch = scratch(DiskModel::Ssd, 16 * MIB);
    let attribute = |name: &str| format!("/sys/block/{}/queue/{name}", scratch.device_name());
    let listed = fs::read_to_string(attribute("scheduler")).unwrap();
    let schedulers = listed.replace(['[', ']'], "");
    assert!(schedulers.split_whitespace().count() > 1, "{listed}");
    for scheduler in schedulers.split_whitespace().chain(["none"]) {
        fs::write(attribute("scheduler"), scheduler).unwrap();
        let active = fs::read_to_string(attribute("scheduler")).unwrap();
        assert!(active.contains(&format!("[{scheduler}]")), "{active}");
        let times = read_times(&scratch, (0..8).map(|number| number * MIB));
        assert!(times.into_iter().min().unwrap() > Duration::from_micros(900));
    }
    // Eight at once take two turns of the hardware, if it is four deep.
    let start = Instant::now();
    std::thread::scope(|scope| {
        for number in 0..8 {
            let scratch = &scratch;
            scope.spawn(move || read_times(scratch, std::iter::once(number * MIB)));
        }
    });
    assert!(
        start.elapsed() > Duration::from_micros(1900),
        "{:?}",
        start.elapsed()
    );
}

#[test]
#[ignore = "root"]
fn nothing_is_left_when_it_is_dropped() {
    for model in [DiskModel::Ssd, DiskModel::Hdd, DiskModel::Ram] {
        let journal = Journal::create().unwrap();
        let scratch = Scratch::create(model, 16 * MIB, &journal).unwrap();
        let device = scratch.device_name().to_owned();
        assert!(!what_is_left(std::process::id(), &device).is_empty());
        assert!(journal.path().exists());
        drop(scratch);
        assert_eq!(what_is_left(std::process::id(), &device), [""; 0]);
        assert!(!journal.path().exists());
    }
}

#[test]
#[ignore = "root"]
fn two_at_once_are_two() {
    let (one, two) = (
        scratch(DiskModel::Ssd, 16 * MIB),
        scratch(DiskModel::Ram, 16 * MIB),
    );
    assert_ne!(one.device_name(), two.device_name());
    open(&node(&one)).write_all_at(&[1; 4096], 0).unwrap();
    let mut block = [7; 4096];
    open(&node(&two)).read_exact_at(&mut block, 0).unwrap();
    assert_eq!(block, [0; 4096]);
}

/// Reads from the device, again and again, until it fails.
struct Reader(Child);

impl Reader {
    fn start(node: &Path) -> Self {
        let script = r#"while dd if="$0" of=/dev/null bs=4k iflag=direct 2>/dev/null; do :; done"#;
        let child = Command::new("sh")
            .args(["-c", script])
            .arg(node)
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(200));
        Reader(child)
    }
}
impl Drop for Reader {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn ends_within(child: &mut Child, limit: Duration) -> bool {
    let start = Instant::now();
    while start.elapsed() < limit {
        if child.try_wait().unwrap().is_some() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    false
}

#[test]
#[ignore = "root"]
fn dropping_it_under_load_ends_the_load() {
    for model in [DiskModel::Hdd, DiskModel::Ssd] {
        let scratch = scratch(model, 64 * MIB);
        let device = scratch.device_name().to_owned();
        let mut reader = Reader::start(&node(&scratch));
        let start = Instant::now();
        drop(scratch);
        assert!(
            start.elapsed() < Duration::from_secs(6),
            "{:?}",
            start.elapsed()
        );
        assert!(ends_within(&mut reader.0, Duration::from_secs(5)));
        assert_eq!(what_is_left(std::process::id(), &device), [""; 0]);
    }
}

/// A process of its own that holds a device and reads from it.
struct Holder {
    child: Child,
    state: tempfile::TempDir,
    device: String,
}

impl Holder {
    fn start(spec: &str) -> Self {
        let state = tempfile::tempdir().unwrap();
        let mut child = Command::new(support::helper())
            .args(["hold", spec])
            .env("IOSCHED_STATE_DIR", state.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let device = lines.next().expect("its first line");
        Holder {
            child,
            state,
            device: device.unwrap(),
        }
    }

    fn kill(&mut self) {
        std::thread::sleep(Duration::from_millis(100));
        self.child.kill().unwrap();
        assert!(
            ends_within(&mut self.child, Duration::from_secs(5)),
            "the killed process still waits for its own device"
        );
    }

    fn what_is_left(&self) -> Vec<String> {
        what_is_left(self.child.id(), &self.device)
    }

    fn restore(&self) -> Vec<anyhow::Error> {
        let files = fs::read_dir(self.state.path().join("journal")).unwrap();
        let journals = files.map(|file| file.unwrap().path()).collect::<Vec<_>>();
        let [journal] = journals.as_slice() else {
            panic!("{journals:?}");
        };
        let errors = journal::restore_file(journal).unwrap();
        assert_eq!(journal.exists(), !errors.is_empty());
        errors
    }
}

#[test]
#[ignore = "root"]
fn what_a_killed_process_leaves_can_be_undone() {
    for spec in ["ssd", "hdd", "ram"] {
        let mut holder = Holder::start(spec);
        holder.kill();
        assert!(holder.what_is_left().contains(&holder.device));
        let errors = holder.restore();
        assert!(errors.is_empty(), "{errors:?}");
        assert_eq!(holder.what_is_left(), [""; 0]);
    }
}

#[test]
#[ignore = "root"]
fn a_killed_process_is_undone_under_load_too() {
    let mut holder = Holder::start("ssd");
    let mut reader = Reader::start(&Path::new("/dev").join(&holder.device));
    holder.kill();
    assert!(
        ends_within(&mut reader.0, Duration::from_secs(5)),
        "no error reached the reader"
    );
    let errors = holder.restore();
    assert!(errors.is_empty(), "{errors:?}");
    assert_eq!(holder.what_is_left(), [""; 0]);
}

#[test]
#[ignore = "root"]
fn a_device_that_stays_open_stays_in_the_journal() {
    let mut holder = Holder::start("ssd");
    let opened = open(&Path::new("/dev").join(&holder.device));
    holder.kill();
    let errors = holder.restore();
    assert!(!errors.is_empty());
    assert!(holder.what_is_left().contains(&holder.device));
    drop(opened);
    let errors = holder.restore();
    assert!(errors.is_empty(), "{errors:?}");
    assert_eq!(holder.what_is_left(), [""; 0]);
}

#[test]
#[ignore = "root"]
fn the_device_of_someone_else_is_left_alone() {
    let scratch = scratch(DiskModel::Ram, 16 * MIB);
    let device = scratch.device_name();
    iosched_host::system::loop_device::detach(device, "/memfd:of someone else (deleted)").unwrap();
    read_times(&scratch, std::iter::once(0));
    let ssd = self::scratch(DiskModel::Ssd, 16 * MIB);
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    let ours = mounts
        .lines()
        .find(|line| line.contains(RUNTIME_DIRECTORY))
        .unwrap();
    let path = Path::new(ours.split(' ').nth(4).unwrap());
    iosched_host::system::fuse_mount::unmount(path, "of someone else").unwrap();
    assert!(ssd.is_healthy());
    read_times(&ssd, std::iter::once(0));
}
