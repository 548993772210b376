//! Checks of each disk, and how the tests find it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use iosched_host::scheduler;
use iosched_host::system::device::{Device, Disks};
use iosched_measure::probe::{Detail, Probe};
use iosched_result::measured::snapshot::{DeviceNumbers, Interval, Op, OwnerNumbers};
use iosched_vmtest::{pid_of_run, run, set};
use serde_json::Value;

use crate::program::Program;

pub const READS: u64 = 200;

const DRIVERS: [&str; 11] = [
    "virtio_pci",
    "virtio_blk",
    "virtio_scsi",
    "nvme",
    "ahci",
    "sd_mod",
    "xhci_pci",
    "usb-storage",
    "uas",
    "sdhci-pci",
    "mmc_block",
];

/// Whether the kernel has it, as a module or built in.
fn loads(driver: &str) -> bool {
    let ended = Command::new("modprobe").arg(driver).output();
    ended.is_ok_and(|ended| ended.status.success())
}

/// The disk with this serial number, and of a multipath disk the visible one.
pub fn by_serial(serial: &str) -> Device {
    for driver in DRIVERS {
        loads(driver);
    }
    for _ in 0..500 {
        if let Some(found) = disks().find(|disk| has_serial(disk, serial)) {
            return found;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("no disk has the serial number {serial}");
}

/// The same of a disk whose drivers a cloud kernel may lack; any other kernel has it.
pub fn by_serial_on_a_pc(serial: &str, module: &str) -> Option<Device> {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").expect("a release");
    if release.contains("-cloud-") && !loads(module) {
        println!(
            "skipped: {serial}: {} has no driver {module}",
            release.trim()
        );
        return None;
    }
    Some(by_serial(serial))
}

/// Whether this driver has it, or the device that it is a part of.
pub fn is_driven_by(disk: &Device, driver: &str) -> bool {
    let place = fs::canonicalize(disk.sysfs("")).expect("a device");
    let mut above = place.ancestors();
    above.any(|it| fs::canonicalize(it.join("driver")).is_ok_and(|name| name.ends_with(driver)))
}

fn disks() -> impl Iterator<Item = Device> {
    let names = fs::read_dir("/sys/block").expect("sysfs").flatten();
    let names = names.filter_map(|entry| entry.file_name().into_string().ok());
    let found = names.filter_map(|name| Device::by_name(&name).ok()?);
    found.filter(|device| device.head().is_none())
}

fn has_serial(disk: &Device, serial: &str) -> bool {
    // Some disks have it themselves, others what they are part of: the USB device, the SD card, the subsystem of all paths.
    // SCSI disks have it in a page of their inquiry.
    let place = fs::canonicalize(disk.sysfs("")).unwrap_or_default();
    place
        .ancestors()
        .map(|above| above.join("serial"))
        .chain([disk.sysfs("device/vpd_pg80")])
        .filter_map(|file| fs::read(file).ok())
        .any(|bytes| String::from_utf8_lossy(&bytes).contains(serial))
}

pub fn members(name: &str) -> Vec<Device> {
    Disks::resolve(&[name.to_owned()]).expect(name).0.members
}

pub fn reads_of(device: &Device) -> u64 {
    let stat = device.attribute("stat").expect("its counters");
    let first = stat.split_whitespace().next().expect("a field");
    first.parse().expect("a number")
}

pub fn dd(node: &str, reads: u64) -> u32 {
    let (input, count) = (format!("if={node}"), format!("count={reads}"));
    pid_of_run(
        "dd",
        &[&input, "of=/dev/null", "bs=4k", &count, "iflag=direct"],
    )
}

/// Who shall be found as the owner of the reads.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    Reader,
    /// The layer above reads in a thread of its own.
    Anyone,
}

/// Reads of one process: as many as the kernel counts, all with their wait, none lost.
pub fn is_counted(name: &str, node: &str, owner: Owner) -> Vec<DeviceNumbers> {
    let level = Device::measured(name).unwrap_or_else(|error| panic!("{name}: {error:#}"));
    println!("{name}: {:?}", level.notes);
    dd(node, 1); // whoever opens it first looks for partitions
    let mut probe = Probe::attach(&level.devices, 0, Detail::default()).expect("a probe");
    let all = || level.devices.iter().map(reads_of).collect::<Vec<u64>>();
    let (before, earlier) = (all(), probe.snapshot().expect("one"));
    let pid = dd(node, READS);
    let (after, later) = (all(), probe.snapshot().expect("one"));
    let interval = Interval::between(&earlier, &later).expect("an interval");
    let mut sum = 0;
    // Runs of programs that the kernel skipped and the probe counted: each can cost one request. Usually there is none.
    let skipped = interval.devices[0].quality.skipped;
    let is_about = |seen: u64, expected: u64| seen.abs_diff(expected) <= skipped;
    for (at, device) in interval.devices.iter().enumerate() {
        let op = &device.ops[Op::Read as usize];
        println!(
            "{}: {} reads, {} with a wait, Q2D {} ns, {:?}",
            device.name, op.ios, op.waits, op.q2d_sum_ns, device.quality
        );
        let expected = after[at] - before[at];
        assert!(is_about(op.ios, expected), "{}: {expected}", device.name);
        assert!(is_about(op.waits, op.ios), "{}", device.name);
        assert_eq!(device.quality.unseen, 0, "{}", device.name);
        assert!(is_about(device.quality.evicted, 0), "{}", device.name);
        sum += op.ios;
    }
    assert!(is_about(sum, READS), "{name}: {sum}");
    if owner == Owner::Reader {
        let is_its = |row: &&OwnerNumbers| row.key.tgid == pid;
        let rows = interval.owners.iter().filter(is_its);
        let own: u64 = rows.map(|row| row.ops[Op::Read as usize].ios).sum();
        assert!(is_about(own, READS), "{name}: {:#?}", interval.owners);
    }
    interval.devices
}

const READ: &str = "dd if=$IOSCHED_DEVICE of=/dev/null bs=4k count=50 iflag=direct 2>/dev/null";

/// Two arms, from the program that users have; what it said.
pub fn is_switched(name: &str) -> String {
    let all = members(name);
    let states = || all.iter().map(|it| scheduler::read(it).expect("its queue"));
    let before: Vec<_> = states().collect();
    let program = Program::new("iosched-ab");
    let arms = ["--arm", "none", "--arm", "mq-deadline", "--rounds", "2"];
    let start = [&["run", name, "-o", "result"], &arms[..]].concat();
    let ended = program.run(&[&start[..], &["--", "sh", "-c", READ]].concat());
    println!("{}", ended.stderr);
    let ended = ended.ends(0, &[]);
    assert_eq!(states().collect::<Vec<_>>(), before, "{name}");
    assert!(program.journals().is_empty());
    let result = program.result("result");
    for round in result["rounds"].as_array().expect("rounds") {
        assert_eq!(round["problem"], Value::Null, "{name}");
        assert_eq!(round["lost_events"], 0, "{name}");
        let evidence = &round["evidence"];
        let count = |value: &Value| value.as_u64().expect("a count");
        let device = &evidence["device"];
        // The first one may have waited for the switch.
        let straddlers = count(&device["edges"]["straddlers"]);
        let reads = count(&device["ops"][0]["ios"]) + straddlers;
        assert_eq!(reads, 50, "{name}: {device:#}");
        let applied = match evidence["members"].as_array().filter(|all| !all.is_empty()) {
            Some(members) => members.iter().map(|member| &member["applied"]).collect(),
            None => vec![&evidence["applied"]],
        };
        assert_eq!(applied.len(), all.len(), "{name}");
        for member in applied {
            assert_eq!(member["effective"]["active"], round["scheduler"], "{name}");
        }
    }
    ended.stderr
}

pub fn is_measured_and_switched(disk: &Device) {
    let (name, node) = name_and_node(disk);
    is_counted(&name, &node, Owner::Reader);
    is_switched(&name);
}

pub fn so_is_a_partition(disk: &Device) {
    let node = disk.node().display().to_string();
    run("addpart", &[&node, "1", "2048", "65536"]);
    let partition = disk.partitions().remove(0).name;
    is_counted(&partition, &format!("/dev/{partition}"), Owner::Reader);
    is_switched(&partition);
    run("delpart", &[&node, "1"]);
}

/// `gone` is the member that goes with it.
pub fn ends_when_unplugged(name: &str, gone: &Device, remove: &Path) {
    let others: Vec<Device> = members(name).into_iter().filter(|it| it != gone).collect();
    let states = || {
        others
            .iter()
            .map(|it| scheduler::read(it).expect("its queue"))
    };
    let before: Vec<_> = states().collect();
    let program = Program::new("iosched-ab");
    let start = [
        "run", name, "-o", "result", "--rounds", "200", "--arm", "none",
    ];
    let command = ["--arm", "mq-deadline", "--", "sh", "-c", READ];
    let mut started = program.start(&[&start[..], &command].concat());
    started.until(Duration::from_secs(120), "two rounds", || {
        let bytes = fs::read(program.file("result")).unwrap_or_default();
        let result: Value = serde_json::from_slice(&bytes).unwrap_or_default();
        result["rounds"].as_array().map_or(0, Vec::len) >= 2
    });
    set(&remove.display().to_string(), "1");
    let ended = started.end();
    println!("{}", ended.stderr);
    let says = format!("{} disappeared", gone.name);
    ended.ends(1, &[&says, "the completed rounds are in result"]);
    assert_eq!(states().collect::<Vec<_>>(), before, "{name}");
    assert!(program.journals().is_empty());
    program.run(&["report", "result"]).ends(0, &[]);
}

/// The file by which the device is removed from its bus: PCI, or USB.
pub fn removal_of(device: &Device, file: &str) -> PathBuf {
    let place = fs::canonicalize(device.sysfs("")).expect("a device");
    let above = place.ancestors().map(|above| above.join(file));
    above.into_iter().find(|path| path.exists()).expect("a way")
}

pub fn name_and_node(device: &Device) -> (String, String) {
    (device.name.clone(), device.node().display().to_string())
}
