//! The counted rounds by block and arm, and the differences between an arm and the reference. Pure.

use std::collections::{BTreeMap, BTreeSet};

use super::difference::{difference, is_doubtful, valid};
use super::early::ELAPSED;
use super::exclusion::excluded_blocks;
use super::fixed_work;
use crate::measured::snapshot::Waits;
use crate::measured::stalls::{Stalls, Whose};
use crate::metric::Metric;
use crate::statistics::covariate::Slopes;
use crate::statistics::estimate;
use crate::statistics::layout::{Cell, LAGS};
use crate::statistics::rows::RowBlock;
use crate::statistics::scale::Scale;
use crate::types::plan::PlannedRound;
use crate::types::result::{ArmSleep, ResultFile, Round};

pub struct Table<'a> {
    pub result: &'a ResultFile,
    rounds: BTreeMap<(usize, &'a str), &'a Round>,
    /// The arms that were to run in each block.
    planned: BTreeSet<(usize, usize)>,
    /// Blocks in which every round was carried out, counted or not: later blocks are not missing.
    blocks: Vec<usize>,
    stopped: BTreeSet<usize>,
    /// Whether values are adjusted for the load before their blocks.
    adjusts: bool,
}

/// The rounds of a block that count.
pub struct Pair<'a> {
    pub block: usize,
    pub arm: Option<&'a Round>,
    pub reference: Option<&'a Round>,
}

impl<'a> Table<'a> {
    /// Adjusted for the load if that was decided before the run.
    pub fn new(result: &'a ResultFile) -> Self {
        let live = result.design.live.as_ref();
        Self::with_adjustment(result, live.is_some_and(|live| live.adjust_load))
    }

    pub fn with_adjustment(result: &'a ResultFile, adjusts: bool) -> Self {
        let excluded: BTreeSet<(usize, usize)> = excluded_blocks(result)
            .iter()
            .map(|e| (e.block, e.attempt))
            .collect();
        let counted = result
            .rounds
            .iter()
            .filter(|round| !excluded.contains(&(round.block, round.attempt)));
        let mut left: Vec<usize> = vec![0; result.plan.blocks()];
        let stopped = result.stopped_arms();
        let rounds = result.rounds.iter();
        let run: BTreeSet<(usize, usize)> =
            rounds.map(|round| (round.block, round.position)).collect();
        let was_run = |planned: &PlannedRound| run.contains(&(planned.block, planned.position));
        let is_skipped =
            |planned: &PlannedRound| stopped.contains(&planned.arm) && !was_run(planned);
        for planned in result
            .plan
            .rounds
            .iter()
            .filter(|planned| !is_skipped(planned))
        {
            left[planned.block] += 1;
        }
        for round in result.rounds.iter().filter(|round| round.attempt == 0) {
            left[round.block] = left[round.block].saturating_sub(1);
        }
        Table {
            result,
            rounds: counted
                .map(|round| ((round.block, round.arm.as_str()), round))
                .collect(),
            planned: result
                .plan
                .rounds
                .iter()
                .map(|planned| (planned.block, planned.arm))
                .collect(),
            blocks: (0..left.len()).filter(|block| left[*block] == 0).collect(),
            stopped,
            adjusts,
        }
    }

    /// Rounds of blocks in which every round so far counts, in order.
    pub fn counted_rounds(&self) -> Vec<&'a Round> {
        let mut rounds: Vec<&Round> = self.rounds.values().copied().collect();
        rounds.sort_by_key(|round| round.index);
        rounds
    }

    /// Metrics that are not primary. One that was 0 in every round compares nothing.
    pub fn other_metrics(&self) -> Vec<Metric> {
        let rounds = || self.rounds.values().copied();
        let measured: BTreeSet<&String> = rounds().flat_map(|it| it.metrics.keys()).collect();
        let reported: BTreeSet<&String> = rounds().flat_map(|it| it.reported.keys()).collect();
        let primary = &self.result.design.primary;
        let is_no_result =
            !primary.iter().any(|metric| metric.name == ELAPSED) && self.doubts_elapsed();
        let measured = measured
            .into_iter()
            .filter(|name| *name != ELAPSED || !is_no_result)
            .filter(|name| rounds().any(|it| it.metrics.get(*name).is_some_and(|it| *it != 0.0)))
            .filter_map(|name| Metric::named(name));
        let reported = reported
            .into_iter()
            .filter_map(|name| self.result.reported_metric(name));
        measured
            .chain(reported)
            .filter(|metric| primary.iter().all(|it| !it.is_same(metric)))
            .collect()
    }

    /// Whether the work of the rounds is not the same, so that their time is no result.
    pub fn doubts_elapsed(&self) -> bool {
        let rounds = self.rounds.values().copied();
        fixed_work::doubt_in(self.result, rounds).is_some()
    }

    /// The finite values of a metric, with their places in the plan.
    pub fn cells(&self, metric: &Metric) -> Vec<Cell> {
        let mut cells = self.measured_cells(metric);
        if let Some(slopes) = self.load_slopes(metric) {
            for cell in &mut cells {
                cell.y = slopes.adjusted(cell);
            }
        }
        cells
    }

    /// How the metric follows the load before its blocks, if it is adjusted for that.
    pub fn load_slopes(&self, metric: &Metric) -> Option<Slopes> {
        self.adjusts
            .then(|| Slopes::of(&self.measured_cells(metric)))
            .flatten()
    }

    /// In logarithms: of the window before the first round of the block.
    fn load_before(&self, block: usize) -> Option<f64> {
        let rounds = self.rounds.range((block, "")..).map(|(_, round)| *round);
        let mut of_block = rounds.take_while(|round| round.block == block);
        let first = of_block.find(|round| round.position == 0)?;
        let iops = first.evidence.iops_before.filter(|iops| *iops > 0.0)?;
        Some(iops.ln())
    }

    fn measured_cells(&self, metric: &Metric) -> Vec<Cell> {
        let result = self.result;
        let of = |round: &&Round| {
            let value = round.value(metric)?;
            let y = metric.scale.transformed(value).filter(|y| y.is_finite())?;
            Some(Cell {
                block: round.block,
                arm: result.arm_index(&round.arm)?,
                position: round.position,
                before: self.before(round),
                before_load: self.load_before(round.block),
                y,
            })
        };
        self.rounds.values().filter_map(of).collect()
    }

    /// The arms of the preceding rounds, the last one first. Also with a wash-out, which may be shorter than what it is for: where
    /// nothing was looked for, more verdicts on arms that are alike were false (`tests/verdicts.rs`).
    fn before(&self, round: &Round) -> [Option<usize>; LAGS] {
        let result = self.result;
        let arm_of = |index: usize| result.arm_index(&result.rounds.get(index)?.arm);
        std::array::from_fn(|lag| {
            let earlier = round.index.checked_sub(lag + 1)?;
            arm_of(earlier)
        })
    }

    /// Whether a counted round without a value counts as the worst: the metric decides, and another round has a value.
    pub(super) fn is_asked(&self, metric: &Metric) -> bool {
        let primary = &self.result.design.primary;
        let has_value = |round: &&Round| round.value(metric).is_some();
        primary.iter().any(|of| of.is_same(metric)) && self.rounds.values().any(has_value)
    }

    /// Whether both arms have values and all of them are zero.
    pub fn is_all_zero(&self, metric: &Metric, arm: &str, reference: &str) -> bool {
        let is_zero = |rounds: Vec<&Round>| {
            let rounds = rounds.into_iter();
            let mut found = rounds.filter_map(|round| round.value(metric)).peekable();
            found.peek().is_some() && found.all(|value| value == 0.0)
        };
        let [arm, reference] = self.side_by_side(arm, reference);
        metric.scale == Scale::Log && is_zero(arm) && is_zero(reference)
    }

    /// Whether the reference ran to its end and has no value in any round, where the arm has some.
    pub fn is_silent(&self, metric: &Metric, arm: &str, reference: &str) -> bool {
        let has_value = |round: &&Round| valid(metric, round).is_some();
        let may_have_one = |round: &Round| round.censored.is_some() || is_doubtful(metric, round);
        let [arm, reference] = self.side_by_side(arm, reference);
        let mut of_reference = reference.iter();
        arm.iter().any(has_value)
            && of_reference.all(|round| !has_value(round) && !may_have_one(round))
    }

    /// The counted rounds of the arm and of the reference in the blocks in which both took part. What the reference did
    /// after an arm left says nothing about that arm.
    pub fn side_by_side(&self, arm: &str, reference: &str) -> [Vec<&'a Round>; 2] {
        let pairs = self.pairs(arm, reference);
        let of = |side: fn(&Pair<'a>) -> Option<&'a Round>| pairs.iter().filter_map(side).collect();
        [of(|pair| pair.arm), of(|pair| pair.reference)]
    }

    /// The blocks in which both took part, with their differences.
    pub fn blocks(&self, metric: &Metric, arm: &str, reference: &str) -> Vec<RowBlock> {
        let position = |round: Option<&Round>| round.map_or(0, |round| round.position);
        let before = |round: Option<&Round>| self.before(round?)[0];
        let is_asked = self.is_asked(metric);
        let slopes = self.load_slopes(metric);
        let bias = |round: &Round| {
            let slopes = slopes.as_ref();
            slopes.map_or(0.0, |it| {
                it.bias(round.position, self.load_before(round.block))
            })
        };
        let pairs = self.pairs(arm, reference).into_iter();
        let mut blocks: Vec<RowBlock> = pairs
            .map(|pair| RowBlock {
                block: pair.block,
                difference: pair.arm.zip(pair.reference).and_then(|(arm, reference)| {
                    let difference = difference(metric, is_asked, arm, reference)?;
                    Some(difference.without(bias(arm) - bias(reference)))
                }),
                positions: (position(pair.arm), position(pair.reference)),
                before: (before(pair.arm), before(pair.reference)),
            })
            .collect();
        if let Some(slopes) = &slopes {
            slopes.spread(&mut blocks);
        }
        blocks
    }

    /// The blocks in which both took part, with their rounds.
    pub fn pairs(&self, arm: &str, reference: &str) -> Vec<Pair<'a>> {
        let take_part = |block: usize, label: &str| {
            let Some(arm) = self.result.arm_index(label) else {
                return false;
            };
            let is_planned = self.planned.contains(&(block, arm));
            let is_stopped = self.stopped.contains(&arm);
            is_planned && (!is_stopped || self.rounds.contains_key(&(block, label)))
        };
        let of = |block, label| self.rounds.get(&(block, label)).copied();
        let blocks = self.blocks.iter().copied();
        let blocks = blocks.filter(|&b| take_part(b, arm) && take_part(b, reference));
        blocks
            .map(|block| Pair {
                block,
                arm: of(block, arm),
                reference: of(block, reference),
            })
            .collect()
    }

    pub fn rounds_of(&self, label: &str) -> impl Iterator<Item = &'a Round> {
        let rounds = self.rounds.iter();
        rounds
            .filter(move |((_, arm), _)| *arm == label)
            .map(|(_, round)| *round)
    }

    /// Over the rounds of complete blocks, as the differences are; before the first one is complete, over all that count.
    pub fn median(&self, label: &str, metric: &Metric) -> Option<f64> {
        let over = |is_used: &dyn Fn(&Round) -> bool| {
            let rounds = self.rounds_of(label).filter(|round| is_used(round));
            let values = rounds.filter_map(|round| valid(metric, round));
            estimate::median(&values.collect::<Vec<_>>())
        };
        over(&|round| self.blocks.contains(&round.block)).or_else(|| over(&|_| true))
    }
}

/// For what threads slept before their I/Os had a request, as shares of these rounds, the largest first.
pub fn slept<'a>(rounds: impl IntoIterator<Item = &'a Round>) -> Vec<ArmSleep> {
    let (mut waits, mut window_s) = (Waits::default(), 0.0);
    for round in rounds {
        waits += round.evidence.device.waits;
        window_s += round.window_s;
    }
    let sleeps = waits.sleeps().into_iter().filter(|(_, ns)| *ns > 0);
    let share = |(cause, ns)| ArmSleep {
        cause,
        share: ns as f64 / (window_s * 1e9),
    };
    let mut slept: Vec<ArmSleep> = sleeps.filter(|_| window_s > 0.0).map(share).collect();
    slept.sort_by(|a, b| b.share.total_cmp(&a.share));
    slept
}

/// Time in which submitters were stalled, as a share of these rounds.
pub fn stalled_share<'a>(rounds: impl IntoIterator<Item = &'a Round>, whose: Whose) -> Option<f64> {
    let (mut stalls, mut window_s) = (Stalls::default(), 0.0);
    for round in rounds {
        let evidence = &round.evidence;
        stalls += Stalls::of(&evidence.device, &evidence.owners.iter());
        window_s += round.window_s;
    }
    (window_s > 0.0).then(|| stalls.ns(whose) as f64 / (window_s * 1e9))
}
