//! Requests are told apart by what they are, and none inherits from another.

use serde_json::Value;

use crate::exact::{Pair, Sysfs, against_sysfs, exactly, number};
use crate::support::{LoopDevice, run};
use crate::work::{Fio, Seen};
use crate::{MIB, SCHEDULERS};

fn total(fio: &Value, direction: &str) -> u64 {
    number(fio, &format!("/{direction}/total_ios"))
}

/// Two readers, a writer with its flushes and discards, all at sector 0 at the same time.
#[test]
#[ignore = "root"]
fn keyed_by_tag_not_by_sector() {
    let disk = LoopDevice::in_memory(64 * MIB);
    let node = disk.node();
    let same = "--size=4k --norandommap --iodepth=16 --rw";
    for scheduler in SCHEDULERS {
        println!("{scheduler}");
        disk.set("scheduler", scheduler);
        exactly(|| {
            let before = Sysfs::of(&disk);
            let (seen, all) = Seen::of(&node, &[], || {
                let readers =
                    [(); 2].map(|()| Fio::start(&node, &format!("{same}=randread --io_size=8m")));
                let writer = Fio::start(&node, &format!("{same}=randwrite --io_size=2m --fsync=8"));
                for _ in 0..50 {
                    run("blkdiscard", &["-f", "-l", "4096", &node]);
                }
                (readers.map(Fio::end), writer.end())
            });
            let (readers, (writer, wrote)) = all;
            let mut pairs = against_sysfs(seen.device(), before, Sysfs::of(&disk));
            for (pid, result) in &readers {
                let pair = (total(result, "read"), seen.of_pid(*pid, "reads"));
                pairs.push(("reads of one process", pair.0, pair.1));
            }
            let own = |field| seen.of_pid(writer, field);
            pairs.extend([
                ("writes", total(&wrote, "write"), own("writes")),
                ("flushes", total(&wrote, "sync"), own("flushes")),
                ("left over", seen.left_over(), 0),
            ]);
            assert!(
                pairs.iter().all(|pair| pair.1 > 0 || pair.2 == 0),
                "{pairs:?}"
            );
            (seen.device().clone(), pairs)
        });
    }
}

/// Writes that merge, requests with requests, too; then reads under the same tags, much later.
#[test]
#[ignore = "root"]
fn a_reused_request_inherits_nothing() {
    let disk = LoopDevice::in_memory(64 * MIB);
    let node = disk.node();
    let merging = "--rw=randwrite --size=8m --iodepth=64 --iodepth_batch_submit=32 --iodepth_batch_complete_min=32";
    let mut joined = 0;
    for scheduler in SCHEDULERS {
        disk.set("scheduler", scheduler);
        let (seen, (writes, reads)) = Seen::of(&node, &["--detail", "stages"], || {
            let (_, writes) = Fio::run(&node, merging);
            std::thread::sleep(std::time::Duration::from_secs(2));
            let (_, reads) = Fio::run(&node, "--rw=randread --size=8m --iodepth=64");
            (writes, reads)
        });
        joined += number(seen.device(), "/merges/rq");
        for (op, direction, fio) in [("write_sync", "write", writes), ("read", "read", reads)] {
            let found = seen.op(op).expect(op);
            let ours = found["total"]["max_ns"].as_f64().expect("a maximum");
            let theirs = number(&fio, &format!("/{direction}/lat_ns/max")) as f64;
            println!("{scheduler} {op}: at most {ours} ns, {theirs} by fio");
            // The end of a cell, which is 1.6 % wide.
            assert!(ours <= theirs * 1.017, "{scheduler} {op}: {found:#}");
            for stage in ["queue_wait", "g2d", "q2g", "i2d", "device"] {
                let part = found[stage]["max_ns"].as_f64().unwrap_or(0.0);
                assert!(part <= ours * 1.017, "{scheduler} {stage}: {found:#}");
            }
        }
    }
    assert!(joined > 0, "no request joined another");
}

#[test]
#[ignore = "root"]
fn a_flush_is_a_class_of_its_own() {
    let disk = LoopDevice::in_memory(64 * MIB);
    let node = disk.node();
    for scheduler in SCHEDULERS {
        println!("{scheduler}");
        disk.set("scheduler", scheduler);
        exactly(|| {
            let (seen, (pid, fio)) = Seen::of(&node, &[], || {
                Fio::run(&node, "--ioengine=psync --rw=randwrite --size=2m --fsync=1")
            });
            let syncs = total(&fio, "sync");
            assert!(syncs > 500, "{syncs} flushes");
            let device = seen.device();
            let commands = seen.op("flush").map_or(0, |op| number(op, "/ios"));
            let (_, timed) = seen.op("flush").map_or((0, 0), |op| {
                assert_eq!(op["bytes"], 0);
                (0, number(op, "/device/count"))
            });
            assert!(seen.op("write_async").is_none(), "{device:#}");
            let writes = seen.op("write_sync").map_or(0, |op| number(op, "/ios"));
            let pairs: Vec<Pair> = vec![
                ("writes, the same under each scheduler", 512, writes),
                ("flushes", syncs, number(device, "/flushes/asked")),
                ("flush commands of one that waits for each", syncs, commands),
                ("device times of flushes", syncs, timed),
                ("flushes of the process", syncs, seen.of_pid(pid, "flushes")),
                ("its writes", 512, seen.of_pid(pid, "writes")),
                ("its bytes", 512 * 4096, seen.of_pid(pid, "bytes")),
            ];
            (device.clone(), pairs)
        });
    }
}

/// Every bio is of one of two processes that write alternate blocks, whoever's request it joins.
#[test]
#[ignore = "root"]
fn merged_bios_keep_their_owner_and_are_counted_per_bio() {
    let disk = LoopDevice::in_memory(64 * MIB);
    let node = disk.node();
    let alternate = "--rw=write:4k --number_ios=4000 --iodepth=64 --iodepth_batch_submit=32 --iodepth_batch_complete_min=32";
    let mut requests = Vec::new();
    for scheduler in SCHEDULERS {
        println!("{scheduler}");
        disk.set("scheduler", scheduler);
        exactly(|| {
            let before = Sysfs::of(&disk);
            let (seen, both) = Seen::of(&node, &[], || {
                let even = Fio::start(&node, alternate);
                let odd = Fio::start(&node, &format!("{alternate} --offset=4k"));
                [even, odd].map(Fio::end)
            });
            let mut pairs = against_sysfs(seen.device(), before, Sysfs::of(&disk));
            let op = seen.op("write_sync").expect("writes");
            requests.push(number(op, "/ios"));
            pairs.extend([
                ("bios", 8000, number(op, "/bios")),
                (
                    "device times per bio",
                    8000,
                    number(op, "/device_per_bio/count"),
                ),
                ("totals per bio", 8000, number(op, "/total_per_bio/count")),
                ("sectors of all", 8000 * 8, number(op, "/bytes") / 512),
            ]);
            for (pid, fio) in &both {
                let own = |field| seen.of_pid(*pid, field);
                let asked =
                    own("ios") + own("merges/back") + own("merges/front") + own("merges/rq");
                pairs.push(("bios of one process", total(fio, "write"), asked));
            }
            (seen.device().clone(), pairs)
        });
    }
    println!("{requests:?} requests for 8000 bios");
}

#[test]
#[ignore = "root"]
fn bytes_are_counted_in_64_bits() {
    let disk = LoopDevice::in_memory(10 << 30);
    exactly(|| {
        let before = Sysfs::of(&disk);
        let (seen, ()) = Seen::of(&disk.node(), &[], || {
            run("blkdiscard", &["-f", &disk.node()]);
        });
        let pairs = against_sysfs(seen.device(), before, Sysfs::of(&disk));
        let rows = seen.named("blkdiscard");
        let bytes = rows.iter().map(|row| number(row, "/bytes"));
        assert_eq!(bytes.sum::<u64>(), 10 << 30);
        (seen.device().clone(), pairs)
    });
}
