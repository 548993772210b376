use iosched_result::measured::snapshot::{
    DeviceNumbers, Interval, Merges, Op, OwnerKey, OwnerKind, OwnerNumbers, OwnerStages,
};
use iosched_result::stat::{self, DeviceState};
use serde_json::{Map, Value};

use super::*;

/// A record of one second with this disk and these processes.
fn watched(device: DeviceNumbers, owners: Vec<OwnerNumbers>) -> LiveRecord {
    let interval = Interval {
        start_ns: 0,
        end_ns: 1_000_000_000,
        devices: vec![device],
        owners,
    };
    let states = [DeviceState {
        scheduler: Some("mq-deadline".to_owned()),
        hardware_depth: Some(128),
        burst: None,
    }];
    let time = "2026-02-03T04:05:06.789Z".to_owned();
    stat::record(&interval, time, false, &states, &())
}

#[test]
fn what_is_in_flight_stands_beside_what_is_on_average() {
    let mut device = DeviceNumbers::new("loop0");
    let op = &mut device.ops[Op::Read as usize];
    (op.q2d_sum_ns, op.d2c_sum_ns) = (128_000_000_000, 127_500_000_000);
    let mut line = |queued, issued, oldest_ns| {
        device.in_flight = Some(InFlight {
            queued,
            blocked: None,
            issued,
            oldest_ns,
        });
        let text = render(&watched(device.clone(), Vec::new()), &[], None).text;
        text.lines().nth(2).expect("a line").to_owned()
    };
    let full = line(256, 128, Some(1_040_000));
    assert_eq!(
        full,
        "  waiting 128.0, at the device 127.5 on average; now 256 + 128, oldest 1.04 ms"
    );
    assert!(full.len() <= 80, "{full}");
    assert!(
        line(0, 0, None).ends_with("; now 0 + 0"),
        "nothing is not old"
    );
    assert!(
        line(0, 1, None).ends_with("; now 0 + 1, oldest -"),
        "not seen"
    );
    device.in_flight = None;
    let text = render(&watched(device, Vec::new()), &[], None).text;
    assert!(text.contains("on average; now -\n"), "{text}");
}

#[test]
fn who_waits_for_a_request_is_said() {
    let mut device = DeviceNumbers::new("loop0");
    let mut line = |blocked| {
        device.in_flight = Some(InFlight {
            blocked,
            ..InFlight::default()
        });
        let text = render(&watched(device.clone(), Vec::new()), &[], None).text;
        text.lines().nth(3).expect("a line").to_owned()
    };
    assert!(line(Some(3)).contains("%, 3 blocked   merges"));
    assert!(!line(Some(0)).contains("blocked"));
    assert!(!line(None).contains("blocked"));
}

#[test]
fn a_percentile_of_few_says_so() {
    for (ios, mark) in [(6, "~"), (199, "~"), (200, "")] {
        let mut device = DeviceNumbers::new("loop0");
        device.ops[Op::Read as usize].d2c.record_n(2_000_000, ios);
        let mut reader = owner(7, "reader");
        reader.ops[Op::Read as usize].ios = ios;
        reader.d2c[0].record_n(2_000_000, ios);
        let record = watched(device, vec![reader]);
        let latency = &record.processes[0].device_time;
        assert_eq!(
            (latency.p50_is_of_few, latency.p99_is_of_few),
            (ios < 200, true)
        );
        let text = render(&record, &[], None).text;
        assert!(text.contains(&format!("device p50 {mark}2.")), "{text}");
        let row = text
            .lines()
            .find(|line| line.contains("reader"))
            .expect("a row");
        assert_eq!(row.matches('~').count(), 1 + mark.len(), "{row}");
    }
    let nothing = watched(DeviceNumbers::new("loop0"), Vec::new());
    assert!(!render(&nothing, &[], None).text.contains('~'));
}

fn owner(tgid: u32, comm: &str) -> OwnerNumbers {
    let key = OwnerKey {
        device: "loop0".to_owned(),
        kind: OwnerKind::Process,
        tgid,
        start_ms: 1,
        cgroup_id: 1,
        file: None,
    };
    OwnerNumbers::new(key, comm)
}

#[test]
fn the_stages_are_told_of_each_process_that_has_them() {
    let mut stages = OwnerStages::default();
    stages.q2g[0].record(3_000_000);
    stages.g2d[0].record(40_000);
    stages.q2c[0].record(8_000_000);
    let mut reader = owner(7, "reader");
    reader.ops[Op::Read as usize].ios = 1;
    reader.d2c[0].record(5_000_000);
    let record = watched(
        DeviceNumbers::new("loop0"),
        vec![
            OwnerNumbers {
                stages: Some(stages),
                ..reader
            },
            owner(8, "without"),
        ],
    );
    let text = render(&record, &[DetailChoice::Stages], None).text;
    let rows: Vec<String> = text
        .lines()
        .skip_while(|line| !line.contains("Q2G p50"))
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect();
    let wanted = [
        "PID COMM Q2G p50 Q2G p99 G2D p50 G2D p99 I2D p50 I2D p99 D2C p50 D2C p99 Q2C p50 Q2C p99",
        "7 reader ~2.95 ms ~2.95 ms ~39.9 us ~39.9 us - - ~5.11 ms ~5.11 ms ~8.00 ms ~8.00 ms",
    ];
    assert_eq!(rows, wanted, "{text}");
}

#[test]
fn merging_is_told_of_each_process() {
    let mut writer = owner(4_194_303, "a-name-of-15-ch");
    let op = &mut writer.ops[Op::WriteSync as usize];
    (op.ios, op.bytes, op.bios) = (4, 12 * 4096, 12);
    writer.merges = Merges {
        back: 10,
        front: 5,
        rq: 1,
    };
    let record = watched(DeviceNumbers::new("loop0"), vec![writer, owner(7, "idle")]);
    let plain = render(&record, &[], None).text;
    let text = render(
        &record,
        &[DetailChoice::Fairness, DetailChoice::Merges],
        None,
    )
    .text;
    let rows: Vec<Vec<&str>> = text
        .lines()
        .skip_while(|line| !line.contains("BIOS/REQ"))
        .inspect(|line| assert!(line.len() <= 80, "{line}"))
        .map(|line| line.split_whitespace().collect())
        .collect();
    assert_eq!(
        rows,
        [
            &[
                "PID", "COMM", "BACK", "FRONT", "RQ", "MERGED", "BIOS/REQ", "REQ", "SIZE"
            ][..],
            &[
                "4194303",
                "a-name-of-15-ch",
                "10",
                "5",
                "1",
                "75.0",
                "%",
                "3.00",
                "12.0",
                "KiB"
            ],
            &["7", "idle", "0", "0", "0", "-", "-", "-"],
        ],
        "{text}"
    );
    assert!(!plain.contains("BIOS/REQ"), "{plain}");
}

/// A loss counter that is added to the record must also be printed.
#[test]
fn every_counter_of_loss_is_printed() {
    let counters = |names: Value, first: u64| -> Map<String, Value> {
        let names = names.as_object().expect("counters").clone();
        let numbered = names.into_iter().zip(first..);
        numbered.map(|((name, _), n)| (name, n.into())).collect()
    };
    let losses = counters(serde_json::to_value(Quality::default()).unwrap(), 101);
    let quality: Quality = serde_json::from_value(losses.clone().into()).unwrap();
    let text = lost(&quality, &Edges::default(), 99, &[]);
    assert!(text.contains("without queue wait 99"), "{text}");
    for (name, n) in &losses {
        assert!(text.contains(&format!(" {n}")), "{name} {n}: {text}");
    }
    assert_eq!(
        lost(&Quality::default(), &Edges::default(), 0, &[]),
        "nothing lost"
    );
}
