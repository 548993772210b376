//! Requests are identified correctly, and none inherits times from another.

use serde_json::Value;

use crate::exact::{Pair, Sysfs, against_sysfs, exactly, missed, number};
use crate::support::fio::Fio;
use crate::support::{LoopDevice, run};
use crate::work::Seen;
use crate::{MIB, SCHEDULERS};

fn total(fio: &Value, direction: &str) -> u64 {
    number(fio, &format!("/{direction}/total_ios"))
}

/// Two readers and a writer with flushes and discards, all at sector 0 at the same time.
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
            let before = Sysfs::of(&disk.device);
            let (seen, all) = Seen::of(&node, &[], || {
                let readers =
                    [(); 2].map(|()| Fio::start(&node, &format!("{same}=randread --io_size=4m")));
                let writer = Fio::start(&node, &format!("{same}=randwrite --io_size=2m --fsync=8"));
                for _ in 0..50 {
                    run("blkdiscard", &["-f", "-l", "4096", &node]);
                }
                (readers.map(Fio::end), writer.end())
            });
            let (readers, (writer, wrote)) = all;
            let mut pairs = against_sysfs(seen.device(), before, Sysfs::of(&disk.device));
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

/// Writes that merge, also request with request; then, much later, reads with the same tags.
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
            std::thread::sleep(std::time::Duration::from_millis(300));
            let (_, reads) = Fio::run(&node, "--rw=randread --size=8m --iodepth=64");
            (writes, reads)
        });
        joined += number(seen.device(), "/merges/rq");
        for (op, direction, fio) in [("write_sync", "write", writes), ("read", "read", reads)] {
            let found = seen.op(op).expect(op);
            let ours = found["total"]["max_ns"].as_f64().expect("a maximum");
            let theirs = number(&fio, &format!("/{direction}/lat_ns/max")) as f64;
            println!("{scheduler} {op}: at most {ours} ns, {theirs} by fio");
            // The upper end of the cell, which is 1.6 % wide.
            assert!(ours <= theirs * 1.017, "{scheduler} {op}: {found:#}");
            for stage in ["queue_wait", "g2d", "q2g", "i2d", "device"] {
                let part = found[stage]["max_ns"].as_f64().unwrap_or(0.0);
                assert!(part <= ours * 1.017, "{scheduler} {stage}: {found:#}");
            }
        }
    }
    assert!(joined > 0, "no request joined another");
}

/// The kernel counts write zeroes as writes, with their sectors.
#[test]
#[ignore = "root"]
fn zeroes_and_discards_are_counted_as_the_kernel_does() {
    let disk = LoopDevice::new(64 * MIB); // memory supports no write zeroes
    let node = disk.node();
    for scheduler in SCHEDULERS {
        disk.set("scheduler", scheduler);
        exactly(|| {
            let before = Sysfs::of(&disk.device);
            let (seen, ()) = Seen::of(&node, &[], || {
                let part = ["-f", "-o", "1048576", "-l", "8388608"];
                run("blkdiscard", &[&part[..], &["-z", &node]].concat());
                run("blkdiscard", &[&part[..], &[&node]].concat());
                Fio::run(&node, "--rw=randwrite --size=1m --iodepth=4");
            });
            let mut pairs = against_sysfs(seen.device(), before, Sysfs::of(&disk.device));
            let zeroes = seen.op("other").map_or(0, |op| number(op, "/bytes"));
            pairs.push(("sectors of zeroes", 16384, zeroes / 512));
            (seen.device().clone(), pairs)
        });
    }
}

/// The tag space grows during the watch: a request with a new tag is lost, and counts once, not at each of its
/// events.
#[test]
#[ignore = "root"]
fn a_request_outside_the_table_is_lost_once() {
    let disk = LoopDevice::in_memory(64 * MIB);
    let node = disk.node();
    disk.set("scheduler", "mq-deadline");
    let before = Sysfs::of(&disk.device);
    let (seen, _) = Seen::of(&node, &[], || {
        disk.set("nr_requests", "1024");
        Fio::run(&node, "--rw=randrw --size=32m --iodepth=64 --fsync=32")
    });
    let lost = number(seen.device(), "/quality/lost");
    assert!(lost > 1000, "{lost} lost: {:#}", seen.device());
    let pairs = against_sysfs(seen.device(), before, Sysfs::of(&disk.device));
    let all = |which: fn(&Pair) -> u64| -> u64 {
        let requests = pairs
            .iter()
            .filter(|pair| ["reads", "writes", "flushes"].contains(&pair.0));
        requests.map(which).sum()
    };
    let missing = all(|pair| pair.1) - all(|pair| pair.2);
    println!("{lost} lost, {missing} missing");
    let missed = missed(seen.device());
    assert!(
        lost.abs_diff(missing) <= missed,
        "{lost} of {missing}: {:#}",
        seen.device()
    );
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
                ("its sectors", 512 * 8, seen.of_pid(pid, "bytes") / 512),
            ];
            (device.clone(), pairs)
        });
    }
}

/// Two processes write the same few blocks of a disk so shallow that requests wait, so bios of one process join
/// requests of the other. A request stays with its first owner, with all of its bytes; each bio is counted for its
/// submitter.
#[test]
#[ignore = "root"]
fn merged_bios_keep_their_owner_and_are_counted_per_bio() {
    const BIOS: u64 = 1000;
    let disk = LoopDevice::in_memory(64 * MIB);
    disk.set("scheduler", "none");
    disk.set("nr_requests", "4");
    let node = disk.node();
    let job = "--numjobs=2 --thread=0 --rw=randwrite --size=1m --norandommap --io_size=4000k --iodepth=64";
    let mut crossed = false;
    for scheduler in SCHEDULERS {
        disk.set("scheduler", scheduler);
        if scheduler != "none" {
            disk.set("nr_requests", "256");
        }
        // The other schedulers merge only with the last few requests, or within one thread.
        let looks_everywhere = ["mq-deadline", "bfq"].contains(&scheduler);
        let mut merged = 0;
        // Which process comes first is random.
        let tries = if looks_everywhere { 5 } else { 1 };
        for _ in 0..tries {
            exactly(|| {
                let before = Sysfs::of(&disk.device);
                let (seen, _) = Seen::of(&node, &[], || Fio::run(&node, job));
                let device = seen.device();
                let mut pairs = against_sysfs(device, before, Sysfs::of(&disk.device));
                println!("{scheduler}: {}", device["merges"]);
                merged = pairs[1].2;
                let op = seen.op("write_sync").expect("writes");
                pairs.extend([
                    ("bios", 2 * BIOS, number(op, "/bios")),
                    (
                        "device times per bio",
                        2 * BIOS,
                        number(op, "/device_per_bio/count"),
                    ),
                    (
                        "totals per bio",
                        2 * BIOS,
                        number(op, "/total_per_bio/count"),
                    ),
                    ("sectors of all", 2 * BIOS * 8, number(op, "/bytes") / 512),
                ]);
                let both = seen.named("fio");
                assert_eq!(both.len(), 2, "{both:#?}");
                let mut of_both = [0; 3];
                for row in both {
                    let own = |field: &str| number(row, &format!("/{field}"));
                    let asked =
                        own("ios") + own("merges/back") + own("merges/front") + own("merges/rq");
                    pairs.push(("bios that one submitted", BIOS, asked));
                    let joined = own("merges/back") + own("merges/front");
                    for (field, part, whole) in [
                        ("merge_ratio", joined, asked),
                        ("bios_per_request", own("bios"), own("ios")),
                        ("mean_request_bytes", own("bytes"), own("ios")),
                    ] {
                        let found = row[field].as_f64().expect(field);
                        let wanted = part as f64 / whole as f64;
                        assert!((found - wanted).abs() < 1e-9, "{field}: {row:#}");
                    }
                    of_both[0] += own("bios");
                    of_both[1] += own("bytes") / 512;
                    of_both[2] += asked - own("ios");
                    crossed |= own("bios") != asked;
                }
                pairs.extend([
                    ("bios of both in their requests", 2 * BIOS, of_both[0]),
                    ("sectors of both", 2 * BIOS * 8, of_both[1]),
                    ("merged bios of both", pairs[1].1, of_both[2]),
                ]);
                (device.clone(), pairs)
            });
            if merged > BIOS / 10 {
                break;
            }
        }
        assert!(!looks_everywhere || merged > BIOS / 10, "{merged}");
    }
    assert!(crossed, "no bio joined a request of the other process");
}

/// A mix of operations: the counters equal those of `/sys/block/X/stat` exactly.
#[test]
#[ignore = "root"]
fn a_mix_is_counted_as_the_kernel_does() {
    let disk = LoopDevice::in_memory(64 * MIB);
    let node = disk.node();
    let (input, output) = (format!("if={node}"), format!("of={node}"));
    let quarter = |offset: u64, job: &str| format!("--offset={offset}m --size=16m {job}");
    let merging = "--rw=write --number_ios=1500 --iodepth=32 --iodepth_batch_submit=16 \
        --iodepth_batch_complete_min=16";
    for scheduler in SCHEDULERS {
        println!("{scheduler}");
        disk.set("scheduler", scheduler);
        exactly(|| {
            let before = Sysfs::of(&disk.device);
            let (seen, ()) = Seen::of(&node, &[], || {
                let direct = "--rw=randrw --number_ios=1000 --iodepth=8";
                let synced = "--ioengine=psync --rw=randwrite --number_ios=200 --fsync=10";
                let jobs = [(0, direct), (16, synced), (32, merging)];
                let jobs = jobs.map(|(offset, job)| Fio::start(&node, &quarter(offset, job)));
                let zeros = ["if=/dev/zero", &output, "bs=1M", "seek=48", "count=8"];
                run("dd", &[&zeros[..], &["conv=fsync,notrunc"]].concat());
                run("blkdiscard", &["-f", "-o", "56M", "-l", "4M", &node]);
                run("blockdev", &["--flushbufs", &node]);
                run("dd", &[&input, "of=/dev/null", "bs=1M", "skip=48"]);
                for job in jobs {
                    job.end();
                }
            });
            let pairs = against_sysfs(seen.device(), before, Sysfs::of(&disk.device));
            assert!(pairs.iter().all(|pair| pair.1 > 0), "a mix: {pairs:?}");
            (seen.device().clone(), pairs)
        });
    }
}

#[test]
#[ignore = "root"]
fn bytes_are_counted_in_64_bits() {
    let disk = LoopDevice::in_memory(10 << 30);
    exactly(|| {
        let before = Sysfs::of(&disk.device);
        let (seen, ()) = Seen::of(&disk.node(), &[], || {
            run("blkdiscard", &["-f", &disk.node()]);
        });
        let pairs = against_sysfs(seen.device(), before, Sysfs::of(&disk.device));
        let rows = seen.named("blkdiscard");
        let bytes = rows.iter().map(|row| number(row, "/bytes"));
        assert_eq!(bytes.sum::<u64>(), 10 << 30);
        (seen.device().clone(), pairs)
    });
}
