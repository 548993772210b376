//! Common parts of root tests: devices of their own, left as they were found.
#![allow(dead_code)] // Each test binary uses its part.

pub mod direct;
pub mod ends;
pub mod fio;
pub mod program;
pub mod traces;

use std::path::{Path, PathBuf};
use std::process::Command;

use iosched_host::scheduler::{SavedQueue, restore};
use iosched_host::system::device::Device;
use tempfile::TempDir;

/// The program under test: the one that `make` ships, where contrib/test.sh has built it, because a build of the tests has
/// the features that dependencies of tests ask for. Without that, the build of the tests.
#[allow(unused_macros)]
macro_rules! under_test {
    ("iosched-ab") => {
        match option_env!("IOSCHED_SHIPPED_AB") {
            Some(path) => path,
            None => env!("CARGO_BIN_EXE_iosched-ab"),
        }
    };
    ("iosched") => {
        match option_env!("IOSCHED_SHIPPED_TUI") {
            Some(path) => path,
            None => env!("CARGO_BIN_EXE_iosched"),
        }
    };
}
#[allow(unused_imports)]
pub(crate) use under_test;

/// A script that reads a block of the disk, past the page cache: a workload that does nothing there ends its run.
pub const READ_ONE: &str =
    "dd if=$IOSCHED_DEVICE of=/dev/null bs=4k count=1 iflag=direct status=none";

/// Runs a command that must succeed; its output, trimmed.
pub fn run(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program)
        .args(arguments)
        .output()
        .unwrap_or_else(|error| panic!("{program}: {error}"));
    assert!(
        output.status.success(),
        "{program} {arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// Programs of other tests look at all mounts, and a mount that is looked at cannot be unmounted.
#[track_caller]
pub fn unmount(path: &str) {
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(10);
    loop {
        let output = Command::new("umount").arg(path).output().expect("umount");
        if output.status.success() {
            return;
        }
        let why = String::from_utf8_lossy(&output.stderr);
        let may_end = why.contains("busy") && std::time::Instant::now() < deadline;
        assert!(may_end, "umount {path}: {why}");
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
}

/// Processes to be killed: tests/support/helper.rs, which cargo builds with all tests, but not with one of them alone.
pub fn helper() -> PathBuf {
    let test = std::env::current_exe().expect("this test");
    let profile = test.ancestors().nth(2).expect("target/debug/deps/TEST");
    let path = profile.join("examples/test_helper");
    assert!(path.exists(), "first: cargo build --example test_helper");
    path
}

/// Python with the packages of tests/requirements.txt. None, and said, where they are not installed.
pub fn python() -> Option<Command> {
    let tools = tools().join("python");
    let python = tools.join("bin/python3");
    if tools.join("requirements.txt").exists() && python.exists() {
        return Some(Command::new(python));
    }
    println!("skipped: the Python packages are not there: run contrib/setup.sh test");
    None
}

/// What contrib/setup.sh has installed for the tests, above whichever crate is tested.
pub fn tools() -> PathBuf {
    let above = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    let mut tools = above.map(|directory| directory.join("target/tools"));
    tools.find(|path| path.exists()).unwrap_or_default()
}

/// A loop device over a sparse file. A loop's queue outlives its binding, so it is put back before the device is detached.
pub struct LoopDevice {
    pub device: Device,
    before: SavedQueue,
    file: Option<TempDir>,
}

impl LoopDevice {
    pub fn new(size_bytes: u64) -> Self {
        Self::in_directory(TempDir::new().expect("a temporary directory"), size_bytes)
    }

    /// Over memory: no other disk's load is in its times.
    pub fn in_memory(size_bytes: u64) -> Self {
        let directory = TempDir::new_in("/dev/shm").expect("a temporary directory");
        Self::in_directory(directory, size_bytes)
    }

    fn in_directory(directory: TempDir, size_bytes: u64) -> Self {
        let path = directory.path().join("disk.img");
        std::fs::File::create(&path)
            .and_then(|file| file.set_len(size_bytes))
            .expect("a sparse file");
        let mut device = Self::over(&path);
        device.file = Some(directory);
        device
    }

    /// A disk whose user has changed its settings, the hidden depth among them.
    pub fn of_a_user() -> Self {
        let disk = Self::in_memory(64 << 20);
        disk.set("scheduler", "none");
        disk.set("nr_requests", "16");
        disk.set("scheduler", "mq-deadline");
        disk.set("nr_requests", "64");
        disk.set("iosched/read_expire", "333");
        disk.set("read_ahead_kb", "256");
        disk
    }

    /// Over any file or device.
    pub fn over(path: &Path) -> Self {
        let path = path.to_str().expect("UTF-8");
        let node = run("losetup", &["--find", "--show", "--partscan", path]);
        let device = Device::resolve(&node).expect("the new loop device").device;
        renew(&device);
        let before = SavedQueue::take(&device, &[]).expect("its queue");
        LoopDevice {
            device,
            before,
            file: None,
        }
    }

    pub fn node(&self) -> String {
        self.device.node().display().to_string()
    }

    /// A first partition, known to the kernel without a table on the disk: 32 MiB behind the first.
    pub fn add_partition(&self) -> String {
        self.add_partition_at(1, 1 << 20, 32 << 20)
    }

    /// Another one of 1 to 9, its start and size in bytes.
    pub fn add_partition_at(&self, number: u32, start: u64, size: u64) -> String {
        blkpg(&self.node(), ADD, number, start, size);
        format!("{}p{number}", self.node())
    }

    /// An attribute of the queue, past the code under test.
    pub fn get(&self, attribute: &str) -> String {
        let path = self.device.sysfs("queue").join(attribute);
        let text = std::fs::read_to_string(&path)
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        text.trim().to_owned()
    }

    pub fn set(&self, attribute: &str, value: &str) {
        set(&self.device, attribute, value);
    }
}

fn set(device: &Device, attribute: &str, value: &str) {
    let path = device.sysfs("queue").join(attribute);
    std::fs::write(&path, value)
        .unwrap_or_else(|error| panic!("{} = {value}: {error}", path.display()));
}

const ADD: &str = "1";
const DELETE: &str = "2";

/// BLKPG: not every release has `addpart`, and a Perl all have.
fn blkpg(node: &str, operation: &str, number: u32, start: u64, size: u64) {
    let script = "open(my $disk, '<', $ARGV[0]) or die $!; \
        my $partition = pack('q q i a64 a64 x4', $ARGV[3], $ARGV[4], $ARGV[2], '', ''); \
        ioctl($disk, 0x1269, pack('i i i x4 P', $ARGV[1], 0, length $partition, $partition)) or die $!";
    let numbers = [u64::from(number), start, size].map(|it| it.to_string());
    let [number, start, size] = numbers.each_ref().map(String::as_str);
    run(
        "perl",
        &["-e", script, node, operation, number, start, size],
    );
}

/// The kernel keeps a loop device's queue, and with it what a test that was killed had set.
fn renew(device: &Device) {
    let parameter = std::fs::read_to_string("/sys/module/loop/parameters/hw_queue_depth");
    let depth: u32 = parameter.map_or(128, |text| text.trim().parse().expect("a number"));
    set(device, "scheduler", "none");
    // The depth may be another than the one that is shown; only a change is carried out.
    set(device, "nr_requests", &(depth / 2).to_string());
    set(device, "nr_requests", &depth.to_string());
    set(device, "read_ahead_kb", "128");
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        let restored = restore(&self.before);
        for number in 1..=9 {
            let name = format!("{}p{number}", self.device.name);
            if self.device.sysfs(&name).exists() {
                blkpg(&self.node(), DELETE, number, 0, 0);
            }
        }
        run("losetup", &["--detach", &self.node()]);
        if !std::thread::panicking() {
            restored.expect("the loop device as it was found");
        }
    }
}

/// Writes to these disks, and to what is mounted from a loop device, have arrived. `sync` alone would wait for all
/// that the machine is writing.
pub fn sync(disks: &[&LoopDevice]) {
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").expect("mountinfo");
    for line in mounts.lines().filter(|line| line.contains(" /dev/loop")) {
        let point = line.split(' ').nth(4).expect("a mount point");
        // Mounts of other tests come and go.
        let _ = Command::new("sync").args(["-f", point]).output();
    }
    for disk in disks {
        run("blockdev", &["--flushbufs", &disk.node()]);
    }
}

/// A mounted file system on a directory of its own.
pub struct Mounted {
    directory: TempDir,
}

impl Mounted {
    pub fn new(node: &str) -> Self {
        let directory = TempDir::new().expect("a temporary directory");
        run("mount", &[node, directory.path().to_str().expect("UTF-8")]);
        Mounted { directory }
    }

    /// Makes an ext4 on the device, all of it at once: the kernel writes nothing of it later.
    pub fn ext4(node: &str) -> Self {
        let eager = "lazy_itable_init=0,lazy_journal_init=0";
        run("mkfs.ext4", &["-q", "-E", eager, node]);
        Mounted::new(node)
    }

    pub fn path(&self) -> PathBuf {
        self.directory.path().to_owned()
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        unmount(self.directory.path().to_str().expect("UTF-8"));
    }
}
