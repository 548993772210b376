//! Snapshots that leave the owners' histograms out, and those that go into used memory, tell the same. Root only:
//! `cargo test --test snapshots -- --ignored --test-threads=1`.

mod support;

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::slice;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use iosched_host::safety::journal::Journal;
use iosched_host::scratch::Scratch;
use iosched_host::system::device::Device;
use iosched_measure::probe::{Detail, Probe};
use iosched_result::measured::snapshot::{Interval, Op, OwnerNumbers, Snapshot};
use iosched_result::types::scratch::model::DiskModel;
use support::LoopDevice;
use support::direct::{self, Aligned, BLOCK};

const SIZE_BYTES: u64 = 16 << 20;

/// Reads by this process, which is then an owner; and how many.
struct Disk(LoopDevice, File, AtomicU64);

impl Disk {
    fn new() -> Self {
        let device = LoopDevice::in_memory(SIZE_BYTES);
        let file = direct::readable(device.node());
        Disk(device, file, AtomicU64::new(0))
    }

    fn read(&self, count: usize) {
        read(&self.1, count);
        self.2.fetch_add(count as u64, Ordering::Relaxed);
    }
}

fn read(file: &File, count: usize) {
    let mut memory = Aligned::new(BLOCK);
    for _ in 0..count {
        file.read_exact_at(memory.bytes(BLOCK), 0).expect("a block");
    }
}

/// Our own numbers; none if we did nothing.
fn ours(earlier: &Snapshot, later: &Snapshot) -> Result<Option<OwnerNumbers>> {
    let interval = Interval::between(earlier, later)?;
    let missed = interval.devices[0].quality.lost_events();
    ensure!(missed == 0, "{missed} missed by the measurement");
    Ok(own_row(interval))
}

fn own_row(interval: Interval) -> Option<OwnerNumbers> {
    let is_ours = |owner: &OwnerNumbers| owner.key.tgid == std::process::id();
    interval.owners.into_iter().find(is_ours)
}

/// The kernel's own count, in /sys/block/DISK/stat.
fn kernel_reads(disk: &Disk) -> u64 {
    disk.0.device.io_stat().expect("its counters").reads
}

fn counted_reads(probe: &mut Probe, place: usize) -> u64 {
    let now = probe.snapshot().expect("a snapshot");
    let read = &now.devices[place].ops[Op::Read as usize];
    read.ios + now.devices[place].quality.lost_events()
}

#[test]
#[ignore = "root"]
fn disks_that_come_after_the_probe_are_counted_as_the_kernel_counts_them() {
    let first = Disk::new();
    let devices = slice::from_ref(&first.0.device);
    let mut probe = Probe::attach_with_room(devices, 0, Detail::default()).expect("a probe");
    let mut later = Vec::new();
    loop {
        let disk = Disk::new();
        disk.read(5); // its queue was looked up before it is added
        let added = probe.add(&disk.0.device).expect("an answer");
        let Some((place, numbers)) = added else { break };
        assert_eq!(place, later.len() + 1);
        assert_eq!(numbers.ops[Op::Read as usize].ios, 0);
        later.push((disk, place));
    }
    println!("room for {} disks", later.len());
    assert!(
        !later.is_empty(),
        "there is room on every machine that runs tests"
    );
    let before: Vec<u64> = later.iter().map(|(disk, _)| kernel_reads(disk)).collect();
    for (count, (disk, _)) in later.iter().enumerate() {
        disk.read(100 + count);
        first.read(7);
    }
    for (before, (disk, place)) in before.into_iter().zip(&later) {
        let reads = kernel_reads(disk) - before;
        assert!(reads >= 100, "{reads}");
        assert_eq!(counted_reads(&mut probe, *place), reads, "place {place}");
    }
    // The rows of processes name the disk.
    let start = probe.snapshot().expect("a snapshot");
    let (disk, _) = &later[0];
    disk.read(3);
    let interval = Interval::between(&start, &probe.snapshot().expect("one")).expect("one");
    let own = own_row(interval).expect("our row");
    assert_eq!(own.key.device, disk.0.device.name);
    // Another disk under the name of one that is gone: it takes its slot.
    let (gone, place) = later.remove(0);
    let name = gone.0.device.name.clone();
    drop(gone);
    let again = Disk::new();
    if again.0.device.name != name {
        println!("skipped: the number of the loop device was taken by another test");
        return;
    }
    let added = probe.add(&again.0.device).expect("an answer");
    assert_eq!(added.map(|(place, _)| place), Some(place));
    let (counted, kernel) = (counted_reads(&mut probe, place), kernel_reads(&again));
    again.read(50);
    let reads = kernel_reads(&again) - kernel;
    assert_eq!(counted_reads(&mut probe, place) - counted, reads);
}

#[test]
#[ignore = "root"]
fn histograms_that_were_left_out_for_a_while_are_exact_again() {
    for _ in 0..4 {
        let disk = Disk::new();
        let devices = slice::from_ref(&disk.0.device);
        let mut probe = Probe::attach(devices, 0, Detail::default()).expect("a probe");
        let Err(error) = looks_with_and_without(&disk, &mut probe) else {
            return;
        };
        // An end that no probe sees is known when its tag is used again: only then is a try worth nothing.
        let end = probe.snapshot().expect("a snapshot");
        let (counted, sent) = (
            end.devices[0].ops[Op::Read as usize].ios,
            disk.2.load(Ordering::Relaxed),
        );
        assert!(counted < sent, "{counted} of {sent} reads: {error:#}");
        println!("{counted} of {sent} reads, again: {error:#}");
    }
    panic!("four times over ends were not seen");
}

/// The sums of a single I/O are the longest, too, and its wait is what its owner was starved.
#[test]
#[ignore = "root"]
fn the_longest_of_an_interval_is_exact() {
    let disk = Disk::new();
    let detail = Detail {
        fairness: true,
        ..Detail::default()
    };
    let mut probe = Probe::attach(slice::from_ref(&disk.0.device), 0, detail).expect("a probe");
    disk.read(50);
    let mut earlier = probe.snapshot().expect("a snapshot");
    let (mut falls, mut last_ns) = (0, 0);
    for _ in 0..50 {
        disk.read(1);
        let later = probe.snapshot().expect("a snapshot");
        let found = own_row(Interval::between(&earlier, &later).expect("an interval"));
        earlier = later;
        let Some(found) = found.filter(|found| found.ios() == 1) else {
            continue; // its end was not seen yet
        };
        let op = found.op(Op::Read);
        assert_eq!(op.q2d_max_ns, Some(op.q2d_sum_ns));
        assert_eq!(op.d2c_max_ns, Some(op.d2c_sum_ns));
        let starved_ns = found.fairness.as_ref().and_then(|f| f.starvation_max_ns);
        assert_eq!(starved_ns, Some(op.q2d_sum_ns));
        falls += usize::from(op.d2c_sum_ns < last_ns);
        last_ns = op.d2c_sum_ns;
    }
    assert!(falls > 5, "{falls} shorter than the one before");
}

/// As the rounds of a rotation are, with a sample now and then in them.
#[test]
#[ignore = "root"]
fn the_longest_of_a_window_is_exact_whatever_was_looked_at_in_it() {
    let disk = Disk::new();
    let detail = Detail {
        fairness: true,
        ..Detail::default()
    };
    let mut probe = Probe::attach(slice::from_ref(&disk.0.device), 0, detail).expect("a probe");
    disk.read(50);
    let (mut windows, mut falls, mut last_ns) = (0, 0, Some(0));
    for _ in 0..20 {
        let start = probe.snapshot().expect("a snapshot");
        probe.begin_window();
        let mut earlier = start.clone();
        let mut steps = Vec::new();
        for _ in 0..10 {
            disk.read(1);
            let later = probe.snapshot().expect("a snapshot");
            steps.extend(ours(&earlier, &later).expect("an interval"));
            earlier = later;
        }
        if steps.len() < 10 || steps.iter().any(|step| step.ios() != 1) {
            continue; // an end was not seen yet
        }
        let window = ours(&start, &earlier)
            .expect("an interval")
            .expect("our reads");
        let longest = |of: fn(&OwnerNumbers) -> u64| steps.iter().map(of).max();
        let op = window.op(Op::Read);
        let wait_ns = longest(|step| step.op(Op::Read).q2d_sum_ns);
        assert_eq!(op.q2d_max_ns, wait_ns);
        assert_eq!(op.d2c_max_ns, longest(|step| step.op(Op::Read).d2c_sum_ns));
        let starved_ns = window.fairness.as_ref().and_then(|f| f.starvation_max_ns);
        assert_eq!(starved_ns, wait_ns);
        windows += 1;
        falls += usize::from(op.d2c_max_ns < last_ns);
        last_ns = op.d2c_max_ns;
    }
    assert!(
        windows > 5 && falls > 2,
        "{falls} of {windows} below the one before"
    );
}

fn looks_with_and_without(disk: &Disk, probe: &mut Probe) -> Result<()> {
    let counts = |found: &OwnerNumbers| (found.ios(), found.q2d[0].count(), found.d2c[0].count());
    let attach = probe.snapshot()?;
    disk.read(11);
    let first = probe.snapshot()?;
    disk.read(20);
    let counters = probe.snapshot_of_counters()?;
    let found = ours(&first, &counters)?.context("our reads")?;
    ensure!(
        counts(&found) == (20, 0, 0) && !found.has_histograms,
        "{found:?}"
    );

    disk.read(30);
    let second = probe.snapshot()?;
    let found = ours(&counters, &second)?.context("our reads")?;
    // All that was counted since the start is not the interval's.
    ensure!(
        counts(&found) == (30, 0, 0) && !found.has_histograms,
        "{found:?}"
    );
    let found = ours(&first, &second)?.context("our reads")?;
    ensure!(
        counts(&found) == (50, 50, 50) && found.has_histograms,
        "{found:?}"
    );

    probe.reuse(counters);
    disk.read(7);
    let third = probe.snapshot()?;
    let found = ours(&second, &third)?.context("our reads")?;
    ensure!(counts(&found) == (7, 7, 7), "{found:?}");
    // Nothing of what the memory held before.
    probe.reuse(first);
    let idle = probe.snapshot()?;
    ensure!(ours(&third, &idle)?.is_none());
    let all = ours(&attach, &idle)?.context("our reads")?;
    ensure!(counts(&all) == (68, 68, 68), "{all:?}");
    ensure!(Some(all) == ours(&attach, &third)?);
    Ok(())
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

/// Requests under way when the probe is attached end as nobody's.
#[test]
#[ignore = "root"]
fn requests_under_way_at_the_attach_are_counted_apart() {
    const THREADS: u64 = 8;
    let journal = Journal::create().expect("a journal");
    let scratch = Scratch::create(DiskModel::Ssd, SIZE_BYTES, &journal).expect("a scratch device");
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
                let file = direct::readable(device.node());
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
