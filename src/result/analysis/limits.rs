//! Whether each arm stays within the limits that the user gave: its own values against the limit, block by block. Pure.

use super::difference::{Value, against, samples, value};
use super::table::{Table, stalled_share};
use crate::analysis::conclude::TOLERATED_STALLS;
use crate::failure::Failure;
use crate::metric::{Metric, hides_stalls_of, starts_in_kernel};
use crate::statistics::estimate::ConfidenceInterval;
use crate::statistics::rows::{Judged, Row, RowBlock, judge_family};
use crate::statistics::scale::{Direction, Scale};
use crate::statistics::signed_rank::Difference;
use crate::statistics::stalls::StalledRounds;
use crate::statistics::verdict::{Comparison, Question, Reason};
use crate::types::goals::Limit;
use crate::types::limit::ArmLimit;
use crate::types::result::ResultFile;

/// A family of their own: all of them hold together. Metrics whose unit is not known yet are left out.
pub fn limits(table: &Table<'_>) -> Vec<ArmLimit> {
    let design = &table.result.design;
    let goals = design.goals.iter().flat_map(|goals| &goals.limits);
    let known = goals.filter_map(|limit| {
        let mut primary = design.primary.iter().filter(|metric| !metric.is_open());
        let metric = primary.find(|metric| metric.name == limit.metric)?;
        Some((limit, metric, limit.bound(metric)?))
    });
    let arms = || 0..design.arms.len();
    let inputs: Vec<Input> = known
        .flat_map(|(limit, metric, bound)| arms().map(move |arm| (limit, metric, bound, arm)))
        .map(|(limit, metric, bound, arm)| Input {
            limit,
            metric,
            bound,
            arm,
            blocks: blocks(table, metric, bound, arm),
            question: question(table, metric, arm),
        })
        .collect();
    let rows: Vec<Row<'_>> = inputs.iter().map(Input::row).collect();
    let judged = judge_family(&rows, design.schedule().level(design.alpha));
    let pairs = inputs.iter().zip(judged);
    pairs
        .map(|(input, judged)| input.said(table, judged))
        .collect()
}

/// Refuses a limit that is none for its metric, which a command has only now reported.
pub fn ensure_fit(result: &ResultFile) -> anyhow::Result<()> {
    let design = &result.design;
    let known = || design.primary.iter().filter(|metric| !metric.is_open());
    for limit in design.goals.iter().flat_map(|goals| &goals.limits) {
        let metric = known().find(|metric| metric.name == limit.metric);
        if let Some(why) = metric.and_then(|metric| limit.contradiction(metric)) {
            return Err(Failure::usage(
                format!("the limit of {} is none: {why}", limit.metric),
                "begin again with another limit, or without",
            ));
        }
    }
    Ok(())
}

/// No other arm waits for what can be said of the reference.
pub fn are_settled(table: &Table<'_>) -> bool {
    let design = &table.result.design;
    let reference = &design.arms[design.reference].label;
    let mut rows = limits(table).into_iter();
    rows.all(|row| row.arm == *reference || is_settled(&row))
}

/// Shown to hold or not, or no more blocks can show it.
pub fn is_settled(row: &ArmLimit) -> bool {
    let found = &row.comparison;
    let has_no_value = found.blocks == 0 && found.blocks_missing >= found.question.blocks_needed();
    row.holds.is_some() || has_no_value || found.question.not_comparable
}

/// What stands for 0, in limits.
const NOTHING: f64 = 1e-9;

struct Input<'a> {
    limit: &'a Limit,
    metric: &'a Metric,
    bound: f64,
    arm: usize,
    blocks: Vec<RowBlock>,
    question: Question,
}

impl Input<'_> {
    /// No cells: what ran before an arm is part of what it is under this order of arms, which is balanced.
    fn row(&self) -> Row<'_> {
        Row {
            arm: self.arm,
            reference: self.arm,
            cells: &[],
            blocks: self.blocks.clone(),
            question: self.question,
        }
    }

    fn blocks_beyond(&self) -> usize {
        let worse = |d: &Difference| match self.metric.direction {
            Direction::HigherIsBetter => d.upper < 0.0,
            Direction::LowerIsBetter => d.lower > 0.0,
            Direction::Neutral => false,
        };
        let differences = self.blocks.iter().filter_map(|block| block.difference);
        differences.filter(worse).count()
    }

    fn said(&self, table: &Table<'_>, judged: Judged) -> ArmLimit {
        let mut comparison = judged.comparison;
        // How far a block is from the others says nothing here; `blocks_beyond` counts what matters.
        comparison.stalled = StalledRounds::default();
        let scale = self.metric.scale;
        // Near the limit, what the projection foretells is that the difference does not matter, which decides no limit.
        let half_margin = scale.of_margin(self.metric.margin) / 2.0;
        let is_near = comparison.estimate.is_some_and(|y| y.abs() < half_margin);
        comparison.reasons.retain(|reason| match reason {
            Reason::StalledRounds { .. } => false,
            Reason::NeedsRounds { .. } => !is_near,
            _ => true,
        });
        let (value, interval) = typical(scale, self.bound, &comparison);
        ArmLimit {
            metric: self.metric.clone(),
            arm: table.result.design.arms[self.arm].label.clone(),
            side: self.limit.side,
            limit: self.bound,
            value,
            interval,
            blocks_beyond: self.blocks_beyond(),
            holds: holds(&comparison),
            comparison,
        }
    }
}

/// The typical block and its interval in the metric's unit.
pub fn typical(
    scale: Scale,
    bound: f64,
    comparison: &Comparison,
) -> (Option<f64>, Option<ConfidenceInterval>) {
    let back = |y: f64| match scale {
        Scale::Log => bound * y.exp(),
        Scale::Identity => bound + y,
    };
    let interval = comparison.interval.map(|it| ConfidenceInterval {
        lower: back(it.lower),
        upper: back(it.upper),
        ..it
    });
    let value = comparison.estimate.map(back);
    (value.filter(|it| it.is_finite()), interval)
}

/// The whole interval is on one side of the limit, and nothing withholds what it says.
pub fn holds(found: &Comparison) -> Option<bool> {
    if found.withheld.is_some() {
        return None;
    }
    let question = found.question;
    let (worst, best) = question.direction.worst_and_best(found.interval?);
    if worst >= 0.0 {
        Some(true)
    } else {
        (best < 0.0).then_some(false)
    }
}

fn blocks(table: &Table<'_>, metric: &Metric, bound: f64, arm: usize) -> Vec<RowBlock> {
    let label = &table.result.design.arms[arm].label;
    let is_asked = table.is_asked(metric);
    let pairs = table.pairs(label, label).into_iter();
    pairs
        .map(|pair| RowBlock {
            block: pair.block,
            difference: pair.arm.and_then(|round| {
                let ios = samples(metric, round);
                let own = match value(metric, is_asked, round)? {
                    // As far from the limit as anything: a ratio to nothing has no size.
                    Value::Measured(own) if metric.scale == Scale::Log => {
                        Value::Measured(own.max(bound * NOTHING))
                    }
                    own => own,
                };
                let limit = (Value::Measured(bound), ios);
                against(metric.scale, metric.direction.worst(), (own, ios), limit)
            }),
            positions: (0, 0),
            before: (None, None),
        })
        .collect()
}

fn question(table: &Table<'_>, metric: &Metric, arm: usize) -> Question {
    let design = &table.result.design;
    let label = design.arms[arm].label.as_str();
    let stalled = || stalled_share(table.rounds_of(label), hides_stalls_of(&metric.name));
    let hides_waits =
        starts_in_kernel(&metric.name) && stalled().is_some_and(|share| share > TOLERATED_STALLS);
    Question {
        not_comparable: hides_waits,
        is_stopped: table.result.is_stopped(label),
        ..Question::plain(
            metric.scale,
            metric.direction,
            metric.margin,
            design.alpha,
            design.stopping.method(),
        )
    }
}

#[cfg(test)]
#[path = "limits_tests.rs"]
mod tests;
