use super::*;
use crate::measured::snapshot::{Merges, OwnerKey, OwnerKind, OwnerNumbers, OwnerOp};
use crate::metric::Metric;

fn window(device: DeviceNumbers, seconds: u64) -> Interval {
    Interval {
        start_ns: 0,
        end_ns: seconds * 1_000_000_000,
        devices: vec![device],
        owners: Vec::new(),
    }
}

#[test]
fn every_value_has_a_name_that_parses() {
    let mut device = DeviceNumbers::new("sda");
    for op in &mut device.ops[..2] {
        op.ios = 200_000;
        for ns in 0..200_000 {
            op.q2d.record(ns);
            op.d2c.record(ns);
            op.q2c.record(ns);
        }
    }
    let values = values(
        &window(device, 2),
        None,
        &[],
        &[],
        &Outcome::default(),
        false,
    );
    assert!((values.metrics["iops"] - 200_000.0).abs() < 1e-6);
    assert_eq!(values.metrics.len(), 10 + 3 * 3 * 8 + 2);
    for name in values.metrics.keys() {
        assert!(Metric::named(name).is_some(), "{name}");
    }
}

#[test]
fn a_percentile_needs_its_tail() {
    let mut device = DeviceNumbers::new("sda");
    (0..5_000).for_each(|ns| device.ops[0].q2c.record(ns));
    let values = values(
        &window(device, 1),
        None,
        &[],
        &[],
        &Outcome::default(),
        false,
    );
    assert!(values.metrics.contains_key("total_p95"));
    assert!(
        !values.metrics.contains_key("total_p99"),
        "only 50 of 5000 lie beyond"
    );
    assert!(values.insufficient_tail.contains(&"total_p99".to_owned()));
}

/// Lost requests matter to what they could change, and not to what the program measured itself.
#[test]
fn lost_requests_leave_out_what_they_could_change() {
    let mut device = DeviceNumbers::new("sda");
    device.ops[0].ios = 100_000;
    (0..99_000).for_each(|_| device.ops[0].q2c.record(1_000_000));
    (0..1_000u64).for_each(|i| device.ops[0].q2c.record(100_000_000 + 100_000 * i));
    device.quality.evicted = 500;
    let outcome = Outcome::default();
    let values = values(&window(device, 1), None, &[], &[], &outcome, true);
    for known in ["total_p50", "iops", "elapsed"] {
        assert!(values.metrics.contains_key(known), "{known}");
        assert!(!values.doubtful.iter().any(|name| name == known), "{known}");
    }
    for doubtful in ["total_mean", "total_p99", "read_total_p99"] {
        assert!(!values.metrics.contains_key(doubtful), "{doubtful}");
        assert!(values.doubtful.iter().any(|name| name == doubtful));
    }
}

/// A tail that is too thin because of what was lost says nothing about the arm, and neither does an empty histogram.
#[test]
fn what_is_missing_by_a_loss_is_doubtful_and_not_too_few() {
    let mut device = DeviceNumbers::new("sda");
    (device.ops[0].ios, device.ops[1].ios) = (110_000, 20_000);
    (0..90_000).for_each(|_| device.ops[0].q2c.record(1_000_000));
    device.quality.unrecorded = 40_000;
    let outcome = Outcome::default();
    let values = values(&window(device, 1), None, &[], &[], &outcome, false);
    for doubtful in [
        "read_total_p99.9",
        "write_total_p50",
        "write_total_mean",
        "read_total_spread",
    ] {
        assert!(!values.metrics.contains_key(doubtful), "{doubtful}");
        assert!(!values.insufficient_tail.iter().any(|name| name == doubtful));
        assert!(
            values.doubtful.iter().any(|name| name == doubtful),
            "{doubtful}"
        );
    }
    // Counts are exact.
    for known in ["iops", "read_iops", "ios"] {
        assert!(values.metrics.contains_key(known), "{known}");
    }
}

fn owner(tgid: u32, cgroup_id: u64, ios: u64, bytes: u64, wait: Option<u64>) -> OwnerNumbers {
    let op = OwnerOp {
        ios,
        bytes,
        q2d_max_ns: wait,
        ..OwnerOp::default()
    };
    let key = OwnerKey {
        device: "sda".into(),
        kind: OwnerKind::Process,
        tgid,
        start_ms: 1,
        cgroup_id,
        file: None,
    };
    OwnerNumbers {
        ops: vec![op],
        ..OwnerNumbers::new(key, "fio")
    }
}

fn group(label: &str, id: u64) -> CgroupRef {
    CgroupRef {
        label: label.into(),
        path: "/x".into(),
        id,
        on_bios: true,
    }
}

#[test]
fn requests_and_their_merges() {
    let mut device = DeviceNumbers::new("sda");
    device.ops[0].ios = 60;
    device.ops[1].ios = 20;
    device.ops[1].bytes = 80 * 4096;
    for other in [Op::Flush, Op::Discard] {
        device.ops[other as usize].ios = 1000;
        device.ops[other as usize].bytes = 1 << 40;
    }
    device.merges = Merges {
        back: 15,
        front: 3,
        rq: 2,
    };
    let found = values(
        &window(device, 1),
        None,
        &[],
        &[],
        &Outcome::default(),
        false,
    )
    .metrics;
    assert!((found["merge_ratio"] - 0.18).abs() < 1e-12);
    assert!((found["request_size"] - 4096.0).abs() < 1e-9);
    let idle = window(DeviceNumbers::new("sda"), 1);
    let idle = values(&idle, None, &[], &[], &Outcome::default(), false).metrics;
    assert!(
        !idle.contains_key("merge_ratio"),
        "a share of no I/O is absent, not 0"
    );
}

#[test]
fn groups_share_the_device_and_a_group_of_one_shares_it_among_its_processes() {
    let mut shared = window(DeviceNumbers::new("sda"), 2);
    shared.owners = vec![
        owner(1, 7, 10, 3000, Some(900)),
        owner(2, 7, 10, 1000, None),
        owner(3, 8, 10, 1000, Some(5_000)),
        owner(4, 99, 10, 1_000_000, Some(77_000)),
    ];
    let outcome = Outcome {
        user_cpu_ns: Some(1_000_000),
        system_cpu_ns: Some(5_000_000),
        ..Outcome::default()
    };
    let both = [group("probe", 8), group("hog", 7)];
    let found = values(&shared, Some(&shared), &both, &[], &outcome, false).metrics;
    // 4000 and 1000 bytes: 25 / (2 * 17).
    assert!((found["jain_bytes"] - 25.0 / 34.0).abs() < 1e-12);
    assert!((found["hog.throughput"] - 2000.0).abs() < 1e-9);
    assert!(
        (found[LONGEST_WAIT] - 5_000.0).abs() < 1e-9,
        "foreign I/O is not included"
    );
    // 6 ms for 30 I/Os.
    assert!((found["cpu_per_1000_ios"] - 200e6).abs() < 1e-3);
    let found = values(&shared, None, &both[1..], &[], &outcome, false).metrics;
    assert!((found["jain_bytes"] - 16.0 / 20.0).abs() < 1e-12);
    assert!(
        !found.contains_key("cpu_per_1000_ios"),
        "the number of I/Os is unknown"
    );
    let found = values(&shared, Some(&shared), &both[..1], &[], &outcome, false).metrics;
    assert!(
        !found.contains_key("jain_bytes"),
        "one process has no fairness"
    );
    let blind = [CgroupRef {
        on_bios: false,
        ..group("fio", 7)
    }];
    let found = values(&shared, Some(&shared), &blind, &[], &outcome, false).metrics;
    assert!(!found.contains_key("cpu_per_1000_ios"));
}
