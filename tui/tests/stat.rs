//! `iosched stat` counts every request, per process, exactly as the kernel's own counters do. Root only: `cargo test
//! -p iosched-tui --test stat -- --ignored --test-threads=1`.

#[path = "watch/exact.rs"]
mod exact;
#[path = "stat/files.rs"]
mod files; // --by file
#[path = "stat/light.rs"]
mod light; // --light
#[path = "stat/look.rs"]
mod look; // the other commands, outputs and filters
#[path = "stat/order.rs"]
mod order; // --detail order, by hand
#[path = "terminal/pty.rs"]
mod pty; // a program on its own terminal
#[path = "stat/stages.rs"]
mod stages; // --detail stages of processes
#[path = "../../tests/support/mod.rs"]
mod support;
#[path = "stat/sync_limits.rs"]
mod sync_limits; // what --detail syncs does not see
#[path = "stat/syncs.rs"]
mod syncs; // --detail syncs
#[path = "stat/waits.rs"]
mod waits; // --detail waits
mod watch; // one interval
#[path = "stat/width.rs"]
mod width; // narrow terminals

use exact::{Sysfs, against_sysfs, exactly, number, of_processes};
use support::program::Program;
use support::{LoopDevice, run};
use watch::{record, stat};

const BINARY: &str = support::under_test!("iosched");
const SIZE_BYTES: u64 = 64 << 20;
const SCHEDULERS: [&str; 4] = ["none", "mq-deadline", "kyber", "bfq"];

const READS: u64 = 1000;
const WRITES: u64 = 500;

fn dd_is_counted(scheduler: &str) {
    let disk = LoopDevice::in_memory(SIZE_BYTES);
    let node = disk.node();
    exactly(|| {
        disk.set("scheduler", scheduler);
        let program = Program::new(BINARY);
        let started = stat(&program, &node, 5, &["--output", "json"]);
        let before = Sysfs::of(&disk.device);
        let (reads, writes) = (format!("count={READS}"), format!("count={WRITES}"));
        run(
            "dd",
            &[
                &format!("if={node}"),
                "of=/dev/null",
                "bs=4k",
                &reads,
                "iflag=direct",
            ],
        );
        let output = format!("of={node}");
        run(
            "dd",
            &[
                "if=/dev/zero",
                &output,
                "bs=4k",
                &writes,
                "oflag=direct",
                "conv=fsync,notrunc",
            ],
        );
        let after = Sysfs::of(&disk.device);
        let record = record(started);
        let device = record["devices"][0].clone();
        assert_eq!(device["device"], *disk.device.name);
        assert_eq!(device["scheduler"], scheduler);
        assert_eq!(device["hardware_depth"], 128);
        let mut pairs = against_sysfs(&device, before, after);
        let bytes = (READS + WRITES) * 4096;
        pairs.extend([
            ("reads of dd", READS, of_processes(&record, "dd", "reads")),
            (
                "writes of dd",
                WRITES,
                of_processes(&record, "dd", "writes"),
            ),
            ("flushes of dd", 1, of_processes(&record, "dd", "flushes")),
            (
                "sectors of dd",
                bytes / 512,
                of_processes(&record, "dd", "bytes") / 512,
            ),
        ]);
        let waits = of_processes(&record, "dd", "queue_wait/count");
        let times = of_processes(&record, "dd", "device_time/count");
        pairs.extend([
            ("queue waits of dd", READS + WRITES, waits),
            ("device times of dd", READS + WRITES, times),
        ]);
        (device, pairs)
    });
}

#[test]
#[ignore = "root"]
fn every_read_write_and_flush_is_counted_under_every_scheduler() {
    for scheduler in SCHEDULERS {
        println!("{scheduler}");
        dd_is_counted(scheduler);
    }
}

#[test]
#[ignore = "root"]
fn merged_requests_are_counted_as_the_kernel_does() {
    let disk = LoopDevice::in_memory(SIZE_BYTES);
    let node = disk.node();
    for scheduler in SCHEDULERS {
        println!("{scheduler}");
        exactly(|| {
            disk.set("scheduler", scheduler);
            let program = Program::new(BINARY);
            let started = stat(&program, &node, 4, &["--output", "json"]);
            let before = Sysfs::of(&disk.device);
            // Submitted in batches of neighbours, which one request can hold.
            let job = "--name=a --rw=write --bs=4k --direct=1 --ioengine=libaio --iodepth=32 --iodepth_batch_submit=16 \
                --iodepth_batch_complete_min=16 --number_ios=4000 --output=/dev/null --thread";
            let file = format!("--filename={node}");
            let arguments: Vec<&str> = job.split_whitespace().chain([file.as_str()]).collect();
            run("fio", &arguments);
            let after = Sysfs::of(&disk.device);
            let record = record(started);
            let device = record["devices"][0].clone();
            let pairs = against_sysfs(&device, before, after);
            let merges = pairs
                .iter()
                .find(|pair| pair.0 == "merges")
                .expect("merges");
            assert!(merges.1 > 1000, "nothing merged: {pairs:?}");
            assert_eq!(pairs[4].1, 4000 * 8, "what fio was asked to write");
            assert_eq!(device["quality"]["unseen"], 0);
            (device, pairs)
        });
    }
}

/// Write zeroes carry no data: they are neither reads nor writes.
#[test]
#[ignore = "root"]
fn zeroing_is_counted_apart() {
    let disk = LoopDevice::in_memory(SIZE_BYTES);
    let node = disk.node();
    exactly(|| {
        let program = Program::new(BINARY);
        let started = stat(&program, &node, 2, &["--output", "json"]);
        let range = ["--punch-hole", "--offset", "8MiB", "--length", "4MiB"];
        run("fallocate", &[&range[..], &[&node]].concat());
        let device = record(started)["devices"][0].clone();
        let mut ops = device["ops"].as_array().expect("a list").iter();
        let other = ops.find(|op| op["op"] == "other").expect("the zeroing");
        let of = |field: &str| number(other, &format!("/{field}"));
        let pairs = vec![("requests", 1, of("ios")), ("bytes", 4 << 20, of("bytes"))];
        (device.clone(), pairs)
    });
}
