//! `--detail order` of requests that are sent one at a time, compared with values computed by hand from their
//! offsets.

use std::fs::File;
use std::os::unix::fs::FileExt;

use serde_json::{Value, json};

use crate::exact::number;
use crate::support::LoopDevice;
use crate::support::direct::{self, Aligned, BLOCK};
use crate::support::fio::Fio;
use crate::support::program::Program;
use crate::watch::{record, stat};
use crate::{BINARY, SIZE_BYTES};

#[derive(Clone, Copy)]
enum Kind {
    Read,
    Write,
}
use Kind::{Read, Write};

/// Operation and first sector; each is 8 sectors long. The comment is the seek from the end of the previous one.
const SENT: [(Kind, u64); 10] = [
    (Read, 0),
    (Read, 8),       // 0
    (Read, 16),      // 0
    (Read, 1024),    // 1000: 10 binary digits
    (Write, 1032),   // 0, and 4 reads have ended: 3 digits
    (Write, 1000),   // 40: 6 digits
    (Read, 1008),    // 0, and 2 writes have ended: 2 digits
    (Read, 1024),    // 8: 4 digits
    (Write, 65_536), // 64504: 16 digits, and 2 reads have ended: 2 digits
    (Read, 65_544),  // 0, and 1 write has ended; this run continues
];
const SEEK_SECTORS: f64 = (1000 + 40 + 8 + 64_504) as f64;
/// Counts by cell.
const SEEKS: [(usize, u64); 5] = [(0, 5), (4, 1), (6, 1), (10, 1), (16, 1)];
const READ_RUNS: [(usize, u64); 2] = [(2, 1), (3, 1)];
const WRITE_RUNS: [(usize, u64); 2] = [(1, 1), (2, 1)];

fn send(disk: &File) {
    let mut memory = Aligned::new(BLOCK);
    let block = memory.bytes(BLOCK);
    for (kind, sector) in SENT {
        let done = match kind {
            Read => disk.read_at(block, sector * 512),
            Write => disk.write_at(block, sector * 512),
        };
        assert_eq!(done.expect("I/O"), BLOCK);
    }
}

/// The order of an interval in which only `SENT` was issued; other programs may use any disk.
fn order_under(scheduler: &str) -> Value {
    let disk = LoopDevice::in_memory(SIZE_BYTES);
    disk.set("scheduler", scheduler);
    // The disk stays open, because udev looks at a disk after the last close for writing.
    let (node, file) = (disk.node(), direct::writable(disk.node()));
    for _ in 0..5 {
        let program = Program::new(BINARY);
        let started = stat(&program, &node, 2, &["--json", "--detail", "order"]);
        send(&file);
        let order = record(started)["devices"][0]["order"].clone();
        let issued = number(&order, "/issued");
        if issued == SENT.len() as u64 {
            return order;
        }
        println!("{scheduler}: {issued} issues, with those of others");
    }
    panic!("{scheduler}: others use {node}, too, or issues are not counted");
}

fn cells(filled: &[(usize, u64)]) -> Value {
    let mut cells = [0; 48];
    for &(cell, count) in filled {
        cells[cell] = count;
    }
    json!(cells.to_vec())
}

/// One at a time: the scheduler cannot change the order.
#[test]
#[ignore = "root"]
fn the_order_of_single_requests_is_known_to_the_number() {
    for scheduler in crate::SCHEDULERS {
        println!("{scheduler}");
        let mut order = order_under(scheduler);
        let burst = order["burst"].take();
        let wanted = json!({
            "issued": 10,
            "reordered": 0,
            "reordered_share": 0.0,
            "sequential_share": 5.0 / 9.0,
            "mean_insert_seek_sectors": SEEK_SECTORS / 9.0,
            "mean_issue_seek_sectors": SEEK_SECTORS / 9.0,
            "scheduler_gain": 1.0,
            "mean_read_run": 3.0,
            "mean_write_run": 1.5,
            "early": cells(&[]),
            "late": cells(&[(0, 10)]),
            "insert_seek": cells(&SEEKS),
            "issue_seek": cells(&SEEKS),
            "read_run": cells(&READ_RUNS),
            "write_run": cells(&WRITE_RUNS),
            "burst": null,
        });
        assert_eq!(order, wanted);
        let wanted = json!({
            "issued": 10,
            "reordered_share": 0.0,
            "overtakes_mean": 0.0,
            "overtakes_p99": 0,
            "extent_max": null,
            "hardware_queues": [],
        });
        assert_eq!(burst, wanted);
    }
}

/// A request that was merged before its issue leaves a known position, so the burst goes back to the first issue.
#[test]
#[ignore = "root"]
fn a_request_that_joins_another_cuts_no_burst() {
    let merging = "--rw=randwrite --size=8m --iodepth=64 --iodepth_batch_submit=32 --iodepth_batch_complete_min=32";
    let disk = LoopDevice::in_memory(SIZE_BYTES);
    disk.set("scheduler", "mq-deadline");
    // The order of arrival is random, and two CPUs may take the same position.
    for _ in 0..5 {
        let program = Program::new(BINARY);
        let started = stat(&program, &disk.node(), 4, &["--json", "--detail", "order"]);
        Fio::run(&disk.node(), merging);
        let device = record(started)["devices"][0].clone();
        let count = |field| number(&device, field);
        let issued = count("/order/issued");
        let (joined, burst) = (count("/merges/rq"), count("/order/burst/issued"));
        println!("{issued} issued, {joined} joined others, {burst} in the burst");
        if joined > 0 && burst == issued {
            return;
        }
    }
    panic!("each time nothing joined, or the burst was cut");
}
