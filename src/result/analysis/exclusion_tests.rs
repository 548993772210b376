use super::*;
use crate::measured::snapshot::{DeviceNumbers, OwnerKey, OwnerOp, StatusCount};
use crate::report::fixture::{empty, round, values};
use crate::statistics::stopping::Stopping;
use crate::types::plan::Turn;

fn owner(cgroup_id: u64, is_kernel_thread: bool, bytes: u64) -> OwnerNumbers {
    let op = OwnerOp {
        ios: 1,
        bytes,
        ..OwnerOp::default()
    };
    let key = OwnerKey {
        device: "sda".into(),
        kind: if is_kernel_thread {
            OwnerKind::KernelThread
        } else {
            OwnerKind::Process
        },
        tgid: 9,
        start_ms: 1,
        cgroup_id,
        file: None,
    };
    OwnerNumbers {
        ops: vec![op],
        ..OwnerNumbers::new(key, "x")
    }
}

/// The window is all of the workload's time.
fn spoilt(
    outcome: &Outcome,
    drifted: &[String],
    window: &Interval,
    gap: Option<Gap>,
) -> Option<(Spoilt, String)> {
    super::spoilt(outcome, drifted, window, window, gap)
}

fn window(owners: Vec<OwnerNumbers>) -> Interval {
    let mut device = DeviceNumbers::new("sda");
    device.ops[0].ios = 100_000;
    Interval {
        start_ns: 0,
        end_ns: 1_000_000_000,
        devices: vec![device],
        owners,
    }
}

fn group(id: u64, on_bios: bool) -> CgroupRef {
    CgroupRef {
        label: "fio".into(),
        path: "/x".into(),
        id,
        on_bios,
    }
}

fn is_spoilt(outcome: &Outcome, drifted: &[String], window: &Interval) -> Option<(Spoilt, String)> {
    spoilt(outcome, drifted, window, None)
}

fn excluded(window: &Interval) -> Option<Spoilt> {
    is_spoilt(&Outcome::default(), &[], window).map(|found| found.0)
}

/// One block of two arms whose rounds moved `bytes` of their own and `foreign` of other processes.
fn block(bytes: [u64; 2], others: [u64; 2]) -> Vec<Option<Exclusion>> {
    let mut result = empty(
        &["none", "bfq"],
        Stopping::Fixed { blocks: 1 },
        &["throughput"],
    );
    for planned in result.plan.rounds.clone() {
        let turn = Turn {
            planned,
            attempt: 0,
        };
        let mut round = round(&result, &turn, Ok(values(&turn, &[("throughput", 1.0)])));
        round.evidence.device.ops[0].bytes = bytes[planned.arm] + others[planned.arm];
        let own = round
            .evidence
            .foreign
            .as_mut()
            .expect("foreign I/O is known");
        own.bytes = others[planned.arm];
        result.rounds.push(round);
        exclude_foreign(&mut result);
    }
    let mut found: Vec<_> = result
        .rounds
        .iter()
        .map(|r| (r.arm.clone(), r.exclusion))
        .collect();
    found.sort_by_key(|(arm, _)| arm != "none");
    found.into_iter().map(|(_, exclusion)| exclusion).collect()
}

#[test]
fn the_limit_for_others_is_the_same_for_all_arms() {
    const FOREIGN: Option<Exclusion> = Some(Exclusion::ForeignIo);
    assert_eq!(
        block([100_000, 100_000], [1_000, 1_000]),
        [None, None],
        "just 1 %"
    );
    assert_eq!(block([100_000, 100_000], [0, 1_010]), [None, FOREIGN]);
    // A stalled arm moves little itself, which must not exclude it.
    assert_eq!(block([100_000, 1_000], [500, 500]), [None, None]);
    assert_eq!(
        block([100_000, 900_000], [2_000, 2_000]),
        [FOREIGN, FOREIGN]
    );
}

fn share(owners: Vec<OwnerNumbers>) -> f64 {
    foreign(&window(owners), &[group(50, true)], &[])
        .unwrap()
        .share_of_bytes
}

#[test]
fn others_are_who_is_in_no_group_of_the_workload() {
    let near = |a: f64, b: f64| (a - b).abs() < 1e-9;
    assert!(near(
        share(vec![owner(50, false, 99_000), owner(60, false, 1_000)]),
        0.01
    ));
    // Writeback on behalf of other processes carries their control group.
    assert!(near(
        share(vec![owner(50, false, 95_000), owner(60, true, 5_000)]),
        0.05
    ));
}

#[test]
fn a_journal_is_nobodys() {
    let journal = vec![owner(50, false, 50_000), owner(1, true, 50_000)];
    let found = foreign(&window(journal), &[group(50, true)], &[]).unwrap();
    assert_eq!((found.bytes, found.unattributed_bytes), (0, 50_000));
    let mut other = owner(0, false, 50_000);
    other.key.kind = OwnerKind::Other;
    other.key.tgid = 0;
    other.key.device = String::new();
    assert!(share(vec![owner(50, false, 1), other]) < 1e-9);
    let from_a_shell = vec![owner(50, false, 50_000), owner(1, false, 50_000)];
    assert!((share(from_a_shell) - 0.5).abs() < 1e-9);
}

#[test]
fn what_an_arm_may_have_caused_is_censored_and_what_others_did_is_not() {
    let full = window(Vec::new());
    let of = |outcome: &Outcome, gap| spoilt(outcome, &[], &full, gap).map(|found| found.0);
    let failed = Outcome {
        problem: Some("it did not end within 5 s and was killed".into()),
        ..Outcome::default()
    };
    let overran = Outcome {
        overran: true,
        ..failed.clone()
    };
    assert_eq!(of(&failed, None), Some(Spoilt::Censored(Censored::Failed)));
    let killed = Outcome {
        ended_by_others: true,
        ..failed.clone()
    };
    let excluded = Spoilt::Excluded(Exclusion::Workload);
    assert_eq!(of(&killed, None), Some(excluded));
    assert_eq!(
        of(&overran, None),
        Some(Spoilt::Censored(Censored::Overrun))
    );
    let fine = Outcome::default();
    assert_eq!(
        of(&fine, Some(Gap::Starved)),
        Some(Spoilt::Censored(Censored::Starved))
    );
    assert_eq!(
        of(&fine, Some(Gap::Ended)),
        Some(Spoilt::Excluded(Exclusion::Workload))
    );
    assert_eq!(of(&fine, None), None);
}

#[test]
fn where_bios_carry_no_groups_nobody_can_tell() {
    let shared = window(vec![owner(60, false, 5)]);
    assert_eq!(foreign(&shared, &[group(50, false)], &[]), None);
    assert_eq!(foreign(&shared, &[], &[]), None);
}

#[test]
fn what_drifted_or_measured_nothing_spoils_a_round() {
    let drifted = ["nr_requests: 64 -> 128".to_owned()];
    let found = is_spoilt(&Outcome::default(), &drifted, &window(Vec::new())).unwrap();
    assert_eq!(found.0, Spoilt::Excluded(Exclusion::DriftedSettings));
    assert!(found.1.contains("64 -> 128"));
    assert_eq!(
        excluded(&Interval::nothing("sda")),
        Some(Spoilt::Excluded(Exclusion::NothingMeasured))
    );
}

/// An arm whose device fails is not worse than the others, and a device that fails under one arm tells nothing of it.
#[test]
fn a_round_with_errors_of_the_device_does_not_count_whoever_noticed() {
    let status = |status: &str| StatusCount {
        status: status.to_owned(),
        count: 3,
    };
    let mut window = window(Vec::new());
    let failed = Outcome {
        problem: Some("fio: Input/output error".to_owned()),
        ..Outcome::default()
    };
    window.devices[0].statuses = vec![status("notsupp"), status("again")];
    assert_eq!(spoilt(&Outcome::default(), &[], &window, None), None);
    let (spoilt_by, _) = spoilt(&failed, &[], &window, None).expect("a failure");
    assert_eq!(spoilt_by, Spoilt::Censored(Censored::Failed));
    window.devices[0].statuses = vec![status("notsupp"), status("medium"), status("ioerr")];
    for outcome in [Outcome::default(), failed] {
        for gap in [None, Some(Gap::Starved), Some(Gap::Ended)] {
            let (spoilt_by, text) = spoilt(&outcome, &[], &window, gap).expect("errors");
            assert_eq!(spoilt_by, Spoilt::Excluded(Exclusion::DeviceErrors));
            assert_eq!(
                text,
                "the device ended requests with an error: 3 with medium, 3 with ioerr"
            );
        }
    }
    // Nor do errors excuse an arm that was stopped for what it did.
    let (stopped, _) =
        spoilt(&Outcome::default(), &[], &window, Some(Gap::Stopped)).expect("stopped");
    assert_eq!(stopped, Spoilt::Censored(Censored::Stopped));
}
