//! Measurements under each scheduler, over all its time or in the rounds of a rotation. Pure.

use std::sync::Arc;

use iosched_result::measured::histogram::Histogram;
use iosched_result::measured::stalls::Whose;

use crate::ui::sampling::sample::{Flip, Measured, Side, Stages};
use crate::ui::sampling::score::{ArmRounds, Score, Sums};

/// Measurements under one arm: in a rotation, its rounds that count.
#[derive(Clone, Debug)]
pub struct ArmSeen {
    pub label: String,
    pub sums: Sums,
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
    /// Present from the start of a rotation on, until the comparison is cleared.
    pub score: Option<Score>,
    pub left_out: LeftOut,
    /// Shared with every earlier moment that may be shown.
    pub flips: Vec<Arc<Flip>>,
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
        Statistic::Iops => format!("{scope}iops"),
        Statistic::Throughput => format!("{scope}throughput"),
        other => format!("{scope}{stage}_{}", other.title()),
    }
}

impl Stages {
    pub fn histogram(&self, stage: ShownStage, scope: Scope) -> Histogram {
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
}

impl Seen {
    /// A rotation that begins: the arms in their order, without data.
    pub fn of(labels: &[String], reference: usize) -> Self {
        let mut seen = Seen::default();
        let arms = labels.iter().map(|label| ArmRounds {
            label: label.clone(),
            counted: 0,
            sums: Sums::new(),
            excluded: Vec::new(),
            with_others: 0,
        });
        seen.take(Score {
            arms: arms.collect(),
            reference,
            ..Score::default()
        });
        seen
    }

    /// From the start of a rotation on, its rounds alone are those of the arms.
    pub fn add(&mut self, measured: &Measured, side: &Side, seconds: f64, is_rotating: bool) {
        if self.score.is_some() && !is_rotating {
            return;
        }
        let out = &mut self.left_out;
        out.straddlers = out.straddlers.saturating_add(measured.edges.straddlers);
        let ios = || {
            measured
                .stages
                .histogram(ShownStage::Device, Scope::All)
                .count()
        };
        match side {
            Side::Settling => out.settling = out.settling.saturating_add(ios()),
            Side::Disturbed => out.disturbed = out.disturbed.saturating_add(ios()),
            Side::Of(label) => {
                let without = measured.live.without_queue_wait;
                out.without_queue_wait = out.without_queue_wait.saturating_add(without);
                if self.score.is_none() {
                    self.arm(label).sums.add(&Sums {
                        seconds,
                        bytes: measured.bytes,
                        stalls: measured.stalls,
                        stages: measured.stages.clone(),
                    });
                }
            }
        }
    }

    /// Measurements of the rounds that count.
    pub fn take(&mut self, score: Score) {
        for of in &score.arms {
            self.arm(&of.label).sums = of.sums.clone();
        }
        self.score = Some(score);
    }

    fn arm(&mut self, label: &str) -> &mut ArmSeen {
        let at = self.arms.iter().position(|arm| arm.label == label);
        let at = at.unwrap_or_else(|| {
            self.arms.push(ArmSeen {
                label: label.to_owned(),
                sums: Sums::new(),
            });
            self.arms.len() - 1
        });
        &mut self.arms[at]
    }

    /// The arm's rounds, in a rotation.
    pub fn rounds_of(&self, arm: &str) -> Option<&ArmRounds> {
        let mut arms = self.score.as_ref()?.arms.iter();
        arms.find(|of| of.label == arm)
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
