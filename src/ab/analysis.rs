//! From rounds to verdicts: differences to the reference within each block. Pure.

use std::collections::{BTreeMap, BTreeSet};

use super::diagnostics::diagnostics;
use super::max_t::max_t;
use super::metric::{LONGEST_WAIT, Metric, starts_in_kernel};
use super::stats;
use super::stopping::Method;
use super::verdict::{Question, Verdict, bonferroni, compare};
use crate::histogram::{DEVICE, Histogram};
use crate::report::result::{
    ArmComparison, ArmWaiting, Evidence, ExcludedBlock, ResultFile, Round,
};
use crate::snapshot::{Op, Stage};

/// Fills in all that follows from the rounds so far.
pub fn conclude(result: &mut ResultFile) {
    result.metrics = metrics(result);
    result.comparisons = comparisons(result);
    result.waiting = waiting(result);
    result.diagnostics = diagnostics(result);
}

/// Everything that the rounds so far allow to be said.
pub fn comparisons(result: &ResultFile) -> Vec<ArmComparison> {
    let table = Table::new(result);
    let mut all = table.primary();
    adjust(&mut all, |comparison, p| comparison.p_holm = p, stats::holm);
    let flipped = max_t(&table.family(&all)).unwrap_or_default();
    for (comparison, p) in all.iter_mut().zip(flipped) {
        comparison.p_max_t = Some(p);
    }
    let mut exploratory = table.exploratory();
    adjust(
        &mut exploratory,
        |comparison, q| comparison.q_benjamini_hochberg = q,
        stats::benjamini_hochberg,
    );
    all.append(&mut exploratory);
    all
}

/// Whether every primary comparison has its verdict, but for those that rounds of this length cannot give: percentiles
/// with too few I/Os beyond them in every round.
pub fn is_decided(result: &ResultFile) -> bool {
    let mut primary = Table::new(result).primary().into_iter();
    primary.all(|row| {
        let found = row.comparison;
        let has_no_tail = found.blocks == 0 && found.question.insufficient_tail;
        let is_hopeless = has_no_tail || found.question.not_comparable;
        is_hopeless || found.verdict != Verdict::Inconclusive
    })
}

/// Every metric that was compared, once.
fn metrics(result: &ResultFile) -> Vec<Metric> {
    let mut metrics = result.design.primary.clone();
    metrics.extend(Table::new(result).other_metrics());
    metrics
}

/// Rounds of blocks in which every round so far counts, in their order.
pub fn counted_rounds(result: &ResultFile) -> Vec<&Round> {
    let mut rounds: Vec<&Round> = Table::new(result).rounds.into_values().collect();
    rounds.sort_by_key(|round| round.index);
    rounds
}

fn adjust(
    comparisons: &mut [ArmComparison],
    set: fn(&mut ArmComparison, Option<f64>),
    adjustment: fn(&[f64]) -> Vec<f64>,
) {
    let p = comparisons.iter().filter_map(|c| c.comparison.p);
    let mut adjusted = adjustment(&p.collect::<Vec<_>>()).into_iter();
    for comparison in comparisons {
        if comparison.comparison.p.is_some() {
            set(comparison, adjusted.next());
        }
    }
}

/// The rounds that count, by block and arm.
struct Table<'a> {
    result: &'a ResultFile,
    rounds: BTreeMap<(usize, &'a str), &'a Round>,
    /// Blocks of which every round was carried out, whether it counts or not: those to come are not missing.
    blocks: Vec<usize>,
}

impl<'a> Table<'a> {
    fn new(result: &'a ResultFile) -> Self {
        let excluded: BTreeSet<(usize, usize)> = excluded_blocks(result)
            .iter()
            .map(|e| (e.block, e.attempt))
            .collect();
        let counted = result
            .rounds
            .iter()
            .filter(|round| !excluded.contains(&(round.block, round.attempt)));
        let mut carried_out = vec![0; result.plan.blocks()];
        for round in result.rounds.iter().filter(|round| round.attempt == 0) {
            carried_out[round.block] += 1;
        }
        Table {
            result,
            rounds: counted
                .map(|round| ((round.block, round.arm.as_str()), round))
                .collect(),
            blocks: (0..carried_out.len())
                .filter(|block| carried_out[*block] == result.plan.arms)
                .collect(),
        }
    }

    fn primary(&self) -> Vec<ArmComparison> {
        let design = &self.result.design;
        let family = design.primary.len() * design.arms.len().saturating_sub(1);
        let alpha = design.stopping.level(bonferroni(design.alpha, family));
        let method = design.stopping.method();
        let metrics = design.primary.iter();
        metrics
            .flat_map(|metric| self.against_reference(metric, Some((alpha, method))))
            .collect()
    }

    /// Every other metric: shown, but each at its own level and without a claim.
    fn exploratory(&self) -> Vec<ArmComparison> {
        let metrics = self.other_metrics().into_iter();
        metrics
            .flat_map(|metric| self.against_reference(&metric, None))
            .collect()
    }

    fn other_metrics(&self) -> Vec<Metric> {
        let names: BTreeSet<&String> = self
            .rounds
            .values()
            .flat_map(|round| round.metrics.keys())
            .collect();
        let primary = &self.result.design.primary;
        names
            .into_iter()
            .filter(|name| primary.iter().all(|metric| metric.name != **name))
            .filter_map(|name| Metric::named(name))
            .collect()
    }

    fn against_reference(
        &self,
        metric: &Metric,
        primary: Option<(f64, Method)>,
    ) -> Vec<ArmComparison> {
        let design = &self.result.design;
        let reference = &design.arms[design.reference].label;
        let others = design.arms.iter().filter(|arm| arm.label != *reference);
        others
            .map(|arm| self.comparison(metric, primary, &arm.label, reference))
            .collect()
    }

    fn comparison(
        &self,
        metric: &Metric,
        primary: Option<(f64, Method)>,
        arm: &str,
        reference: &str,
    ) -> ArmComparison {
        let (alpha, method) = primary.unwrap_or((self.result.design.alpha, Method::SignedRank));
        let flagged = |list: fn(&Evidence) -> &Vec<String>| {
            let rounds = self.of(arm).chain(self.of(reference));
            let (hits, all) = rounds.fold((0, 0), |(hits, all), round| {
                let hit = list(&round.evidence).contains(&metric.name);
                (hits + usize::from(hit), all + 1)
            });
            hits * 2 > all
        };
        let question = Question {
            scale: metric.scale,
            direction: metric.direction,
            margin: metric.margin,
            alpha,
            method,
            insufficient_tail: flagged(|evidence| &evidence.insufficient_tail),
            fragile_percentile: flagged(|evidence| &evidence.fragile_percentile),
            not_comparable: starts_in_kernel(&metric.name) && !self.stalls_alike(arm, reference),
        };
        ArmComparison {
            metric: metric.clone(),
            primary: primary.is_some(),
            arm: arm.to_owned(),
            reference: reference.to_owned(),
            arm_median: self.median(arm, metric),
            reference_median: self.median(reference, metric),
            p_holm: None,
            p_max_t: None,
            q_benjamini_hochberg: None,
            comparison: compare(&self.differences(metric, arm, reference), question),
        }
    }

    /// The stalls of an arm's counted rounds, over the time of these rounds.
    fn stalled_share(&self, label: &str) -> Option<f64> {
        let rounds = self.of(label);
        let (stalled_ns, window_s) = rounds.fold((0, 0.0), |(ns, s), round| {
            (ns + round.evidence.device.stalled_ns, s + round.window_s)
        });
        (window_s > 0.0).then(|| stalled_ns as f64 / (window_s * 1e9))
    }

    fn stalls_alike(&self, arm: &str, reference: &str) -> bool {
        let shares = self.stalled_share(arm).zip(self.stalled_share(reference));
        shares.is_none_or(|(arm, reference)| are_stalls_alike(arm, reference))
    }

    fn differences(&self, metric: &Metric, arm: &str, reference: &str) -> Vec<Option<f64>> {
        let value = |block: usize, label: &str| {
            let round = self.rounds.get(&(block, label))?;
            round.metrics.get(&metric.name).copied()
        };
        let blocks = self.blocks.iter();
        blocks
            .map(|&block| {
                let (arm, reference) = (value(block, arm), value(block, reference));
                metric.scale.difference(arm, reference)
            })
            .collect()
    }

    /// The differences of all these comparisons in the blocks in which every one has its own.
    fn family(&self, comparisons: &[ArmComparison]) -> Vec<Vec<f64>> {
        let all: Vec<Vec<Option<f64>>> = comparisons
            .iter()
            .map(|c| self.differences(&c.metric, &c.arm, &c.reference))
            .collect();
        let is_whole = |block: &usize| all.iter().all(|d| d[*block].is_some());
        let blocks: Vec<usize> = (0..self.blocks.len()).filter(is_whole).collect();
        all.iter()
            .map(|d| blocks.iter().filter_map(|block| d[*block]).collect())
            .collect()
    }

    fn of(&self, label: &str) -> impl Iterator<Item = &'a Round> {
        let rounds = self.rounds.iter();
        rounds
            .filter(move |((_, arm), _)| *arm == label)
            .map(|(_, round)| *round)
    }

    fn median(&self, label: &str, metric: &Metric) -> Option<f64> {
        let values = self.of(label).filter_map(|r| r.metrics.get(&metric.name));
        stats::median(&values.copied().collect::<Vec<_>>())
    }
}

/// Blocks, and their repetitions, with at least one round that does not count.
pub fn excluded_blocks(result: &ResultFile) -> Vec<ExcludedBlock> {
    let mut blocks: Vec<ExcludedBlock> = Vec::new();
    for round in &result.rounds {
        let Some(exclusion) = round.exclusion else {
            continue;
        };
        let is_known =
            |known: &ExcludedBlock| (known.block, known.attempt) == (round.block, round.attempt);
        if !blocks.iter().any(is_known) {
            blocks.push(ExcludedBlock {
                block: round.block,
                attempt: round.attempt,
                exclusion,
                arm: round.arm.clone(),
                problem: round.problem.clone().unwrap_or_default(),
            });
        }
    }
    blocks
}

/// Arms whose submitters stood still for shares of the time that differ by more than this have left out different waits. A
/// stall hides all that the thread would have asked for: what it hides may be many times what it lasts.
pub const TOLERATED_STALLS: f64 = 0.01;

/// Whether queue waits compare under two schedulers, by the shares of the time for which submitters stood still.
pub fn are_stalls_alike(one: f64, other: f64) -> bool {
    (one - other).abs() <= TOLERATED_STALLS
}

const SHORTEST_WAIT_NS: u64 = 50_000;

/// Did requests wait, arm by arm? All arms are held to the same threshold.
pub fn waiting(result: &ResultFile) -> Vec<ArmWaiting> {
    let table = Table::new(result);
    let arms = &result.design.arms;
    let pooled = |label: &str, stage: Stage| {
        let mut sum = Histogram::new(DEVICE);
        for round in table.of(label) {
            // The layouts are the same by construction.
            let _ = sum.merge(&round.evidence.device.stage(stage, &Op::DATA));
        }
        sum
    };
    let device_medians = arms
        .iter()
        .filter_map(|arm| pooled(&arm.label, Stage::D2c).quantile_ns(0.5));
    let shortest_device_ns = device_medians.fold(f64::INFINITY, f64::min);
    let tenth_ns = if shortest_device_ns.is_finite() {
        (shortest_device_ns / 10.0) as u64
    } else {
        0
    };
    let threshold_ns = SHORTEST_WAIT_NS.max(tenth_ns);
    let wait = if result.probe.measures_q2g {
        Stage::Q2d
    } else {
        Stage::G2d
    };
    arms.iter()
        .map(|arm| {
            let waits = pooled(&arm.label, wait);
            let last = table.of(&arm.label).last();
            ArmWaiting {
                arm: arm.label.clone(),
                hardware_depth: last.and_then(|round| round.evidence.hardware_depth()),
                requests: waits.count(),
                threshold_ns,
                share: waits.share_above(threshold_ns),
                stalled_share: table.stalled_share(&arm.label),
                longest_ns: table
                    .of(&arm.label)
                    .filter_map(|round| round.metrics.get(LONGEST_WAIT).copied())
                    .reduce(f64::max),
            }
        })
        .collect()
}
