//! What has been seen under each scheduler: histograms of all its time, and the rounds of a rotation. Pure.

use iosched::histogram::{DEVICE, Histogram};

use super::round::{Against, Round, against};
use super::sample::{Flip, Measured, Side, Stages};

/// All that was seen under one arm.
#[derive(Clone, Debug)]
pub struct ArmSeen {
    pub label: String,
    pub seconds: f64,
    pub bytes: f64,
    /// For how long submitters stood still, a sum.
    pub stalled_s: f64,
    pub stages: Stages,
}

impl ArmSeen {
    /// Of its time; none before it has any.
    pub fn stalled_share(&self) -> Option<f64> {
        (self.seconds > 0.0).then(|| self.stalled_s / self.seconds)
    }
}

/// What belongs to no arm, and why.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LeftOut {
    /// Asked for under one scheduler, completed under another.
    pub straddlers: u64,
    /// Completed while a scheduler was settling, or while another hand changed it.
    pub settling: u64,
    pub disturbed: u64,
}

#[derive(Clone, Debug, Default)]
pub struct Seen {
    pub arms: Vec<ArmSeen>,
    pub rounds: Vec<Round>,
    pub left_out: LeftOut,
    pub flips: Vec<Flip>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    Wait,
    Device,
    Total,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    All,
    Reads,
    Writes,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Statistic {
    P50,
    P95,
    P99,
    P999,
    Mean,
    Iops,
    Throughput,
}

impl Stage {
    pub const ALL: [Stage; 3] = [Stage::Wait, Stage::Device, Stage::Total];

    pub fn title(self) -> &'static str {
        match self {
            Stage::Wait => "queue wait",
            Stage::Device => "device time",
            Stage::Total => "total latency",
        }
    }
}

impl Scope {
    pub const ALL: [Scope; 3] = [Scope::All, Scope::Reads, Scope::Writes];

    pub fn title(self) -> &'static str {
        match self {
            Scope::All => "reads and writes",
            Scope::Reads => "reads",
            Scope::Writes => "writes",
        }
    }
}

impl Statistic {
    pub const ALL: [Statistic; 7] = [
        Statistic::P50,
        Statistic::P95,
        Statistic::P99,
        Statistic::P999,
        Statistic::Mean,
        Statistic::Iops,
        Statistic::Throughput,
    ];

    pub fn title(self) -> &'static str {
        match self {
            Statistic::P50 => "p50",
            Statistic::P95 => "p95",
            Statistic::P99 => "p99",
            Statistic::P999 => "p99.9",
            Statistic::Mean => "mean",
            Statistic::Iops => "IOPS",
            Statistic::Throughput => "bytes/s",
        }
    }

    pub fn is_rate(self) -> bool {
        matches!(self, Statistic::Iops | Statistic::Throughput)
    }
}

/// The name that an A/B gives the same thing.
pub fn metric(stage: Stage, scope: Scope, statistic: Statistic) -> String {
    let scope = match scope {
        Scope::All => "",
        Scope::Reads => "read_",
        Scope::Writes => "write_",
    };
    let stage = match stage {
        Stage::Wait => "queue_wait",
        Stage::Device => "device",
        Stage::Total => "total",
    };
    match statistic {
        Statistic::Iops => "iops".to_owned(),
        Statistic::Throughput => "throughput".to_owned(),
        other => format!("{scope}{stage}_{}", other.title()),
    }
}

impl Stages {
    pub fn new() -> Self {
        let empty = || [Histogram::new(DEVICE), Histogram::new(DEVICE)];
        Stages {
            wait: empty(),
            device: empty(),
            total: empty(),
        }
    }

    pub fn of(&self, stage: Stage, scope: Scope) -> Histogram {
        let pair = match stage {
            Stage::Wait => &self.wait,
            Stage::Device => &self.device,
            Stage::Total => &self.total,
        };
        match scope {
            Scope::Reads => pair[0].clone(),
            Scope::Writes => pair[1].clone(),
            Scope::All => {
                let mut sum = pair[0].clone();
                let _ = sum.merge(&pair[1]); // the layouts are the same by construction
                sum
            }
        }
    }

    fn add(&mut self, other: &Stages) {
        let mine = [&mut self.wait, &mut self.device, &mut self.total];
        let theirs = [&other.wait, &other.device, &other.total];
        for (mine, theirs) in mine.into_iter().zip(theirs) {
            for (mine, theirs) in mine.iter_mut().zip(theirs) {
                let _ = mine.merge(theirs); // as above
            }
        }
    }
}

impl Seen {
    /// Arms in their order, before anything was seen under them.
    pub fn of(labels: &[String]) -> Self {
        let mut seen = Seen::default();
        for label in labels {
            seen.arm(label);
        }
        seen
    }

    pub fn add(&mut self, measured: &Measured, side: &Side, seconds: f64) {
        let out = &mut self.left_out;
        out.straddlers = out.straddlers.saturating_add(measured.edges.straddlers);
        let ios = || measured.stages.of(Stage::Device, Scope::All).count();
        match side {
            Side::Settling => out.settling = out.settling.saturating_add(ios()),
            Side::Disturbed => out.disturbed = out.disturbed.saturating_add(ios()),
            Side::Of(label) => {
                let arm = self.arm(label);
                arm.seconds += seconds;
                arm.bytes += measured.live.bytes_per_s * seconds;
                arm.stalled_s += measured.live.stalled_share * seconds;
                arm.stages.add(&measured.stages);
            }
        }
    }

    fn arm(&mut self, label: &str) -> &mut ArmSeen {
        if let Some(at) = self.arms.iter().position(|arm| arm.label == label) {
            return &mut self.arms[at];
        }
        self.arms.push(ArmSeen {
            label: label.to_owned(),
            seconds: 0.0,
            bytes: 0.0,
            stalled_s: 0.0,
            stages: Stages::new(),
        });
        let last = self.arms.len() - 1;
        &mut self.arms[last]
    }

    /// Rounds of an arm that count.
    pub fn rounds_of(&self, arm: &str) -> usize {
        let counts = |round: &&Round| round.arm == arm && round.problem.is_none();
        self.rounds.iter().filter(counts).count()
    }

    /// The intervals of all arms against the reference hold together at 95 %, for one metric.
    pub fn against(&self, metric: &str, arm: &str, reference: &str) -> Option<Against> {
        against(&self.rounds, metric, arm, reference, self.alpha())
    }

    /// Of each comparison, so that all of them err at most one time in twenty.
    pub fn alpha(&self) -> f64 {
        let mut arms: Vec<&str> = self.rounds.iter().map(|round| &*round.arm).collect();
        arms.sort_unstable();
        arms.dedup();
        0.05 / arms.len().saturating_sub(1).max(1) as f64
    }

    /// The median time that the queue stood still, and the longest.
    pub fn freeze_ns(&self) -> Option<(f64, f64)> {
        let ours = self.flips.iter().filter_map(|flip| flip.switch_ns);
        let mut times: Vec<u64> = ours.collect();
        times.sort_unstable();
        let longest = *times.last()? as f64;
        Some((times[times.len() / 2] as f64, longest))
    }
}
