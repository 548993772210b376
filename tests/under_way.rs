//! I/Os that are held to be under way, though they are not. Root only:
//! `cargo test --test under_way -- --ignored --test-threads=1`.

mod support;

use std::collections::HashSet;
use std::os::unix::fs::FileExt;
use std::slice;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use iosched_host::safety::journal::Journal;
use iosched_host::scratch::Scratch;
use iosched_host::system::device::Device;
use iosched_measure::probe::{Detail, Probe};
use iosched_result::measured::snapshot::{Interval, Op};
use iosched_result::types::scratch::model::DiskModel;
use libbpf_rs::query::MapInfoIter;
use libbpf_rs::{MapCore, MapFlags, MapHandle};
use support::LoopDevice;
use support::direct::{self, Aligned, BLOCK};

/// The maps of the requests under way, of all probes on this machine.
fn tables() -> HashSet<u32> {
    let all = MapInfoIter::default();
    let named = all.filter(|map| map.name == "inflight");
    named.map(|map| map.id).collect()
}

/// The first entry that holds a request, and its place.
fn an_entry(table: &MapHandle) -> Option<([u8; 4], Vec<u8>)> {
    (0..table.max_entries()).find_map(|place| {
        let key = place.to_ne_bytes();
        let entry = table.lookup(&key, MapFlags::ANY).ok()??;
        (entry[..8] != [0; 8]).then_some((key, entry))
    })
}

/// The end of a request is taken back, as if no program had seen it.
#[test]
#[ignore = "root"]
fn a_request_whose_end_nobody_saw_is_not_under_way() {
    let disk = LoopDevice::in_memory(16 << 20);
    for scheduler in ["none", "mq-deadline"] {
        disk.set("scheduler", scheduler);
        let before = tables();
        let devices = slice::from_ref(&disk.device);
        let detail = Detail {
            fairness: true,
            ..Detail::default()
        };
        let mut probe = Probe::attach(devices, 0, detail).expect("a probe");
        let own = tables().difference(&before).copied().collect::<Vec<_>>();
        let [own] = own[..] else {
            return println!("skipped: others attach at the same time");
        };
        let table = MapHandle::from_map_id(own).expect("the table");
        let ends = AtomicBool::new(false);
        let (key, entry) = std::thread::scope(|scope| {
            scope.spawn(|| {
                let (file, mut memory) = (direct::readable(disk.node()), Aligned::new(BLOCK));
                while !ends.load(Ordering::Relaxed) {
                    file.read_exact_at(memory.bytes(BLOCK), 0).expect("a read");
                }
            });
            let begin = Instant::now();
            let found = std::iter::from_fn(|| Some(an_entry(&table)))
                .take_while(|_| begin.elapsed() < Duration::from_secs(20))
                .flatten()
                .next();
            ends.store(true, Ordering::Relaxed);
            found.expect("a request under way")
        });
        let of = |probe: &mut Probe| {
            let snapshot = probe.snapshot().expect("a snapshot");
            let device = &snapshot.devices[0];
            (device.in_flight.expect("few tags"), device.quality.evicted)
        };
        let (before, evicted) = of(&mut probe);
        assert!(before.is_nothing(), "{scheduler}");
        table
            .update(&key, &entry, MapFlags::ANY)
            .expect("an update");
        std::thread::sleep(Duration::from_millis(50));
        let (now, left) = of(&mut probe);
        assert!(
            now.is_nothing() && now.oldest_ns.is_none(),
            "{scheduler}: {now:?}"
        );
        assert_eq!(left, evicted + 1, "it is counted once, now");
        let (file, mut memory) = (direct::readable(disk.node()), Aligned::new(BLOCK));
        for block in 0..256 {
            let at = block * BLOCK as u64;
            file.read_exact_at(memory.bytes(BLOCK), at).expect("a read");
        }
        let (under_way, later) = of(&mut probe);
        assert!(
            later >= left,
            "{scheduler}: {left}, then {later}; {under_way:?}; the entry was {entry:?}, is {:?}",
            table.lookup(&key, MapFlags::ANY)
        );
    }
}

/// A request whose end is not seen, on a disk that takes milliseconds for each: it was issued, so the device's clock counts it
/// until it is evicted. Its entry is unrecognisable at its end, and is put back afterwards.
fn lose_an_end(table: &MapHandle, node: &str) {
    std::thread::scope(|scope| {
        let read = scope.spawn(|| {
            let (file, mut memory) = (direct::readable(node), Aligned::new(BLOCK));
            file.read_exact_at(memory.bytes(BLOCK), 40 << 20)
                .expect("a read");
        });
        let begin = Instant::now();
        let (key, entry) = std::iter::from_fn(|| Some(an_entry(table)))
            .take_while(|_| begin.elapsed() < Duration::from_secs(20))
            .flatten()
            .next()
            .expect("a request under way");
        let mut other = entry.clone();
        other[0] ^= 8;
        table.update(&key, &other, MapFlags::ANY).expect("an entry");
        read.join().expect("the reader");
        table.update(&key, &entry, MapFlags::ANY).expect("an entry");
    });
}

/// One read at a time: each has the whole device while it is there, so that its owner's share of the device is its time there.
#[test]
#[ignore = "root"]
fn a_request_whose_end_nobody_saw_takes_nothing_of_the_device() {
    let journal = Journal::create().expect("a journal");
    let scratch = Scratch::create(DiskModel::Hdd, 64 << 20, &journal).expect("a scratch device");
    if let Some(why) = scratch.fallback() {
        return println!("skipped: {why}");
    }
    let device = Device::resolve(scratch.device_name()).expect("it").device;
    let node = device.node().display().to_string();
    std::fs::write(device.sysfs("queue/scheduler"), "none").expect("none");
    let before = tables();
    let detail = Detail {
        fairness: true,
        ..Detail::default()
    };
    let mut probe = Probe::attach(slice::from_ref(&device), 0, detail).expect("a probe");
    let own = tables().difference(&before).copied().collect::<Vec<_>>();
    let [own] = own[..] else {
        return println!("skipped: others attach at the same time");
    };
    let table = MapHandle::from_map_id(own).expect("the table");
    lose_an_end(&table, &node);
    let first = probe.snapshot().expect("a snapshot");
    // Another one may have been hidden by the kernel.
    assert!(first.devices[0].quality.evicted >= 1, "its end was seen");
    let (file, mut memory) = (direct::readable(&node), Aligned::new(BLOCK));
    for block in 0..200 {
        let at = block * 65_536;
        file.read_exact_at(memory.bytes(BLOCK), at).expect("a read");
    }
    let seen = Interval::between(&first, &probe.snapshot().expect("a snapshot")).expect("it");
    let mut owners = seen.owners.iter();
    let reader = owners.find(|owner| owner.key.tgid == std::process::id());
    let reader = reader.expect("this process");
    let at_device = reader.op(Op::Read).d2c_sum_ns as f64;
    let charged = reader.fairness.as_ref().expect("fairness").device_time_ns as f64;
    assert!(
        (charged / at_device - 1.0).abs() < 0.01,
        "{charged} of {at_device} ns"
    );
}
