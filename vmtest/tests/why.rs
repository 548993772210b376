//! Who waits behind whom, on a disk of which it can be written down. Profile `truth`.

use std::time::Duration;

use iosched_measure::probe::{Detail, Probe};
use iosched_result::measured::snapshot::{Interval, Op};
use iosched_result::why::{self, DiskFacts, Does, WhyOwner};
use iosched_vmtest::{Disk, Fio};

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
        };
        let owner = |row| probe.owner(row);
        let record = why::why(&stretch, &[facts], String::new(), &owner, &|_| true);
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
