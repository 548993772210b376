//! Snapshots that leave the owners' histograms out, and those that go into used memory, tell the same. Root only:
//! `cargo test --test snapshots -- --ignored --test-threads=1`.

mod support;

use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::slice;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use iosched::device::Device;
use iosched::journal::Journal;
use iosched::probe::{Detail, Probe};
use iosched::scratch::{Model, Scratch};
use iosched::snapshot::{Interval, OwnerNumbers, Snapshot};
use support::LoopDevice;

const BLOCK: usize = 4096;
const SIZE_BYTES: u64 = 16 << 20;

/// Reads by this process, which is then an owner.
struct Disk(LoopDevice, File);

impl Disk {
    fn new() -> Self {
        let device = LoopDevice::in_memory(SIZE_BYTES);
        let file = open(Path::new(&device.node()));
        Disk(device, file)
    }

    fn read(&self, count: usize) {
        read(&self.1, count);
    }
}

fn open(node: &Path) -> File {
    let mut options = OpenOptions::new();
    let options = options.read(true).custom_flags(libc::O_DIRECT);
    options.open(node).expect("the disk")
}

fn read(file: &File, count: usize) {
    let mut memory = vec![0; 2 * BLOCK];
    let start = memory.as_ptr().align_offset(BLOCK);
    let buffer = &mut memory[start..start + BLOCK];
    for _ in 0..count {
        file.read_exact_at(buffer, 0).expect("a block");
    }
}

/// Our own numbers; none if we did nothing.
fn ours(earlier: &Snapshot, later: &Snapshot) -> Option<OwnerNumbers> {
    let interval = Interval::between(earlier, later).expect("an interval");
    let missed = interval.devices[0].quality.lost_events();
    assert_eq!(missed, 0, "missed by the measurement");
    own_row(interval)
}

fn own_row(interval: Interval) -> Option<OwnerNumbers> {
    let is_ours = |owner: &OwnerNumbers| owner.key.tgid == std::process::id();
    interval.owners.into_iter().find(is_ours)
}

#[test]
#[ignore = "root"]
fn histograms_that_were_left_out_for_a_while_are_exact_again() {
    let disk = Disk::new();
    let devices = std::slice::from_ref(&disk.0.device);
    let mut probe = Probe::attach(devices, 0, Detail::default()).expect("a probe");
    let attach = probe.snapshot().expect("a snapshot");
    disk.read(11);
    let first = probe.snapshot().expect("a snapshot");
    disk.read(20);
    let counters = probe.snapshot_of_counters().expect("a snapshot");
    let found = ours(&first, &counters).expect("our reads");
    assert_eq!((found.ios(), found.has_histograms), (20, false));
    assert!(found.q2d[0].is_empty() && found.d2c[0].is_empty());

    disk.read(30);
    let second = probe.snapshot().expect("a snapshot");
    let found = ours(&counters, &second).expect("our reads");
    assert_eq!((found.ios(), found.has_histograms), (30, false));
    assert!(
        found.d2c[0].is_empty(),
        "all that was counted since the start is not the interval's"
    );
    let found = ours(&first, &second).expect("our reads");
    assert_eq!((found.ios(), found.has_histograms), (50, true));
    assert_eq!((found.q2d[0].count(), found.d2c[0].count()), (50, 50));

    probe.reuse(counters);
    disk.read(7);
    let third = probe.snapshot().expect("a snapshot");
    let found = ours(&second, &third).expect("our reads");
    assert_eq!((found.ios(), found.d2c[0].count()), (7, 7));
    // Nothing of what the memory held before.
    probe.reuse(first);
    let idle = probe.snapshot().expect("a snapshot");
    assert_eq!(ours(&third, &idle), None);
    let all = ours(&attach, &idle).expect("our reads");
    assert_eq!(
        (all.ios(), all.q2d[0].count(), all.d2c[0].count()),
        (68, 68, 68)
    );
    assert_eq!(Some(all), ours(&attach, &third));
}

/// A histogram is left alone while its counts are as they were.
#[test]
#[ignore = "root"]
fn looks_in_quick_succession_miss_nothing() {
    const READS: u64 = 6000;
    const UNKNOWN: u64 = 8;
    let disk = Disk::new();
    let devices = std::slice::from_ref(&disk.0.device);
    let mut probe = Probe::attach(devices, 0, Detail::default()).expect("a probe");
    let attach = probe.snapshot().expect("a snapshot");
    let mut counted = || {
        let now = probe.snapshot().expect("a snapshot");
        let interval = Interval::between(&attach, &now).expect("an interval");
        let missed = interval.devices[0].quality.lost_events();
        let row = own_row(interval);
        let counts = row.map_or([0; 3], |row| {
            [row.ios(), row.q2d[0].count(), row.d2c[0].count()]
        });
        probe.reuse(now);
        counts.map(|count| count + missed)
    };
    // Whoever fails hangs up, and so ends the other.
    let (ask, asked) = mpsc::channel();
    let (say_done, done) = mpsc::channel();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let say_done = say_done;
            for () in asked {
                disk.read(1);
                say_done.send(()).expect("who looks");
            }
        });
        let ask = ask;
        for read in 1..=READS {
            ask.send(()).expect("who reads");
            while done.try_recv() == Err(mpsc::TryRecvError::Empty) {
                counted();
            }
            let [ios, q2d, d2c] = counted();
            assert_eq!([q2d, d2c], [ios; 2], "in the histograms, of those counted");
            // An end that no probe sees is known when its tag is used again.
            assert!(ios <= read && ios + UNKNOWN >= read, "{ios} of {read}");
        }
    });
}

/// What is under way when the probe is attached ends as nobody's.
#[test]
#[ignore = "root"]
fn requests_under_way_at_the_attach_are_counted_apart() {
    const THREADS: u64 = 8;
    let journal = Journal::create().expect("a journal");
    let scratch = Scratch::create(Model::Ssd, SIZE_BYTES, &journal).expect("a scratch device");
    if let Some(why) = scratch.fallback() {
        println!("skipped: {why}");
        return;
    }
    let device = Device::resolve(scratch.device_name())
        .expect("the new device")
        .device;
    let is_over = AtomicBool::new(false);
    let quality = std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                let file = open(&device.node());
                while !is_over.load(Ordering::Relaxed) {
                    read(&file, 1);
                }
            });
        }
        let wanted = device.io_stat().expect("its counters").reads + 50;
        while device.io_stat().expect("its counters").reads < wanted {
            std::thread::sleep(Duration::from_millis(5));
        }
        let look = || {
            let mut probe = Probe::attach(slice::from_ref(&device), 0, Detail::default())?;
            std::thread::sleep(Duration::from_millis(100));
            anyhow::Ok(probe.snapshot()?.devices.remove(0).quality)
        };
        // No probe sees every completion: see `evicted`.
        let mut looks = (0..5).map(|_| look());
        let found = looks.find(|look| look.as_ref().is_ok_and(|quality| quality.unseen > 0));
        is_over.store(true, Ordering::Relaxed);
        found.expect("none under way, five times over").expect("it")
    });
    println!("{quality:?}");
    assert!((1..=THREADS).contains(&quality.unseen), "{quality:?}");
}
