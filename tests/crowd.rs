//! The probe on more devices than it can measure finely, and with more owners than it has room for.

mod support;

#[path = "support/kernel_side.rs"]
mod kernel_side;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::slice;

use iosched_bpf::enums;
use iosched_bpf::{Rings, Tracer, record};
use iosched_host::system::device::Device;
use iosched_measure::probe::{Detail, Probe};
use iosched_result::measured::histogram::{DEVICE, OWNER};
use iosched_result::measured::snapshot::{
    DeviceNumbers, Interval, Op, OwnerKind, OwnerNumbers, Snapshot, Stage,
};
use support::direct::{self, Aligned, BLOCK};
use support::{LoopDevice, run};

const READS: u64 = 500;
const DEVICES: usize = 1000;
const MEMORY_BYTES: u64 = 160 << 20;

/// Numbers that no disk here has.
fn absent(index: usize) -> Device {
    Device {
        name: format!("absent{index}"),
        major: 4000,
        minor: index as u32,
        diskseq: None,
    }
}

/// Two probes watch the same reads: one on a thousand devices, the other on the one.
#[test]
#[ignore = "root"]
fn a_thousand_devices_share_the_memory_and_count_the_same() {
    let disk = LoopDevice::in_memory(64 << 20);
    let mut devices: Vec<Device> = (0..DEVICES - 1).map(absent).collect();
    // In the middle, so that its place is neither the first nor the last.
    devices.insert(DEVICES / 2 + 1, disk.device.clone());
    let mut crowd = Probe::attach(&devices, 0, Detail::default()).expect("a thousand");
    let mut alone = Probe::attach(slice::from_ref(&disk.device), 0, Detail::default())
        .expect("the one of them");
    let bytes = crowd.memory_bytes();
    println!("{} MiB", bytes >> 20);
    assert!(bytes < MEMORY_BYTES, "{bytes}");
    let mut snapshots = || [&mut crowd, &mut alone].map(|probe| probe.snapshot().expect("it"));
    let before = snapshots();
    dd(&disk, READS);
    let after = snapshots();
    let [crowd, alone] =
        [0, 1].map(|which| Interval::between(&before[which], &after[which]).expect("an interval"));

    let of = |interval: &Interval| -> DeviceNumbers {
        let mut devices = interval.devices.iter();
        let found = devices.find(|device| device.name == disk.device.name);
        found.expect("the disk").clone()
    };
    let idle = crowd.devices.iter().filter(|device| device.ios() == 0);
    assert_eq!(idle.count(), DEVICES - 1, "nobody else's reads");
    let (coarse, fine) = (of(&crowd), of(&alone));
    let (coarse, fine) = (&coarse.ops[Op::Read as usize], &fine.ops[Op::Read as usize]);
    // The other may have seen a read that one has missed: their programs run one after the other.
    println!("{} and {} of {READS} reads", coarse.ios, fine.ios);
    assert!(coarse.ios <= READS && coarse.ios > READS * 9 / 10);
    for stage in [Stage::Q2d, Stage::G2d, Stage::D2c, Stage::Q2c] {
        let (coarse, fine) = (coarse.stage(stage), fine.stage(stage));
        assert_eq!((coarse.layout(), fine.layout()), (OWNER, DEVICE));
        let (coarse_ns, fine_ns) = (coarse.mean_ns(), fine.mean_ns());
        println!("{stage:?}: {coarse_ns:?} and {fine_ns:?}");
        assert_eq!(coarse.count(), fine.count(), "{stage:?}");
    }
    // Means out of cells of 6 % and of 1.6 %.
    let means = [coarse, fine].map(|op| op.d2c.mean_ns().expect("reads"));
    let off = means[0] / means[1] - 1.0;
    assert!(off.abs() < 0.15, "{means:?}");
}

/// Against what the kernel says that the maps of this process take.
#[test]
#[ignore = "root"]
fn the_memory_stated_is_the_memory_taken() {
    let disk = LoopDevice::in_memory(64 << 20);
    let all = Detail {
        order: true,
        fairness: true,
        owner_stages: true,
        writeback: true,
        ..Detail::default()
    };
    for detail in [Detail::default(), all] {
        let probe = Probe::attach(slice::from_ref(&disk.device), 0, detail).expect("a probe");
        let files = fs::read_dir("/proc/self/fdinfo").expect("our files");
        let maps = files.filter_map(|file| fs::read_to_string(file.ok()?.path()).ok());
        // By map: several descriptors may be of one.
        let locked: BTreeMap<u64, u64> = maps
            .filter_map(|info| {
                let number = |key| {
                    let line = info.lines().find_map(|line| line.strip_prefix(key));
                    line?.trim().parse().ok()
                };
                Some((number("map_id:")?, number("memlock:")?))
            })
            .collect();
        let (stated, taken) = (probe.memory_bytes(), locked.values().sum::<u64>());
        println!("{stated} of {taken} in {} maps", locked.len());
        assert!(locked.len() > 10, "{locked:?}");
        let off = stated as f64 / taken as f64 - 1.0;
        assert!(off.abs() < 0.01, "{stated} stated, {taken} taken");
    }
}

/// The kernel side alone, and what it has recorded.
struct Watched {
    tracer: Tracer,
    rings: Rings,
    records: Vec<record>,
}

impl Watched {
    fn new(disk: &LoopDevice, owners: u32) -> Watched {
        let detail = Detail {
            fairness: true,
            ..Detail::default()
        };
        let (mut tracer, rings) = kernel_side::attach(disk, owners, 1024, detail);
        assert!(tracer.take_rings().is_none(), "one reader only");
        Watched {
            tracer,
            rings,
            records: Vec::new(),
        }
    }

    /// Reads of the owner in this row since the last call.
    fn new_reads(&mut self, row: u32) -> u64 {
        let records = &mut self.records;
        self.rings.drain(|record| records.push(*record));
        let of_row =
            |record: &record| record.owner == row && u32::from(record.op) == enums::op::OP_READ.0;
        records.extract_if(.., |record| of_row(record)).count() as u64
    }
}

/// The kernel's memory of the owners counts as ours only as far as it was looked at.
#[test]
#[ignore = "root"]
fn rows_that_nobody_reads_are_not_resident() {
    const MIB: u64 = 1 << 20;
    let resident_bytes = || {
        // The counters of old kernels are late, this walks the page tables.
        let all = fs::read_to_string("/proc/self/smaps_rollup").expect("our memory");
        let kib = all.lines().find_map(|line| line.strip_prefix("Rss:"));
        let kib: u64 = kib
            .and_then(|text| text.trim().strip_suffix(" kB")?.parse().ok())
            .expect("KiB");
        kib << 10
    };
    let disk = LoopDevice::in_memory(64 * MIB);
    let before = resident_bytes();
    let mut watched = Watched::new(&disk, 65_536);
    let attached = resident_bytes();
    let all = watched.tracer.memory_bytes();
    println!("{all} bytes of maps, resident: {before} before, {attached} after");
    assert!(all > 50 * MIB && attached < before + all / 8);
    dd(&disk, 7);
    assert!(watched.new_reads(1) > 0);
    let tracer = watched.tracer;
    assert!(tracer.is_owner(1) && !tracer.is_owner(65_535));
    let read = resident_bytes();
    assert!(read > attached + 4 * MIB, "{attached}, {read}");
    assert!(
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| tracer.owner(65_536))).is_err()
    );
}

/// By a process of its own.
fn dd(disk: &LoopDevice, reads: u64) {
    let (input, count) = (format!("if={}", disk.node()), format!("count={reads}"));
    run(
        "dd",
        &[&input, "of=/dev/null", "bs=4k", &count, "iflag=direct"],
    );
}

/// Tries again where an end was not seen, and only there: its request is still under way. See `exactly` of the tests of
/// `iosched stat`.
fn with_all_ends(owners: u32, once: impl Fn(&LoopDevice, &mut Watched) -> Option<()>) {
    for _ in 0..4 {
        let disk = LoopDevice::in_memory(64 << 20);
        if once(&disk, &mut Watched::new(&disk, owners)).is_some() {
            return;
        }
        println!("the end of one was not seen");
    }
    panic!("four times over ends were not seen");
}

fn all_ended(tracer: &Tracer) -> Option<()> {
    tracer.in_flight().of(0).next().is_none().then_some(())
}

/// The first rows have histograms, so they are the first to be used again. What stands in one is what its owner did; its
/// histograms are looked at below.
#[test]
#[ignore = "root"]
fn a_row_given_to_another_holds_nothing_of_the_one_before() {
    with_all_ends(16, |disk, watched| {
        for reads in [30, 20, 10] {
            dd(disk, reads);
            all_ended(&watched.tracer)?;
            let owner = watched.tracer.owner(1);
            assert_eq!(&owner.comm.map(i8::cast_unsigned)[..3], b"dd\0");
            assert_eq!(watched.new_reads(1), reads);
            watched.tracer.recycle(1).expect("recycled");
            assert!(!watched.tracer.is_owner(1));
        }
        Some(())
    });
}

/// Who came when there was no room gets some when there is.
#[test]
#[ignore = "root"]
fn who_was_one_of_the_others_is_himself_again() {
    with_all_ends(2, |disk, watched| {
        dd(disk, 3);
        let file = direct::readable(disk.node());
        let mut memory = Aligned::new(BLOCK);
        let mut read = || file.read_at(memory.bytes(BLOCK), 0).expect("a read");
        (0..5).for_each(|_| assert_eq!(read(), BLOCK));
        all_ended(&watched.tracer)?;
        assert_eq!((watched.new_reads(0), watched.new_reads(1)), (5, 3));
        watched.tracer.recycle(1).expect("recycled");
        (0..4).for_each(|_| assert_eq!(read(), BLOCK));
        all_ended(&watched.tracer)?;
        assert_eq!((watched.new_reads(0), watched.new_reads(1)), (0, 4));
        assert_eq!(watched.tracer.owner(1).key.tgid, std::process::id());
        Some(())
    });
}

/// A process that has ended, and what it had dirtied.
#[test]
#[ignore = "root"]
fn writeback_of_who_has_ended_gives_its_place_away_and_may_come_again() {
    let disk = LoopDevice::in_memory(64 << 20);
    let detail = Detail {
        writeback: true,
        owner_stages: true,
        ..Detail::default()
    };
    let mut probe = Probe::attach(slice::from_ref(&disk.device), 0, detail).expect("a probe");
    let output = format!("of={}", disk.node());
    // The last who closes it would write it all himself.
    let _open = File::open(disk.node()).expect("its node");
    let script = format!("dd if=/dev/zero {output} bs=4k count=64 conv=notrunc status=none; sync");
    let writeback_bytes = |snapshot: &Snapshot| -> Vec<u64> {
        let owners = snapshot.owners.iter();
        let own = owners.filter(|owner| owner.id.kind == OwnerKind::Writeback);
        own.map(|owner| owner.ops.iter().map(|op| op.bytes).sum())
            .collect()
    };
    run("sh", &["-c", &script]);
    let mut before = probe.snapshot().expect("one");
    let first = writeback_bytes(&before);
    println!("{first:?}");
    if first.is_empty() {
        println!("skipped: dd or sync has written all of it");
        return;
    }
    let mut calls = 0;
    while !writeback_bytes(&before).is_empty() {
        assert!(calls < 100, "it stays");
        probe.recycle().expect("recycled");
        before = probe.snapshot().expect("one");
        calls += 1;
    }
    assert!(calls > 60, "gone after {calls} looks");
    run("sh", &["-c", &script]);
    let interval = Interval::between(&before, &probe.snapshot().expect("one")).expect("it");
    let is_writeback = |owner: &&OwnerNumbers| owner.key.kind == OwnerKind::Writeback;
    let again: Vec<&OwnerNumbers> = interval.owners.iter().filter(is_writeback).collect();
    // Some pages of it the process that calls sync may write itself.
    let bytes: u64 = again.iter().map(|owner| owner.bytes()).sum();
    println!("{bytes} again");
    assert!((1..=64 * 4096).contains(&bytes), "{bytes}");
    // Nothing is left in the row of the one before.
    for owner in again {
        let stages = owner.stages.as_ref().expect("they were asked for");
        let counts = [&stages.g2d, &stages.q2c, &owner.d2c].map(|pair| pair[1].count());
        assert_eq!(counts, [owner.ios(); 3], "{owner:#?}");
    }
}
