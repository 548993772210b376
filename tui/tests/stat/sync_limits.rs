//! What `--detail syncs` does not see, as docs/measurement.md says.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use serde_json::Value;

use crate::BINARY;
use crate::support::fio::Fio;
use crate::support::program::Program;
use crate::support::{LoopDevice, Mounted, run};
use crate::watch::{record, stat};

const SIZE_BYTES: u64 = 512 << 20;

/// Waits of a process in rows of this kind.
fn count(json: &Value, kind: &str, pid: u32) -> u64 {
    let rows = json["syncs"][kind].as_array().expect("a list").iter();
    let its = rows.filter(|row| row["pid"] == pid);
    let of = |row: &Value| {
        let count = row["count"].as_u64();
        count.or(row["latency"]["count"].as_u64()).expect("a count")
    };
    its.map(of).sum()
}

/// They call no fsync: their waits for pages are all that is seen. The journal's thread waits for its own commits, in no row.
#[test]
#[ignore = "root"]
fn writes_with_dsync_and_fsyncs_of_io_uring_are_no_calls() {
    let disk = LoopDevice::new(SIZE_BYTES);
    let mounted = Mounted::ext4(&disk.node());
    let file = |name: &str| mounted.path().join(name).display().to_string();
    let laid_out = file("laid-out");
    let to = format!("of={laid_out}");
    run(
        "dd",
        &["if=/dev/zero", &to, "bs=1M", "count=1", "conv=fsync"],
    );
    let program = Program::new(BINARY);
    let started = stat(&program, &disk.node(), 4, &["--json", "--detail", "syncs"]);
    let to = format!("of={}", file("dsync"));
    let mut dd = Command::new("dd")
        .args(["if=/dev/zero", &to, "bs=4k", "count=50", "oflag=dsync"])
        .spawn()
        .expect("dd");
    assert!(dd.wait().expect("its end").success());
    let job = "--ioengine=io_uring --rw=write --bs=4k --size=1m --overwrite=1 --fsync=8 --direct=0";
    let (pid, fio) = Fio::start(&laid_out, job).end();
    let syncs = fio["sync"]["lat_ns"]["N"].as_u64().expect("fio's fsyncs");
    let json = record(started);
    println!("{:#}", json["syncs"]);
    assert_eq!(count(&json, "calls", dd.id()), 0, "{json:#}");
    assert!(count(&json, "writeback", dd.id()) >= 10, "{json:#}");
    // fio itself calls it when it has opened or closed the file.
    assert!(syncs >= 30 && count(&json, "calls", pid) <= 2, "{json:#}");
    for kind in ["calls", "throttled", "writeback"] {
        for row in json["syncs"][kind].as_array().expect("a list") {
            let name = row["comm"].as_str().expect("a name");
            assert!(!name.contains("jbd2"), "{row:#}");
        }
    }
}

/// For i386: fsync(-1) five times, then exit(0).
fn program_of_32_bits() -> Vec<u8> {
    const BASE: u32 = 0x0804_8000;
    const HEADERS: u32 = 52 + 32;
    let code: &[u8] = &[
        0xbe, 5, 0, 0, 0, // mov esi, 5
        0xb8, 118, 0, 0, 0, // mov eax, 118
        0xbb, 0xff, 0xff, 0xff, 0xff, // mov ebx, -1
        0xcd, 0x80, // int 0x80
        0x4e, // dec esi
        0x75, 0xf1, // jnz to the second instruction
        0xb8, 1, 0, 0, 0, // mov eax, 1
        0x31, 0xdb, // xor ebx, ebx
        0xcd, 0x80, // int 0x80
    ];
    let length = HEADERS + code.len() as u32;
    let mut file = vec![0x7f, b'E', b'L', b'F', 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let short = |file: &mut Vec<u8>, value: u16| file.extend(value.to_le_bytes());
    let long = |file: &mut Vec<u8>, value: u32| file.extend(value.to_le_bytes());
    short(&mut file, 2); // a program
    short(&mut file, 3); // for the 80386
    for value in [1, BASE + HEADERS, 52, 0, 0] {
        long(&mut file, value);
    }
    for value in [52, 32, 1, 40, 0, 0] {
        short(&mut file, value);
    }
    // All of the file, readable and executable.
    for value in [1, 0, BASE, BASE, length, length, 5, 4096] {
        long(&mut file, value);
    }
    file.extend(code);
    file
}

#[test]
#[ignore = "root"]
fn calls_of_32_bit_programs_are_counted_and_not_followed() {
    if !cfg!(target_arch = "x86_64") {
        println!("skipped: the program is one for x86");
        return;
    }
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("old");
    fs::write(&path, program_of_32_bits()).expect("a program");
    fs::set_permissions(&path, Permissions::from_mode(0o755)).expect("its rights");
    let disk = LoopDevice::in_memory(64 << 20);
    let program = Program::new(BINARY);
    let started = stat(&program, &disk.node(), 2, &["--json", "--detail", "syncs"]);
    let status = Command::new(&path).status();
    let json = record(started);
    match status {
        Ok(status) => assert!(status.success(), "{status}"),
        Err(error) => {
            println!("skipped: this kernel runs no 32-bit program: {error}");
            return;
        }
    }
    assert_eq!(json["syncs"]["losses"]["compat"], 5, "{json:#}");
}

/// There is room for 1,024 processes between two looks; the others are counted.
#[test]
#[ignore = "root"]
fn processes_without_room_are_counted() {
    const PROCESSES: u64 = 1100;
    const CALLS: &str = "import os, sys
file = os.open(sys.argv[1], os.O_RDWR)
for number in range(int(sys.argv[2])):
    if os.fork() == 0:
        os.fsync(file)
        os._exit(0)
    os.wait()";
    let disk = LoopDevice::in_memory(64 << 20);
    let directory = tempfile::tempdir_in("/dev/shm").expect("memory");
    let file = directory.path().join("file");
    fs::write(&file, "x").expect("a file");
    let program = Program::new(BINARY);
    // One interval: what was counted in it stays until its end.
    let started = stat(&program, &disk.node(), 15, &["--json", "--detail", "syncs"]);
    let file = file.to_str().expect("UTF-8");
    run("python3", &["-c", CALLS, file, &PROCESSES.to_string()]);
    let json = record(started);
    let number = |value: &Value| value.as_u64().expect("a count");
    let lost = number(&json["syncs"]["losses"]["rows"]);
    let here: u64 = json["syncs"]["calls"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|row| number(&row["latency"]["count"]))
        .sum();
    let counted = here + number(&json["syncs"]["elsewhere"]["count"]);
    println!("{counted} counted, {lost} without room");
    assert!(lost >= PROCESSES - 1024, "{json:#}");
    assert!(counted + lost >= PROCESSES, "{json:#}");
}
