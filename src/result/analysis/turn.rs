//! The next turn: a pure function of the rounds so far, so that a killed run continues where it ended.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::{budget, conclude, exclusion};
use crate::statistics::stopping::Stopping;
use crate::types::plan::{PlannedRound, Turn};
use crate::types::result::{ExcludedBlock, ResultFile};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    Round(Turn),
    /// The drawn blocks are complete and the run has not ended: draw more.
    Draw(Segment),
    End,
}

/// Blocks to draw, for these arms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    pub blocks: usize,
    pub arms: Vec<usize>,
}

/// Largest share of excluded blocks in a valid run. Above it no more blocks are repeated.
const TOLERATED_EXCLUSIONS: f64 = 0.2;

/// Whether a run with this many exclusions is valid.
pub fn is_tolerable(excluded: usize, blocks: usize) -> bool {
    excluded as f64 <= TOLERATED_EXCLUSIONS * blocks as f64
}

/// Why the run as a whole is invalid.
pub fn why_invalid(result: &ResultFile) -> Option<String> {
    let (excluded, blocks) = (result.excluded.len(), result.blocks_begun());
    let first = result.excluded.first()?;
    (!is_tolerable(excluded, blocks)).then(|| {
        format!(
            "the run is invalid: {excluded} of {blocks} blocks had a round that does not count; the first because {}",
            first.problem
        )
    })
}

/// The planned rounds in order; excluded blocks are repeated as a whole before each look.
pub fn next(result: &ResultFile) -> Next {
    let stopped = result.stopped_arms();
    if !stopped.is_empty() && stopped.len() + 1 >= result.plan.arms {
        return Next::End;
    }
    let schedule = result.design.schedule();
    let begun = result.blocks_begun();
    let done = Done::of(result);
    let looks = schedule.looks(result.plan.blocks()).into_iter();
    for look in looks.filter(|look| *look >= begun) {
        let turn = unfinished(result, &done, look).or_else(|| again(result, &done, look));
        if let Some(turn) = turn {
            return Next::Round(turn);
        }
        if begun == look && schedule.may_end_at(look) && conclude::is_decided(result) {
            return Next::End;
        }
    }
    let drawn = result.plan.blocks();
    // A segment that was shortened for want of time was the last.
    let Some(blocks) = schedule
        .next_segment(drawn)
        .filter(|_| schedule.is_look(drawn))
    else {
        return Next::End;
    };
    let arms = arms_of_next(result, &stopped);
    let affordable = budget::affordable_blocks(result, arms.len());
    match affordable.map_or(blocks, |affordable| blocks.min(affordable)) {
        0 => Next::End,
        blocks => Next::Draw(Segment { blocks, arms }),
    }
}

/// Arms leave only at looks; the other modes run all arms to the end. A decided run that was extended is to see more of all of them.
fn arms_of_next(result: &ResultFile, stopped: &BTreeSet<usize>) -> Vec<usize> {
    let are_left = |arms: Vec<usize>| -> Vec<usize> {
        let left = arms.into_iter().filter(|arm| !stopped.contains(arm));
        left.collect()
    };
    let all = || are_left((0..result.plan.arms).collect());
    match result.design.stopping {
        Stopping::Looks { .. } => {
            let open = are_left(conclude::arms_that_go_on(result));
            if open.len() > 1 { open } else { all() }
        }
        Stopping::Fixed { .. } | Stopping::Open => all(),
    }
}

/// The first missing round of a block, or of a repetition that has begun.
fn unfinished(result: &ResultFile, done: &Done, look: usize) -> Option<Turn> {
    let stopped = result.stopped_arms();
    let planned = result
        .plan
        .rounds
        .iter()
        .filter(|p| p.block < look && !stopped.contains(&p.arm));
    let first = planned.clone().find(|p| !done.has(p, 0));
    // A block that was begun may lack rounds in its last repetition.
    let is_missing = |p: &PlannedRound| {
        let attempt = done.attempts(p.block).checked_sub(1)?;
        (!done.has(p, attempt)).then_some((*p, attempt))
    };
    let begun = planned.filter_map(is_missing).min_by_key(|(p, _)| p.block);
    let (planned, attempt) = match first {
        Some(first) => (*first, 0),
        None => begun?,
    };
    Some(turn(result, planned, attempt))
}

/// Repeats an excluded block from its beginning, in its drawn order.
fn again(result: &ResultFile, done: &Done, look: usize) -> Option<Turn> {
    let excluded = exclusion::excluded_blocks(result);
    if !is_tolerable(excluded.len(), look) {
        return None;
    }
    let is_latest = |e: &&ExcludedBlock| {
        let latest = done.attempts(e.block).checked_sub(1);
        e.block < look && Some(e.attempt) == latest
    };
    let block = excluded.iter().filter(is_latest).map(|e| e.block).min()?;
    let stopped = result.stopped_arms();
    let first = result
        .plan
        .rounds
        .iter()
        .find(|p| p.block == block && !stopped.contains(&p.arm))?;
    Some(turn(result, *first, done.attempts(block)))
}

/// The rounds that are left until so many blocks count, as things stand: those that were not carried out, and those of blocks that
/// are repeated.
pub fn left_until(result: &ResultFile, look: usize) -> Vec<&PlannedRound> {
    let stopped = result.stopped_arms();
    let done = Done::of(result);
    let excluded = exclusion::excluded_blocks(result);
    let are_repeated = is_tolerable(excluded.len(), look);
    let is_excluded = |block: usize, attempt: usize| {
        let mut excluded = excluded.iter();
        excluded.any(|it| (it.block, it.attempt) == (block, attempt))
    };
    let times = |planned: &PlannedRound| match done.attempts(planned.block).checked_sub(1) {
        None => 1,
        Some(latest) => {
            let again = are_repeated && is_excluded(planned.block, latest);
            usize::from(!done.has(planned, latest)) + usize::from(again)
        }
    };
    let planned = result.plan.rounds.iter();
    planned
        .filter(|round| round.block < look && !stopped.contains(&round.arm))
        .flat_map(|round| std::iter::repeat_n(round, times(round)))
        .collect()
}

fn turn(result: &ResultFile, planned: PlannedRound, attempt: usize) -> Turn {
    let index = result.rounds.len();
    Turn {
        planned: PlannedRound { index, ..planned },
        attempt,
    }
}

/// The rounds that were carried out.
struct Done {
    /// Block, position and attempt.
    rounds: HashSet<(usize, usize, usize)>,
    /// How often each block was begun.
    attempts: HashMap<usize, usize>,
}

impl Done {
    fn of(result: &ResultFile) -> Done {
        let mut done = Done {
            rounds: HashSet::new(),
            attempts: HashMap::new(),
        };
        for round in &result.rounds {
            let place = (round.block, round.position, round.attempt);
            done.rounds.insert(place);
            let attempts = done.attempts.entry(round.block).or_default();
            *attempts = (*attempts).max(round.attempt + 1);
        }
        done
    }

    fn has(&self, planned: &PlannedRound, attempt: usize) -> bool {
        let place = (planned.block, planned.position, attempt);
        self.rounds.contains(&place)
    }

    fn attempts(&self, block: usize) -> usize {
        self.attempts.get(&block).copied().unwrap_or(0)
    }
}

#[cfg(test)]
#[path = "turn_tests.rs"]
mod tests;
