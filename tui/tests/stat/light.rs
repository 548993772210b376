//! `iosched stat --light` beside the kernel's counters and beside a whole `iosched stat`.

use std::os::unix::fs::FileExt;

use serde_json::Value;

use crate::exact::{Sysfs, missed, number, op};
use crate::support::LoopDevice;
use crate::support::direct::{self, Aligned, BLOCK};
use crate::support::program::Program;
use crate::watch::{record, stat};
use crate::{BINARY, SCHEDULERS, SIZE_BYTES};

const READS: u64 = 700;
const WRITES: u64 = 300;

/// Reads and writes of a block each, and a flush.
fn work(disk: &LoopDevice) {
    let (file, mut memory) = (direct::writable(disk.node()), Aligned::new(BLOCK));
    for block in 0..READS {
        let at = block * BLOCK as u64;
        file.read_exact_at(memory.bytes(BLOCK), at).expect("a read");
    }
    for block in 0..WRITES {
        let at = block * BLOCK as u64;
        file.write_all_at(memory.bytes(BLOCK), at).expect("a write");
    }
    file.sync_all().expect("a flush");
}

fn mean_ns(device: &Value) -> f64 {
    let mean = device["device_time"]["mean_ns"].as_f64();
    mean.unwrap_or_else(|| panic!("no mean in {device:#}"))
}

/// What both saw of one load, and what the kernel counted.
fn both(disk: &LoopDevice) -> (Value, Value, Sysfs, Sysfs) {
    let (node, program) = (disk.node(), Program::new(BINARY));
    let light = stat(&program, &node, 4, &["--json", "--light"]);
    let whole = stat(&program, &node, 3, &["--json"]);
    let before = Sysfs::of(&disk.device);
    work(disk);
    let after = Sysfs::of(&disk.device);
    let [whole, light] = [whole, light].map(|started| record(started)["devices"][0].clone());
    (light, whole, before, after)
}

#[test]
#[ignore = "root"]
fn two_programs_count_as_much_as_four() {
    let disk = LoopDevice::in_memory(SIZE_BYTES);
    for scheduler in SCHEDULERS {
        disk.set("scheduler", scheduler);
        // The kernel may hide an end from one of them, see `exactly`.
        let found = (0..4).find_map(|_| {
            let (light, whole, before, after) = both(&disk);
            let hidden =
                number(&light, "/losses/evicted") + number(&light, "/at_device") + missed(&whole);
            (hidden == 0).then_some((light, whole, before, after))
        });
        let (light, whole, before, after) = found.expect("all ends were seen");
        for (what, count) in [("read", READS), ("write_sync", WRITES)] {
            assert!(op(&light, what, "ios") >= count, "{scheduler}: {light:#}");
            for field in ["ios", "bytes"] {
                let both = [&light, &whole].map(|device| op(device, what, field));
                assert_eq!(both[0], both[1], "{scheduler}: {what} {field}");
            }
        }
        assert_eq!(op(&light, "flush", "ios"), op(&whole, "flush", "ios"));
        assert_eq!(op(&light, "read", "ios"), before.reads_until(after));
        let (light_ns, whole_ns) = (mean_ns(&light), mean_ns(&whole));
        println!("{scheduler}: {light_ns} and {whole_ns} ns");
        // One program runs after the other; their cells are 1.6 % wide.
        assert!((light_ns - whole_ns).abs() < 2_000.0 + 0.05 * whole_ns);
        for field in ["lost", "unseen", "negative", "unrecorded"] {
            assert_eq!(light["losses"][field], 0, "{light:#}");
        }
    }
}

#[test]
#[ignore = "root"]
fn what_light_does_not_measure_is_refused_and_the_table_has_what_it_does() {
    let disk = LoopDevice::in_memory(SIZE_BYTES);
    let (node, program) = (disk.node(), Program::new(BINARY));
    for more in [["--detail", "order"], ["--by", "cgroup"], ["--pid", "1"]] {
        let all = [&["stat", &node, "--light", "-n", "1"], &more[..]].concat();
        program.run(&all).ends(2, &["--light", more[0]]);
    }
    let csv = ["stat", &node, "--light", "-n", "1", "--output", "csv"];
    program.run(&csv).ends(2, &["not CSV", "--json"]);
    let started = stat(&program, &node, 2, &["--light"]);
    work(&disk);
    let ended = started.end();
    println!("{}", ended.stdout);
    let wanted = [
        disk.device.name.as_str(),
        "read",
        "write_sync",
        "p99",
        "nothing lost",
    ];
    assert!(wanted.iter().all(|word| ended.stdout.contains(word)));
    let widest = ended.stdout.lines().map(str::len).max();
    assert!(widest.is_some_and(|width| width <= 100), "{widest:?}");
}
