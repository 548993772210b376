//! Failures below the probe are counted, and nothing else is lost by them. Profile `stress`.

use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

use iosched_result::measured::snapshot::{Edges, Op};
use iosched_vmtest::{Disk, Fio, SCHEDULERS, Watch, dd_reads, pid_of_run};

#[test]
fn a_disk_that_goes_while_traced_is_no_accident() {
    let disk = Disk::scsi_debug(&["delay=0", "ndelay=1000000"]);
    let mut watch = Watch::on(&disk);
    let (seen, done) = watch.over(|| {
        let before = disk.device.io_stat().expect("its counters").reads;
        let mut reader = Command::new("dd")
            .args([
                &format!("if={}", disk.node()),
                "of=/dev/null",
                "bs=4k",
                "iflag=direct",
            ])
            .stderr(Stdio::null())
            .spawn()
            .expect("dd");
        std::thread::sleep(Duration::from_secs(1));
        let done = disk.device.io_stat().expect("its counters").reads - before;
        disk.set("device/delete", "1");
        // With an error, or at what looks like the end of the disk.
        reader.wait().expect("its end");
        done
    });
    assert!(!disk.device.is_present());
    let ios = seen.op(Op::Read).ios;
    println!(
        "{ios} reads, {done} of them before; {:?}",
        seen.device().edges
    );
    assert!(done > 50 && ios >= done, "{ios} of {done}");
}

/// Block 582 holds the sector that scsi_debug cannot read.
#[test]
fn a_bad_sector_is_one_error() {
    let disk = Disk::scsi_debug(&["delay=0", "ndelay=500000", "opts=2"]);
    let (seen, ()) = Watch::on(&disk).over(|| {
        let node = format!("if={}", disk.node());
        let status = Command::new("dd")
            .args([
                &node,
                "of=/dev/null",
                "bs=4k",
                "skip=580",
                "count=10",
                "iflag=direct",
            ])
            .stderr(Stdio::null())
            .status();
        assert!(!status.expect("dd").success());
    });
    println!("{:?}", seen.device().edges);
    assert_eq!(seen.device().edges.errors, 1);
    // Two blocks were read before it; it is the third.
    assert_eq!(seen.op(Op::Read).ios, 3);
}

#[test]
fn retries_of_the_transport_are_requeues_and_each_read_counts_once() {
    let disk = Disk::scsi_debug(&["delay=0", "ndelay=500000", "opts=16", "every_nth=20"]);
    let mut watch = Watch::on(&disk);
    for scheduler in SCHEDULERS {
        disk.set_scheduler(scheduler);
        let (seen, pid) = watch.over(|| dd_reads(&disk, 200));
        let edges = seen.device().edges;
        println!("{scheduler}: {edges:?}");
        // Every 20th command, the repeated ones among them.
        assert!((10..=11).contains(&edges.requeues), "{edges:?}");
        assert!(edges.requeued_ns > 0, "{edges:?}");
        assert_eq!(
            edges,
            Edges {
                requeues: edges.requeues,
                requeued_ns: edges.requeued_ns,
                switches: edges.switches,
                ..Edges::default()
            }
        );
        assert_eq!(seen.op(Op::Read).ios, 200, "{scheduler}");
        assert_eq!(seen.process_op(pid, Op::Read).ios, 200, "{scheduler}");
        assert_eq!(seen.op(Op::Read).d2c.count(), 200, "{scheduler}");
    }
}

#[test]
fn a_busy_host_makes_requeues_and_each_read_counts_once() {
    let disk = Disk::scsi_debug(&["delay=0", "ndelay=500000", "opts=0x8000", "every_nth=10"]);
    let (seen, pid) = Watch::on(&disk).over(|| dd_reads(&disk, 200));
    println!("{:?}", seen.device().edges);
    assert!(seen.device().edges.requeues >= 10);
    assert_eq!(seen.device().edges.errors, 0);
    assert_eq!(seen.op(Op::Read).ios, 200);
    assert_eq!(seen.process_op(pid, Op::Read).ios, 200);
}

#[test]
fn a_cpu_that_goes_and_comes_back_takes_nothing_with_it() {
    let disk = Disk::null_blk(500_000, &[]);
    let cpu = "/sys/devices/system/cpu/cpu1/online";
    let job =
        "--ioengine=psync --rw=randread --numjobs=4 --time_based --runtime=4 --group_reporting";
    let (seen, (_, fio)) = Watch::on(&disk).over(|| {
        let fio = Fio::start(&disk.node(), job);
        for state in ["0", "1"] {
            std::thread::sleep(Duration::from_secs(1));
            fs::write(cpu, state).expect("CPU hotplug");
        }
        fio.end()
    });
    let done = fio["read"]["total_ios"].as_u64().expect("a count");
    let (ios, quality) = (seen.op(Op::Read).ios, seen.device().quality);
    println!("{ios} of {done} reads, {quality:?}");
    assert!(done > 1000, "{done}");
    assert!(ios <= done && ios + quality.skipped + quality.evicted >= done);
}

#[test]
fn a_thousand_processes_are_told_apart() {
    let disk = Disk::null_blk(10_000, &[("hw_queue_depth", "128")]);
    let read = format!(
        "dd if={} of=/dev/null bs=4k count=2 skip=$((i*4)) iflag=direct 2>/dev/null",
        disk.node()
    );
    let script = format!(
        "i=0; while [ $i -lt 1000 ]; do {read} & i=$((i+1)); [ $((i%50)) = 0 ] && wait; done; wait"
    );
    let (seen, _) = Watch::on(&disk).over(|| pid_of_run("sh", &["-c", &script]));
    let quality = seen.device().quality;
    let readers = seen.0.owners.iter().filter(|owner| owner.comm == "dd");
    // A read that waits may take in that of another process.
    let reads: Vec<u64> = readers
        .map(|owner| owner.ios() + owner.merges.back + owner.merges.front)
        .collect();
    let (processes, sum) = (reads.len() as u64, reads.iter().sum::<u64>());
    println!("{processes} processes with {sum} reads, {quality:?}");
    assert_eq!(quality.owner_overflow, 0);
    let missing = quality.skipped + quality.evicted;
    assert!(processes <= 1000 && processes + missing >= 1000);
    assert!(sum <= 2000 && sum + missing >= 2000);
    assert!(reads.iter().all(|&count| count <= 2), "a stranger's reads");
}
