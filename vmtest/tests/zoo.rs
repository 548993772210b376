//! The disks that people have, as QEMU emulates them, and what is built on them: counts are exact, I/O belongs to who asked,
//! arms switch and come back, and a disk that is unplugged ends the run with what was measured. Profile `zoo`.

#[path = "zoo/bcache.rs"]
mod bcache;
#[path = "zoo/checks.rs"]
mod checks; // what is asked of each disk
#[allow(dead_code)] // each test binary uses its part
#[path = "../../tests/support/program.rs"]
mod program;

use std::fs::{self, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use bcache::Bcache;
use checks::{
    Owner, READS, by_serial, by_serial_on_a_pc, dd, ends_when_unplugged, is_counted, is_driven_by,
    is_measured_and_switched, is_switched, members, name_and_node, reads_of, removal_of,
    so_is_a_partition,
};
use iosched_host::scheduler;
use iosched_host::system::device::Device;
use iosched_measure::probe::{Detail, Probe};
use iosched_result::measured::snapshot::{DeviceNumbers, Interval, Op};
use iosched_vmtest::{ARRAY, Array, run, set};
use program::Program;

/// QEMU gives each SD card this one.
const OF_SD_CARD: &str = "0xdeadbeef";

/// The disks that are plugged into a PC while it runs, each with the module and the name of its driver.
const OF_A_PC: [(&str, &str, &str); 3] = [
    ("zoo-usb", "usb-storage", "usb-storage"),
    ("zoo-uas", "uas", "uas"),
    (OF_SD_CARD, "mmc_block", "mmcblk"),
];

#[test]
fn a_nvme_with_several_queues() {
    let disk = by_serial("zoo-nvme");
    assert!(disk.hardware_queues() >= 2);
    is_measured_and_switched(&disk);
}

#[test]
fn b_virtio_blk_with_several_queues() {
    is_measured_and_switched(&by_serial("zoo-virtio"));
}

#[test]
fn c_virtio_scsi() {
    is_measured_and_switched(&by_serial("zoo-scsi"));
}

#[test]
fn d_ahci() {
    is_measured_and_switched(&by_serial("zoo-ata"));
}

#[test]
fn e_a_partition_of_each() {
    for serial in ["zoo-paths", "zoo-nvme", "zoo-virtio", "zoo-scsi", "zoo-ata"] {
        so_is_a_partition(&by_serial(serial));
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
fn k_disks_of_a_pc() {
    for (serial, module, driver) in OF_A_PC {
        if let Some(disk) = by_serial_on_a_pc(serial, module) {
            assert!(is_driven_by(&disk, driver), "{serial}");
            let own = disk.serial().expect("a serial number");
            assert!(own.contains(serial), "{own}");
            is_measured_and_switched(&disk);
            so_is_a_partition(&disk);
        }
    }
}

/// It has no requests: those are at the disks below, at the backing disk for what is not in the cache.
#[test]
fn l_bcache() {
    let [cache, backing] = ["zoo-nvme", "zoo-ata"].map(by_serial);
    let bcache = Bcache::of(&cache, &backing);
    let node = format!("/dev/{}", bcache.name);
    let reads_at = |disk: &Device| {
        let seen = is_counted(&bcache.name, &node, Owner::Reader);
        let its = seen.iter().find(|it| it.name == disk.name).expect("it");
        its.ops[Op::Read as usize].ios
    };
    // Most of them: who looked for partitions has read some, and a cache need not keep each block.
    assert!(reads_at(&backing) > READS / 2);
    bcache.until_it_is_filled();
    assert!(reads_at(&cache) > READS / 2);
    let says = format!("{} keeps on a disk what earlier rounds read", bcache.name);
    assert!(is_switched(&bcache.name).contains(&says));
    so_is_a_partition(&Device::by_name(&bcache.name).expect("it").expect("it"));
    drop(bcache);
    for disk in [cache, backing] {
        assert!(disk.holders().is_empty(), "{} is held", disk.name);
    }
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

/// The reader of an SD card goes.
#[test]
fn x_a_disk_of_a_pc_that_is_unplugged() {
    for (serial, module, _) in OF_A_PC {
        if let Some(disk) = by_serial_on_a_pc(serial, module) {
            let remove = removal_of(&disk, "remove");
            println!("{}: {}", disk.name, remove.display());
            ends_when_unplugged(&disk.name, &disk, &remove);
        }
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
