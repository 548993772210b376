//! The disks that people have, as QEMU emulates them, and what is built on them: counts are exact, I/O belongs to who asked,
//! arms switch and come back, and a disk that is unplugged ends the run with what was measured. Profile `zoo`.

#[allow(dead_code)] // each test binary uses its part
#[path = "../../tests/support/program.rs"]
mod program;

use std::fs::{self, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use iosched::machine::device::{Device, Disks};
use iosched::measure::probe::{Detail, Probe};
use iosched::measure::snapshot::{DeviceNumbers, Interval, Op, OwnerNumbers};
use iosched::scheduler;
use iosched_vmtest::{ARRAY, Array, pid_of_run, run, set};
use program::Program;
use serde_json::Value;

const READS: u64 = 200;

const DRIVERS: [&str; 6] = [
    "virtio_pci",
    "virtio_blk",
    "virtio_scsi",
    "nvme",
    "ahci",
    "sd_mod",
];

/// The disk with this serial number, and of a multipath disk the visible one.
fn by_serial(serial: &str) -> Device {
    for module in DRIVERS {
        // It is built in, or this kernel has no such driver: then its disk is missing.
        let _ = Command::new("modprobe").arg(module).output();
    }
    for _ in 0..200 {
        if let Some(found) = disks().find(|disk| has_serial(disk, serial)) {
            return found;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("no disk has the serial number {serial}");
}

fn disks() -> impl Iterator<Item = Device> {
    let names = fs::read_dir("/sys/block").expect("sysfs").flatten();
    let names = names.filter_map(|entry| entry.file_name().into_string().ok());
    let found = names.filter_map(|name| Device::by_name(&name).ok()?);
    found.filter(|device| device.head().is_none())
}

fn has_serial(disk: &Device, serial: &str) -> bool {
    // SCSI disks have it in a page of their inquiry; multipath disks where all paths of a subsystem are listed.
    let files = ["serial", "device/serial", "device/vpd_pg80"].map(|file| disk.sysfs(file));
    let subsystem = fs::canonicalize(disk.sysfs("..")).unwrap_or_default();
    files
        .into_iter()
        .chain([subsystem.join("serial")])
        .filter_map(|file| fs::read(file).ok())
        .any(|bytes| String::from_utf8_lossy(&bytes).contains(serial))
}

fn members(name: &str) -> Vec<Device> {
    Disks::resolve(&[name.to_owned()]).expect(name).0.members
}

fn reads_of(device: &Device) -> u64 {
    let stat = device.attribute("stat").expect("its counters");
    let first = stat.split_whitespace().next().expect("a field");
    first.parse().expect("a number")
}

fn dd(node: &str, reads: u64) -> u32 {
    let (input, count) = (format!("if={node}"), format!("count={reads}"));
    pid_of_run(
        "dd",
        &[&input, "of=/dev/null", "bs=4k", &count, "iflag=direct"],
    )
}

/// Who shall be found as the owner of the reads.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Owner {
    Reader,
    /// The layer above reads in a thread of its own.
    Anyone,
}

/// Reads of one process: as many as the kernel counts, all with their wait, none lost.
fn is_counted(name: &str, node: &str, owner: Owner) -> Vec<DeviceNumbers> {
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
    for (at, device) in interval.devices.iter().enumerate() {
        let op = &device.ops[Op::Read as usize];
        println!(
            "{}: {} reads, {} with a wait, Q2D {} ns, {:?}",
            device.name, op.ios, op.waits, op.q2d_sum_ns, device.quality
        );
        assert_eq!(op.ios, after[at] - before[at], "{}", device.name);
        assert_eq!(op.waits, op.ios, "{}", device.name);
        assert_eq!(device.quality.unseen, 0, "{}", device.name);
        assert_eq!(device.quality.evicted, 0, "{}", device.name);
        sum += op.ios;
    }
    assert_eq!(sum, READS, "{name}");
    if owner == Owner::Reader {
        let is_its = |row: &&OwnerNumbers| row.key.tgid == pid;
        let rows = interval.owners.iter().filter(is_its);
        let own: u64 = rows.map(|row| row.ops[Op::Read as usize].ios).sum();
        assert_eq!(own, READS, "{name}: {:#?}", interval.owners);
    }
    interval.devices
}

const READ: &str = "dd if=$IOSCHED_DEVICE of=/dev/null bs=4k count=50 iflag=direct 2>/dev/null";

/// Two arms, from the program that users have.
fn is_switched(name: &str) {
    let all = members(name);
    let states = || all.iter().map(|it| scheduler::read(it).expect("its queue"));
    let before: Vec<_> = states().collect();
    let program = Program::new("iosched-ab");
    let arms = ["--arm", "none", "--arm", "mq-deadline", "--rounds", "2"];
    let start = [&["run", name, "-o", "result"], &arms[..]].concat();
    let ended = program.run(&[&start[..], &["--", "sh", "-c", READ]].concat());
    println!("{}", ended.stderr);
    ended.ends(0, &[]);
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
}

/// `gone` is the member that goes with it.
fn ends_when_unplugged(name: &str, gone: &Device, remove: &Path) {
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

/// The file by which the device on the PCI bus, or the SCSI disk, is removed.
fn removal_of(device: &Device, file: &str) -> PathBuf {
    let place = fs::canonicalize(device.sysfs("")).expect("a device");
    let above = place.ancestors().map(|above| above.join(file));
    above.into_iter().find(|path| path.exists()).expect("a way")
}

fn name_and_node(device: &Device) -> (String, String) {
    (device.name.clone(), device.node().display().to_string())
}

fn is_measured_and_switched(serial: &str) {
    let (name, node) = name_and_node(&by_serial(serial));
    is_counted(&name, &node, Owner::Reader);
    is_switched(&name);
}

#[test]
fn a_nvme_with_several_queues() {
    let disk = by_serial("zoo-nvme");
    assert!(disk.hardware_queues() >= 2);
    is_measured_and_switched("zoo-nvme");
}

#[test]
fn b_virtio_blk_with_several_queues() {
    is_measured_and_switched("zoo-virtio");
}

#[test]
fn c_virtio_scsi() {
    is_measured_and_switched("zoo-scsi");
}

#[test]
fn d_ahci() {
    is_measured_and_switched("zoo-ata");
}

#[test]
fn e_a_partition_of_each() {
    for serial in ["zoo-paths", "zoo-nvme", "zoo-virtio", "zoo-scsi", "zoo-ata"] {
        let disk = by_serial(serial);
        run(
            "addpart",
            &[&disk.node().display().to_string(), "1", "2048", "65536"],
        );
        let partition = disk.partitions().remove(0).name;
        is_counted(&partition, &format!("/dev/{partition}"), Owner::Reader);
        is_switched(&partition);
        run("delpart", &[&disk.node().display().to_string(), "1"]);
    }
}

#[test]
fn f_the_paths_of_a_multipath_nvme() {
    let head = by_serial("zoo-paths");
    let (name, node) = name_and_node(&head);
    let paths = members(&name);
    assert_eq!(paths.len(), 2, "{paths:?}");
    for path in &paths {
        assert_eq!(path.head().as_ref(), Some(&name));
    }
    let level = Device::lowest().expect("the disks");
    assert!(paths.iter().all(|path| level.devices.contains(path)));
    let note = format!("{} is a path of {name}", paths[0].name);
    assert!(level.notes.contains(&note), "{:?}", level.notes);

    let policy = removal_of(&head, "iopolicy");
    for policy_name in ["numa", "round-robin"] {
        fs::write(&policy, policy_name).expect("a policy");
        let seen = is_counted(&name, &node, Owner::Reader);
        let used = seen.iter().filter(|it| it.ops[Op::Read as usize].ios > 0);
        let expected = if policy_name == "numa" { 1 } else { 2 };
        assert_eq!(used.count(), expected, "{policy_name}");
    }
    is_switched(&name);

    let program = Program::new("iosched");
    let ended = program.run(&["set", &name, "kyber"]).ends(0, &[]);
    assert!(ended.stdout.contains("are switched together"), "{ended:?}");
    for path in &paths {
        assert_eq!(scheduler::choice(path).expect("its choice").active, "kyber");
    }
    program
        .run(&["set", &name, "kyber,iosched/no_such=1"])
        .ends(2, &["no_such"]);
    let by_path = format!("name {name}: its paths are switched and measured together");
    program
        .run(&["set", &paths[0].name, "none"])
        .ends(2, &[&by_path]);
    program.run(&["set", &name, "none"]).ends(0, &[]);
}

/// Takes the right to reach memory from a PCI device, until its driver gives it again.
fn refuse_memory(config: &Path) {
    const COMMAND: u64 = 4;
    const MEMORY_SPACE: u16 = 2;
    let mut file = OpenOptions::new()
        .write(true)
        .open(config)
        .expect("a PCI device");
    file.seek(SeekFrom::Start(COMMAND))
        .expect("its command register");
    file.write_all(&MEMORY_SPACE.to_le_bytes())
        .expect("a command");
}

/// A path fails under load, and its I/O goes on through the other one.
#[test]
fn g_a_path_that_fails() {
    const READERS: u64 = 8;
    let head = by_serial("zoo-paths");
    let (name, node) = name_and_node(&head);
    fs::write(removal_of(&head, "iopolicy"), "numa").expect("a policy");
    let level = Device::measured(&name).expect("its paths");
    let reads = || level.devices.iter().map(reads_of).collect::<Vec<u64>>();
    let before = reads();
    dd(&node, 100);
    let after = reads();
    let used = (0..before.len()).find(|at| after[*at] >= before[*at] + 100);
    let busy = level.devices[used.expect("one path is used")].clone();
    let mut probe = Probe::attach(&level.devices, 0, Detail::default()).expect("a probe");
    let earlier = probe.snapshot().expect("one");
    let reads = [
        "dd",
        &format!("if={node}"),
        "of=/dev/null",
        "bs=4k",
        "count=4000",
        "iflag=direct",
    ];
    let readers: Vec<_> = (0..READERS)
        .map(|_| {
            Command::new(reads[0])
                .args(&reads[1..])
                .stderr(Stdio::piped())
                .spawn()
        })
        .map(|reader| reader.expect("a reader"))
        .collect();
    // Its controller may no longer reach memory: requests time out, it is reset, and they go to the other path.
    set(
        &busy.sysfs("queue/io_timeout").display().to_string(),
        "1000",
    );
    std::thread::sleep(Duration::from_millis(300));
    refuse_memory(&removal_of(&busy, "config"));
    for reader in readers {
        let output = reader.wait_with_output().expect("its end");
        assert!(output.status.success(), "{output:?}");
    }
    let interval = Interval::between(&earlier, &probe.snapshot().expect("one")).expect("it");
    let reads = |device: &DeviceNumbers| device.ops[Op::Read as usize].ios;
    for device in &interval.devices {
        println!(
            "{}: {} reads, {:?}",
            device.name,
            reads(device),
            device.edges
        );
        println!("{:?}", device.quality);
    }
    let sum: u64 = interval.devices.iter().map(reads).sum();
    assert_eq!(sum, READERS * 4000, "each read counts once");
    let moved: u64 = interval.devices.iter().map(|it| it.edges.failed_over).sum();
    assert!(moved > 0, "nothing was in flight when the path failed");
}

#[test]
fn h_dm_crypt() {
    let disk = by_serial("zoo-virtio");
    for module in ["dm-mod", "dm-crypt", "crypto_null", "ecb"] {
        run("modprobe", &[module]);
    }
    let sectors = disk.size_bytes().expect("a size") / 512;
    let number = format!("{}:{}", disk.major, disk.minor);
    let table = format!("0 {sectors} crypt cipher_null-ecb - 0 {number} 0");
    let _mapped = Mapped::new("crypt", &table);
    is_counted("/dev/mapper/crypt", "/dev/mapper/crypt", Owner::Anyone);
    is_switched("/dev/mapper/crypt");
}

/// Its requests are scheduled above, and those below are clones.
#[test]
fn i_dm_multipath() {
    let disks = ["zoo-scsi", "zoo-ata"].map(by_serial);
    for module in ["dm-mod", "dm-multipath", "dm-round-robin"] {
        run("modprobe", &[module]);
    }
    let sectors = disks[0].size_bytes().expect("a size") / 512;
    let paths = disks
        .each_ref()
        .map(|disk| format!("{}:{} 1", disk.major, disk.minor));
    let table = format!(
        "0 {sectors} multipath 0 0 1 1 round-robin 0 2 1 {}",
        paths.join(" ")
    );
    let _mapped = Mapped::new("paths", &table);
    let above = Device::resolve("/dev/mapper/paths").expect("it").device;
    assert_eq!(members("/dev/mapper/paths"), std::slice::from_ref(&above));
    is_counted("/dev/mapper/paths", "/dev/mapper/paths", Owner::Reader);
    let level = Device::lowest().expect("the disks");
    assert!(level.devices.contains(&above));
    for disk in &disks {
        assert!(!level.devices.contains(disk), "{} has clones", disk.name);
        let says = format!("{} is a path of {}", disk.name, above.name);
        assert!(level.notes.iter().any(|note| note.contains(&says)));
    }
    is_switched("/dev/mapper/paths");
}

#[test]
fn j_a_mirror_with_a_failed_leg() {
    let disks = ["zoo-scsi", "zoo-ata"].map(by_serial);
    run("modprobe", &["raid1"]);
    let _array = Array::mirror([&disks[0], &disks[1]]);
    let node = format!("/dev/{ARRAY}");
    is_counted(ARRAY, &node, Owner::Reader);
    let failed = format!("/sys/block/{ARRAY}/md/dev-{}/state", disks[1].name);
    set(&failed, "faulty");
    let seen = is_counted(ARRAY, &node, Owner::Reader);
    let reads: Vec<(&str, u64)> = seen
        .iter()
        .map(|it| (it.name.as_str(), it.ops[Op::Read as usize].ios))
        .collect();
    assert!(reads.contains(&(&disks[0].name, READS)), "{reads:?}");
    is_switched(ARRAY);
}

#[test]
fn x_a_disk_that_is_unplugged() {
    for (serial, file) in [
        ("zoo-ata", "delete"),
        ("zoo-virtio", "remove"),
        ("zoo-nvme", "remove"),
    ] {
        let disk = by_serial(serial);
        let remove = match file {
            "delete" => disk.sysfs("device/delete"),
            file => removal_of(&disk, file),
        };
        ends_when_unplugged(&disk.name, &disk, &remove);
    }
}

/// The last test: its controller does not come back.
#[test]
fn y_a_path_that_is_unplugged() {
    let head = by_serial("zoo-paths");
    let paths = members(&head.name);
    let remove = removal_of(&paths[1], "remove");
    ends_when_unplugged(&head.name, &paths[1], &remove);
    let (name, node) = name_and_node(&head);
    assert_eq!(members(&name), std::slice::from_ref(&paths[0]));
    is_counted(&name, &node, Owner::Reader);
    is_switched(&name);
}

struct Mapped(&'static str);

impl Mapped {
    /// dmsetup makes the node itself: there is no udev.
    fn new(name: &'static str, table: &str) -> Mapped {
        let mut command = Command::new("dmsetup");
        command.env("DM_DISABLE_UDEV", "1");
        let made = command.args(["create", name, "--table", table]).output();
        let made = made.expect("dmsetup");
        assert!(made.status.success(), "{table}: {made:?}");
        Mapped(name)
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        for _ in 0..100 {
            let mut command = Command::new("dmsetup");
            let ended = command
                .env("DM_DISABLE_UDEV", "1")
                .args(["remove", self.0])
                .output();
            if ended.is_ok_and(|ended| ended.status.success()) {
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}
