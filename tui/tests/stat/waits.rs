//! `--detail waits`: the causes of a process's waits add up to what fio says that its I/Os take, and a tag is charged to the
//! pool of which requests are allocated.

use serde_json::Value;

use crate::stages::{read_and_written, row};
use crate::support::LoopDevice;
use crate::support::fio::Fio;
use crate::support::program::Program;
use crate::watch::{attached, stat};
use crate::{BINARY, SIZE_BYTES};

fn ns(waits: &Value, cause: &str) -> u64 {
    let waits = waits.as_array().expect("causes");
    let found = waits.iter().find(|wait| wait["cause"] == cause);
    found.map_or(0, |wait| wait["ns"].as_u64().expect("a time"))
}

#[test]
#[ignore = "root"]
fn the_causes_are_the_time_that_fio_sees() {
    let disk = LoopDevice::in_memory(SIZE_BYTES);
    for scheduler in crate::SCHEDULERS {
        disk.set("scheduler", scheduler);
        disk.set("nr_requests", "8");
        let (record, loads) = read_and_written(&disk, &["--detail", "waits"]);
        for ((pid, fio), direction) in loads.into_iter().zip(["read", "write"]) {
            let row = row(&record, pid);
            let waits = &row["waits"];
            let causes = waits.as_array().expect("causes");
            let sum =
                |field: &str| -> f64 { causes.iter().filter_map(|one| one[field].as_f64()).sum() };
            assert!((sum("share") - 1.0).abs() < 1e-9, "{waits:#}");
            let mean_ns = sum("ns") / row["ios"].as_f64().expect("I/Os");
            let theirs_ns = fio[direction]["lat_ns"]["mean"].as_f64().expect("fio's");
            println!("{scheduler} {direction}: {mean_ns} ns, {theirs_ns} by fio: {waits}");
            // fio's includes its own calls.
            assert!(mean_ns <= theirs_ns * 1.032, "{scheduler} {direction}");
            let mean = |stage: &str| row[stage]["mean_ns"].as_f64().expect(stage);
            let parts_ns = mean("queue_wait") + mean("device_time");
            let off = mean_ns / parts_ns - 1.0;
            assert!(off.abs() < 0.01, "{scheduler} {direction}: {off}");
            let pools = [ns(waits, "driver_tag"), ns(waits, "inferred_driver_tag")];
            let driver_ns: u64 = pools.into_iter().sum();
            let pools = [
                ns(waits, "scheduler_tag"),
                ns(waits, "inferred_scheduler_tag"),
            ];
            let scheduler_ns: u64 = pools.into_iter().sum();
            let inserted_ns = ns(waits, "plug") + ns(waits, "scheduler");
            if scheduler == "none" {
                assert!(driver_ns > 0, "{waits:#}");
                assert_eq!((scheduler_ns, ns(waits, "scheduler")), (0, 0), "{waits:#}");
            } else {
                assert!(scheduler_ns > 0 && driver_ns == 0, "{scheduler}: {waits:#}");
                assert!(inserted_ns > 0, "{scheduler}: {waits:#}");
            }
            assert_eq!(ns(waits, "queue"), 0, "{waits:#}");
        }
    }
}

/// Without the detail the scheduler's part is not split, and a person reads shares.
#[test]
#[ignore = "root"]
fn people_read_shares_and_what_is_not_split_is_one_cause() {
    let disk = LoopDevice::in_memory(SIZE_BYTES);
    disk.set("scheduler", "mq-deadline");
    let (record, [(pid, _), _]) = read_and_written(&disk, &[]);
    let waits = &row(&record, pid)["waits"];
    assert!(ns(waits, "queue") > 0, "{waits:#}");
    assert_eq!(ns(waits, "scheduler"), 0, "{waits:#}");
    let program = Program::new(BINARY);
    let started = stat(&program, &disk.node(), 1, &["--detail", "waits"]);
    let load = Fio::start(&disk.node(), "--rw=randread --time_based --runtime=5");
    let text = started.end().ends(0, &[]).stdout;
    load.end();
    let device = text.lines().find(|line| line.starts_with("  waits  "));
    let device = device.unwrap_or_else(|| panic!("{text}"));
    assert!(
        device.contains(" per I/O: ") && device.contains(" % device"),
        "{text}"
    );
    assert!(text.contains("PER I/O  WAITS FOR"), "{text}");
}

/// Sleeps that end in another interval than they began, and flushes: all causes together are the time of the I/Os.
#[test]
#[ignore = "root"]
fn over_all_intervals_the_causes_are_the_time_of_the_ios() {
    let disk = LoopDevice::in_memory(SIZE_BYTES);
    disk.set("scheduler", "mq-deadline");
    disk.set("nr_requests", "4");
    let program = Program::new(BINARY);
    let arguments = [
        "stat",
        &disk.node(),
        "-i",
        "0.2",
        "-n",
        "40",
        "--json",
        "--detail",
        "waits",
    ];
    let started = attached(program.start(&arguments));
    let job = "--rw=randwrite --ioengine=psync --numjobs=12 --fsync=4 --size=1m --group_reporting";
    let (pid, _) = Fio::start(&disk.node(), job).end();
    let ended = started.end().ends(0, &[]);
    let (mut causes_ns, mut parts_ns) = (0.0, 0.0);
    for line in ended.stdout.lines() {
        let record: Value = serde_json::from_str(line).expect("JSON");
        let rows = record["processes"].as_array().expect("rows");
        for row in rows.iter().filter(|row| row["pid"] == pid) {
            let causes = row["waits"].as_array().expect("causes").iter();
            causes_ns += causes.filter_map(|cause| cause["ns"].as_f64()).sum::<f64>();
            let sum = |stage: &str, count: &Value| {
                row[stage]["mean_ns"].as_f64().unwrap_or(0.0) * count.as_f64().unwrap_or(0.0)
            };
            parts_ns += sum("queue_wait", &row["queue_wait"]["count"])
                + sum("device_time", &row["device_time"]["count"])
                + row["flush_wait_ns"].as_f64().expect("a time");
        }
    }
    let off = causes_ns / parts_ns - 1.0;
    println!(
        "{causes_ns} ns of causes, {parts_ns} ns of parts: {:.2} % off",
        off * 100.0
    );
    assert!(off.abs() < 0.02, "{off}");
}
