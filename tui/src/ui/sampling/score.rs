//! The score of a rotation's rounds so far, by the code that makes the verdicts of `iosched-ab`. Pure.

use iosched_result::analysis::table::Table;
use iosched_result::analysis::{conclude, turn};
use iosched_result::measured::snapshot::{DeviceNumbers, Op, Stage};
use iosched_result::measured::stalls::{Stalls, Whose};
use iosched_result::metric::Metric;
use iosched_result::report::why::arms;
use iosched_result::types::result::{ArmComparison, Exclusion, ResultFile, Round};

use super::parts::Part;
use super::sample::Stages;

#[derive(Clone, Debug, Default)]
pub struct Score {
    pub device: usize,
    /// In the order of the design.
    pub arms: Vec<ArmRounds>,
    /// Index into `arms`.
    pub reference: usize,
    /// The verdicts on the metrics of a rotation, which hold together.
    pub rows: Vec<ArmComparison>,
    /// The metric that the user looks at; empty if it is one of the others.
    pub chosen: Vec<ArmComparison>,
    /// Arms under which another load arrived: their other rows are of different work.
    pub of_other_load: Vec<String>,
    /// The busiest programs and control groups.
    pub parts: Vec<Part>,
    /// Those who wait for long under any arm, and behind whom, in the rounds that count and say so.
    pub waiters: Vec<Waiter>,
    /// By arm, how many of the rounds that count say so, and how many there are.
    pub told: Vec<[usize; 2]>,
    /// Why there are no verdicts: too many rounds do not count.
    pub invalid: Option<String>,
}

/// The rounds of an arm.
#[derive(Clone, Debug)]
pub struct ArmRounds {
    pub label: String,
    /// Number of rounds that count; `sums` are theirs.
    pub counted: usize,
    pub sums: Sums,
    /// Rounds that do not count, by cause, in the words of the first one.
    pub excluded: Vec<(String, usize)>,
    /// Number of rounds that do not count because another round of their block does not.
    pub with_others: usize,
}

impl ArmRounds {
    pub fn all(&self) -> usize {
        let own: usize = self.excluded.iter().map(|(_, count)| count).sum();
        self.counted + own + self.with_others
    }
}

/// Who waits for the device, under each arm.
#[derive(Clone, Debug, PartialEq)]
pub struct Waiter {
    /// `probe reads`
    pub name: String,
    /// The mean queue wait; None where it did not wait, or no round says.
    pub mean_ns: Vec<Option<f64>>,
    /// Behind whom, the largest part first, and its share of the wait under each arm.
    pub behind: Vec<(String, Vec<Option<f64>>)>,
}

fn told(result: &ResultFile) -> Vec<[usize; 2]> {
    let arms = result.design.arms.iter();
    let rounds = arms.map(|arm| arms::rounds_of(result, &arm.label));
    rounds.map(|(all, known)| [known, all]).collect()
}

/// In the order of the arms of the design.
fn waiters(result: &ResultFile) -> Vec<Waiter> {
    let of_arms = arms::of_arms(result);
    let place = |label: &str| of_arms.iter().position(|arm| arm.label == label);
    let arms = result.design.arms.iter();
    let places: Vec<Option<usize>> = arms.map(|arm| place(&arm.label)).collect();
    let by_arm = |value: &dyn Fn(usize) -> Option<f64>| -> Vec<Option<f64>> {
        places.iter().map(|place| value((*place)?)).collect()
    };
    let disks = arms::disks(&of_arms);
    let disk = disks.first().copied().unwrap_or_default();
    let waiters = arms::waiters(&of_arms, disk, false);
    let waiters = waiters.iter().map(|waiter| {
        let share = |part: Option<arms::Part>| part.map(|part| part.share);
        let others = waiter.behind.iter().map(|name| {
            let shares = by_arm(&|arm| share(waiter.behind(arm, name)));
            let whose = if *name == waiter.name {
                "its own"
            } else {
                name
            };
            (whose.to_owned(), shares)
        });
        let idle = by_arm(&|arm| share(waiter.device_idle(arm)));
        Waiter {
            name: waiter.name.clone(),
            mean_ns: by_arm(&|arm| waiter.by_arm[arm].and_then(arms::mean_wait_ns)),
            behind: others
                .chain([("the idle device".to_owned(), idle)])
                .collect(),
        }
    });
    waiters.collect()
}

/// Measurements in some of the time.
#[derive(Clone, Debug)]
pub struct Sums {
    pub seconds: f64,
    /// Bytes of reads and of writes.
    pub bytes: [f64; 2],
    /// Sum of the times for which submitters were blocked.
    pub stalls: Stalls,
    pub stages: Stages,
}

impl Sums {
    pub fn new() -> Self {
        Sums {
            seconds: 0.0,
            bytes: [0.0; 2],
            stalls: Stalls::default(),
            stages: Stages::new(),
        }
    }

    pub fn add(&mut self, other: &Sums) {
        self.seconds += other.seconds;
        for (mine, more) in self.bytes.iter_mut().zip(other.bytes) {
            *mine += more;
        }
        self.stalls += other.stalls;
        self.stages.add(&other.stages);
    }

    /// None if there was no time.
    pub fn stalled_share(&self, whose: Whose) -> Option<f64> {
        (self.seconds > 0.0).then(|| self.stalls.ns(whose) as f64 / (self.seconds * 1e9))
    }

    fn add_round(&mut self, round: &Round, wait: Stage) {
        let numbers = &round.evidence.device;
        self.add(&Sums {
            seconds: round.window_s,
            bytes: bytes_of(numbers),
            stalls: Stalls::of(numbers, &round.evidence.owners.iter()),
            stages: Stages::measured(numbers, wait),
        });
    }
}

/// The bytes that were read and written.
pub fn bytes_of(numbers: &DeviceNumbers) -> [f64; 2] {
    [&[Op::Read][..], &Op::WRITES].map(|ops| {
        let bytes = ops.iter().map(|op| numbers.ops[*op as usize].bytes);
        bytes.sum::<u64>() as f64
    })
}

impl Score {
    /// `metric`: the name of the metric that the user looks at.
    pub fn of(device: usize, result: &ResultFile, metric: &str, parts: Vec<Part>) -> Score {
        let table = Table::new(result);
        let is_primary = |name: &str| result.design.primary.iter().any(|m| m.name == name);
        let wait = if result.probe.measures_q2g {
            Stage::Q2d
        } else {
            Stage::G2d
        };
        let arms = result.design.arms.iter().map(|arm| {
            let mut sums = Sums::new();
            let mut counted = 0;
            for round in table.rounds_of(&arm.label) {
                sums.add_round(round, wait);
                counted += 1;
            }
            let (excluded, with_others) = excluded(result, &arm.label);
            ArmRounds {
                label: arm.label.clone(),
                counted,
                sums,
                excluded,
                with_others,
            }
        });
        Score {
            device,
            arms: arms.collect(),
            reference: result.design.reference,
            rows: conclude::primary_comparisons(result),
            of_other_load: conclude::arms_of_other_load(result),
            chosen: match Metric::named(metric).filter(|_| !is_primary(metric)) {
                Some(metric) => conclude::comparisons_of(result, &metric),
                None => Vec::new(),
            },
            parts,
            waiters: waiters(result),
            told: told(result),
            invalid: turn::why_invalid(result),
        }
    }

    /// The verdict on an arm; None for the reference.
    pub fn row(&self, metric: &str, arm: &str) -> Option<&ArmComparison> {
        let mut rows = self.rows.iter().chain(&self.chosen);
        rows.find(|row| row.metric.name == metric && row.arm == arm)
    }
}

/// A round does not count if any round of its block does not: by its own cause, and the number of others.
fn excluded(result: &ResultFile, label: &str) -> (Vec<(String, usize)>, usize) {
    let (mut causes, mut with_others) = (Vec::<(Exclusion, String, usize)>::new(), 0);
    let its = result.rounds.iter().filter(|round| round.arm == label);
    let is_out = |round: &&Round| {
        let mut blocks = result.excluded.iter();
        blocks.any(|at| (at.block, at.attempt) == (round.block, round.attempt))
    };
    for round in its.filter(is_out) {
        let Some(exclusion) = round.exclusion else {
            with_others += 1;
            continue;
        };
        // The first one's words: many contain a count.
        match causes.iter_mut().find(|(known, ..)| *known == exclusion) {
            Some((.., count)) => *count += 1,
            None => causes.push((exclusion, round.problem.clone().unwrap_or_default(), 1)),
        }
    }
    let told = causes
        .into_iter()
        .map(|(_, problem, count)| (problem, count));
    (told.collect(), with_others)
}
