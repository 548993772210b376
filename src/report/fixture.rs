//! A made-up run for tests: carried out by the true schedule, with values instead of a device.

use std::collections::BTreeMap;

use super::result::{
    Design, DeviceInfo, Evidence, Exclusion, ProbeInfo, ResultFile, Round, SCHEMA, SCHEMA_VERSION,
    Status, WorkloadInfo,
};
use crate::ab::analysis;
use crate::ab::metric::Metric;
use crate::ab::plan::Plan;
use crate::ab::stopping::Stopping;
use crate::ab::turn::{Next, Turn, next};
use crate::arm::Arm;
use crate::device::{Device, HardwareDepth};
use crate::environment::Environment;
use crate::scheduler::{Applied, State};
use crate::snapshot::DeviceNumbers;
use crate::workload::{Fixed, Outcome};

/// Before its first round.
pub fn empty(arms: &[&str], stopping: Stopping, primary: &[&str]) -> ResultFile {
    let arms: Vec<Arm> = arms.iter().map(|text| text.parse().unwrap()).collect();
    ResultFile {
        schema: SCHEMA.to_owned(),
        schema_version: SCHEMA_VERSION,
        status: Status::Running,
        error: None,
        started: "2026-02-03T04:05:06Z".into(),
        finished: None,
        resumed: Vec::new(),
        environment: Environment {
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
            device: Device {
                name: "nvme0n1".into(),
                major: 259,
                minor: 0,
                diskseq: Some(9),
            },
            model: Some("A disk".into()),
            firmware: Some("1.0".into()),
            size_bytes: Some(1 << 40),
            rotational: Some(false),
            hardware_queues: 2,
            scratch: None,
            group: None,
        },
        workload: WorkloadInfo {
            name: "randread".into(),
            fixed: Fixed::Time,
            description: serde_json::json!({ "kind": "fake" }),
            scratch_file: None,
        },
        plan: Plan::in_segments(7, arms.len(), stopping.segments()),
        design: Design {
            arms,
            reference: 0,
            stopping,
            ramp_s: 5.0,
            round_time_s: 20.0,
            primary: primary.iter().map(|m| Metric::parse(m).unwrap()).collect(),
            alpha: 0.05,
            is_placebo: false,
        },
        probe: ProbeInfo {
            measures_q2g: true,
            memory_bytes: 1 << 24,
            notes: Vec::new(),
        },
        metrics: Vec::new(),
        rounds: Vec::new(),
        excluded: Vec::new(),
        comparisons: Vec::new(),
        waiting: Vec::new(),
        diagnostics: Vec::new(),
        noise: None,
        notes: Vec::new(),
    }
}

/// Runs to its end. `play` gives each round's values, or why it does not count.
pub fn carry_out(
    result: &mut ResultFile,
    mut play: impl FnMut(&Turn) -> Result<BTreeMap<String, f64>, Exclusion>,
) {
    loop {
        match next(result) {
            Next::Round(turn) => {
                let round = round(result, &turn, play(&turn));
                result.rounds.push(round);
                result.excluded = analysis::excluded_blocks(result);
            }
            Next::Draw(blocks) => result.plan.extend(blocks),
            Next::End => break,
        }
    }
    result.status = Status::Complete;
    result.finished = Some("2026-02-03T05:05:06Z".into());
    analysis::conclude(result);
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
    Round {
        index: turn.planned.index,
        block: turn.planned.block,
        attempt: turn.attempt,
        position: turn.planned.position,
        arm: arm.label.clone(),
        scheduler: arm.scheduler.clone(),
        workload_seed: turn.planned.workload_seed,
        started: "2026-02-03T04:05:06.789Z".into(),
        window_s: 19.96,
        foreign_share: Some(0.0),
        lost_events: 0,
        busy_share: Some(0.25),
        steal_share: Some(0.0),
        exclusion,
        problem: exclusion.map(|exclusion| format!("{exclusion:?}")),
        metrics: played.unwrap_or_default(),
        evidence: Evidence {
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
            outcome: Outcome::default(),
            foreign: None,
            load: None,
            uevents: Vec::new(),
            insufficient_tail: Vec::new(),
            fragile_percentile: Vec::new(),
        },
    }
}

/// Values around `level`, a little different in every round.
pub fn values(turn: &Turn, levels: &[(&str, f64)]) -> BTreeMap<String, f64> {
    let wobble = |i: usize| ((turn.planned.index * 37 + i * 11) % 17) as f64 / 17.0 - 0.5;
    let all = levels.iter().enumerate();
    all.map(|(i, (name, level))| ((*name).to_owned(), level * (1.0 + 0.02 * wobble(i))))
        .collect()
}

/// Something of everything: each verdict, a share, a label that needs quotes, a block that was run again.
pub fn sample() -> ResultFile {
    let arms = ["none", "bfq", "mq-deadline,iosched/read_expire=100"];
    let primary = ["throughput", "total_p99", "jain_bytes"];
    let mut result = empty(&arms, Stopping::Fixed { blocks: 12 }, &primary);
    carry_out(&mut result, |turn| {
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
    result
}

/// What `tests/report.rs` reads; `UPDATE=1 cargo test sample` writes it.
#[test]
fn the_sample_in_tests_is_a_result_of_this_version() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/report/result.json");
    let made = serde_json::to_string(&sample()).unwrap() + "\n";
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(path, &made).unwrap();
    }
    let kept = std::fs::read_to_string(path).unwrap();
    assert!(kept == made, "{path} is of another version");
    let read: ResultFile = serde_json::from_str(&kept).unwrap();
    assert_eq!(read, sample());
}
