//! What an fsync waits for, against what fio waits for its end.

use iosched::journal::Journal;
use iosched::scratch::{Model, Scratch};
use serde_json::Value;

use crate::MIB;
use crate::exact::number;
use crate::support::{Mounted, run};
use crate::work::{Fio, Seen};

fn float(value: &Value, path: &str) -> f64 {
    let found = value.pointer(path).and_then(Value::as_f64);
    found.unwrap_or_else(|| panic!("no number at {path} in {value:#}"))
}

/// Sum of a stage of an operation.
fn sum(seen: &Seen, op: &str, stage: &str) -> f64 {
    seen.op(op).map_or(0.0, |op| {
        let latency = &op[stage];
        latency["count"].as_f64().unwrap_or(0.0) * latency["mean_ns"].as_f64().unwrap_or(0.0)
    })
}

/// On a file system with a journal, on a simulated disk whose times are long against those of waking up.
#[test]
#[ignore = "root"]
fn an_fsync_is_split_into_its_parts() {
    let journal = Journal::create().expect("a journal");
    let scratch = Scratch::create(Model::Ssd, 128 * MIB, &journal).expect("a scratch device");
    if scratch.truth().timing.is_none() {
        println!("skipped: {:?}", scratch.fallback());
        return;
    }
    let node = format!("/dev/{}", scratch.device_name());
    run(
        "mkfs.ext4",
        &["-q", "-E", "lazy_itable_init=0,lazy_journal_init=0", &node],
    );
    let mounted = Mounted::new(&node);
    let file = mounted.path().join("file");
    let file = file.to_str().expect("UTF-8");
    run(
        "dd",
        &[
            "if=/dev/zero",
            &format!("of={file}"),
            "bs=1M",
            "count=8",
            "conv=fsync",
            "status=none",
        ],
    );
    for how in ["fsync", "fdatasync"] {
        let (seen, (_, fio)) = Seen::of(&node, &["--detail", "stages"], || {
            Fio::run(
                file,
                &format!(
                    "--direct=0 --ioengine=psync --rw=randwrite --size=8m --number_ios=200 --{how}=1"
                ),
            )
        });
        let flushes = &seen.device()["flushes"];
        println!("{how}: {flushes} {}", fio["sync"]["lat_ns"]);
        for row in seen.rows() {
            println!("{} {} {}", row["comm"], row["ios"], row["flush_wait_ns"]);
        }
        for op in ["write_sync", "write_async", "flush"] {
            println!(
                "{op} q2c {} d2c {} ios {}",
                sum(&seen, op, "total"),
                sum(&seen, op, "device"),
                seen.op(op).map_or(0, |o| number(o, "/ios"))
            );
        }
        let syncs = float(&fio, "/sync/total_ios");
        println!(
            "syncs {syncs} x {} = {}",
            float(&fio, "/sync/lat_ns/mean"),
            syncs * float(&fio, "/sync/lat_ns/mean")
        );
    }
}
