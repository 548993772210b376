//! What is held to be under way, though it is not. Root only:
//! `cargo test --test under_way -- --ignored --test-threads=1`.

mod support;

use std::collections::HashSet;
use std::os::unix::fs::FileExt;
use std::slice;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use iosched::measure::probe::{Detail, Probe};
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
