//! Which disk is a queue's? Not the node's that a command came through, and not for ever the same. Profile `stress`.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::fs::FileTypeExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use iosched_host::system::device::Device;
use iosched_measure::probe::Detail;
use iosched_result::measured::snapshot::{Op, Quality};
use iosched_vmtest::{Disk, SCHEDULERS, Watch, dd_reads, dd_reads_of, run};

const READS: u64 = 100;
const COMMANDS: u64 = 3;

/// The character device of a SCSI disk.
struct Generic(File);

impl Generic {
    fn of(disk: &Disk) -> Self {
        run("modprobe", &["sg"]);
        let names = disk.device.sysfs("device/scsi_generic");
        let deadline = Instant::now() + Duration::from_secs(10);
        loop {
            let name = fs::read_dir(&names).into_iter().flatten().flatten().next();
            let node = name.map(|name| PathBuf::from("/dev").join(name.file_name()));
            if let Some(node) = node
                && fs::metadata(&node).is_ok_and(|node| node.file_type().is_char_device())
            {
                let open = File::options().read(true).write(true).open(node);
                return Generic(open.expect("the node"));
            }
            assert!(Instant::now() < deadline, "no node in {}", names.display());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// TEST UNIT READY, by the interface that needs no ioctl: `struct sg_header` of scsi/sg.h and the command are
    /// written, the header of the answer is read.
    fn test_unit_ready(&self, count: u64) {
        const HEADER_BYTES: usize = 36;
        const COMMAND: [u8; 6] = [0; 6];
        for _ in 0..count {
            let mut header = [0; HEADER_BYTES];
            let bytes = HEADER_BYTES as i32;
            header[4..8].copy_from_slice(&bytes.to_ne_bytes()); // reply_len
            let request = [&header[..], &COMMAND].concat();
            (&self.0).write_all(&request).expect("a command");
            (&self.0).read_exact(&mut header).expect("its answer");
            assert_eq!(header[12..16], [0; 4], "its result");
        }
    }
}

/// Before 5.17 the first request of such a queue has a disk that is not traced.
#[test]
fn a_command_through_another_node_hides_nothing() {
    let disk = Disk::scsi_debug(&["delay=0", "ndelay=100000"]);
    let generic = Generic::of(&disk);
    for passthrough in [false, true] {
        let detail = Detail {
            passthrough,
            ..Detail::default()
        };
        let mut watch = Watch::with(&disk, detail);
        let (seen, pid) = watch.over(|| {
            generic.test_unit_ready(COMMANDS);
            dd_reads(&disk, READS as u32)
        });
        println!("{:?}", seen.device().edges);
        assert_eq!(seen.device().quality, Quality::default());
        assert_eq!(seen.op(Op::Read).ios, READS);
        assert_eq!(seen.process_op(pid, Op::Read).ios, READS);
        let commands = if passthrough {
            seen.op(Op::Passthrough).ios
        } else {
            seen.device().edges.passthrough
        };
        assert_eq!(commands, COMMANDS);
    }
}

/// Knowledge of the queue does not begin anew with each command.
#[test]
fn commands_between_reads_change_nothing_that_is_known_of_the_queue() {
    let disk = Disk::scsi_debug(&["delay=0", "ndelay=100000"]);
    let generic = Generic::of(&disk);
    let mut watch = Watch::on(&disk);
    disk.set_scheduler("none");
    dd_reads(&disk, 1);
    let (seen, ()) = watch.over(|| {
        for scheduler in ["mq-deadline", "none"].repeat(2) {
            disk.set_scheduler(scheduler);
            dd_reads(&disk, READS as u32);
            generic.test_unit_ready(COMMANDS);
        }
        dd_reads(&disk, READS as u32);
    });
    let edges = seen.device().edges;
    println!("{edges:?}");
    assert_eq!(seen.device().quality, Quality::default());
    assert_eq!(seen.op(Op::Read).ios, 5 * READS);
    assert_eq!((edges.switches, edges.passthrough), (4, 4 * COMMANDS));
}

/// The other disk of the same driver is not traced.
#[test]
fn commands_to_a_disk_that_is_not_traced_are_not_counted() {
    let (disk, other) = Disk::two_scsi_debugs(&["delay=0", "ndelay=100000"]);
    let generic = Generic::of(&disk);
    let mut watch = Watch::of(&other, Detail::default());
    for scheduler in SCHEDULERS {
        disk.set_scheduler(scheduler);
        let (seen, ()) = watch.over(|| {
            generic.test_unit_ready(COMMANDS);
            dd_reads(&disk, READS as u32);
            generic.test_unit_ready(COMMANDS);
        });
        assert_eq!(seen.device().ios(), 0, "{scheduler}");
        assert_eq!(seen.device().edges.passthrough, 0, "{scheduler}");
        seen.is_clean();
    }
}

/// Two disks whose driver lets go of both and takes them again in the other order: each queue then has the other's number.
/// Several times, since the kernel gives a new disk the memory of an old one.
#[test]
fn a_queue_that_gets_another_disk_is_counted_as_that() {
    let (disk, other) = Disk::two_scsi_debugs(&["delay=0", "ndelay=100000"]);
    let mut devices = [&disk.device, &other];
    devices.sort_by_key(|device| device.minor);
    let driver = PathBuf::from("/sys/bus/scsi/drivers/sd");
    let mut watch = Watch::on(&disk);
    for swap in 0..8 {
        let (seen, ()) = watch.over(|| {
            dd_reads(&disk, READS as u32);
            dd_reads_of(&other, 10);
        });
        assert_eq!(seen.op(Op::Read).ios, READS, "after {swap} swaps");
        assert_eq!(seen.device().quality, Quality::default());

        let addresses = devices.map(address);
        for address in &addresses {
            fs::write(driver.join("unbind"), address).expect("to let go");
        }
        // The first gets the lower number.
        for address in addresses.iter().rev() {
            fs::write(driver.join("bind"), address).expect("to take");
        }
        assert_eq!(devices.map(address), [&*addresses[1], &addresses[0]]);
    }
}

/// Address of its SCSI device, as `0:0:0:0`.
fn address(device: &Device) -> String {
    let link = fs::canonicalize(device.sysfs("device")).expect("its address");
    let name = link.file_name().expect("a name");
    name.to_string_lossy().into_owned()
}
