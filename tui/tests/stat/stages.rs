//! `--detail stages` of processes, compared with the disk's histograms if only one process did an operation, and with
//! fio.

use serde_json::Value;

use crate::exact::{Pair, exactly, number};
use crate::support::LoopDevice;
use crate::support::fio::Fio;
use crate::support::program::Program;
use crate::watch::{record, stat};
use crate::{BINARY, SIZE_BYTES};

/// The names in a process's row and in the disk's.
const STAGES: [(&str, &str); 6] = [
    ("queue_wait", "queue_wait"),
    ("stages/q2g", "q2g"),
    ("stages/g2d", "g2d"),
    ("stages/i2d", "i2d"),
    ("device_time", "device"),
    ("stages/total", "total"),
];

/// I/Os in flight per process, so many that they sleep for requests.
const READS: &str = "--rw=randread --ioengine=psync --numjobs=16 --size=1m --group_reporting";
const WRITES: &str = "--rw=randwrite --ioengine=psync --numjobs=16 --size=1m --group_reporting";

/// One process reads, one writes.
pub fn read_and_written(disk: &LoopDevice, details: &[&str]) -> (Value, [(u32, Value); 2]) {
    let program = Program::new(BINARY);
    let node = disk.node();
    let started = stat(&program, &node, 5, &[&["--json"], details].concat());
    let fios = [READS, WRITES].map(|job| Fio::start(&node, job));
    let ended = fios.map(Fio::end);
    (record(started), ended)
}

pub fn row(record: &Value, pid: u32) -> &Value {
    let processes = record["processes"].as_array().expect("a list");
    let found = processes.iter().find(|process| process["pid"] == pid);
    found.expect("its row")
}

fn op<'a>(device: &'a Value, name: &str) -> &'a Value {
    let ops = device["ops"].as_array().expect("a list");
    ops.iter()
        .find(|op| op["op"] == name)
        .expect("the operation")
}

/// The cells of a process are 6.3 % wide, those of a disk 1.6 %; near 0 they are 64 and 16 ns.
fn is_close(own: &Value, disks: &Value) -> bool {
    let same = |field: &str| match (own[field].as_f64(), disks[field].as_f64()) {
        (Some(own), Some(disks)) => (own - disks).abs() <= disks * 0.05 + 64.0,
        (own, disks) => own == disks,
    };
    ["mean_ns", "p50_ns", "p99_ns"].into_iter().all(same)
}

#[test]
#[ignore = "root"]
fn the_stages_of_who_reads_alone_are_those_of_the_reads() {
    let disk = LoopDevice::in_memory(SIZE_BYTES);
    for scheduler in crate::SCHEDULERS {
        disk.set("scheduler", scheduler);
        disk.set("nr_requests", "8");
        disk.set("nomerges", "2");
        exactly(|| {
            let (record, [reads, writes]) = read_and_written(&disk, &["--detail", "stages"]);
            let device = &record["devices"][0];
            let mut pairs: Vec<Pair> = Vec::new();
            for ((pid, fio), direction, name) in
                [(reads, "read", "read"), (writes, "write", "write_sync")]
            {
                let (own, disks) = (row(&record, pid), op(device, name));
                let done = number(&fio, &format!("/{direction}/total_ios"));
                for (stage, of_disk) in STAGES {
                    let own = own.pointer(&format!("/{stage}")).expect(stage);
                    let disks = &disks[of_disk];
                    let count = |latency| number(latency, "/count");
                    pairs.push((stage, count(disks), count(own)));
                    if stage != "stages/i2d" {
                        pairs.push((stage, done, count(own)));
                    } else if scheduler == "none" {
                        assert_eq!(count(own), 0, "{own:#}");
                    }
                    if count(disks) == count(own) {
                        assert!(
                            is_close(own, disks),
                            "{scheduler} {stage}: {own:#} {disks:#}"
                        );
                    }
                }
                let mean = |value: &Value| value.as_f64().expect("a mean");
                let [q2g, total] =
                    ["q2g", "total"].map(|stage| mean(&own["stages"][stage]["mean_ns"]));
                let theirs = mean(&fio[direction]["lat_ns"]["mean"]);
                println!("{scheduler} {name}: Q2G {q2g} Q2C {total}, {theirs} by fio");
                assert!(q2g > 1000.0, "none waited for a request");
                assert!(total <= theirs * 1.032, "{scheduler}: {own:#}");
                let parts =
                    mean(&own["queue_wait"]["mean_ns"]) + mean(&own["device_time"]["mean_ns"]);
                assert!((parts / total - 1.0).abs() < 0.032, "{scheduler}: {own:#}");
            }
            (device.clone(), pairs)
        });
    }
}

#[test]
#[ignore = "root"]
fn what_was_not_measured_of_a_process_is_null() {
    let disk = LoopDevice::in_memory(SIZE_BYTES);
    let (record, [(pid, _), _]) = read_and_written(&disk, &[]);
    assert!(row(&record, pid)["stages"].is_null(), "{record:#}");
    let (record, [(pid, _), _]) = read_and_written(&disk, &["--detail", "stages", "--no-q2g"]);
    let stages = &row(&record, pid)["stages"];
    for stage in ["q2g", "total"] {
        assert_eq!(stages[stage]["count"], 0, "{stages:#}");
        assert!(stages[stage]["p50_ns"].is_null(), "{stages:#}");
    }
    assert!(number(stages, "/g2d/count") > 4000, "{stages:#}");
}
