//! Requests with an unusual life.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;

use crate::exact::{exactly, missed, number};
use crate::support::fio::{Fio, pid_of_run};
use crate::support::{LoopDevice, run};
use crate::work::{Seen, Ssd};
use crate::{MIB, SCHEDULERS};

/// A loop device whose file was truncated: the request completes in part, is requeued, and fails.
#[test]
#[ignore = "root"]
fn a_request_in_parts_is_counted_once() {
    let directory = TempDir::new_in("/dev/shm").expect("a directory");
    let path = directory.path().join("disk.img");
    let file = fs::File::create(&path).expect("a file");
    file.set_len(16 * MIB).expect("its length");
    let disk = LoopDevice::over(&path);
    file.set_len(MIB + 4096).expect("its length");
    let input = format!("if={}", disk.node());
    for scheduler in SCHEDULERS {
        disk.set("scheduler", scheduler);
        let (seen, ()) = Seen::of(&disk.node(), &[], || {
            let status = Command::new("dd")
                .args([
                    &input,
                    "of=/dev/null",
                    "bs=64k",
                    "skip=16",
                    "count=1",
                    "iflag=direct",
                ])
                .stderr(Stdio::null())
                .status();
            assert!(!status.expect("dd").success());
        });
        let (device, op) = (seen.device(), seen.op("read").expect("a read"));
        println!("{scheduler}: {}", device["edges"]);
        for (edge, count) in [("partial_completions", 1), ("requeues", 1), ("errors", 1)] {
            assert_eq!(
                device["edges"][edge], count,
                "{scheduler} {edge}: {device:#}"
            );
        }
        assert!(number(device, "/edges/requeued_ns") > 0);
        assert_eq!(device["statuses"][0]["status"], "ioerr", "{device:#}");
        assert_eq!((&op["ios"], &op["bytes"]), (&1.into(), &(64 << 10).into()));
        // The first issue counts, and the last completion.
        let parts = ["queue_wait", "device", "total"].map(|stage| &op[stage]["count"]);
        assert_eq!(parts, [1, 1, 1], "{op:#}");
        let device_ns = op["device"]["max_ns"].as_f64().expect("a time");
        let requeued_ns = number(device, "/edges/requeued_ns") as f64;
        assert!(device_ns >= requeued_ns, "{device_ns} {requeued_ns}");
        assert_eq!(seen.left_over(), 0);
    }
}

/// The driver itself sends a command to ask for the serial number of a virtio disk.
#[test]
#[ignore = "root"]
fn passthrough_is_apart() {
    const ASKED: u64 = 20;
    let serials = fs::read_dir("/sys/block").expect("sysfs").flatten();
    let mut serials = serials.map(|disk| disk.path().join("serial"));
    let Some(serial) = serials.find(|path| fs::read(path).is_ok() && is_virtio(path)) else {
        println!("skipped: no virtio disk; vmtest/tests/faults.rs does it by scsi_debug");
        return;
    };
    let disk = serial.parent().and_then(Path::file_name).expect("a name");
    let disk = disk.to_str().expect("UTF-8");
    let ask = || {
        for _ in 0..ASKED {
            fs::read(&serial).expect("a serial number");
        }
    };
    let (seen, ()) = Seen::of(disk, &[], ask);
    assert_eq!(seen.device()["edges"]["passthrough"], ASKED);
    assert!(seen.op("passthrough").is_none());
    exactly(|| {
        let (seen, ()) = Seen::of(disk, &["--passthrough"], ask);
        let op = seen.op("passthrough").expect("passthrough");
        let pairs = vec![
            ("commands", ASKED, number(op, "/ios")),
            ("times at the device", ASKED, number(op, "/device/count")),
        ];
        // Other processes use this disk, too.
        assert_eq!(seen.device()["edges"]["passthrough"], 0);
        (
            serde_json::json!({"quality": seen.device()["quality"], "in_flight": seen.device()["in_flight"], "edges": {"errors": 0, "requeues": 0, "partial_completions": 0, "passthrough": 0}}),
            pairs,
        )
    });
}

fn is_virtio(serial: &Path) -> bool {
    let device = serial.parent().map(|disk| disk.join("device/driver"));
    device
        .and_then(|link| fs::read_link(link).ok())
        .is_some_and(|driver| driver.ends_with("virtio_blk"))
}

/// I/O that was submitted under one scheduler and completed under another is on neither side, and not lost.
#[test]
#[ignore = "root"]
fn straddlers_of_a_flip_are_counted_apart() {
    const JOBS: u64 = 16;
    let Some(disk) = Ssd::new(64 * MIB) else {
        return;
    };
    disk.set("nomerges", "2");
    let node = disk.node();
    let job = "--ioengine=psync --rw=randread --numjobs=16 --number_ios=200 --group_reporting";
    for (from, to) in [("none", "bfq"), ("bfq", "mq-deadline"), ("kyber", "none")] {
        disk.set("scheduler", from);
        let (seen, (pid, fio)) = Seen::of(&node, &[], || {
            let before = disk.device.io_stat().expect("its counters").reads;
            let fio = Fio::start(&node, job);
            // Some I/O has completed, and the rest is in flight.
            while disk.device.io_stat().expect("its counters").reads < before + 1000 {
                std::thread::sleep(Duration::from_millis(10));
            }
            disk.set("scheduler", to);
            fio.end()
        });
        let done = number(&fio, "/read/total_ios");
        let (device, own) = (seen.device(), seen.of_pid(pid, "reads"));
        let (edges, apart) = (&device["edges"], number(device, "/edges/straddlers"));
        println!("{from} to {to}: {done} reads, {edges}");
        assert_eq!(edges["switches"], 1, "{device:#}");
        assert!((1..=JOBS).contains(&apart), "one of each job: {device:#}");
        assert_eq!(number(edges, "/straddler_bytes"), apart * 4096);
        let ios = seen.op("read").map_or(0, |op| number(op, "/ios"));
        assert_eq!(ios, own, "both without them");
        // See `exactly`: a missed completion is noticed when its tag is used again; until then the request counts as
        // in flight.
        let missed = missed(device);
        assert_eq!(ios + apart + missed, done, "{device:#}");
        assert!(missed <= done / 20, "{device:#}");
    }
}

/// Four requests for 32 readers: most readers wait for a free one. A measurement that starts at the request does not
/// see this wait.
#[test]
#[ignore = "root"]
fn a_wait_before_the_request_exists_is_seen() {
    let Some(disk) = Ssd::new(64 * MIB) else {
        return;
    };
    for scheduler in ["none", "mq-deadline"] {
        disk.set("scheduler", scheduler);
        disk.set("nr_requests", "4");
        let job = "--ioengine=psync --rw=randread --numjobs=32 --number_ios=20 --group_reporting";
        let node = disk.node();
        let (seen, (_, fio)) = Seen::of(&node, &["--detail", "stages"], || Fio::run(&node, job));
        let op = seen.op("read").expect("reads");
        let mean = |stage: &str| op[stage]["mean_ns"].as_f64().unwrap_or(0.0);
        let theirs = fio["read"]["clat_ns"]["mean"].as_f64().expect("a mean");
        let [q2g, g2d, device, total] = ["q2g", "g2d", "device", "total"].map(mean);
        println!("{scheduler}: Q2G {q2g} G2D {g2d} D2C {device} Q2C {total}, {theirs} by fio");
        // 28 of the 32 readers wait.
        assert!(q2g > (g2d + device) * 2.0, "{scheduler}: {op:#}");
        assert!(total <= theirs * 1.008, "{scheduler}: {theirs} {op:#}");
        assert!((q2g + g2d + device) / total > 0.9, "{scheduler}: {op:#}");
    }
}

/// The kernel's own time stamps are off; iosched does not use them.
#[test]
#[ignore = "root"]
fn a_queue_without_stamps_has_all_stages() {
    let disk = LoopDevice::in_memory(64 * MIB);
    let input = format!("if={}", disk.node());
    for scheduler in SCHEDULERS {
        disk.set("scheduler", scheduler);
        disk.set("iostats", "0");
        disk.set("wbt_lat_usec", "0");
        exactly(|| {
            let (seen, pid) = Seen::of(&disk.node(), &["--detail", "stages"], || {
                pid_of_run(
                    "dd",
                    &[&input, "of=/dev/null", "bs=4k", "count=500", "iflag=direct"],
                )
            });
            let op = seen.op("read").expect("reads");
            let mut pairs = vec![
                ("reads", 500, number(op, "/ios")),
                (
                    "queue waits of dd",
                    500,
                    seen.of_pid(pid, "queue_wait/count"),
                ),
                (
                    "device times of dd",
                    500,
                    seen.of_pid(pid, "device_time/count"),
                ),
            ];
            for stage in ["queue_wait", "q2g", "g2d", "device", "total"] {
                pairs.push((stage, 500, number(op, &format!("/{stage}/count"))));
            }
            for stage in ["device", "total"] {
                assert!(
                    op[stage]["p50_ns"].as_f64().is_some_and(|ns| ns > 0.0),
                    "{op:#}"
                );
            }
            (seen.device().clone(), pairs)
        });
    }
    disk.set("iostats", "1");
}

/// A tracepoint can have any number of listeners.
#[test]
#[ignore = "root"]
fn two_watchers_see_the_same() {
    let disk = LoopDevice::in_memory(64 * MIB);
    let (node, input) = (disk.node(), format!("if={}", disk.node()));
    exactly(|| {
        let (first, (second, ())) = Seen::of(&node, &[], || {
            Seen::of(&node, &["--detail", "order,fairness"], || {
                run(
                    "dd",
                    &[&input, "of=/dev/null", "bs=4k", "count=500", "iflag=direct"],
                );
            })
        });
        let reads = |seen: &Seen| seen.op("read").map_or(0, |op| number(op, "/ios"));
        let pairs = vec![
            ("of one", 500, reads(&first)),
            ("of the other", 500, reads(&second)),
        ];
        (first.device().clone(), pairs)
    });
}
