//! A rotation: arms take turns on one device by a plan drawn beforehand, and every turn is a round of an A/B.

use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime};

use anyhow::Result;
use iosched::ab::metric::Metric;
use iosched::ab::plan::{Plan, PlannedRound};
use iosched::ab::{metric, run};
use iosched::arm::Arm;
use iosched::device::Device;
use iosched::environment::Environment;
use iosched::journal::write_whole;
use iosched::probe::Probe;
use iosched::report::result::{
    self, Design, DeviceInfo, ProbeInfo, ResultFile, Status, WorkloadInfo,
};
use iosched::scheduler::{self, Applied};
use iosched::snapshot::{Interval, Snapshot};
use iosched::workload::{Fixed, Outcome};

use super::round::Round;
use super::sample::Rotating;

/// So many blocks, and it ends by itself.
const BLOCKS: usize = 200;
/// At least, and never more than a fifth of a round.
const SETTLE: Duration = Duration::from_secs(1);
const PRIMARY: [&str; 2] = ["queue_wait_mean", "iops"];

pub struct Rotation {
    device: usize,
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
    pub fn new(
        device: usize,
        arms: Vec<Arm>,
        seconds: u64,
        (probe, disk): (&Probe, &Device),
    ) -> Self {
        let seed = SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .map_or(1, |now| u64::from(now.subsec_nanos()));
        let plan = Plan::new(seed, arms.len(), BLOCKS);
        Rotation {
            device,
            result: empty_result(arms, seconds, plan, probe, disk),
            rounds: Vec::new(),
            seconds,
            next: 0,
            now: None,
        }
    }

    pub fn device(&self) -> usize {
        self.device
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
        let drifted = drift(&turn.applied, disk);
        let problem = turn.problem.or_else(|| {
            (!drifted.is_empty()).then(|| format!("settings changed: {}", drifted.join(", ")))
        });
        let values = metric::values(&window, &[], &Outcome::default(), false);
        let label = self.result.design.arms[turn.planned.arm].label.clone();
        let round = Round {
            device: self.device,
            block: turn.planned.block,
            arm: label.clone(),
            ios: window.devices[0].ios(),
            metrics: values.metrics.clone(),
            insufficient_tail: values.insufficient_tail.clone(),
            problem: problem.clone(),
        };
        window.owners.retain(|owner| owner.key.device == disk.name);
        let window_s = window.duration_s();
        self.rounds.push(serde_json::to_vec(&result::Round {
            index: turn.planned.index,
            block: turn.planned.block,
            position: turn.planned.position,
            arm: label,
            started: turn.started,
            applied: turn.applied,
            drifted,
            window_s,
            device: window.devices.swap_remove(0),
            owners: window.owners,
            cgroups: Vec::new(),
            outcome: Outcome::default(),
            foreign: None,
            load: None,
            metrics: values.metrics,
            insufficient_tail: values.insufficient_tail,
            fragile_percentile: values.fragile_percentile,
            problem,
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
        file.design.blocks = last;
        file.finished = Some(humantime::format_rfc3339_seconds(SystemTime::now()).to_string());
        let is_whole = file.rounds.len() == file.plan.rounds.len();
        file.status = if is_whole {
            Status::Complete
        } else {
            Status::Interrupted
        };
        file.comparisons = iosched::ab::analysis::comparisons(&file);
        file.waiting = iosched::ab::analysis::waiting(&file);
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

fn drift(applied: &Applied, disk: &Device) -> Vec<String> {
    let Ok(now) = scheduler::read(disk) else {
        return vec![format!("{} is gone", disk.name)];
    };
    let was = &applied.effective;
    let mut drifted = Vec::new();
    if now.active != was.active {
        drifted.push(format!("scheduler: {} -> {}", was.active, now.active));
    }
    for (name, value) in &was.settings {
        let current = now.settings.get(name).map_or("gone", |text| text);
        if current != value {
            drifted.push(format!("{name}: {value} -> {current}"));
        }
    }
    drifted
}

fn empty_result(
    arms: Vec<Arm>,
    seconds: u64,
    plan: Plan,
    probe: &Probe,
    disk: &Device,
) -> ResultFile {
    ResultFile {
        schema_version: result::SCHEMA_VERSION,
        status: Status::Running,
        error: None,
        started: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
        finished: None,
        environment: Environment::read(None),
        device: DeviceInfo {
            device: disk.clone(),
            model: disk.model(),
            size_bytes: disk.size_bytes().ok(),
            rotational: disk.rotational().ok(),
            hardware_queues: disk.hardware_queues(),
            scratch: None,
        },
        workload: WorkloadInfo {
            name: "what was running".to_owned(),
            fixed: Fixed::Time,
            description: serde_json::json!({ "kind": "live" }),
        },
        design: Design {
            reference: 0,
            blocks: plan.blocks(),
            ramp_s: SETTLE.as_secs_f64().min(seconds as f64 / 5.0),
            round_time_s: seconds as f64,
            primary: PRIMARY.iter().filter_map(|name| Metric::named(name)).collect(),
            alpha: 0.05,
            arms,
        },
        plan,
        probe: ProbeInfo {
            measures_q2g: probe.measures_q2g(),
            memory_bytes: probe.memory_bytes(),
            notes: probe.notes(),
        },
        rounds: Vec::new(),
        comparisons: Vec::new(),
        waiting: Vec::new(),
        notes: vec![
            "from a rotation of the terminal UI: the workload is whatever was running, and the end was chosen by eye, so \
             the intervals and verdicts below claim more than they may; those on the screen are valid at any time"
                .to_owned(),
        ],
    }
}
