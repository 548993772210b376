//! Makes verdicts from rounds, by their differences to the reference within each block. Pure.

use std::collections::BTreeSet;

use super::decided;
use super::diagnostics::diagnostics;
use super::inputs::{Input, inputs};
use super::level::levels;
use super::limits::{self, limits};
use super::losses::Losses;
use super::table::{Table, slept, stalled_share};
use super::times::EQUIVALENT_AFTER_S;
use super::{processes, shift};
use crate::measured::histogram::{DEVICE, Histogram};
use crate::measured::snapshot::{Op, Stage};
use crate::measured::stalls::Whose;
use crate::metric::{ARRIVALS, CONTROLS, LONGEST_WAIT, Metric, hides_stalls_of, starts_in_kernel};
use crate::statistics::estimate;
use crate::statistics::rows::{Row, judge_alone, judge_family};
use crate::statistics::stopping::{Method, Stopping};
use crate::statistics::verdict::{Reason, Verdict, bonferroni};
use crate::types::result::{ArmComparison, ArmWaiting, Class, ResultFile};

/// Fills in everything that follows from the rounds so far.
pub fn conclude(result: &mut ResultFile) {
    result.metrics = metrics(result);
    result.comparisons = comparisons(result);
    result.limits = limits(&Table::new(result));
    result.shifts = shift::shifts(&Table::new(result));
    result.waiting = waiting(result);
    result.processes = processes::summaries(&Table::new(result));
    result.diagnostics = diagnostics(result);
    result.levels = levels(&Table::new(result));
}

/// All comparisons that the rounds so far allow.
pub fn comparisons(result: &ResultFile) -> Vec<ArmComparison> {
    let table = Table::new(result);
    let mut all = primary(&table);
    if let Some(live) = &result.design.live {
        let other = Table::with_adjustment(result, !live.adjust_load);
        let adjusted = if live.adjust_load { &table } else { &other };
        for (row, other) in all.iter_mut().zip(primary(&other)) {
            row.other_adjustment = Some(other.comparison);
            let slopes = adjusted.load_slopes(&row.metric);
            row.load_slopes = slopes.map(|slopes| slopes.by_position);
        }
    }
    all.extend(controls(&table));
    all.extend(arrivals(&table));
    let mut exploratory = exploratory(&table);
    let p: Vec<f64> = exploratory.iter().filter_map(|c| c.comparison.p).collect();
    let mut rates = estimate::benjamini_hochberg(&p).into_iter();
    for row in exploratory
        .iter_mut()
        .filter(|row| row.comparison.p.is_some())
    {
        row.q_benjamini_hochberg = rates.next();
    }
    all.append(&mut exploratory);
    all
}

/// Whether every primary comparison has its verdict, except those that rounds of this length cannot give.
pub fn is_decided(result: &ResultFile) -> bool {
    let is_known = !result.design.primary.iter().any(Metric::is_open);
    let table = Table::new(result);
    let rows = primary(&table);
    is_known && rows.iter().all(|row| is_settled(result, row)) && limits::are_settled(&table)
}

/// Has a verdict or cannot get one: percentiles with too few I/Os in every round, a metric that no round has,
/// incomparable waits, or a measured quantity that changed.
fn is_settled(result: &ResultFile, row: &ArmComparison) -> bool {
    let found = &row.comparison;
    let has_no_tail = found.blocks == 0 && found.question.insufficient_tail;
    let has_no_value = found.blocks == 0 && found.blocks_missing >= found.question.blocks_needed();
    let has_changed = found.reasons.contains(&Reason::TruthChanged);
    let question = found.question;
    let is_hopeless = has_no_tail
        || has_no_value
        || question.not_comparable
        || question.nothing_happened
        || has_changed;
    // What stalls now and then looks alike in a few short rounds.
    let measured_s = found.blocks as f64 * result.design.round_time_s;
    let auto = result.design.auto_times.unwrap_or_default();
    let is_early = auto.round_time && measured_s < EQUIVALENT_AFTER_S;
    let is_decided = match found.verdict {
        Verdict::Inconclusive => false,
        Verdict::Equivalent => !is_early,
        Verdict::Better | Verdict::Worse | Verdict::Differs => true,
    };
    is_hopeless || is_decided
}

/// The verdicts on the primary metrics alone.
pub fn primary_comparisons(result: &ResultFile) -> Vec<ArmComparison> {
    primary(&Table::new(result))
}

/// The same where this is one of so many results that a finding may be chosen from: at an equal share of the level, so that
/// all verdicts of all of them hold together.
pub fn primary_comparisons_among(result: &ResultFile, results: usize) -> Vec<ArmComparison> {
    let share = bonferroni(result.design.alpha, results);
    let metrics = &result.design.primary;
    family_at(&Table::new(result), metrics, Class::Primary, share)
}

/// The rows that a gate goes by: primary, controls, and what arrived in a live run.
pub fn judged_comparisons(result: &ResultFile) -> Vec<ArmComparison> {
    let table = Table::new(result);
    let families = [primary(&table), controls(&table), arrivals(&table)];
    families.into_iter().flatten().collect()
}

/// The arms under which another load arrived in a live run.
pub fn arms_of_other_load(result: &ResultFile) -> Vec<String> {
    let rows = arrivals(&Table::new(result)).into_iter();
    let differs = |row: &ArmComparison| {
        let found = [Some(row.comparison.verdict), row.comparison.withheld];
        found.contains(&Some(Verdict::Differs))
    };
    let arms: BTreeSet<String> = rows.filter(differs).map(|row| row.arm).collect();
    arms.into_iter().collect()
}

/// One entry per arm, judged as if the metric were the only primary one.
pub fn comparisons_of(result: &ResultFile, metric: &Metric) -> Vec<ArmComparison> {
    let metrics = std::slice::from_ref(metric);
    family(&Table::new(result), metrics, Class::Exploratory)
}

/// The reference, and arms with an undecided comparison.
pub fn arms_that_go_on(result: &ResultFile) -> Vec<usize> {
    let rows = primary(&Table::new(result));
    let arms = result.design.arms.iter().enumerate();
    let is_unknown = result.design.primary.iter().any(Metric::is_open);
    let limits = limits(&Table::new(result));
    let is_undecided = |label: &str| {
        let mut limits = limits.iter();
        rows.iter()
            .any(|row| row.arm == label && !is_settled(result, row))
            || limits.any(|row| row.arm == label && !limits::is_settled(row))
    };
    let goes_on = |label: &str| is_unknown || is_undecided(label);
    let going_on = arms.filter(|(arm, of)| *arm == result.design.reference || goes_on(&of.label));
    going_on.map(|(arm, _)| arm).collect()
}

/// Every compared metric once.
fn metrics(result: &ResultFile) -> Vec<Metric> {
    let mut metrics = known(result);
    metrics.extend(Table::new(result).other_metrics());
    metrics
}

fn primary(table: &Table<'_>) -> Vec<ArmComparison> {
    let metrics = known(table.result);
    match table.result.design.stopping {
        Stopping::Open => decided::rows(table, &metrics),
        Stopping::Fixed { .. } | Stopping::Looks { .. } => family(table, &metrics, Class::Primary),
    }
}

/// The primary metrics of which unit and direction are known: until a command has reported one, nothing can be said of it.
pub(super) fn known(result: &ResultFile) -> Vec<Metric> {
    let primary = result.design.primary.iter();
    primary
        .filter(|metric| !metric.is_open())
        .cloned()
        .collect()
}

/// Negative controls, as a separate family.
fn controls(table: &Table<'_>) -> Vec<ArmComparison> {
    let others = table.other_metrics().into_iter();
    let controls: Vec<Metric> = others.filter(|m| CONTROLS.contains(&&*m.name)).collect();
    family(table, &controls, Class::Control)
}

/// The I/O that arrived in a live run, as a separate family.
fn arrivals(table: &Table<'_>) -> Vec<ArmComparison> {
    let others = table.other_metrics().into_iter();
    let arrivals: Vec<Metric> = others.filter(|m| ARRIVALS.contains(&&*m.name)).collect();
    family(table, &arrivals, Class::Arrivals)
}

fn family(table: &Table<'_>, metrics: &[Metric], class: Class) -> Vec<ArmComparison> {
    family_at(table, metrics, class, table.result.design.alpha)
}

fn family_at(
    table: &Table<'_>,
    metrics: &[Metric],
    class: Class,
    alpha: f64,
) -> Vec<ArmComparison> {
    let inputs: Vec<Input> = metrics.iter().flat_map(|m| inputs(table, m)).collect();
    let rows: Vec<Row<'_>> = inputs.iter().map(Input::row).collect();
    let judged = judge_family(&rows, table.result.design.schedule().level(alpha));
    let pairs = inputs.iter().zip(judged);
    pairs
        .map(|(input, judged)| input.said(table, judged, class))
        .collect()
}

/// All other metrics, each at its own level and without a family-wise claim.
fn exploratory(table: &Table<'_>) -> Vec<ArmComparison> {
    let others = table.other_metrics().into_iter();
    let metrics: Vec<Metric> = others
        .filter(|m| !CONTROLS.contains(&&*m.name) && !ARRIVALS.contains(&&*m.name))
        .collect();
    let inputs = metrics.iter().flat_map(|metric| inputs(table, metric));
    let alpha = table.result.design.alpha;
    inputs
        .map(|input| {
            let mut row = input.row();
            row.question.method = Method::SignedRank;
            input.said(table, judge_alone(&row, alpha), Class::Exploratory)
        })
        .collect()
}

/// Largest tolerated difference between two arms' shares of time in which submitters were stalled. A stall hides all
/// requests that the thread would have made, so the hidden waits can be many times its duration.
pub const TOLERATED_STALLS: f64 = 0.01;

/// Whether queue waits under two schedulers are comparable, given the shares of time in which submitters were stalled.
pub fn are_stalls_alike(one: f64, other: f64) -> bool {
    (one - other).abs() <= TOLERATED_STALLS
}

/// Whether this metric is comparable between two arms, given the same shares. An unknown share does not refuse.
pub fn is_comparable(metric: &str, one: Option<f64>, other: Option<f64>) -> bool {
    let are_alike = || {
        one.zip(other)
            .is_none_or(|(one, other)| are_stalls_alike(one, other))
    };
    !starts_in_kernel(metric) || are_alike()
}

/// The same for two arms, from their counted rounds.
pub fn is_comparable_in(table: &Table<'_>, metric: &str, arm: &str, reference: &str) -> bool {
    let stalled = |rounds| stalled_share(rounds, hides_stalls_of(metric));
    let [arm, reference] = table.side_by_side(arm, reference);
    is_comparable(metric, stalled(arm), stalled(reference))
}

const SHORTEST_WAIT_NS: u64 = 50_000;

/// Whether requests waited, by arm. All arms use the same threshold.
pub fn waiting(result: &ResultFile) -> Vec<ArmWaiting> {
    let table = Table::new(result);
    let arms = &result.design.arms;
    let pooled = |label: &str, stage: Stage| {
        let mut sum = Histogram::new(DEVICE);
        for round in table.rounds_of(label) {
            // The layouts are equal by construction.
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
            let mut rounds = table.rounds_of(&arm.label);
            let are_whole =
                rounds.all(|round| Losses::of(&round.evidence.device).leave_histograms());
            let last = table.rounds_of(&arm.label).last();
            ArmWaiting {
                arm: arm.label.clone(),
                hardware_depth: last.and_then(|round| round.evidence.hardware_depth()),
                requests: waits.count(),
                threshold_ns,
                share: waits.share_above(threshold_ns).filter(|_| are_whole),
                stalled_share: stalled_share(table.rounds_of(&arm.label), Whose::All),
                readers_stalled_share: stalled_share(table.rounds_of(&arm.label), Whose::Readers),
                writers_stalled_share: stalled_share(table.rounds_of(&arm.label), Whose::Writers),
                slept: slept(table.rounds_of(&arm.label)),
                longest_ns: table
                    .rounds_of(&arm.label)
                    .filter_map(|round| round.metrics.get(LONGEST_WAIT).copied())
                    .reduce(f64::max),
            }
        })
        .collect()
}
