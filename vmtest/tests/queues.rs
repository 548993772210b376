//! A disk with a hardware queue for each of two CPUs. Profile `stress`.

use std::slice;

use iosched_measure::probe::{Detail, Probe};
use iosched_result::measured::snapshot::{Interval, Op};
use iosched_result::stat::Burst;
use iosched_vmtest::{Disk, pid_of_run};

const READS: [u64; 2] = [100, 60];

/// One CPU after the other, so that nothing is issued at the same moment.
#[test]
fn each_hardware_queue_has_its_own_order() {
    let disk = Disk::null_blk(100_000, &[("submit_queues", "2"), ("hw_queue_depth", "16")]);
    // Newer kernels add one for polling.
    assert!(disk.device.hardware_queues() >= 2);
    disk.set_scheduler("none");
    let detail = Detail {
        order: true,
        ..Detail::default()
    };
    let mut probe = Probe::attach(slice::from_ref(&disk.device), 0, detail).expect("a probe");
    let earlier = probe.snapshot().expect("one");
    let input = format!("if={}", disk.node());
    for (cpu, reads) in READS.iter().enumerate() {
        let (mask, count) = (format!("{}", 1 << cpu), format!("count={reads}"));
        let dd = [
            "dd",
            &input,
            "of=/dev/null",
            "bs=4k",
            &count,
            "iflag=direct",
        ];
        pid_of_run("taskset", &[&[mask.as_str()], &dd[..]].concat());
    }
    let interval = Interval::between(&earlier, &probe.snapshot().expect("one")).expect("it");
    let all: u64 = READS.iter().sum();
    assert_eq!(interval.devices[0].ops[Op::Read as usize].ios, all);

    let burst = Burst::of(&probe.dispatches(disk.name())).expect("a burst");
    println!("{burst:#?}");
    assert_eq!((burst.issued, burst.reordered_share), (all, Some(0.0)));
    let mut queues: Vec<u64> = burst
        .hardware_queues
        .iter()
        .map(|queue| queue.issued)
        .collect();
    queues.sort_unstable_by(|a, b| b.cmp(a));
    assert_eq!(queues, READS);
    for queue in burst.hardware_queues {
        let none = (Some(0.0), Some(0.0));
        assert_eq!((queue.reordered_share, queue.overtakes_mean), none);
    }
}
