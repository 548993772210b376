//! A made-up run for tests: it follows the real schedule, with given values instead of a device.

use std::collections::BTreeMap;

use crate::analysis::turn::{Next, next};
use crate::analysis::{conclude, exclusion};
use crate::measured::histogram::{DEVICE, Histogram};
use crate::measured::snapshot::{DeviceNumbers, Op, OwnerKind};
use crate::metric::Metric;
use crate::statistics::stopping::Stopping;
use crate::study::result::{CellResult, StudyResult};
use crate::types::arm::Arm;
use crate::types::disk_id::DiskId;
use crate::types::environment::{Environment, Load};
use crate::types::level::WindowPart;
use crate::types::outcome::{Fixed, Outcome};
use crate::types::plan::{Plan, Turn};
use crate::types::queue::{Applied, HardwareDepth, State};
use crate::types::result::{
    Design, DeviceInfo, Evidence, Exclusion, Foreign, ProbeInfo, ResultFile, Round, Spoilt, Status,
    Subject, WorkloadInfo,
};
use crate::why::{Does, RoundWhy, WhyBehind, WhyDevice, WhyOwner};

pub fn subject() -> Subject {
    Subject {
        environment: Environment {
            hostname: None,
            iosched_version: "0.1.0".into(),
            kernel_release: "6.12.1-test".into(),
            kernel_version: "#1 SMP".into(),
            architecture: "x86_64".into(),
            cpu_model: Some("A CPU".into()),
            cpus: 2,
            memory_bytes: Some(8 << 30),
            cpu_governor: None,
            fio_version: Some("fio-3.33".into()),
        },
        device: DeviceInfo {
            device: DiskId {
                name: "nvme0n1".into(),
                major: 259,
                minor: 0,
                diskseq: Some(9),
            },
            identity: None,
            driver: None,
            model: Some("A disk".into()),
            firmware: Some("1.0".into()),
            size_bytes: Some(1 << 40),
            rotational: Some(false),
            hardware_queues: 2,
            scratch: None,
            group: None,
        },
        probe: ProbeInfo {
            measures_q2g: true,
            memory_bytes: 1 << 24,
            notes: Vec::new(),
        },
    }
}

/// A run before its first round.
pub fn empty(arms: &[&str], stopping: Stopping, primary: &[&str]) -> ResultFile {
    let arms: Vec<Arm> = arms.iter().map(|text| text.parse().unwrap()).collect();
    let plan = Plan::new(7, arms.len(), stopping.next_segment(0).unwrap_or(0));
    let workload = WorkloadInfo {
        name: "randread".into(),
        fixed: Fixed::Time,
        description: serde_json::json!({ "kind": "fake" }),
        scratch_file: None,
        participants: Vec::new(),
    };
    let design = Design {
        arms,
        reference: 0,
        stopping,
        extensions: Vec::new(),
        budget_s: None,
        ramp_s: 5.0,
        washout_s: 0.0,
        washout_is_auto: false,
        auto_times: None,
        precondition: false,
        cold: None,
        control_disk: None,
        round_time_s: 20.0,
        primary: primary
            .iter()
            .map(|m| Metric::parse(m, false).unwrap())
            .collect(),
        goals: None,
        elapsed_is_named: primary.contains(&"elapsed"),
        alpha: Design::ALPHA,
        is_placebo: false,
        live: None,
        order: false,
        fairness: false,
        why: false,
        trace_s: None,
    };
    ResultFile::new(
        "2026-02-03T04:05:06Z".into(),
        subject(),
        workload,
        design,
        plan,
    )
}

/// Runs to the end. `play` returns each round's values, or why it does not count.
pub fn play(
    result: &mut ResultFile,
    play: impl FnMut(&Turn) -> Result<BTreeMap<String, f64>, Exclusion>,
) {
    play_rounds(result, play);
    conclude::conclude(result);
}

/// The same without the comparisons.
pub fn play_rounds(
    result: &mut ResultFile,
    mut play: impl FnMut(&Turn) -> Result<BTreeMap<String, f64>, Exclusion>,
) {
    loop {
        match next(result) {
            Next::Round(turn) => {
                let round = round(result, &turn, play(&turn));
                result.rounds.push(round);
                result.excluded = exclusion::excluded_blocks(result);
            }
            Next::Draw(segment) => result.plan.extend(segment.blocks, &segment.arms),
            Next::End => break,
        }
    }
    result.status = Status::Complete;
    result.finished = Some("2026-02-03T05:05:06Z".into());
}

pub fn round(
    result: &ResultFile,
    turn: &Turn,
    played: Result<BTreeMap<String, f64>, Exclusion>,
) -> Round {
    let arm = &result.design.arms[turn.planned.arm];
    let exclusion = played.as_ref().err().copied();
    let state = State {
        active: arm.scheduler.clone(),
        available: vec!["none".into(), "mq-deadline".into(), "bfq".into()],
        settings: BTreeMap::from([("nr_requests".into(), "64".into())]),
        hardware_depth: None::<HardwareDepth>,
    };
    let evidence = Evidence {
        members: Vec::new(),
        applied: Applied {
            effective: state,
            switch_ns: Some(30_000_000),
            notes: Vec::new(),
        },
        drifted: Vec::new(),
        device: DeviceNumbers::new("nvme0n1"),
        owners: Vec::new(),
        cgroups: Vec::new(),
        participants: Vec::new(),
        outcome: Outcome::default(),
        foreign: Some(Foreign::default()),
        load: Some(Load {
            busy_share: 0.25,
            steal_share: 0.0,
        }),
        iops_before: None,
        uevents: Vec::new(),
        cached_bytes: None,
        parts: Vec::new(),
        times: None,
        why: None,
        insufficient_tail: Vec::new(),
        doubtful: Vec::new(),
        fragile_percentile: Vec::new(),
    };
    Round::new(
        turn,
        arm,
        "2026-02-03T04:05:06.789Z".into(),
        19.96,
        exclusion.map(|exclusion| (Spoilt::Excluded(exclusion), format!("{exclusion:?}"))),
        played.unwrap_or_default(),
        evidence,
    )
}

/// Values near `level`, slightly different in every round.
pub fn values(turn: &Turn, levels: &[(&str, f64)]) -> BTreeMap<String, f64> {
    let wobble = |i: usize| ((turn.planned.index * 37 + i * 11) % 17) as f64 / 17.0 - 0.5;
    let all = levels.iter().enumerate();
    all.map(|(i, (name, level))| ((*name).to_owned(), level * (1.0 + 0.02 * wobble(i))))
        .collect()
}

/// Two hundred I/Os at each of these times.
pub fn latencies(ns: impl IntoIterator<Item = f64>) -> Histogram {
    let mut histogram = Histogram::new(DEVICE);
    for ns in ns {
        histogram.record_n(ns as u64, 200);
    }
    histogram
}

/// A reader that waits behind a writer, and behind nobody.
fn why(index: u64) -> RoundWhy {
    let row = |name: &str, does: Does, idle_ns: u64, behind: Vec<WhyBehind>| WhyOwner {
        name: name.into(),
        pid: 40,
        part: None,
        kind: OwnerKind::Process,
        cgroup_id: 1,
        does,
        ios: 500,
        service_ns: 500_000_000,
        waits: 500,
        wait_ns: idle_ns + behind.iter().map(|of| of.ns).sum::<u64>(),
        behind,
        device_idle_ns: idle_ns,
        device_idle_error: None,
        slot_free_ns: Some(idle_ns),
    };
    let behind = WhyBehind {
        name: "writer <1>".into(),
        pid: 41,
        part: None,
        does: Does::Writes,
        ns: 900_000_000 + 10_000_000 * (index % 5),
        error: None,
    };
    RoundWhy {
        time_s: 19.96,
        devices: vec![WhyDevice {
            device: "nvme0n1".into(),
            scheduler: None,
            hardware_depth: Some(2),
            busy_periods: 3,
            batches: None,
            rounds: None,
            owners: vec![
                row("reader", Does::Reads, 100_000_000, vec![behind]),
                row("writer <1>", Does::Writes, 0, Vec::new()),
            ],
            missing: 0,
        }],
    }
}

/// One result with every feature: each verdict, a share, a label that needs quotes, a repeated block.
pub fn sample() -> ResultFile {
    let arms = ["none", "bfq", "mq-deadline,iosched/read_expire=100"];
    let primary = ["throughput", "total_p99", "jain_bytes"];
    let mut result = empty(&arms, Stopping::Fixed { blocks: 12 }, &primary);
    play(&mut result, |turn| {
        if (turn.planned.block, turn.planned.arm, turn.attempt) == (3, 1, 0) {
            return Err(Exclusion::ForeignIo);
        }
        let wild = if turn.planned.block % 3 == 0 {
            4.0
        } else {
            0.5
        };
        let levels = [
            (1e8, 2e6, 0.9, 1e6),
            (0.5e8, 1e6, 0.95, 1e6),
            (1e8, 2e6 * wild, 0.9, 2e6),
        ];
        let (throughput, p99, jain, mean) = levels[turn.planned.arm];
        Ok(values(
            turn,
            &[
                ("throughput", throughput),
                ("total_p99", p99),
                ("jain_bytes", jain),
                ("read_total_mean", mean),
            ],
        ))
    });
    result.design.why = true;
    for round in &mut result.rounds {
        // bfq has a shorter median and a longer tail.
        let stretch = |i: u32| match round.arm.as_str() {
            "bfq" if i < 5 => 0.5,
            "bfq" if i > 6 => 3.0,
            _ => 1.0,
        };
        let wobble = 1.0 + 0.01 * ((round.index * 37) % 17) as f64;
        let times = (0..10).map(|i| 1e5 * 1.5f64.powi(i as i32) * stretch(i) * wobble);
        round.evidence.device.ops[Op::Read as usize].q2c = latencies(times);
        round.evidence.why = Some(why(round.index as u64));
        // bfq loses a fifth of its throughput in each round.
        let loss = if round.arm == "bfq" { 0.05 } else { 0.0 };
        let parts = (0..5).map(|part| WindowPart {
            seconds: 3.992,
            ios: (4000.0 * (1.0 - loss * f64::from(part)) * wobble) as u64,
            device_mean_ns: Some(2.5e5),
        });
        round.evidence.parts = parts.collect();
    }
    conclude::conclude(&mut result);
    result
}

/// The input of `tests/report.rs`; `UPDATE=1 cargo test sample` writes it.
#[test]
fn the_sample_in_tests_is_a_result_of_this_version() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../tests/data/report/result.json"
    );
    let made = serde_json::to_string(&sample()).unwrap() + "\n";
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(path, &made).unwrap();
    }
    let kept = std::fs::read_to_string(path).unwrap();
    assert!(kept == made, "{path} is of another version");
    let read: ResultFile = serde_json::from_str(&kept).unwrap();
    assert_eq!(read, sample());
}

/// A study with these results as its cells, and without A/A.
pub fn study(results: Vec<ResultFile>) -> StudyResult {
    let design = results.first().map(|result| &result.design);
    let arms = design.into_iter().flat_map(|design| &design.arms);
    let arms = arms.map(|arm| arm.label.clone()).collect();
    let cell = |(index, result)| CellResult {
        name: format!("cell {index}"),
        expect: String::new(),
        is_placebo: false,
        placebo_of: None,
        exact: Vec::new(),
        hopeless: None,
        result,
    };
    StudyResult {
        schema: String::new(),
        schema_version: crate::study::result::SCHEMA_VERSION,
        iosched_version: String::new(),
        study: "sample".into(),
        title: String::new(),
        file: String::new(),
        quick: false,
        times: crate::study::times::Times::default(),
        budget: None,
        status: Status::Complete,
        error: None,
        started: String::new(),
        finished: None,
        seed: 1,
        left_out: Vec::new(),
        stages: Vec::new(),
        arms,
        cells: results.into_iter().enumerate().map(cell).collect(),
        shown: None,
    }
}
