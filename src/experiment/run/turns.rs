//! One round after the other, by the plan.

use std::time::Duration;

use anyhow::Result;

use super::{Experiment, Observer};
use crate::machine::Machine;
use crate::round::{RoundOutcome, RoundSetup};
use iosched_result::analysis::exclusion::exclude_foreign;
use iosched_result::analysis::turn::{self, Next};
use iosched_result::analysis::{decided, early, exclusion, losses, washout};
use iosched_result::failure::{Failure, Kind, kind_of};
use iosched_result::types::plan::Turn;
use iosched_result::types::result::{Exclusion, ResultFile, Round};

/// Draws more blocks where they are needed. None: the run is over.
pub fn next(result: &mut ResultFile) -> Option<Turn> {
    loop {
        let next = turn::next(result);
        if washout::is_due(result, &next) {
            washout::decide(result);
            continue;
        }
        match next {
            Next::Round(turn) => return Some(turn),
            Next::Draw(segment) => result.plan.extend(segment.blocks, &segment.arms),
            Next::End => return None,
        }
    }
}

/// Consequences of a round for those after it.
pub struct TurnOutcome {
    rival: Option<String>,
    failed_at_once: Option<String>,
    look: Result<()>,
}

/// Adds the round to `result`, and its time.
pub fn run_turn(
    bench: &mut RoundSetup<'_>,
    turn: &Turn,
    result: &mut ResultFile,
    observer: &mut dyn Observer,
) -> Result<TurnOutcome> {
    let begin = bench.machine.now();
    bench.machine.ensure_uninterrupted()?;
    observer.round_begins(turn, &bench.arms[turn.planned.arm]);
    let RoundOutcome { mut round, rival } = bench.run_round(turn)?;
    result.notes.extend(bench.machine.take_notes());
    // Misread output says so itself.
    let is_first_failure = round.index == 0
        && round.exclusion == Some(Exclusion::Workload)
        && !round.evidence.outcome.ended_by_others
        && round.evidence.outcome.misread.is_none();
    let failed_at_once = round.problem.clone().filter(|_| is_first_failure);
    note_what_stays_cached(&mut result.notes, &round);
    losses::exclude(&result.design.primary, &mut round);
    result.rounds.push(round);
    exclude_foreign(result);
    result.excluded = exclusion::excluded_blocks(result);
    decided::note(result);
    let look = early::look(result);
    add_time(result, bench.machine.now().saturating_sub(begin));
    if let Some(round) = result.rounds.last() {
        observer.round_ends(result, round);
    }
    Ok(TurnOutcome {
        rival,
        failed_at_once,
        look,
    })
}

pub fn ensure_alone(rival: Option<&str>) -> Result<()> {
    let Some(rival) = rival else {
        return Ok(());
    };
    Err(Failure::invalid(
        format!(
            "{rival}: the run has ended, because two programs that switch a disk at the same moment can crash the kernel"
        ),
        "stop that program (`iosched doctor` names those that are likely), then continue with --resume",
    ))
}

impl TurnOutcome {
    /// Fails if no disk may be switched again.
    pub fn ensure_alone(&self) -> Result<()> {
        ensure_alone(self.rival.as_deref())
    }

    /// Fails if more rounds of this workload are useless.
    pub fn ensure_hopeful(self) -> Result<()> {
        if let Some(problem) = self.failed_at_once {
            return Err(Failure::runtime(
                format!("the workload failed in the first round: {problem}"),
                "run it by hand on this device, fix it, and try again",
            ));
        }
        self.look
    }
}

pub fn add_time(result: &mut ResultFile, took: Duration) {
    *result.rounds_took_s.get_or_insert(0.0) += took.as_secs_f64();
}

/// The work that is left after a block.
pub enum BlockEnd {
    More,
    /// Every comparison has its verdict, or no more blocks are planned.
    Over,
    /// More rounds of this workload are useless, and why.
    Hopeless(anyhow::Error),
}

impl Experiment<'_> {
    /// Carries out rounds up to the end of a block, on a machine that other experiments share.
    pub fn block(
        &mut self,
        machine: &mut dyn Machine,
        result: &mut ResultFile,
        observer: &mut dyn Observer,
    ) -> Result<BlockEnd> {
        let mut bench = self.bench(machine, result)?;
        let mut is_first = true;
        while let Some(turn) = next(result) {
            let place = |round: &Round| (round.block, round.attempt);
            let is_begun =
                result.rounds.last().map(place) == Some((turn.planned.block, turn.attempt));
            if !is_first && !is_begun {
                return Ok(BlockEnd::More);
            }
            is_first = false;
            let turned = match run_turn(&mut bench, &turn, result, observer) {
                Err(error) if kind_of(&error) == Kind::Lacking => {
                    return Ok(BlockEnd::Hopeless(error));
                }
                turned => turned?,
            };
            turned.ensure_alone()?;
            if let Err(error) = turned.ensure_hopeful() {
                return Ok(BlockEnd::Hopeless(error));
            }
        }
        Ok(BlockEnd::Over)
    }
}

/// Once: every round has its number.
pub(super) fn note_what_stays_cached(notes: &mut Vec<String>, round: &Round) {
    const STAYS: &str = "could not be dropped from the page cache";
    let bytes = round.evidence.cached_bytes.unwrap_or(0);
    if bytes > 0 && !notes.iter().any(|note| note.contains(STAYS)) {
        notes.push(format!(
            "{} KiB {STAYS} before round {}: other programs use them",
            bytes.div_ceil(1024),
            round.index + 1
        ));
    }
}
