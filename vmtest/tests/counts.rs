//! The counts are what was done: to the last request, per process, under each scheduler.

use iosched_measure::probe::Detail;
use iosched_result::measured::snapshot::{Merges, Op, Quality};
use iosched_vmtest::{Disk, Fio, SCHEDULERS, Watch, dd_reads, pid_of_run};

#[test]
fn reads_are_counted_one_by_one_for_their_process() {
    let disk = Disk::null_blk(10_000, &[]);
    let mut watch = Watch::on(&disk);
    for scheduler in SCHEDULERS {
        disk.set_scheduler(scheduler);
        let (seen, pid) = watch.over(|| dd_reads(&disk, 1000));
        seen.is_clean();
        let (device, process) = (seen.op(Op::Read), seen.process_op(pid, Op::Read));
        assert_eq!(device.ios, 1000, "{scheduler}");
        assert_eq!(device.bytes, 1000 * 4096, "{scheduler}");
        assert_eq!(process.ios, 1000, "{scheduler}");
        assert_eq!(process.bytes, 1000 * 4096, "{scheduler}");
        // Each of them with all its stages.
        assert_eq!(device.g2d.count(), 1000, "{scheduler}");
        assert_eq!(device.d2c.count(), 1000, "{scheduler}");
        let with_q = if watch.measures_q2g() { 1000 } else { 0 };
        assert_eq!(device.q2d.count(), with_q, "{scheduler}");
        assert_eq!(device.q2c.count(), with_q, "{scheduler}");
        assert_eq!(process.waits, 1000, "{scheduler}");
        assert_eq!(seen.process(pid).comm, "dd");
        assert_eq!(seen.process(pid).ios(), 1000, "{scheduler}: reads only");
    }
}

/// `--light` has no program before the issue.
#[test]
fn two_programs_count_and_time_as_four_do() {
    let disk = Disk::null_blk(100_000, &[]);
    let light = Detail {
        light: true,
        ..Detail::default()
    };
    let mut watch = Watch::with(&disk, light);
    for scheduler in SCHEDULERS {
        disk.set_scheduler(scheduler);
        let (seen, _) = watch.over(|| dd_reads(&disk, 500));
        assert_eq!(seen.device().quality, Quality::default());
        let reads = seen.op(Op::Read);
        assert_eq!((reads.ios, reads.bytes), (500, 500 * 4096), "{scheduler}");
        assert_eq!((reads.d2c.count(), reads.q2d.count()), (500, 0));
        let mean_ns = reads.d2c_sum_ns as f64 / 500.0;
        assert!((100_000.0..130_000.0).contains(&mean_ns), "{mean_ns} ns");
        assert!(seen.0.owners.iter().all(|owner| owner.key.tgid == 0));
    }
}

/// The fewest that libaio puts behind one plug.
#[test]
fn three_adjacent_writes_of_one_plug_are_one_request_and_two_merges() {
    plugged_writes(3, 3);
}

#[test]
fn batches_of_16_adjacent_writes_are_one_request_each() {
    plugged_writes(320, 16);
}

/// `count` adjacent writes of 4 KiB, submitted `batch` at a time.
fn plugged_writes(count: u64, batch: u64) {
    let disk = Disk::null_blk(10_000, &[]);
    let job = format!(
        "--rw=write --number_ios={count} --iodepth={batch} --iodepth_batch_submit={batch} \
        --iodepth_batch_complete_min={batch}"
    );
    let mut watch = Watch::on(&disk);
    for scheduler in SCHEDULERS {
        disk.set_scheduler(scheduler);
        let (seen, (pid, _)) = watch.over(|| Fio::run(&disk.node(), &job));
        seen.is_clean();
        let requests = count / batch;
        let merges = Merges {
            back: count - requests,
            ..Merges::default()
        };
        assert_eq!(seen.op(Op::WriteSync).ios, requests, "{scheduler}");
        assert_eq!(seen.op(Op::WriteSync).bytes, count * 4096, "{scheduler}");
        assert_eq!(seen.device().merges, merges, "{scheduler}");
        assert_eq!(
            seen.process_op(pid, Op::WriteSync).ios,
            requests,
            "{scheduler}"
        );
        assert_eq!(seen.process_op(pid, Op::WriteSync).bytes, count * 4096);
        assert_eq!(seen.process(pid).merges, merges, "{scheduler}");
    }
}

/// The middle one of three neighbours comes last: it joins one of the others in the plug, and both requests meet when the
/// second is inserted. Before 6.5 this is before a program has seen that request.
#[test]
fn requests_that_join_at_insertion_belong_to_their_process() {
    const GROUPS: u64 = 40;
    let disk = Disk::null_blk(10_000, &[]);
    let node = disk.node();
    let mut log = vec!["fio version 2 iolog".to_owned()];
    log.extend(["add", "open"].map(|action| format!("{node} {action}")));
    for group in 0..GROUPS {
        let places = [0, 2, 1].map(|place| group * 65_536 + place * 4096);
        log.extend(places.map(|offset| format!("{node} write {offset} 4096")));
    }
    log.push(format!("{node} close\n"));
    let file = "/tmp/neighbours.log";
    std::fs::write(file, log.join("\n")).expect("a log");
    let job = format!(
        "--read_iolog={file} --iodepth=3 --iodepth_batch_submit=3 --iodepth_batch_complete_min=3"
    );
    let mut watch = Watch::on(&disk);
    for scheduler in ["mq-deadline", "bfq"] {
        disk.set_scheduler(scheduler);
        let (seen, (pid, _)) = watch.over(|| Fio::run(&node, &job));
        seen.is_clean();
        let merges = seen.device().merges;
        assert_eq!((merges.bios(), merges.rq), (GROUPS, GROUPS), "{scheduler}");
        assert_eq!(seen.process(pid).merges, merges, "{scheduler}");
        assert_eq!(seen.op(Op::WriteSync).ios, GROUPS, "{scheduler}");
        assert_eq!(
            seen.process_op(pid, Op::WriteSync).ios,
            GROUPS,
            "{scheduler}"
        );
    }
}

/// FUA, which the disk knows: no flush comes before such a write, and its queue wait is the scheduler's.
#[test]
fn a_write_through_the_cache_waits_for_no_flush() {
    let cached = [("memory_backed", "1"), ("cache_size", "1")];
    let disk = Disk::null_blk(10_000, &cached);
    assert_eq!(disk.device.attribute("queue/fua").expect("it"), "1");
    let output = format!("of={}", disk.node());
    let through = ["if=/dev/zero", &output, "bs=4k", "count=10"];
    let write = [&through[..], &["oflag=direct,dsync", "conv=notrunc"]].concat();
    let mut watch = Watch::on(&disk);
    for scheduler in SCHEDULERS {
        disk.set_scheduler(scheduler);
        // Before 6.5 such a write is asked for before it is started, where a switch is noticed: the first would straddle it.
        dd_reads(&disk, 1);
        let (seen, pid) = watch.over(|| pid_of_run("dd", &write));
        seen.is_clean();
        let (writes, process) = (seen.op(Op::WriteSync), seen.process_op(pid, Op::WriteSync));
        assert_eq!((writes.ios, process.ios), (10, 10), "{scheduler}");
        assert_eq!(seen.device().flushes.before_data, 0, "{scheduler}");
        assert_eq!((writes.waits, process.waits), (10, 10), "{scheduler}");
    }
}

#[test]
fn one_fsync_is_one_flush() {
    let cached = [("memory_backed", "1"), ("cache_size", "1")];
    let disk = Disk::null_blk(10_000, &cached);
    let output = format!("of={}", disk.node());
    let write = [
        "if=/dev/zero",
        &output,
        "bs=4k",
        "count=10",
        "oflag=direct",
        "conv=fsync,notrunc",
    ];
    let mut watch = Watch::on(&disk);
    for scheduler in SCHEDULERS {
        disk.set_scheduler(scheduler);
        let (seen, pid) = watch.over(|| pid_of_run("dd", &write));
        seen.is_clean();
        assert_eq!(seen.op(Op::Flush).ios, 1, "{scheduler}: commands");
        assert_eq!(seen.device().flushes.asked, 1, "{scheduler}");
        assert_eq!(seen.process_op(pid, Op::Flush).ios, 1, "{scheduler}");
        // From asking to done, which the device's histogram knows to 1.6 %.
        let waited_ns = seen.process_op(pid, Op::Flush).flush_sum_ns as f64;
        let total_ns = seen.op(Op::Flush).q2c.mean_ns().expect("a flush");
        let off = waited_ns / total_ns - 1.0;
        assert!(off.abs() < 0.016, "{scheduler}: {waited_ns} of {total_ns}");
        assert_eq!(seen.op(Op::WriteSync).ios, 10, "{scheduler}");
        assert_eq!(seen.process_op(pid, Op::WriteSync).ios, 10, "{scheduler}");
    }
}

#[test]
fn resets_of_zones_are_counted_apart() {
    let zones = [("zoned", "1"), ("zone_size", "4"), ("size", "64")];
    let disk = Disk::null_blk(10_000, &[&zones[..], &[("memory_backed", "1")]].concat());
    let mut watch = Watch::on(&disk);
    let reset = ["reset", "--count", "5", &disk.node()];
    let kernel = || -> Vec<u64> {
        let text = disk.device.attribute("stat").expect("its counters");
        let numbers = text.split_whitespace().map(str::parse);
        numbers.collect::<Result<_, _>>().expect("numbers")
    };
    let before = kernel();
    let (seen, pid) = watch.over(|| pid_of_run("blkzone", &reset));
    let after = kernel();
    seen.is_clean();
    let [reads, writes, sectors] = [0, 4, 6].map(|field| after[field] - before[field]);
    assert_eq!((reads, writes, sectors), (0, 5, 0), "writes to the kernel");
    assert_eq!(seen.op(Op::Zone).ios, 5);
    assert_eq!(seen.process_op(pid, Op::Zone).ios, 5);
    assert_eq!(seen.device().ios(), 5, "nothing else");
}

/// Longer than the kernel is believed without a look at the request itself.
#[test]
fn a_slow_read_is_under_way_and_its_process_is_listed() {
    let disk = Disk::null_blk(500_000_000, &[]);
    for scheduler in SCHEDULERS {
        disk.set_scheduler(scheduler);
        let mut watch = Watch::on(&disk);
        let (seen, mut reader) = watch.over(|| {
            let reader = std::process::Command::new("dd")
                .args([&format!("if={}", disk.node()), "of=/dev/null", "bs=4k"])
                .args(["count=1", "iflag=direct"])
                .spawn()
                .expect("dd");
            std::thread::sleep(std::time::Duration::from_millis(200));
            reader
        });
        let now = seen.device().in_flight.expect("few tags");
        assert_eq!((now.queued, now.issued), (0, 1), "{scheduler}");
        let age_ns = now.oldest_ns.expect("its start was seen");
        assert!((10_000_000..500_000_000).contains(&age_ns), "{age_ns}");
        let row = seen.process(reader.id());
        assert_eq!((row.ios(), row.in_flight), (0, Some(now)), "{scheduler}");
        assert!(reader.wait().expect("dd").success());
    }
}
