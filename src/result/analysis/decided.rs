//! Verdicts of an open run stay. It is looked at after every block, and its level holds over all looks, so a row that was
//! decided once is decided, unless the data since then contradict it. Pure.

use super::conclude::known;
use super::inputs::{Input, inputs};
use super::table::Table;
use crate::metric::Metric;
use crate::statistics::rows::{Judged, Row, end_of, judge_at};
use crate::statistics::scale::Direction;
use crate::statistics::stopping::Stopping;
use crate::statistics::verdict::{Comparison, Reason, Verdict};
use crate::types::result::{ArmComparison, Class, Decided, ResultFile};

/// What an arm leaves behind takes a verdict back if it shows at this level.
const LEFT_BEHIND: f64 = 0.05;

/// Notes the verdicts that came with the last block. An open run calls it after each round.
pub fn note(result: &mut ResultFile) {
    let whole = whole_blocks(result);
    if result.design.stopping != Stopping::Open || whole < result.blocks_begun() {
        return;
    }
    let rows = rows(&Table::new(result), &known(result)).into_iter();
    let new: Vec<Decided> = rows
        .filter(|row| row.comparison.verdict != Verdict::Inconclusive)
        .filter(|row| after_blocks(result, &row.metric.name, &row.arm).is_none())
        .map(|row| Decided {
            metric: row.metric.name,
            arm: row.arm,
            after_blocks: whole,
        })
        .collect();
    result.decided.extend(new);
}

/// Number of blocks of which every round was carried out. The last one may be under way.
fn whole_blocks(result: &ResultFile) -> usize {
    let Some(last) = result.rounds.last() else {
        return 0;
    };
    let stopped = result.stopped_arms();
    let mut planned = result.plan.rounds.iter();
    let is_missing = |arm: usize| {
        let label = result.design.arms.get(arm).map(|arm| &arm.label);
        let mut own = result.rounds.iter().rev();
        !own.any(|it| {
            (it.block, it.attempt) == (last.block, last.attempt) && Some(&it.arm) == label
        })
    };
    let lacks = planned
        .any(|it| it.block == last.block && !stopped.contains(&it.arm) && is_missing(it.arm));
    last.block + usize::from(!lacks)
}

/// The primary rows of an open run: each as it was when it had its first verdict, or as it is now.
pub fn rows(table: &Table<'_>, metrics: &[Metric]) -> Vec<ArmComparison> {
    let result = table.result;
    let inputs: Vec<Input> = metrics.iter().flat_map(|m| inputs(table, m)).collect();
    let rows: Vec<Row<'_>> = inputs.iter().map(Input::row).collect();
    let whole = whole_blocks(result);
    let now = rows.iter().map(|row| end_of(row).min(whole)).enumerate();
    let decided = inputs.iter().enumerate().filter_map(|(index, input)| {
        let arm = &result.design.arms[input.arm].label;
        let blocks = after_blocks(result, &input.metric.name, arm)?;
        (blocks <= whole).then_some((index, blocks))
    });
    let decided: Vec<(usize, usize)> = decided.collect();
    let at: Vec<(usize, usize)> = now.chain(decided.iter().copied()).collect();
    let level = result.design.schedule().level(result.design.alpha);
    let mut judged = judge_at(&rows, &at, level);
    let then = judged.split_off(rows.len());
    let mut said: Vec<(Judged, Option<usize>)> =
        judged.into_iter().map(|now| (now, None)).collect();
    for ((index, blocks), then) in decided.into_iter().zip(then) {
        let (kept, holds) = kept(then, said[index].0.clone(), blocks);
        said[index] = (kept, holds.then_some(blocks));
    }
    let said = inputs.iter().zip(said);
    said.map(|(input, (judged, after))| {
        let mut row = input.said(table, judged, Class::Primary);
        row.decided_after_blocks = after;
        row
    })
    .collect()
}

/// The number of blocks after which a row had its verdict.
fn after_blocks(result: &ResultFile, metric: &str, arm: &str) -> Option<usize> {
    let mut decided = result.decided.iter();
    let found = decided.find(|it| (&*it.metric, &*it.arm) == (metric, arm))?;
    Some(found.after_blocks)
}

/// What is said of a row that was judged `then`, after so many blocks, and is judged `now`; and whether its first verdict
/// holds.
pub fn kept(then: Judged, now: Judged, blocks: usize) -> (Judged, bool) {
    let first = then.comparison.verdict;
    // The rounds do not say so: another reference, or a file that somebody has changed.
    if first == Verdict::Inconclusive {
        return (now, false);
    }
    let present = &now.comparison;
    let is_opposite = matches!(
        (first, present.verdict),
        (Verdict::Better, Verdict::Worse) | (Verdict::Worse, Verdict::Better)
    );
    // An absent number never favours the arm that caused it: since then the arm stalled, failed, or did too little.
    let lacks = censored(present) > censored(&then.comparison)
        && present.stalled.arm > then.comparison.stalled.arm;
    let is_favoured = matches!(first, Verdict::Better | Verdict::Equivalent);
    let has_moved = [Reason::TruthChanged, Reason::Moved]
        .iter()
        .any(|reason| present.reasons.contains(reason));
    let has_moved = has_moved && !agrees(first, present);
    // Where nothing is left behind, that is suspected now and then.
    let is_left_behind = now.carry_over.is_some_and(|bias| bias.p <= LEFT_BEHIND);
    let is_doubted = present.verdict == Verdict::Inconclusive
        && (present.reasons.iter().any(casts_doubt)
            || (lacks && is_favoured)
            || has_moved
            || is_left_behind);
    if present.question.not_comparable || present.question.nothing_happened {
        return (now, false);
    }
    if is_opposite || is_doubted {
        return (contradicted(now, first, blocks), false);
    }
    if present.verdict != Verdict::Inconclusive {
        return (now, true);
    }
    let mut kept = then;
    kept.comparison.reasons.push(Reason::Earlier { blocks });
    (kept, true)
}

/// Whether all blocks together still point where the first ones did. The difference may have become larger.
fn agrees(first: Verdict, present: &Comparison) -> bool {
    let question = present.question;
    let Some(estimate) = present.estimate else {
        return false;
    };
    let (is_more, is_better_more) = (
        estimate > 0.0,
        question.direction == Direction::HigherIsBetter,
    );
    match first {
        Verdict::Better => is_more == is_better_more,
        Verdict::Worse => is_more != is_better_more,
        Verdict::Differs => estimate != 0.0,
        Verdict::Equivalent => {
            let margins = question.scale.margins(question.margin);
            -margins.down < estimate && estimate < margins.up
        }
        Verdict::Inconclusive => false,
    }
}

/// The mean points the other way, or a missing value may be the other arm's doing. A row whose mean and typical block have
/// come to differ keeps its verdict.
fn casts_doubt(reason: &Reason) -> bool {
    matches!(
        reason,
        Reason::MeanDisagrees | Reason::ReferenceSilent | Reason::CensoredAfterOthers
    )
}

/// Number of blocks without a value.
fn censored(comparison: &Comparison) -> usize {
    let blocks = comparison.reasons.iter().find_map(|reason| match reason {
        Reason::Censored { blocks } => Some(*blocks),
        _ => None,
    });
    blocks.unwrap_or(0)
}

/// A contradiction never favours the arm: a gate sees the worse of both.
fn contradicted(mut now: Judged, verdict: Verdict, blocks: usize) -> Judged {
    let found = &mut now.comparison;
    let others = [Some(verdict), found.withheld, Some(found.verdict)];
    let is_worse = others.contains(&Some(Verdict::Worse));
    found.withheld = Some(if is_worse { Verdict::Worse } else { verdict });
    found.verdict = Verdict::Inconclusive;
    found.tiny_nonzero = false;
    found
        .reasons
        .insert(0, Reason::Contradicted { verdict, blocks });
    now
}

#[cfg(test)]
#[path = "decided_tests.rs"]
mod tests;
