//! A rotation: arms take turns on one device by a plan drawn beforehand, and every turn is a round of an A/B.

use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime};

use anyhow::Result;
use iosched::ab::drift::differences;
use iosched::ab::metric::Metric;
use iosched::ab::plan::{Plan, PlannedRound};
use iosched::ab::stopping::Stopping;
use iosched::ab::{analysis, exclusion, run, values};
use iosched::arm::Arm;
use iosched::device::Device;
use iosched::environment::Environment;
use iosched::output::write_whole;
use iosched::probe::Probe;
use iosched::report::result::{
    self, Design, DeviceInfo, Evidence, Exclusion, ProbeInfo, ResultFile, Status, WorkloadInfo,
};
use iosched::scheduler::{self, Applied};
use iosched::snapshot::{Interval, Snapshot};
use iosched::workload::{Fixed, Outcome};

use super::round::Round;
use super::sample::Rotating;

/// Stretches of the plan, each balanced in itself; after the last one it ends by itself.
const STRETCHES: usize = 25;
/// At least, and never more than a fifth of a round.
const SETTLE: Duration = Duration::from_secs(1);
const PRIMARY: [&str; 2] = ["queue_wait_mean", "iops"];

/// What the user has chosen.
pub struct Chosen {
    pub arms: Vec<Arm>,
    /// Among them.
    pub reference: usize,
    pub seconds: u64,
    /// In force until now, and again afterwards.
    pub before: Arm,
}

pub struct Rotation {
    device: usize,
    before: Arm,
    result: ResultFile,
    /// As JSON: a round's histograms are a megabyte in memory and a few kilobytes there.
    rounds: Vec<Vec<u8>>,
    seconds: u64,
    next: usize,
    now: Option<Turn>,
}

/// The round under way.
struct Turn {
    planned: PlannedRound,
    applied: Applied,
    started: String,
    settled_at: Instant,
    start: Option<(Snapshot, Instant)>,
    problem: Option<String>,
}

/// What is due at the deadline.
pub enum Step {
    /// It has settled: the round begins.
    Begin,
    /// The round is over.
    Flip,
}

impl Rotation {
    pub fn new(device: usize, chosen: Chosen, (probe, disk): (&Probe, &Device)) -> Self {
        let seed = SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .map_or(1, |now| u64::from(now.subsec_nanos()));
        let stretch = Stopping::Open.segments().repeat(STRETCHES);
        let plan = Plan::in_segments(seed, chosen.arms.len(), stretch);
        Rotation {
            device,
            seconds: chosen.seconds,
            before: chosen.before.clone(),
            result: empty_result(chosen, plan, probe, disk),
            rounds: Vec::new(),
            next: 0,
            now: None,
        }
    }

    pub fn device(&self) -> usize {
        self.device
    }

    pub fn before(&self) -> &Arm {
        &self.before
    }

    pub fn progress(&self) -> Rotating {
        Rotating {
            device: self.device,
            arms: self
                .result
                .design
                .arms
                .iter()
                .map(|arm| arm.label.clone())
                .collect(),
            round: self.next,
            rounds: self.result.plan.rounds.len(),
            seconds: self.seconds,
        }
    }

    pub fn deadline(&self) -> Instant {
        match &self.now {
            None => Instant::now(),
            Some(Turn {
                start: None,
                settled_at,
                ..
            }) => *settled_at,
            Some(Turn {
                start: Some((_, began)),
                ..
            }) => *began + Duration::from_secs(self.seconds),
        }
    }

    pub fn step(&self) -> Step {
        match &self.now {
            Some(Turn { start: None, .. }) => Step::Begin,
            _ => Step::Flip,
        }
    }

    pub fn begin(&mut self, start: Option<Snapshot>, now: Instant) {
        if let Some(turn) = &mut self.now {
            turn.start = start.map(|snapshot| (snapshot, now));
        }
    }

    /// Something happened that makes the round count for nothing.
    pub fn disturb(&mut self, why: String) {
        if let Some(turn) = &mut self.now {
            turn.problem.get_or_insert(why);
        }
    }

    /// The arm whose turn it is, and how long it may settle; none when the plan is done.
    pub fn next(&mut self) -> Option<(Arm, Duration)> {
        let planned = self.result.plan.rounds.get(self.next)?;
        let arm = self.result.design.arms[planned.arm].clone();
        // A little of chance, so that rounds keep no step with the host's periodic jobs.
        let jitter = Duration::from_nanos(planned.phase_ns / 4);
        Some((
            arm,
            SETTLE.min(Duration::from_secs(self.seconds) / 5) + jitter,
        ))
    }

    pub fn flipped(&mut self, applied: Applied, settled_at: Instant) {
        self.now = Some(Turn {
            planned: self.result.plan.rounds[self.next],
            applied,
            started: humantime::format_rfc3339_millis(SystemTime::now()).to_string(),
            settled_at,
            start: None,
            problem: None,
        });
        self.next += 1;
    }

    /// The round that has just ended, if one was under way.
    pub fn end(&mut self, end: Option<Snapshot>, disk: &Device) -> Result<Option<Round>> {
        let Some(turn) = self.now.take() else {
            return Ok(None);
        };
        let (Some((start, _)), Some(end)) = (turn.start, end) else {
            return Ok(None);
        };
        let mut window = Interval::between(&start, &end)?;
        // The device's own place comes first, as in a probe of one device.
        window.devices.swap(0, self.device);
        let drifted = match scheduler::read(disk) {
            Ok(now) => differences(&turn.applied.effective, &now),
            Err(_) => vec![format!("{} is gone", disk.name)],
        };
        let outcome = Outcome::default();
        let problem = match turn.problem {
            Some(why) => Some((Exclusion::DriftedSettings, why)),
            None => exclusion::exclusion(&outcome, &drifted, &window, None),
        };
        let values = values::values(&window, None, &[], &outcome, false);
        let arm = &self.result.design.arms[turn.planned.arm];
        let round = Round {
            device: self.device,
            block: turn.planned.block,
            arm: arm.label.clone(),
            ios: window.devices[0].ios(),
            metrics: values.metrics.clone(),
            insufficient_tail: values.insufficient_tail.clone(),
            problem: problem.as_ref().map(|problem| problem.1.clone()),
        };
        let window_s = window.duration_s();
        let device = window.devices.swap_remove(0);
        window.owners.retain(|owner| owner.key.device == disk.name);
        self.rounds.push(serde_json::to_vec(&result::Round {
            index: turn.planned.index,
            block: turn.planned.block,
            attempt: 0,
            position: turn.planned.position,
            arm: arm.label.clone(),
            scheduler: arm.scheduler.clone(),
            workload_seed: turn.planned.workload_seed,
            started: turn.started,
            window_s,
            foreign_share: None,
            lost_events: device.quality.lost_events(),
            busy_share: None,
            steal_share: None,
            exclusion: problem.as_ref().map(|problem| problem.0),
            problem: problem.map(|problem| problem.1),
            metrics: values.metrics,
            evidence: Evidence {
                applied: turn.applied,
                members: Vec::new(),
                drifted,
                device,
                owners: window.owners,
                cgroups: Vec::new(),
                outcome,
                foreign: None,
                load: None,
                uevents: Vec::new(),
                insufficient_tail: values.insufficient_tail,
                fragile_percentile: values.fragile_percentile,
            },
        })?);
        Ok(Some(round))
    }

    /// Writes what there is so far as a result of an A/B, which `iosched-ab report` reads.
    pub fn export(&self) -> Result<PathBuf> {
        let mut file = self.result.clone();
        file.rounds = self
            .rounds
            .iter()
            .map(|json| serde_json::from_slice(json))
            .collect::<Result<_, _>>()?;
        let last = file.rounds.last().map_or(0, |round| round.block + 1);
        file.plan.rounds.retain(|planned| planned.block < last);
        file.finished = Some(humantime::format_rfc3339_seconds(SystemTime::now()).to_string());
        let is_whole = file.rounds.len() == file.plan.rounds.len();
        file.status = if is_whole {
            Status::Complete
        } else {
            Status::Interrupted
        };
        file.excluded = analysis::excluded_blocks(&file);
        analysis::conclude(&mut file);
        let stamp: String = humantime::format_rfc3339_seconds(SystemTime::now())
            .to_string()
            .chars()
            .filter(char::is_ascii_alphanumeric)
            .collect();
        let path = PathBuf::from(format!("iosched-live-{stamp}.json"));
        write_whole(&path, &run::to_json(&file)?)?;
        Ok(path)
    }
}

fn empty_result(chosen: Chosen, plan: Plan, probe: &Probe, disk: &Device) -> ResultFile {
    let round_time_s = chosen.seconds as f64;
    let settle_s = SETTLE.as_secs_f64().min(round_time_s / 5.0);
    ResultFile {
        schema: result::SCHEMA.to_owned(),
        schema_version: result::SCHEMA_VERSION,
        status: Status::Running,
        error: None,
        started: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
        finished: None,
        resumed: Vec::new(),
        environment: Environment::read(None),
        device: DeviceInfo::of(disk, None),
        workload: WorkloadInfo {
            name: "what was running".to_owned(),
            fixed: Fixed::Time,
            description: serde_json::json!({ "kind": "live" }),
            scratch_file: None,
        },
        design: Design {
            arms: chosen.arms,
            reference: chosen.reference,
            stopping: Stopping::Open,
            ramp_s: settle_s,
            round_time_s,
            primary: PRIMARY.iter().filter_map(|name| Metric::named(name)).collect(),
            alpha: 0.05,
            is_placebo: false,
        },
        plan,
        probe: ProbeInfo::of(probe),
        metrics: Vec::new(),
        rounds: Vec::new(),
        excluded: Vec::new(),
        comparisons: Vec::new(),
        waiting: Vec::new(),
        diagnostics: Vec::new(),
        noise: None,
        notes: vec![
            "from a rotation of the terminal UI: the workload is whatever was running, and nothing of it was held fixed"
                .to_owned(),
        ],
    }
}
