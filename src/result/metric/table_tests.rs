use std::collections::BTreeSet;

use super::*;
use crate::analysis::values::values;
use crate::measured::histogram::{DEVICE, OWNER};
use crate::measured::snapshot::{
    Asked, DeviceNumbers, Interval, Merges, Op, Order, OwnerFairness, OwnerKey, OwnerKind,
    OwnerNumbers, OwnerOp,
};
use crate::metric::{ARRIVALS, CONTROLS, LONGEST_WAIT, Metric};
use crate::types::outcome::{CgroupRef, DirectionResult, JobResult, Outcome, ProgramLatency};
use crate::types::participant::Participant;

/// Enough for every percentile.
const MANY: u64 = 200_000;

/// A device that read, wrote and discarded, with everything measured that can be.
fn device() -> DeviceNumbers {
    let mut device = DeviceNumbers::new("sda");
    for op in [Op::Read, Op::WriteSync, Op::Discard] {
        let of = &mut device.ops[op as usize];
        (of.ios, of.bytes) = (MANY, MANY * 4096);
        let mut asked = Asked::new(DEVICE);
        let all = [&mut asked.a2q, &mut asked.a2d, &mut asked.a2c];
        let stages = [&mut of.q2d, &mut of.d2c, &mut of.q2c];
        for histogram in all.into_iter().chain(stages) {
            (0..MANY / 100).for_each(|step| histogram.record_n(1000 + 50 * step, 100));
        }
        of.asked = Op::DATA.contains(&op).then_some(asked);
    }
    device.merges = Merges {
        back: 9,
        front: 1,
        rq: 1,
    };
    device.order = Some(Order {
        issued: MANY,
        reordered: MANY / 2,
        issue_seeks: MANY,
        issue_sectors: 8 * MANY,
        ..Order::default()
    });
    device
}

fn owner(tgid: u32, cgroup_id: u64) -> OwnerNumbers {
    let key = OwnerKey {
        device: "sda".into(),
        kind: OwnerKind::Process,
        tgid,
        start_ms: 10,
        cgroup_id,
        file: None,
    };
    let mut owner = OwnerNumbers::new(key, "it");
    for op in [Op::Read, Op::WriteSync, Op::Discard] {
        owner.ops[op as usize] = OwnerOp {
            ios: MANY,
            bytes: 4096 * MANY,
            q2d_max_ns: Some(9),
            ..OwnerOp::default()
        };
    }
    for histogram in owner.q2d.iter_mut().chain(&mut owner.d2c) {
        assert_eq!(histogram.layout(), OWNER);
        (0..MANY / 100).for_each(|step| histogram.record_n(1000 + 50 * step, 100));
    }
    owner.fairness = Some(OwnerFairness {
        device_time_ns: u64::from(tgid),
        ..OwnerFairness::new()
    });
    owner
}

fn job(name: &str) -> JobResult {
    let latency = ProgramLatency {
        count: MANY,
        mean_ns: 5.0,
        sd_ns: 1.0,
        bins: vec![(5, MANY)],
        ..ProgramLatency::default()
    };
    let direction = DirectionResult {
        ios: MANY,
        bytes: 4096 * MANY,
        iops: 5.0,
        bytes_per_s: 5.0,
        clat: Some(latency.clone()),
        lat: Some(latency.clone()),
        ..DirectionResult::default()
    };
    JobResult {
        name: name.to_owned(),
        read: Some(direction.clone()),
        write: Some(direction.clone()),
        trim: Some(direction),
        sync_lat: Some(latency),
    }
}

/// Rounds of a workload in groups, and of one in participants.
fn produced() -> BTreeSet<String> {
    let window = Interval {
        start_ns: 0,
        end_ns: 1_000_000_000,
        devices: vec![device()],
        owners: vec![owner(1, 7), owner(2, 8)],
    };
    let group = |label: &str, id: u64| CgroupRef {
        label: label.into(),
        path: "/x".into(),
        id,
        on_bios: true,
    };
    let outcome = Outcome {
        elapsed_ns: 5,
        user_cpu_ns: Some(1),
        system_cpu_ns: Some(2),
        jobs: vec![job("job")],
        ..Outcome::default()
    };
    let groups = [group("group", 7), group("other", 8)];
    let of_groups = values(&window, Some(&window), &groups, &[], &outcome, true);
    let participant = |label: &str, tgid: u32| Participant {
        label: label.to_owned(),
        processes: BTreeSet::from([(tgid, 1)]),
        ..Participant::default()
    };
    let both = [participant("participant", 1), participant("another", 2)];
    let of_participants = values(&window, None, &[], &both, &Outcome::default(), false);
    for found in [&of_groups, &of_participants] {
        let index = found.metrics["jain_device_time"];
        assert!(
            (index - 0.9).abs() < 1e-12,
            "of 1 and 2: 9 / (2 * 5), not {index}"
        );
    }
    of_groups
        .metrics
        .into_keys()
        .chain(of_participants.metrics.into_keys())
        .collect()
}

#[test]
fn every_metric_of_the_table_is_measured_and_no_other() {
    let mut produced = produced();
    // Made by the control loop, and from what arrived in a live run.
    produced.extend(CONTROLS.into_iter().chain(ARRIVALS).map(str::to_owned));
    for row in ROWS {
        let labels: &[&str] = match row.of {
            Of::Whole => &[""],
            Of::Part => &["job.", "group.", "participant."],
            Of::Job => &["job."],
            Of::Group => &["group."],
            Of::Participant => &["participant."],
        };
        for name in row.all() {
            for label in labels {
                let full = format!("{label}{name}");
                assert!(produced.contains(&full), "{full} is never measured");
                let found = find(&full).unwrap_or_else(|| panic!("{full} is not found"));
                assert_eq!(found.name, name);
            }
        }
    }
    for name in &produced {
        assert!(find(name).is_some(), "{name} is not in the table");
        assert_eq!(
            Metric::named(name).is_none(),
            name == LONGEST_WAIT,
            "{name}"
        );
    }
}

#[test]
fn no_name_stands_in_two_rows() {
    for of_whole in [true, false] {
        let rows = ROWS.iter().filter(|row| (row.of == Of::Whole) == of_whole);
        let names: Vec<String> = rows.flat_map(Row::all).collect();
        let unique: BTreeSet<&String> = names.iter().collect();
        assert_eq!(unique.len(), names.len());
    }
    for row in ROWS {
        assert!(
            !row.says.is_empty() && !row.unit.is_empty(),
            "{}",
            row.names
        );
    }
}

#[test]
fn a_label_may_have_points() {
    let found = find("a.b.read_clat_p99.9").expect("a metric of a job");
    assert_eq!((found.label, found.name), (Some("a.b"), "read_clat_p99.9"));
    assert_eq!(find("total_p99.9").expect("a metric").label, None);
    for name in [
        ".iops",
        "iops.",
        "a.elapsed",
        "reported:iops",
        "reported:a.iops",
        "",
    ] {
        assert!(find(name).is_none(), "{name}");
    }
}
