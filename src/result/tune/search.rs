//! What comes next in a search: halving of the arms in stages, combinations of the best settings, and then the referee. It follows
//! from the result so far, so that an interrupted search goes on as it would have. Pure.

use super::combine::combinations;
use super::score::{front, is_noisy, standings};
use super::{Candidate, DEFAULT, Phase, Space, TuneResult};

/// Blocks of the referee, and the fewest if the time is short.
pub const REFEREE_BLOCKS: usize = 20;
pub const FEWEST_REFEREE_BLOCKS: usize = 8;
/// Arms that the referee compares with what the disk had.
const FINALISTS: usize = 3;
/// Arms that the last stages begin with, after combinations or proposals.
const AFTER_COMBINING: usize = 2;
const AFTER_PROPOSALS: usize = 8;
/// As many arms at once are proposed at most.
pub const MOST_PROPOSED: usize = 8;
const BLOCKS_OF_PROPOSALS: usize = 2;

#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// A stage of these candidates, of which the first is the default.
    Stage {
        phase: Phase,
        arms: Vec<usize>,
        blocks: usize,
    },
    /// These arms are candidates, too; they were not tried yet.
    Add(Vec<Candidate>),
    /// The command is asked for more.
    Propose,
    Referee {
        arms: Vec<usize>,
        blocks: usize,
    },
    /// There is nothing to compare, or the referee has ended.
    End,
}

/// Up to so many arms of the space, the last stages have fewer blocks.
const SMALL_SPACE: usize = 16;

/// Blocks of a stage with so many arms beside the default, in a search over `all`.
pub fn blocks_of(arms: usize, all: usize, is_noisy: bool) -> usize {
    let blocks = match (arms, all > SMALL_SPACE) {
        (0..=2, false) | (3..=4, true) => 4,
        (0..=2, true) => 5,
        (3..=4, false) | (5..=8, true) => 3,
        _ => 2,
    };
    match (blocks, is_noisy) {
        (_, false) => blocks,
        (2 | 3, true) => blocks + 1,
        (4, true) => 6,
        (_, true) => 8,
    }
}

/// The candidates of the space that have rounds.
fn alive(tune: &TuneResult) -> Vec<usize> {
    let all = tune.candidates.iter().enumerate().skip(DEFAULT + 1);
    let alive = all.filter(|(_, candidate)| candidate.left_out.is_none());
    alive.map(|(index, _)| index).collect()
}

/// The arms of a stage beside the default.
fn arms_of(tune: &TuneResult, stage: usize) -> Vec<usize> {
    let design = &tune.stages[stage].result.design;
    let arms = design.arms.iter().filter_map(|arm| tune.index(&arm.label));
    arms.filter(|index| *index != DEFAULT).collect()
}

/// What is to be done next, if all stages so far have ended.
pub fn next(tune: &TuneResult) -> Step {
    if tune.referee.is_some() {
        return Step::End;
    }
    let alive = alive(tune);
    if alive.is_empty() && !may_propose(tune) {
        return Step::End;
    }
    let step = step(tune, &alive);
    let Step::Stage { arms, blocks, .. } = &step else {
        return step;
    };
    // The referee comes in any case.
    let needed_s = tune.budget_s.zip(round_s(tune)).map(|(_, round_s)| {
        let referee = (FINALISTS.min(arms.len()) + 1) * FEWEST_REFEREE_BLOCKS;
        (arms.len() * blocks + referee) as f64 * round_s
    });
    let is_over = |budget_s: f64| needed_s.is_some_and(|needed| tune.took_s() + needed > budget_s);
    if tune.budget_s.is_some_and(is_over) && !tune.stages.is_empty() {
        return referee(tune, &alive);
    }
    step
}

fn step(tune: &TuneResult, alive: &[usize]) -> Step {
    let is_proposed = matches!(tune.space, Space::Proposals { .. });
    let Some(last) = tune.stages.last() else {
        if alive.is_empty() {
            return Step::Propose;
        }
        let phase = if is_proposed {
            Phase::Proposals
        } else {
            Phase::Space
        };
        return stage(tune, phase, alive.to_vec());
    };
    let newest = tune.stages.len() - 1;
    match last.phase {
        Phase::Proposals => {
            let fresh = untried(tune, alive);
            if !fresh.is_empty() {
                return stage(tune, Phase::Proposals, fresh);
            }
            if may_propose(tune) {
                return Step::Propose;
            }
            let best = best(tune, alive, AFTER_PROPOSALS);
            match best.len() {
                0..=1 => referee(tune, alive),
                _ => stage(tune, Phase::Final, best),
            }
        }
        Phase::Space => {
            let fresh = untried(tune, alive);
            if !fresh.is_empty() {
                let best = best(tune, &arms_of(tune, newest), AFTER_COMBINING);
                return stage(tune, Phase::Combinations, [best, fresh].concat());
            }
            let half = arms_of(tune, newest).len().div_ceil(2);
            let survivors = best(tune, &arms_of(tune, newest), half);
            // With the last two, combinations are tried as well.
            if survivors.len() <= AFTER_COMBINING && tune.space == Space::Ladder {
                let are_known = tune
                    .candidates
                    .iter()
                    .any(|it| it.from == super::From::Combination);
                let more = combinations(tune);
                if !are_known && !more.is_empty() {
                    return Step::Add(more);
                }
            }
            halved(tune, Phase::Space, survivors, newest)
        }
        Phase::Combinations | Phase::Final => {
            let half = arms_of(tune, newest).len().div_ceil(2);
            let survivors = best(tune, &arms_of(tune, newest), half);
            halved(tune, last.phase, survivors, newest)
        }
    }
}

/// One more stage, until two have been compared.
fn halved(tune: &TuneResult, phase: Phase, survivors: Vec<usize>, newest: usize) -> Step {
    if survivors.len() < 2 || arms_of(tune, newest).len() <= 2 {
        let last = arms_of(tune, newest);
        return referee(tune, &last);
    }
    stage(tune, phase, survivors)
}

fn stage(tune: &TuneResult, phase: Phase, arms: Vec<usize>) -> Step {
    let blocks = if phase == Phase::Proposals {
        BLOCKS_OF_PROPOSALS
    } else {
        let is_first = tune.stages.is_empty();
        let all = if is_first { &arms } else { &arms_of(tune, 0) };
        blocks_of(arms.len(), all.len(), is_noisy(tune))
    };
    Step::Stage {
        phase,
        arms: [vec![DEFAULT], arms].concat(),
        blocks,
    }
}

fn best(tune: &TuneResult, among: &[usize], most: usize) -> Vec<usize> {
    let found = standings(tune, among).into_iter();
    found.take(most).map(|standing| standing.index).collect()
}

fn referee(tune: &TuneResult, among: &[usize]) -> Step {
    let finalists: Vec<usize> = front(&standings(tune, among), FINALISTS)
        .iter()
        .map(|standing| standing.index)
        .collect();
    if finalists.is_empty() {
        return Step::End;
    }
    let arms = [vec![DEFAULT], finalists].concat();
    let left_s = tune.budget_s.map(|budget_s| budget_s - tune.took_s());
    let fits = left_s
        .zip(round_s(tune))
        .map(|(left_s, round_s)| (left_s / (round_s * arms.len() as f64)).max(0.0) as usize);
    Step::Referee {
        blocks: fits.map_or(REFEREE_BLOCKS, |fits| {
            fits.clamp(FEWEST_REFEREE_BLOCKS, REFEREE_BLOCKS)
        }),
        arms,
    }
}

/// Candidates without a round.
fn untried(tune: &TuneResult, alive: &[usize]) -> Vec<usize> {
    let has_rounds = |index: &usize| {
        let label = &tune.candidates[*index].arm.label;
        let stages = tune.stages.iter();
        stages
            .flat_map(|it| &it.result.design.arms)
            .any(|arm| arm.label == *label)
    };
    alive
        .iter()
        .copied()
        .filter(|index| !has_rounds(index))
        .collect()
}

/// How many more arms a command may name.
pub fn may_name(tune: &TuneResult) -> usize {
    match &tune.space {
        Space::Proposals {
            most,
            has_ended: false,
            ..
        } => {
            let named = tune.candidates.iter();
            let named = named.filter(|it| it.from == super::From::Proposal).count();
            most.saturating_sub(named).min(MOST_PROPOSED)
        }
        _ => 0,
    }
}

fn may_propose(tune: &TuneResult) -> bool {
    may_name(tune) > 0
}

/// What a round took so far, on average.
pub fn round_s(tune: &TuneResult) -> Option<f64> {
    let rounds = tune.search_rounds();
    (rounds > 0).then(|| tune.took_s() / rounds as f64)
}

/// Leaves out what a budget has no time for, the last first. Err: the seconds that the smallest search needs.
pub fn fit(tune: &mut TuneResult, round_s: f64) -> Result<(), f64> {
    let Some(budget_s) = tune.budget_s else {
        return Ok(());
    };
    // With the fewest blocks of the referee.
    let needed_s = |arms: usize| {
        let (search, _) = rounds(arms, &tune.space);
        (search + 2 * FEWEST_REFEREE_BLOCKS) as f64 * round_s
    };
    let alive = alive(tune);
    let is_fixed = |index: &&usize| tune.candidates[**index].from != super::From::Ladder;
    let fewest = alive.iter().filter(is_fixed).count().max(1);
    if needed_s(fewest) > budget_s {
        return Err(needed_s(fewest));
    }
    let fits = (fewest..=alive.len())
        .rev()
        .find(|arms| needed_s(*arms) <= budget_s);
    for index in &alive[fits.unwrap_or(fewest).min(alive.len())..] {
        tune.candidates[*index].left_out = Some("the budget has no time for it".to_owned());
    }
    Ok(())
}

/// Rounds of a search over so many arms beside the default, and of its referee.
pub fn rounds(arms: usize, space: &Space) -> (usize, usize) {
    let of = |some: usize| (some + 1) * blocks_of(some, arms, false);
    // Of each stage, down to two.
    let stages = std::iter::successors(Some(arms), |left| Some(left.div_ceil(2)));
    let halving: usize = stages.take_while(|left| *left > 2).map(of).sum();
    // The last two; with up to four combinations in the stages before.
    let last = match space {
        Space::Ladder => of(6) + of(3) + of(2),
        Space::File { .. } | Space::Proposals { .. } => of(2),
    };
    (halving + last, 2 * REFEREE_BLOCKS)
}
