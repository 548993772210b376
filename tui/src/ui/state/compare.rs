//! What was measured under each scheduler: histograms over all its time, and the rounds of a rotation. Pure.

use iosched::ab::conclude::is_comparable;
use iosched::ab::metric::hides_stalls_of;
use iosched::measure::histogram::{DEVICE, Histogram};
use iosched::measure::stalls::{Stalls, Whose};

use crate::ui::sampling::round::{Against, LiveRound, against};
use crate::ui::sampling::sample::{Flip, Measured, Side, Stages};

/// Everything that was measured under one arm.
#[derive(Clone, Debug)]
pub struct ArmSeen {
    pub label: String,
    pub seconds: f64,
    pub bytes: f64,
    /// Sum of the times for which submitters were blocked.
    pub stalls: Stalls,
    pub stages: Stages,
}

/// I/Os that belong to no arm, and why.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LeftOut {
    /// Submitted under one scheduler, completed under another.
    pub straddlers: u64,
    /// Completed while a scheduler was settling, or after another program changed it.
    pub settling: u64,
    pub disturbed: u64,
    /// In no queue wait and no total, because the time of submission is not known.
    pub without_queue_wait: u64,
}

#[derive(Clone, Debug, Default)]
pub struct Seen {
    pub arms: Vec<ArmSeen>,
    pub rounds: Vec<LiveRound>,
    pub left_out: LeftOut,
    pub flips: Vec<Flip>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShownStage {
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

impl ShownStage {
    pub const ALL: [ShownStage; 3] = [ShownStage::Wait, ShownStage::Device, ShownStage::Total];

    pub fn title(self) -> &'static str {
        match self {
            ShownStage::Wait => "queue wait",
            ShownStage::Device => "device time",
            ShownStage::Total => "total latency",
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

    /// Whose stalls matter for these latencies.
    pub fn whose(self) -> Whose {
        match self {
            Scope::All => Whose::All,
            Scope::Reads => Whose::Readers,
            Scope::Writes => Whose::Writers,
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

/// The metric's name in iosched-ab.
pub fn metric(stage: ShownStage, scope: Scope, statistic: Statistic) -> String {
    let scope = match scope {
        Scope::All => "",
        Scope::Reads => "read_",
        Scope::Writes => "write_",
    };
    let stage = match stage {
        ShownStage::Wait => "queue_wait",
        ShownStage::Device => "device",
        ShownStage::Total => "total",
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

    pub fn of(&self, stage: ShownStage, scope: Scope) -> Histogram {
        let pair = match stage {
            ShownStage::Wait => &self.wait,
            ShownStage::Device => &self.device,
            ShownStage::Total => &self.total,
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
                let _ = mine.merge(theirs); // see above
            }
        }
    }
}

impl Seen {
    /// Creates the arms in their order, without data.
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
        let ios = || measured.stages.of(ShownStage::Device, Scope::All).count();
        match side {
            Side::Settling => out.settling = out.settling.saturating_add(ios()),
            Side::Disturbed => out.disturbed = out.disturbed.saturating_add(ios()),
            Side::Of(label) => {
                let without = measured.live.without_queue_wait;
                out.without_queue_wait = out.without_queue_wait.saturating_add(without);
                let arm = self.arm(label);
                arm.seconds += seconds;
                arm.bytes += measured.live.bytes_per_s * seconds;
                arm.stalls += measured.stalls;
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
            stalls: Stalls::default(),
            stages: Stages::new(),
        });
        let last = self.arms.len() - 1;
        &mut self.arms[last]
    }

    /// Number of rounds of the arm that count.
    pub fn rounds_of(&self, arm: &str) -> usize {
        self.counted(arm).count()
    }

    fn counted<'a>(&'a self, arm: &str) -> impl Iterator<Item = &'a LiveRound> {
        let counts = move |round: &&LiveRound| round.arm == arm && round.problem.is_none();
        self.rounds.iter().filter(counts)
    }

    /// Share of the time of the arm's rounds that count, as for ratios; without rounds, of all time under the arm.
    /// None if it had no time yet.
    pub fn stalled_share(&self, arm: &str, whose: Whose) -> Option<f64> {
        let (mut stalls, mut time_s) = (Stalls::default(), 0.0);
        for round in self.counted(arm) {
            stalls += round.stalls;
            time_s += round.window_s;
        }
        if time_s == 0.0 {
            let seen = self.arms.iter().find(|seen| seen.label == arm)?;
            (stalls, time_s) = (seen.stalls, seen.seconds);
        }
        (time_s > 0.0).then(|| stalls.ns(whose) as f64 / (time_s * 1e9))
    }

    /// By the same rule as iosched-ab.
    pub fn is_comparable(&self, metric: &str, arm: &str, reference: &str) -> bool {
        let whose = hides_stalls_of(metric);
        let shares = [arm, reference].map(|label| self.stalled_share(label, whose));
        is_comparable(metric, shares[0], shares[1])
    }

    /// The intervals of all arms against the reference hold simultaneously with 95 % confidence, for one metric.
    pub fn against(&self, metric: &str, arm: &str, reference: &str) -> Option<Against> {
        if !self.is_comparable(metric, arm, reference) {
            return None;
        }
        against(&self.rounds, metric, arm, reference, self.alpha())
    }

    /// The error rate of one comparison, so that all together err at most one time in twenty.
    pub fn alpha(&self) -> f64 {
        let mut arms: Vec<&str> = self.rounds.iter().map(|round| &*round.arm).collect();
        arms.sort_unstable();
        arms.dedup();
        0.05 / arms.len().saturating_sub(1).max(1) as f64
    }

    /// The median and the maximum time for which a switch froze the queue.
    pub fn freeze_ns(&self) -> Option<(f64, f64)> {
        let ours = self.flips.iter().filter_map(|flip| flip.switch_ns);
        let mut times: Vec<u64> = ours.collect();
        times.sort_unstable();
        let longest = *times.last()? as f64;
        Some((times[times.len() / 2] as f64, longest))
    }
}
