//! Who waits behind whom, on a disk of which it can be written down. Profile `truth`.

use std::time::Duration;

use iosched_measure::probe::{Detail, Probe};
use iosched_result::measured::snapshot::{Interval, Op};
use iosched_result::report::why::{self, Keeps};
use iosched_result::why::{DiskFacts, Does, FEW_PARTIES, WhyDevice, WhyOwner, blkparse, devices};
use iosched_vmtest::{Blktrace, Disk, Fio, SCHEDULERS};

/// The disk takes one read at a time, for 5 ms each, and two processes read one at a time: while one's read is there, the other's
/// waits.
#[test]
fn with_one_slot_two_readers_wait_behind_each_other() {
    let disk = Disk::null_blk(5_000_000, &[("hw_queue_depth", "1")]);
    for scheduler in ["none", "mq-deadline"] {
        disk.set_scheduler(scheduler);
        let job = "--rw=randread --time_based --runtime=1h --iodepth=1";
        let both = [job, job].map(|job| Fio::start(&disk.node(), job));
        let pids = both.each_ref().map(Fio::pid);
        let mut probe = Probe::attach(std::slice::from_ref(&disk.device), 0, Detail::default())
            .expect("a probe");
        std::thread::sleep(Duration::from_millis(500));
        let earlier = probe.snapshot().expect("a snapshot");
        probe.begin_stretch();
        std::thread::sleep(Duration::from_secs(2));
        let stretch = probe.end_stretch().expect("a stretch");
        let later = probe.snapshot().expect("a snapshot");
        let interval = Interval::between(&earlier, &later).expect("an interval");
        drop(both);
        let facts = DiskFacts {
            name: disk.name().to_owned(),
            scheduler: Some(scheduler.to_owned()),
            others: Vec::new(),
            hardware_depth: Some(1),
            ..DiskFacts::default()
        };
        let owner = |row| probe.owner(row);
        let record = why::why(&stretch, &[facts], String::new(), &owner, &Keeps::ALL, None);
        let owners = &record.devices[0].owners;
        let row = |pid: u32| -> &WhyOwner {
            let mut its = owners
                .iter()
                .filter(|of| of.pid == pid && of.does == Does::Reads);
            its.next()
                .unwrap_or_else(|| panic!("no reads of {pid}: {owners:#?}"))
        };
        for (pid, other) in [(pids[0], pids[1]), (pids[1], pids[0])] {
            let row = row(pid);
            let behind: u64 = row.behind.iter().map(|of| of.ns).sum();
            assert_eq!(behind + row.device_idle_ns, row.wait_ns, "{scheduler}");
            let first = &row.behind[0];
            let share = first.ns as f64 / row.wait_ns as f64;
            println!(
                "{scheduler}: {share} behind the other, of {} waits",
                row.waits
            );
            assert!(first.pid == other && share > 0.95, "{scheduler}: {row:#?}");
            // The ledger counts the same waits, and shares nothing with this but the records.
            let mut numbers = interval.owners.iter();
            let numbers = numbers.find(|of| of.key.tgid == pid).expect("its numbers");
            let waited_ns = numbers.op(Op::Read).q2d_sum_ns as f64;
            if probe.measures_q2g() {
                let off = row.wait_ns as f64 / waited_ns - 1.0;
                assert!(off.abs() < 0.03, "{scheduler}: {off}");
            }
            let mean_ms = row.wait_ns as f64 / 1e6 / row.waits as f64;
            assert!((4.5..5.5).contains(&mean_ms), "{scheduler}: {mean_ms} ms");
        }
    }
}

/// How long all requests of a direction waited, and which shares of that were behind the other direction, and behind nobody.
fn summary(device: &WhyDevice, does: Does) -> (f64, f64, f64) {
    let owners = || device.owners.iter().filter(|of| of.does == does);
    let wait_ns = owners().map(|of| of.wait_ns).sum::<u64>() as f64;
    let behind = owners().flat_map(|of| &of.behind);
    let others = behind.filter(|of| of.does != does);
    let behind_ns = others.map(|of| of.ns).sum::<u64>() as f64;
    let idle_ns = owners().map(|of| of.device_idle_ns).sum::<u64>() as f64;
    (wait_ns, behind_ns / wait_ns, idle_ns / wait_ns)
}

/// The same requests, whose events blktrace recorded.
#[test]
fn blktrace_has_the_same_matrix() {
    let disk = Disk::null_blk(1_000_000, &[("hw_queue_depth", "4")]);
    let mut probe =
        Probe::attach(std::slice::from_ref(&disk.device), 0, Detail::default()).expect("a probe");
    for scheduler in SCHEDULERS {
        disk.set_scheduler(scheduler);
        probe.begin_stretch();
        // blktrace tells requests by their sector: never the same one twice in flight.
        let (trace, ()) = Blktrace::over(&disk, || {
            let reader = "--rw=randread --size=64m --number_ios=150 --thinktime=2ms";
            let writer = "--rw=randwrite --offset=64m --size=64m --number_ios=600 --iodepth=16 --ioengine=libaio";
            let loads = [reader, writer].map(|job| Fio::start(&disk.node(), job));
            for load in loads {
                load.end();
            }
        });
        let stretch = probe.end_stretch().expect("a stretch");
        let facts = DiskFacts {
            name: disk.name().to_owned(),
            ..DiskFacts::default()
        };
        let ours = devices(&stretch, &[facts], &|row| probe.owner(row), FEW_PARTIES);
        let text = trace.shell("blkparse -i trace");
        let parsed = blkparse::parse(&text).expect("blkparse's lines");
        let its = DiskFacts {
            name: parsed.disks[0].clone(),
            ..DiskFacts::default()
        };
        let owner = |number: u32| parsed.owners[number as usize].clone();
        let theirs = devices(&parsed.stretch, &[its], &owner, FEW_PARTIES);
        for does in [Does::Reads, Does::Writes] {
            let (ours, theirs) = (summary(&ours[0], does), summary(&theirs[0], does));
            println!(
                "{scheduler} {}: {ours:?} here, {theirs:?} by blktrace",
                does.name()
            );
            if !probe.measures_q2g() && scheduler == "none" {
                // Requests wait for their tag before G, which is not seen.
                continue;
            }
            let off = ours.0 / theirs.0 - 1.0;
            assert!(off.abs() < 0.03, "{scheduler}: {ours:?} {theirs:?}");
            let apart = (ours.1 - theirs.1).abs().max((ours.2 - theirs.2).abs());
            assert!(apart < 0.03, "{scheduler}: {ours:?} {theirs:?}");
        }
    }
}
