//! The score of rounds with given values, judged by the code of `iosched-ab`.

use iosched_experiment::rotation::METRICS;
use iosched_result::analysis::conclude::is_comparable;
use iosched_result::metric::{Metric, hides_stalls_of};
use iosched_result::statistics::leftover::Leftover;
use iosched_result::statistics::signed_rank::Difference;
use iosched_result::statistics::stopping::Stopping;
use iosched_result::statistics::verdict::{Comparison, Question, bonferroni, compare};
use iosched_result::types::result::ArmComparison;

use iosched_result::measured::histogram::{Histogram, OWNER};

use super::data;
use crate::ui::sampling::parts::{Part, PartName, PartSums};
use crate::ui::sampling::sample::SamplerReport;
use crate::ui::sampling::score::{ArmRounds, Score, Sums, Waiter};
use crate::ui::state::model::Model;

/// Other metrics that a test may choose.
/// The rows of the chosen programs.
const PROGRAMS: [&str; 4] = [
    "probe.read_queue_wait_mean",
    "probe.throughput",
    "hog.write_queue_wait_mean",
    "hog.throughput",
];
const CHOSEN: [&str; 4] = [
    "read_queue_wait_mean",
    "read_queue_wait_p99",
    "read_device_mean",
    "read_total_mean",
];

/// A reader behind a writer; the last arm has no numbers.
fn waiters(arms: &[ArmRounds]) -> Vec<Waiter> {
    let under = |first: f64, others: f64| -> Vec<Option<f64>> {
        let value = |arm: usize| (arm == 0 || arm + 1 < arms.len()).then_some((arm, first, others));
        let arms = (0..arms.len()).map(value);
        arms.map(|known| known.map(|(arm, first, others)| if arm == 0 { first } else { others }))
            .collect()
    };
    let waiter = |name: &str, mean_ns, behind: [(&str, Vec<Option<f64>>); 2]| Waiter {
        name: name.to_owned(),
        mean_ns,
        behind: behind
            .map(|(name, shares)| (name.to_owned(), shares))
            .to_vec(),
    };
    vec![
        waiter(
            "probe reads",
            under(11.7e6, 29e3),
            [
                ("hog writes", under(0.976, 0.636)),
                ("the idle device", under(0.0, 0.364)),
            ],
        ),
        waiter(
            "hog writes",
            under(1.05e6, 775e6),
            [
                ("its own", under(0.99, 0.03)),
                ("probe reads", under(0.01, 0.97)),
            ],
        ),
    ]
}

/// The rounds of a model's arms.
pub struct Rounds {
    pub blocks: usize,
    pub reference: usize,
    /// By block, arm and metric. None: the arm has no such round.
    pub value: fn(usize, usize, &str) -> Option<f64>,
    /// By arm, the share of the time in which submitters were blocked.
    pub stalled: Vec<f64>,
    /// Block and arm of a round that does not count.
    pub excluded: Option<(usize, usize)>,
    /// Metrics whose rounds have too few I/Os.
    pub short: &'static [&'static str],
}

impl Rounds {
    /// Reports the score of the arms that the model has seen on its first disk.
    pub fn report(&self, model: &mut Model) {
        let score = self.score(model);
        // As at the beginning of a rotation.
        model.devices[0].seen.score.get_or_insert_default();
        data::report(model, SamplerReport::Score(Box::new(score)));
    }

    fn score(&self, model: &Model) -> Score {
        let seen = &model.devices[0].seen;
        let arms: Vec<ArmRounds> = seen
            .arms
            .iter()
            .enumerate()
            .map(|(index, arm)| self.arm(index, &arm.label, arm.sums.clone()))
            .collect();
        let others = || (0..arms.len()).filter(|arm| *arm != self.reference);
        let rows = |metrics: &[&str], family: usize| {
            let pairs = metrics
                .iter()
                .flat_map(|metric| others().map(move |arm| (*metric, arm)));
            pairs
                .map(|(metric, arm)| self.row(&arms, metric, arm, family))
                .collect()
        };
        let all = others().count();
        let decided = [&METRICS[..], &PROGRAMS].concat();
        Score {
            device: 0,
            reference: self.reference,
            rows: rows(&decided, all * decided.len()),
            chosen: rows(&CHOSEN, all),
            parts: parts(&arms),
            waiters: waiters(&arms),
            told: vec![[5, 8]; arms.len()],
            of_other_load: Vec::new(),
            invalid: None,
            arms,
        }
    }

    fn arm(&self, index: usize, label: &str, mut sums: Sums) -> ArmRounds {
        let stalled = self.stalled.get(index).copied().unwrap_or(0.0);
        sums.stalls = data::stalls_of(stalled * sums.seconds);
        let has = |block: &usize| (self.value)(*block, index, METRICS[0]).is_some();
        let all = (0..self.blocks).filter(has).count();
        let is_out = self.excluded.is_some_and(|(block, _)| has(&block));
        let is_own = is_out && self.excluded.is_some_and(|(_, arm)| arm == index);
        let cause = is_own.then(|| ("nr_requests:64->32".to_owned(), 1));
        ArmRounds {
            label: label.to_owned(),
            counted: all - usize::from(is_out),
            sums,
            excluded: cause.into_iter().collect(),
            with_others: usize::from(is_out && !is_own),
        }
    }

    fn row(&self, arms: &[ArmRounds], name: &str, arm: usize, family: usize) -> ArmComparison {
        let metric = Metric::named(name).expect("a metric");
        let whose = hides_stalls_of(name);
        let stalled = |of: usize| arms[of].sums.stalled_share(whose);
        let is_short = self.short.contains(&name);
        let question = Question {
            alpha_of_few: 0.05,
            insufficient_tail: is_short,
            not_comparable: !is_comparable(name, stalled(arm), stalled(self.reference)),
            ..Question::plain(
                metric.scale,
                metric.direction,
                metric.margin,
                bonferroni(0.05, family),
                Stopping::Open.method(),
            )
        };
        let value = |block: usize, arm: usize| (self.value)(block, arm, name);
        let difference = |block: usize| {
            let both = value(block, arm).zip(value(block, self.reference))?;
            let (one, other) = Some(both).filter(|_| !is_short)?;
            metric.scale.difference(one, other)
        };
        let counts = |block: &usize| self.excluded.is_none_or(|(excluded, _)| excluded != *block);
        let differences: Vec<Option<Difference>> =
            (0..self.blocks).filter(counts).map(difference).collect();
        let comparison: Comparison = compare(&differences, question, Leftover::Nothing);
        ArmComparison {
            primary: METRICS.contains(&name),
            control: false,
            arrivals: false,
            arm: arms[arm].label.clone(),
            reference: arms[self.reference].label.clone(),
            arm_median: value(0, arm).filter(|_| !is_short),
            reference_median: value(0, self.reference).filter(|_| !is_short),
            p_adjusted: None,
            q_benjamini_hochberg: None,
            position_effect: None,
            carry_over_bias: None,
            comparison,
            decided_after_blocks: None,
            no_ratio: Vec::new(),
            other_adjustment: None,
            load_slopes: None,
            sight: None,
            metric,
        }
    }
}

/// A reader and a writer; the last arm starved the reader.
fn parts(arms: &[ArmRounds]) -> Vec<Part> {
    let of = |cgroup: &str, comm: Option<&str>, side: usize| Part {
        name: PartName {
            cgroup: cgroup.to_owned(),
            comm: comm.map(str::to_owned),
        },
        by_arm: (0..arms.len())
            .map(|arm| (side == 1 || arm + 1 < arms.len()).then(|| sums(arm as u64, side)))
            .collect(),
    };
    vec![
        of("/demo/probe", Some("reader"), 0),
        of("/demo/hog", Some("writer"), 1),
        of("/system.slice/backup.service", None, 1),
    ]
}

fn sums(arm: u64, side: usize) -> PartSums {
    let empty = || [Histogram::new(OWNER), Histogram::new(OWNER)];
    let mut sums = PartSums {
        ios: [0; 2],
        bytes: [0; 2],
        wait: empty(),
        device: empty(),
        lacks_histograms: arm == 1 && side == 1,
    };
    let ios = 1370 + 430 * arm;
    (sums.ios[side], sums.bytes[side]) = (ios, ios * 4096);
    for n in 0..ios {
        sums.wait[side].record((n % 97 + 3) * 11_000 * (arm + 1) * (side as u64 * 4 + 1));
        sums.device[side].record((n % 89 + 5) * 37_000);
    }
    sums
}
