//! `iosched stat` counts what was done: to the last request, per process, and as the kernel's own counters do. Root only:
//! `cargo test -p iosched-tui --test stat -- --ignored --test-threads=1`.

#[path = "stat/look.rs"]
mod look; // the other commands, outputs and filters
#[path = "../../tests/support/mod.rs"]
mod support;
mod watch; // one interval

use std::fs;

use serde_json::Value;
use support::program::Program;
use support::{LoopDevice, run};
use watch::{record, stat};

const BINARY: &str = env!("CARGO_BIN_EXE_iosched");
const SIZE_BYTES: u64 = 64 << 20;
const SCHEDULERS: [&str; 4] = ["none", "mq-deadline", "kyber", "bfq"];

/// The kernel's own counters of a disk.
#[derive(Clone, Copy)]
struct Sysfs([u64; 17]);

impl Sysfs {
    fn of(disk: &LoopDevice) -> Self {
        let text = fs::read_to_string(disk.device.sysfs("stat")).expect("its counters");
        let mut fields = [0; 17];
        for (field, word) in fields.iter_mut().zip(text.split_whitespace()) {
            *field = word.parse().expect("a number");
        }
        Sysfs(fields)
    }
}

fn number(value: &Value, path: &str) -> u64 {
    let found = value.pointer(path).and_then(Value::as_u64);
    found.unwrap_or_else(|| panic!("no number at {path} in {value:#}"))
}

fn op(device: &Value, name: &str, field: &str) -> u64 {
    let ops = device["ops"].as_array().expect("a list");
    let found = ops.iter().find(|op| op["op"] == name);
    found.map_or(0, |op| number(op, &format!("/{field}")))
}

fn writes(device: &Value, field: &str) -> u64 {
    op(device, "write_sync", field) + op(device, "write_async", field)
}

/// What, who counted it, and what they and we have.
type Pair = (&'static str, u64, u64);

fn against_sysfs(device: &Value, before: Sysfs, after: Sysfs) -> Vec<Pair> {
    let kernel = |field: usize| after.0[field] - before.0[field];
    let merges = ["back", "front", "rq"].map(|kind| number(device, &format!("/merges/{kind}")));
    // An empty flush is a write of no sectors to the kernel.
    let asked = writes(device, "ios") + number(device, "/flushes/asked");
    vec![
        ("reads", kernel(0), op(device, "read", "ios")),
        ("merges", kernel(1) + kernel(5), merges.iter().sum()),
        ("read sectors", kernel(2), op(device, "read", "bytes") / 512),
        ("writes", kernel(4), asked),
        ("write sectors", kernel(6), writes(device, "bytes") / 512),
        ("flushes", kernel(15), op(device, "flush", "ios")),
    ]
}

/// Sums over the processes of that name.
fn of_processes(record: &Value, comm: &str, field: &str) -> u64 {
    let processes = record["processes"].as_array().expect("a list");
    let own = processes.iter().filter(|process| process["comm"] == comm);
    own.map(|process| number(process, &format!("/{field}")))
        .sum()
}

/// All counters of loss but that of what was in flight at the start, and `evicted`.
fn nothing_else_lost(device: &Value) {
    for (name, count) in device["quality"].as_object().expect("counters") {
        if !["unseen", "evicted"].contains(&name.as_str()) {
            assert_eq!(count, 0, "{name}: {device:#}");
        }
    }
    for name in ["errors", "requeues", "partial_completions", "passthrough"] {
        assert_eq!(device["edges"][name], 0, "{name}: {device:#}");
    }
}

/// Runs `once` until everything in it is exact, three times at most.
///
/// A completion that interrupts the kernel in certain system tasks runs no BPF program at all, on kernels that guard
/// those tasks: a few of 15,000 requests. The probe learns of it when the tag is used again and counts it as `evicted`.
/// So no single run can promise every request; but each must account for what it lacks, and must never count too much.
fn exactly(once: impl Fn() -> (Value, Vec<Pair>)) {
    let mut inexact = Vec::new();
    for _ in 0..3 {
        let (device, pairs) = once();
        nothing_else_lost(&device);
        // The last ones of their tags are not known to be gone yet.
        let missed = number(&device, "/quality/evicted") + 4;
        for (what, theirs, ours) in &pairs {
            let sectors_each = if what.contains("sectors") { 1024 } else { 1 };
            assert!(ours <= theirs, "too many {what}: {ours} of {theirs}");
            assert!(
                theirs - ours <= missed * sectors_each,
                "{what}: {ours} of {theirs}: {device:#}"
            );
        }
        if pairs.iter().all(|(_, theirs, ours)| theirs == ours) {
            return;
        }
        inexact.push(pairs);
    }
    panic!("never exact: {inexact:?}");
}

const READS: u64 = 1000;
const WRITES: u64 = 500;

fn dd_is_counted(scheduler: &str) {
    let disk = LoopDevice::in_memory(SIZE_BYTES);
    let node = disk.node();
    exactly(|| {
        disk.set("scheduler", scheduler);
        let program = Program::new(BINARY);
        let started = stat(&program, &node, 5, &["--output", "json"]);
        let before = Sysfs::of(&disk);
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
        let after = Sysfs::of(&disk);
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
            let before = Sysfs::of(&disk);
            // Submitted in batches of neighbours, which one request can take together.
            let job = "--name=a --rw=write --bs=4k --direct=1 --ioengine=libaio --iodepth=32 --iodepth_batch_submit=16 \
                --iodepth_batch_complete_min=16 --number_ios=4000 --output=/dev/null --thread";
            let file = format!("--filename={node}");
            let arguments: Vec<&str> = job.split_whitespace().chain([file.as_str()]).collect();
            run("fio", &arguments);
            let after = Sysfs::of(&disk);
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
