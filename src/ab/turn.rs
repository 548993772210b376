//! What is to be run next: a pure function of what has been run. So a run that was killed goes on where it ended.

use super::analysis;
use super::plan::PlannedRound;
use crate::report::result::ResultFile;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    Round(Turn),
    /// Everything drawn was run, and nothing has ended the run: so many blocks more are to be drawn.
    Draw(usize),
    End,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    pub planned: PlannedRound,
    pub attempt: usize,
}

/// More than this share of all blocks excluded makes a run invalid; so many more are not worth their time.
const TOLERATED_EXCLUSIONS: f64 = 0.2;

/// Whether a run with so many exclusions may be trusted.
pub fn is_tolerable(excluded: usize, blocks: usize) -> bool {
    excluded as f64 <= TOLERATED_EXCLUSIONS * blocks as f64
}

/// The planned rounds in their order; before each look, whole blocks again that were excluded.
pub fn next(result: &ResultFile) -> Next {
    let stopping = result.design.stopping;
    let begun = result.blocks_begun();
    let looks = stopping.looks(result.plan.blocks()).into_iter();
    for look in looks.filter(|look| *look >= begun) {
        if let Some(turn) = unfinished(result, look).or_else(|| again(result, look)) {
            return Next::Round(turn);
        }
        if begun == look && analysis::is_decided(result) {
            return Next::End;
        }
    }
    stopping.next_segment().map_or(Next::End, Next::Draw)
}

/// The first round that is missing of a block, or of a repetition of one that was begun.
fn unfinished(result: &ResultFile, look: usize) -> Option<Turn> {
    let planned = result.plan.rounds.iter().filter(|p| p.block < look);
    let first = planned.clone().find(|p| !was_run(result, p, 0));
    let attempts = (0..look).map(|block| attempts(result, block));
    let begun = attempts.enumerate().find_map(|(block, attempts)| {
        let attempt = attempts.checked_sub(1)?;
        let missing = planned
            .clone()
            .find(|p| p.block == block && !was_run(result, p, attempt));
        missing.map(|planned| (*planned, attempt))
    });
    let (planned, attempt) = match first {
        Some(first) => (*first, 0),
        None => begun?,
    };
    Some(turn(result, planned, attempt))
}

/// An excluded block from its beginning: in the order that was drawn for it, so that the balance holds.
fn again(result: &ResultFile, look: usize) -> Option<Turn> {
    let excluded = analysis::excluded_blocks(result);
    if !is_tolerable(excluded.len(), look) {
        return None;
    }
    let block = (0..look).find(|&block| {
        let latest = attempts(result, block).checked_sub(1);
        excluded
            .iter()
            .any(|e| e.block == block && Some(e.attempt) == latest)
    })?;
    let first = result.plan.rounds.iter().find(|p| p.block == block)?;
    Some(turn(result, *first, attempts(result, block)))
}

fn turn(result: &ResultFile, planned: PlannedRound, attempt: usize) -> Turn {
    let index = result.rounds.len();
    Turn {
        planned: PlannedRound { index, ..planned },
        attempt,
    }
}

fn was_run(result: &ResultFile, planned: &PlannedRound, attempt: usize) -> bool {
    let place = (planned.block, planned.position, attempt);
    result
        .rounds
        .iter()
        .any(|round| (round.block, round.position, round.attempt) == place)
}

/// How often the block was begun.
fn attempts(result: &ResultFile, block: usize) -> usize {
    let rounds = result.rounds.iter().filter(|round| round.block == block);
    rounds.map(|round| round.attempt + 1).max().unwrap_or(0)
}

#[cfg(test)]
#[path = "turn_tests.rs"]
mod tests;
