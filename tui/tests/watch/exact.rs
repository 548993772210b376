//! Compares counts with the kernel's own, exactly.
#![allow(dead_code)] // each test binary uses a part of it

use std::fs;

use iosched_host::system::device::Device;
use serde_json::Value;

/// The kernel's own counters of a disk.
#[derive(Clone, Copy)]
pub struct Sysfs([u64; 17]);

impl Sysfs {
    pub fn of(disk: &Device) -> Self {
        let text = fs::read_to_string(disk.sysfs("stat")).expect("its counters");
        let mut fields = [0; 17];
        for (field, word) in fields.iter_mut().zip(text.split_whitespace()) {
            *field = word.parse().expect("a number");
        }
        Sysfs(fields)
    }
}

impl Sysfs {
    /// Reads between the two.
    pub fn reads_until(&self, later: Sysfs) -> u64 {
        later.0[0] - self.0[0]
    }
}

pub fn number(value: &Value, path: &str) -> u64 {
    let found = value.pointer(path).and_then(Value::as_u64);
    found.unwrap_or_else(|| panic!("no number at {path} in {value:#}"))
}

pub fn op(device: &Value, name: &str, field: &str) -> u64 {
    let ops = device["ops"].as_array().expect("a list");
    let found = ops.iter().find(|op| op["op"] == name);
    found.map_or(0, |op| number(op, &format!("/{field}")))
}

/// Everything that the kernel counts as a write, except empty flushes.
fn writes(device: &Value, field: &str) -> u64 {
    let ops = ["write_sync", "write_async", "zone", "other"];
    ops.iter().map(|name| op(device, name, field)).sum()
}

/// The name of each count, the kernel's value and ours.
pub type Pair = (&'static str, u64, u64);

pub fn against_sysfs(device: &Value, before: Sysfs, after: Sysfs) -> Vec<Pair> {
    let kernel = |field: usize| after.0[field] - before.0[field];
    let merges = ["back", "front", "rq"].map(|kind| number(device, &format!("/merges/{kind}")));
    // The kernel counts an empty flush as a write without sectors.
    let asked = writes(device, "ios") + number(device, "/flushes/asked");
    vec![
        ("reads", kernel(0), op(device, "read", "ios")),
        (
            "merges",
            kernel(1) + kernel(5) + kernel(12),
            merges.iter().sum(),
        ),
        ("read sectors", kernel(2), op(device, "read", "bytes") / 512),
        ("writes", kernel(4), asked),
        ("write sectors", kernel(6), writes(device, "bytes") / 512),
        ("discards", kernel(11), op(device, "discard", "ios")),
        (
            "discarded sectors",
            kernel(13),
            op(device, "discard", "bytes") / 512,
        ),
        ("flushes", kernel(15), op(device, "flush", "ios")),
    ]
}

/// The sum over the processes with that name.
pub fn of_processes(record: &Value, comm: &str, field: &str) -> u64 {
    let processes = record["processes"].as_array().expect("a list");
    let own = processes.iter().filter(|process| process["comm"] == comm);
    own.map(|process| number(process, &format!("/{field}")))
        .sum()
}

/// All loss counters must be 0, except `evicted` and `unseen` (in flight at the start).
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

/// The completions that the watch itself reports as missed.
pub fn missed(device: &Value) -> u64 {
    let fields = ["/quality/evicted", "/quality/unseen"];
    let under_way = ["/in_flight/queued", "/in_flight/issued"];
    fields
        .iter()
        .chain(&under_way)
        .map(|field| number(device, field))
        .sum()
}

/// Runs `once` until everything in it is exact, at most three times. A run that reports no missed events must be
/// exact.
///
/// On kernels that guard certain system tasks, a completion that interrupts such a task runs no BPF program: rarely,
/// but one in a hundred on a busy machine. The probe notices it when the tag is used again, and counts it as
/// `evicted`; until then the request is in flight. So a run cannot guarantee every request, but it must account for
/// the missing ones, and must never count too many.
pub fn exactly(mut once: impl FnMut() -> (Value, Vec<Pair>)) {
    for _ in 0..3 {
        let (device, pairs) = once();
        nothing_else_lost(&device);
        let missed = missed(&device);
        for (what, theirs, ours) in &pairs {
            // Each of them had at most 1280 KiB, and one bio per page.
            let most = if what.contains("sectors") {
                2560
            } else if what.contains("bio") {
                320
            } else {
                1
            };
            assert!(ours <= theirs, "too many {what}: {ours} of {theirs}");
            assert!(
                theirs - ours <= missed * most,
                "{what}: {ours} of {theirs}: {device:#}"
            );
        }
        if pairs.iter().all(|(_, theirs, ours)| theirs == ours) {
            return;
        }
        println!("{missed} missed");
    }
    println!("each of three runs has missed some, and said so");
}
