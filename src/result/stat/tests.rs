use super::*;
use crate::measured::snapshot::{DeviceNumbers, Merges, Op, OwnerKey, OwnerKind, OwnerStages};

fn owner(tgid: u32) -> OwnerNumbers {
    let key = OwnerKey {
        device: "sda".to_owned(),
        kind: OwnerKind::Process,
        tgid,
        start_ms: 1,
        cgroup_id: 1,
        file: None,
    };
    OwnerNumbers::new(key, "dd")
}

fn merges(back: u64, front: u64, rq: u64) -> Merges {
    Merges { back, front, rq }
}

/// One second. The device's counts are the sums over its owners.
fn of(owners: &[OwnerNumbers]) -> LiveRecord {
    let mut device = DeviceNumbers::new("sda");
    for owner in owners {
        device.merges += owner.merges;
        for (sum, op) in device.ops.iter_mut().zip(&owner.ops) {
            sum.ios += op.ios;
            sum.bytes += op.bytes;
            sum.bios += op.bios;
        }
    }
    let interval = Interval {
        start_ns: 0,
        end_ns: 1_000_000_000,
        devices: vec![device],
        owners: owners.to_vec(),
    };
    let states = [DeviceState::default()];
    record(&interval, String::new(), false, &states, &())
}

fn count(owner: &mut OwnerNumbers, op: Op, ios: u64, bytes: u64, bios: u64) {
    let counted = &mut owner.ops[op as usize];
    (counted.ios, counted.bytes, counted.bios) = (ios, bytes, bios);
}

/// The first owner queued 4 + 1 + 15 = 20 bios; 8 of its 15 were merged into requests of the second, which queued 10.
#[test]
fn merging_is_told_of_each_process_and_of_the_device() {
    let (mut first, mut second) = (owner(1), owner(2));
    count(&mut first, Op::Read, 1, 4096, 1);
    count(&mut first, Op::WriteSync, 3, 11 * 4096, 11);
    first.merges = merges(10, 5, 1);
    count(&mut second, Op::WriteAsync, 10, 18 * 4096, 18);
    let record = of(&[first, second]);
    let [second, first] = &record.processes[..] else {
        panic!("{:?}", record.processes);
    };
    assert_eq!((first.merges, first.bios), (merges(10, 5, 1), 12));
    assert_eq!(first.merge_ratio, Some(0.75));
    assert_eq!(first.bios_per_request, Some(3.0));
    assert_eq!(first.mean_request_bytes, Some(3.0 * 4096.0));
    assert_eq!(second.merge_ratio, Some(0.0), "none of its own joined");
    assert_eq!(second.bios_per_request, Some(1.8));
    let device = &record.devices[0];
    assert_eq!(device.merge_ratio, Some(0.5));
    assert_eq!(device.bios_per_request, Some(30.0 / 14.0));
    assert_eq!(device.mean_request_bytes, Some(30.0 * 4096.0 / 14.0));
}

#[test]
fn one_process_alone_merges_as_its_device_does() {
    let mut alone = owner(1);
    count(&mut alone, Op::WriteSync, 6, 10 * 4096, 10);
    // Neither has data that could be merged.
    count(&mut alone, Op::Flush, 7, 0, 7);
    count(&mut alone, Op::Discard, 1, 1 << 30, 1);
    alone.merges = merges(3, 0, 1);
    let record = of(&[alone]);
    let (process, device) = (&record.processes[0], &record.devices[0]);
    assert_eq!(process.merge_ratio, Some(0.3));
    assert_eq!(process.merge_ratio, device.merge_ratio);
    assert_eq!(process.bios_per_request, device.bios_per_request);
    assert_eq!(process.mean_request_bytes, device.mean_request_bytes);
}

#[test]
fn what_there_was_none_of_is_null_and_not_0() {
    let mut flushed = owner(1);
    count(&mut flushed, Op::Flush, 7, 0, 7);
    // All its bios were merged into requests of others.
    let mut joined = owner(2);
    joined.merges = merges(4, 0, 0);
    let record = serde_json::to_value(of(&[flushed, joined])).unwrap();
    let field = |row: usize, name: &str| &record["processes"][row][name];
    assert!(field(0, "merge_ratio").is_null());
    assert_eq!(*field(1, "merge_ratio"), 1.0);
    for row in [0, 1] {
        assert!(field(row, "bios_per_request").is_null(), "{record:#}");
        assert!(field(row, "mean_request_bytes").is_null(), "{record:#}");
    }
    assert!(record["devices"][0]["in_flight"].is_null());
}

#[test]
fn the_stages_of_a_process_are_of_its_reads_and_writes() {
    let mut stages = OwnerStages::default();
    stages.q2g[0].record_n(0, 3);
    stages.q2c[0].record(1_000_000);
    stages.q2c[1].record_n(2_000_000, 3);
    let mut asked = owner(1);
    count(&mut asked, Op::Read, 2, 8192, 2);
    asked.stages = Some(stages);
    let mut not_asked = owner(2);
    count(&mut not_asked, Op::Read, 1, 4096, 1);
    let record = of(&[asked, not_asked]);
    let found = record.processes[0].stages.as_ref().unwrap();
    assert_eq!((found.q2g.count, found.total.count), (3, 4));
    let total = [found.total.p50_ns, found.total.mean_ns].map(Option::unwrap);
    for (found, is) in total.into_iter().zip([2e6, 1.75e6]) {
        assert!((found / is - 1.0).abs() < 0.032, "{found} of {is}");
    }
    assert_eq!((found.i2d.count, found.i2d.p50_ns), (0, None));
    assert_eq!(record.processes[1].stages, None);
}

/// A histogram only knows the cell of an I/O, whose middle may be above it; the maximum is exact.
#[test]
fn no_percentile_is_above_the_longest() {
    for ns in [65_600, 65_536, 1_000_001] {
        let mut owner = owner(1);
        count(&mut owner, Op::Read, 1, 4096, 1);
        let sums = &mut owner.ops[Op::Read as usize];
        (sums.waits, sums.q2d_max_ns, sums.d2c_max_ns) = (1, Some(ns), Some(ns));
        owner.q2d[0].record(ns);
        owner.d2c[0].record(ns);
        let record = of(&[owner]);
        let process = &record.processes[0];
        for latency in [&process.queue_wait, &process.device_time] {
            assert_eq!(latency.max_ns, Some(ns as f64));
            assert!(latency.p50_ns <= latency.max_ns && latency.p99_ns <= latency.max_ns);
        }
    }
}
