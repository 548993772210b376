//! `--by file`: bytes of files whose names are known, some of them hostile, and of a swap device.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::BINARY;
use crate::support::program::Program;
use crate::support::{LoopDevice, Mounted, run};
use crate::watch::{record, stat};

const SIZE_BYTES: u64 = 512 << 20;

/// Directories deeper than are kept, a name longer than is kept, and one that a terminal would obey.
const DEEP: &str = "1/2/3/4/5/6/7/8/9/deep";
const HOSTILE: &str = "evil\u{1b}[31m\nname";

fn rows(record: &Value) -> &Vec<Value> {
    record["processes"].as_array().expect("a list")
}

fn bytes_of(record: &Value, is_its: impl Fn(&Value) -> bool) -> u64 {
    let its = rows(record).iter().filter(|row| is_its(&row["file"]));
    its.map(|row| row["bytes"].as_u64().expect("bytes")).sum()
}

fn write(file: &Path, kib: u32) {
    let to = format!("of={}", file.display());
    let count = format!("count={kib}");
    run("dd", &["if=/dev/zero", &to, "bs=1k", &count, "conv=fsync"]);
}

#[test]
#[ignore = "root"]
fn bytes_belong_to_files_by_their_paths() {
    let disk = LoopDevice::new(SIZE_BYTES);
    let mounted = Mounted::ext4(&disk.node());
    let at = mounted.path().display().to_string();
    let long = "x".repeat(100);
    let deep = mounted.path().join(DEEP);
    fs::create_dir_all(deep.parent().expect("directories")).expect("directories");
    let program = Program::new(BINARY);
    let started = stat(&program, &disk.node(), 4, &["--json", "--by", "file"]);
    for (name, kib) in [("plain file", 100), (HOSTILE, 200), (&long, 300)] {
        write(&mounted.path().join(name), kib);
    }
    write(&deep, 400);
    let gone = mounted.path().join("gone");
    write(&gone, 500);
    fs::remove_file(&gone).expect("the file");
    let json = record(started);
    let of = |path: &str| bytes_of(&json, |file| file["path"] == path) >> 10;
    assert_eq!(of(&format!("{at}/plain file")), 100, "{json:#}");
    assert_eq!(of(&format!("{at}/{HOSTILE}")), 200, "{json:#}");
    assert_eq!(of(&format!("{at}/{}...", &long[..63])), 300, "{json:#}");
    assert_eq!(of(&format!("{at}/.../3/4/5/6/7/8/9/deep")), 400, "{json:#}");
    assert_eq!(of(&format!("{at}/gone")), 500, "{json:#}");
    assert!(
        bytes_of(&json, |file| file["kind"] == "journal") > 0,
        "{json:#}"
    );
    // Everything that moved data has a file.
    let without = rows(&json).iter().filter(|row| row["file"].is_null());
    let without: u64 = without
        .map(|row| row["bytes"].as_u64().expect("bytes"))
        .sum();
    assert_eq!(without, 0, "{json:#}");
}

#[test]
#[ignore = "root"]
fn a_table_has_no_name_that_a_terminal_obeys() {
    let disk = LoopDevice::new(SIZE_BYTES);
    let mounted = Mounted::ext4(&disk.node());
    let program = Program::new(BINARY);
    let started = stat(&program, &disk.node(), 1, &["--by", "file"]);
    write(&mounted.path().join(HOSTILE), 100);
    let text = started.end().ends(0, &[]).stdout;
    assert!(text.contains("FILE") && text.contains("evil"), "{text}");
    assert!(!text.contains('\u{1b}'), "{text:?}");
    let fairness = [
        "stat",
        &disk.node(),
        "-n",
        "1",
        "--by",
        "file",
        "--detail",
        "fairness",
    ];
    program
        .run(&fairness)
        .ends(2, &["--by file cannot be combined with --detail fairness"]);
}

/// What direct I/O of a disk transfers may be memory that is mapped from a file of another.
#[test]
#[ignore = "root"]
fn the_memory_of_direct_io_is_not_its_file() {
    const READS: &str = "import mmap, os, sys
with open(sys.argv[2], 'r+b') as file:
    memory = mmap.mmap(file.fileno(), 65536)
    disk = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECT)
    for place in range(100):
        os.preadv(disk, [memoryview(memory)[:8192]], place * 8192)
    shared = mmap.mmap(-1, 65536)
    for place in range(100):
        os.preadv(disk, [memoryview(shared)[:4096]], place * 4096)";
    let (disk, other) = (LoopDevice::new(SIZE_BYTES), LoopDevice::new(SIZE_BYTES));
    let mounted = Mounted::ext4(&other.node());
    let innocent = mounted.path().join("innocent");
    write(&innocent, 64);
    let program = Program::new(BINARY);
    let started = stat(&program, &disk.node(), 2, &["--json", "--by", "file"]);
    let innocent = innocent.to_str().expect("UTF-8");
    let status = std::process::Command::new("python3")
        .args(["-c", READS, &disk.node(), innocent])
        .status();
    let json = record(started);
    assert!(status.expect("python3").success());
    let device = bytes_of(&json, |file| file["kind"] == "block_device");
    assert_eq!(device, 100 * (8192 + 4096), "{json:#}");
    assert_eq!(
        bytes_of(&json, |file| file["kind"] == "regular"),
        0,
        "{json:#}"
    );
}

/// A file system gives the number of a deleted file to the next one.
#[test]
#[ignore = "root"]
fn a_number_that_is_used_again_is_another_file() {
    let disk = LoopDevice::new(SIZE_BYTES);
    let mounted = Mounted::ext4(&disk.node());
    let at = mounted.path().display().to_string();
    let program = Program::new(BINARY);
    let started = stat(&program, &disk.node(), 2, &["--json", "--by", "file"]);
    write(&mounted.path().join("first"), 100);
    fs::remove_file(mounted.path().join("first")).expect("the file");
    write(&mounted.path().join("second"), 300);
    let json = record(started);
    for (name, kib) in [("first", 100), ("second", 300)] {
        let its = bytes_of(&json, |file| file["path"] == format!("{at}/{name}"));
        assert_eq!(its >> 10, kib, "{name}: {json:#}");
    }
}

/// The owners of files are many, and come again.
#[test]
#[ignore = "root"]
fn files_that_rest_make_room_for_others() {
    let disk = LoopDevice::new(SIZE_BYTES);
    run("mkfs.ext4", &["-q", "-N", "60000", &disk.node()]);
    let mounted = Mounted::new(&disk.node());
    let at = mounted.path().display().to_string();
    disk.set("nomerges", "2");
    let program = Program::new(BINARY);
    let node = disk.node();
    let arguments = ["stat", &node, "-i", "0.5", "--json", "--by", "file"];
    let output = mounted.path().with_extension("json");
    let mut command = program.command(&arguments);
    command.stdout(fs::File::create(&output).expect("a file")); // too much for a pipe that nobody reads
    let mut child = command.spawn().expect("iosched");
    std::thread::sleep(std::time::Duration::from_secs(3));
    for number in 0..17_000 {
        fs::write(mounted.path().join(number.to_string()), [7; 4096]).expect("a file");
    }
    run("sync", &["-f", &at]);
    std::thread::sleep(std::time::Duration::from_secs(8));
    write(&mounted.path().join("late"), 300);
    std::thread::sleep(std::time::Duration::from_secs(1));
    run("kill", &["-INT", &child.id().to_string()]);
    let status = child.wait().expect("its end");
    let text = fs::read_to_string(&output).expect("its output");
    let _ = fs::remove_file(&output);
    assert_eq!(status.code(), Some(130));
    let records = text
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"));
    let records: Vec<Value> = records.collect();
    let late = |record: &Value| bytes_of(record, |file| file["path"] == format!("{at}/late"));
    let overflow: u64 = records
        .iter()
        .map(|record| {
            record["devices"][0]["quality"]["owner_overflow"]
                .as_u64()
                .expect("a count")
        })
        .sum();
    println!("{overflow} without room");
    if overflow == 0 {
        println!("skipped in part: the writes took so long that the table was never full");
    }
    assert_eq!(records.iter().map(late).sum::<u64>() >> 10, 300);
}

/// A program gives its memory to the swap device.
#[test]
#[ignore = "root"]
fn swap_is_a_file_of_its_own() {
    const GIVES: &str = "import mmap
memory = mmap.mmap(-1, 32 << 20)
for page in range(0, len(memory), 4096):
    memory[page] = 7
memory.madvise(21) # MADV_PAGEOUT";
    let disk = LoopDevice::new(SIZE_BYTES);
    run("mkswap", &["-q", &disk.node()]);
    let program = Program::new(BINARY);
    let started = stat(&program, &disk.node(), 3, &["--json", "--by", "file"]);
    run("swapon", &[&disk.node()]);
    let given = std::process::Command::new("python3")
        .args(["-c", GIVES])
        .status();
    run("swapoff", &[&disk.node()]);
    assert!(given.expect("python3").success());
    let json = record(started);
    let swapped = bytes_of(&json, |file| file["kind"] == "swap");
    println!("{swapped} bytes to swap");
    assert!(swapped > 8 << 20, "{json:#}");
    let others = bytes_of(&json, |file| file["kind"] == "unknown");
    assert_eq!(others, 0, "{json:#}");
}
