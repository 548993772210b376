//! `iosched stat` on what stands on other disks: an I/O is counted once, at the lowest. Profile `truth`: with a second CPU
//! at work while programs are attached, the emulator may run half of what the kernel patches (seen on 6.12: `Oops: int3`).

#[allow(dead_code)] // each test binary uses its part
#[path = "../../tests/support/program.rs"]
mod program;

use std::process::Command;

use iosched_host::system::device::Device;
use iosched_measure::probe::{Detail, Probe};
use iosched_result::measured::snapshot::{Interval, Op, OwnerNumbers};
use iosched_vmtest::{ARRAY, Array, Disk, MAPPED, Mapped, pid_of_run};
use program::{Program, Started};
use serde_json::Value;

fn names(devices: &[Device]) -> Vec<&str> {
    devices.iter().map(|device| device.name.as_str()).collect()
}

fn dd(node: &str, offset_kib: u64, count: u32) -> u32 {
    let (input, count) = (format!("if={node}"), format!("count={count}"));
    let skip = format!("skip={}", offset_kib / 64);
    let words = [
        &input,
        "of=/dev/null",
        "bs=64k",
        &count,
        &skip,
        "iflag=direct",
    ];
    pid_of_run("dd", &words)
}

/// Reads `count` times 64 KiB from there, and finds them on the members, as often as the kernel does and charged to
/// who asked.
fn is_measured_below(
    name: &str,
    node: &str,
    (offset_kib, count): (u64, u32),
    members: [&Device; 2],
) {
    let level = Device::measured(name).expect("a level");
    let mut members = members;
    members.sort_by_key(|member| member.minor);
    println!("{:?}", level.notes);
    assert_eq!(
        names(&level.devices),
        members.map(|member| member.name.as_str())
    );
    let says = "has no requests of its own: measuring";
    assert!(level.notes.iter().any(|note| note.contains(says)));

    dd(node, 0, 1); // whoever opens it first looks for partitions
    let mut probe = Probe::attach(&level.devices, 0, Detail::default()).expect("a probe");
    let (kernel, earlier) = (members.map(reads_and_bytes), probe.snapshot().expect("one"));
    let pid = dd(node, offset_kib, count);
    let (later, now) = (probe.snapshot().expect("one"), members.map(reads_and_bytes));
    let interval = Interval::between(&earlier, &later).expect("an interval");
    let mut bytes = 0;
    for (which, member) in members.into_iter().enumerate() {
        let grown = [0, 1].map(|field| now[which][field] - kernel[which][field]);
        let device = &interval.devices[which];
        assert_eq!(device.name, member.name);
        let op = &device.ops[Op::Read as usize];
        assert_eq!([op.ios, op.bytes], grown, "{}", member.name);
        assert!(op.bytes > 0, "{} has its part", member.name);
        let is_its =
            |owner: &&OwnerNumbers| owner.key.tgid == pid && owner.key.device == member.name;
        let own: Vec<u64> = interval
            .owners
            .iter()
            .filter(is_its)
            .map(OwnerNumbers::bytes)
            .collect();
        assert_eq!(own, [op.bytes], "all of it is of who asked");
        bytes += op.bytes;
    }
    assert_eq!(bytes, u64::from(count) << 16, "each once");
}

fn reads_and_bytes(member: &Device) -> [u64; 2] {
    let stat = member.attribute("stat").expect("its counters");
    let fields: Vec<u64> = stat
        .split_whitespace()
        .map(|word| word.parse().expect("a number"))
        .collect();
    [fields[0], fields[2] * 512]
}

/// Without a name nothing is watched that would be counted twice.
fn is_left_out(above: &Device, members: [&Device; 2]) {
    let level = Device::lowest().expect("the lowest");
    let found = names(&level.devices);
    assert!(!found.contains(&above.name.as_str()), "{found:?}");
    for member in members {
        assert!(found.contains(&member.name.as_str()), "{found:?}");
    }
}

/// The program itself, while its disks are busy.
fn the_program_says_so(name: &str, node: &str, members: [&Device; 2]) {
    let reads =
        format!("while :; do dd if={node} of=/dev/null bs=64k iflag=direct 2>/dev/null; done");
    let busy = Started::of(Command::new("sh").args(["-c", &reads]));
    let program = Program::new("iosched");
    let ended = program.run(&["stat", name, "-n", "1", "-i", "4", "--json"]);
    drop(busy);
    let ended = ended.ends(0, &["has no requests of its own: measuring"]);
    let record: Value = serde_json::from_str(&ended.stdout).expect("JSON");
    let devices = record["devices"].as_array().expect("a list");
    assert_eq!(devices.len(), 2, "{devices:#?}");
    for member in members {
        assert!(
            devices
                .iter()
                .any(|device| device["device"] == *member.name)
        );
        let rows = record["processes"].as_array().expect("a list").iter();
        let own: Vec<&Value> = rows
            .filter(|row| row["comm"] == "dd" && row["device"] == *member.name)
            .collect();
        assert!(!own.is_empty(), "{record:#}");
    }
}

#[test]
fn an_array_is_measured_at_its_disks() {
    let (first, second) = Disk::two_scsi_debugs(&["delay=0", "ndelay=100000"]);
    let members = [&first.device, &second];
    let _array = Array::over(members);
    let node = format!("/dev/{ARRAY}");
    let above = Device::by_name(ARRAY).expect("it").expect("the array");
    is_measured_below(ARRAY, &node, (0, 64), members);
    is_left_out(&above, members);
    the_program_says_so(ARRAY, &node, members);
}

/// Across the border of the two.
#[test]
fn a_mapped_disk_is_measured_at_those_below() {
    let (first, second) = Disk::two_scsi_debugs(&["delay=0", "ndelay=100000"]);
    let members = [&first.device, &second];
    let _mapped = Mapped::over(members);
    let border_kib = first.device.size_bytes().expect("a size") / 1024;
    is_measured_below(MAPPED, MAPPED, (border_kib - 20 * 64, 50), members);
    let above = Device::resolve(MAPPED).expect("it").device;
    is_left_out(&above, members);
    the_program_says_so(MAPPED, MAPPED, members);
}
