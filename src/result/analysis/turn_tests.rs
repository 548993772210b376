use super::*;
use crate::report::fixture::{empty, play, round, values};
use crate::statistics::stopping::{Extension, Stopping};
use crate::types::result::Exclusion;

const FIXED: Stopping = Stopping::Fixed { blocks: 6 };

/// (block, attempt, arm) of each round.
fn order(result: &ResultFile) -> Vec<(usize, usize, &str)> {
    let rounds = result.rounds.iter();
    rounds
        .map(|round| (round.block, round.attempt, round.arm.as_str()))
        .collect()
}

fn throughput(turn: &Turn, of_each: &[f64]) -> std::collections::BTreeMap<String, f64> {
    values(turn, &[("throughput", of_each[turn.planned.arm])])
}

#[test]
fn an_undisturbed_run_is_its_plan() {
    let mut result = empty(&["none", "bfq", "mq-deadline"], FIXED, &["throughput"]);
    play(&mut result, |turn| Ok(throughput(turn, &[1.0; 3])));
    assert_eq!(result.rounds.len(), 18);
    for (planned, round) in result.plan.rounds.iter().zip(&result.rounds) {
        assert_eq!(
            (
                planned.index,
                planned.block,
                planned.position,
                planned.workload_seed
            ),
            (
                round.index,
                round.block,
                round.position,
                round.workload_seed
            )
        );
        assert_eq!(result.design.arms[planned.arm].label, round.arm);
    }
}

#[test]
fn an_excluded_block_is_run_again_whole_at_the_end_in_its_own_order() {
    let mut result = empty(&["none", "bfq"], FIXED, &["throughput"]);
    play(&mut result, |turn| {
        let spoilt = (turn.planned.block, turn.planned.position, turn.attempt) == (2, 0, 0);
        if spoilt {
            return Err(Exclusion::ForeignIo);
        }
        Ok(throughput(turn, &[1.0, 1.0]))
    });
    assert_eq!(result.rounds.len(), 14);
    let order = order(&result);
    // Its second round still runs: other blocks follow in their drawn order.
    let first: Vec<&str> = order[4..6].iter().map(|round| round.2).collect();
    let again: Vec<&str> = order[12..].iter().map(|round| round.2).collect();
    assert_eq!(first, again);
    assert!(order[12..].iter().all(|round| (round.0, round.1) == (2, 1)));
    let indices: Vec<usize> = result.rounds.iter().map(|round| round.index).collect();
    assert_eq!(indices, (0..14).collect::<Vec<_>>());
    assert_eq!(result.excluded.len(), 1);
    assert_eq!(result.excluded[0].exclusion, Exclusion::ForeignIo);
    let comparison = &result.comparisons[0].comparison;
    assert_eq!((comparison.blocks, comparison.blocks_missing), (6, 0));
}

#[test]
fn a_run_that_is_invalid_anyway_is_not_prolonged() {
    let mut result = empty(&["none", "bfq"], FIXED, &["throughput"]);
    play(&mut result, |turn| {
        if turn.planned.block >= 4 {
            return Err(Exclusion::Workload);
        }
        Ok(throughput(turn, &[1.0, 1.0]))
    });
    assert_eq!(result.rounds.len(), 12, "two of six are too many");
    assert_eq!(result.excluded.len(), 2);
    assert!(!is_tolerable(2, 6) && is_tolerable(1, 6) && is_tolerable(0, 0));
    let comparison = &result.comparisons[0].comparison;
    assert_eq!((comparison.blocks, comparison.blocks_missing), (4, 2));
}

#[test]
fn a_block_that_fails_for_ever_ends_too() {
    let mut result = empty(
        &["none", "bfq"],
        Stopping::Fixed { blocks: 20 },
        &["throughput"],
    );
    play(&mut result, |turn| {
        if turn.planned.block == 3 {
            return Err(Exclusion::DriftedSettings);
        }
        Ok(throughput(turn, &[1.0, 1.0]))
    });
    assert_eq!(result.excluded.len(), 5, "four of twenty are tolerable");
    assert_eq!(result.rounds.len(), 48);
}

#[test]
fn a_look_ends_the_run_when_all_is_decided() {
    let looks = |of_each: &[f64]| {
        let mut result = empty(&["none", "bfq"], Stopping::LOOKS, &["throughput"]);
        play(&mut result, |turn| Ok(throughput(turn, of_each)));
        result
    };
    assert_eq!(looks(&[1.0, 2.0]).rounds.len(), 12);
    assert_eq!(looks(&[1.0, 1.0]).rounds.len(), 12, "equivalent is decided");
    let mut noisy = empty(&["none", "bfq"], Stopping::LOOKS, &["throughput"]);
    play(&mut noisy, |turn| {
        let factor = if turn.planned.block % 2 == 0 {
            5.0
        } else {
            0.2
        };
        Ok(throughput(turn, &[factor, 1.0]))
    });
    assert_eq!(noisy.rounds.len(), 40, "the last look ends it anyway");
    let alpha = noisy.comparisons[0].comparison.question.alpha;
    assert!((alpha - Stopping::LOOKS.level(0.05)).abs() < 1e-9);
}

/// More rounds do not help a percentile for which each round has too few I/Os.
#[test]
fn what_cannot_be_decided_prolongs_nothing() {
    let mut result = empty(
        &["none", "bfq"],
        Stopping::LOOKS,
        &["throughput", "total_p99"],
    );
    while let Next::Round(turn) = next(&result) {
        let mut round = round(&result, &turn, Ok(throughput(&turn, &[1.0, 2.0])));
        round.evidence.insufficient_tail = vec!["total_p99".into()];
        result.rounds.push(round);
    }
    assert_eq!(result.rounds.len(), 12);
}

#[test]
fn a_block_excluded_before_a_look_is_run_again_before_it() {
    let mut result = empty(&["none", "bfq"], Stopping::LOOKS, &["throughput"]);
    play(&mut result, |turn| {
        if turn.planned.block == 0 && turn.attempt == 0 {
            return Err(Exclusion::LostEvents);
        }
        Ok(throughput(turn, &[1.0, 2.0]))
    });
    assert_eq!(result.rounds.len(), 14);
    assert_eq!(result.comparisons[0].comparison.blocks, 6);
}

#[test]
fn an_open_run_draws_more_until_it_knows() {
    let mut result = empty(&["none", "bfq"], Stopping::Open, &["throughput"]);
    play(&mut result, |turn| {
        let early = turn.planned.block < 11 && turn.planned.block % 2 == 0;
        Ok(throughput(turn, &[if early { 3.0 } else { 1.0 }, 2.0]))
    });
    assert!(result.plan.blocks() > 8 && result.plan.blocks().is_multiple_of(8));
    assert!(result.blocks_begun() > 11);
    assert_eq!(result.plan, {
        let mut plan = crate::types::plan::Plan::new(7, 2, 8);
        (1..result.plan.blocks() / 8).for_each(|_| plan.extend(8, &[0, 1]));
        plan
    });
    let mut clear = empty(&["none", "bfq"], Stopping::Open, &["throughput"]);
    play(&mut clear, |turn| Ok(throughput(turn, &[1.0, 2.0])));
    assert_eq!(clear.blocks_begun(), 5);
}

/// Bfq is decided after six blocks, mq-deadline never.
fn half_decided(turn: &Turn) -> std::collections::BTreeMap<String, f64> {
    throughput(turn, &[1.0, 2.0, to_and_fro(turn)])
}

fn to_and_fro(turn: &Turn) -> f64 {
    if turn.planned.block.is_multiple_of(2) {
        1.15
    } else {
        0.87
    }
}

fn extend(result: &mut ResultFile, blocks: usize) {
    result.design.extensions.push(Extension {
        after_blocks: result.plan.blocks(),
        blocks,
    });
}

#[test]
fn what_is_not_decided_is_extended_and_what_is_decided_is_not() {
    let arms = ["none", "bfq", "mq-deadline"];
    let mut result = empty(&arms, Stopping::LOOKS, &["throughput"]);
    play(&mut result, |turn| Ok(half_decided(turn)));
    assert_eq!(
        (result.plan.blocks(), result.rounds.len()),
        (20, 18 + 14 * 2)
    );
    assert_eq!(next(&result), Next::End);
    let before = result.clone();
    extend(&mut result, 12);
    play(&mut result, |turn| Ok(half_decided(turn)));
    assert_eq!(result.rounds[..46], before.rounds[..]);
    assert_eq!(
        (result.plan.blocks(), result.rounds.len()),
        (32, 46 + 12 * 2)
    );
    assert_eq!(next(&result), Next::End);
    let rows = |result: &ResultFile| -> Vec<usize> {
        let rows = result.comparisons.iter().filter(|row| row.primary);
        rows.map(|row| row.comparison.blocks).collect()
    };
    assert_eq!((rows(&before), rows(&result)), (vec![6, 20], vec![6, 32]));
}

/// A run whose verdicts are in was extended to make its intervals narrower: nothing but the added blocks ends it.
#[test]
fn a_decided_run_is_extended_with_all_its_arms_to_the_last_block() {
    for stopping in [
        Stopping::LOOKS,
        Stopping::Fixed { blocks: 6 },
        Stopping::Open,
    ] {
        let mut result = empty(&["none", "bfq"], stopping, &["throughput"]);
        let decided = |turn: &Turn| Ok(throughput(turn, &[1.0, 2.0]));
        play(&mut result, decided);
        // An open run had drawn more than it needed.
        let begun = result.plan.blocks();
        for more in 1..=2 {
            extend(&mut result, 3);
            play(&mut result, decided);
            assert_eq!(result.rounds.len(), 2 * (begun + 3 * more), "{stopping:?}");
            assert_eq!(next(&result), Next::End);
        }
    }
}

/// Rounds of 10 s.
fn timed(result: &mut ResultFile, of_bfq: fn(&Turn) -> f64) {
    loop {
        match next(result) {
            Next::Round(turn) => {
                let values = throughput(&turn, &[1.0, of_bfq(&turn)]);
                let played = round(result, &turn, Ok(values));
                result.rounds.push(played);
                result.rounds_took_s = Some(10.0 * result.rounds.len() as f64);
            }
            Next::Draw(segment) => result.plan.extend(segment.blocks, &segment.arms),
            Next::End => return,
        }
    }
}

#[test]
fn a_run_draws_what_fits_into_its_time() {
    for (budget_s, blocks) in [
        (400.0, 20),
        (399.0, 19),
        (239.0, 11),
        (160.0, 8),
        (100.0, 6),
    ] {
        let mut result = empty(&["none", "bfq"], Stopping::LOOKS, &["throughput"]);
        result.design.budget_s = Some(budget_s);
        timed(&mut result, to_and_fro);
        assert_eq!(result.plan.blocks(), blocks, "{budget_s} s");
        assert_eq!(result.rounds.len(), 2 * blocks);
        assert_eq!(next(&result), Next::End);
    }
    // What is decided ends before its time, as ever.
    let mut clear = empty(&["none", "bfq"], Stopping::LOOKS, &["throughput"]);
    clear.design.budget_s = Some(400.0);
    timed(&mut clear, |_| 2.0);
    assert_eq!(clear.plan.blocks(), 6);
}

/// The rest of the plan does not depend on where the run was interrupted.
#[test]
fn a_run_goes_on_where_it_ended() {
    let script = |turn: &Turn| {
        let spoilt = turn.attempt == 0 && turn.planned.block == 1 && turn.planned.position == 2;
        if spoilt {
            return Err(Exclusion::ForeignIo);
        }
        Ok(throughput(turn, &[1.0, 1.3, 0.7]))
    };
    let start = empty(
        &["none", "bfq", "mq-deadline"],
        Stopping::LOOKS,
        &["throughput"],
    );
    let mut whole = start.clone();
    play(&mut whole, script);
    assert!(whole.rounds.iter().any(|round| round.attempt == 1));
    for done in 0..=whole.rounds.len() {
        let mut resumed = start.clone();
        resumed.rounds = whole.rounds[..done].to_vec();
        // As saved: drawn up to the look after its last block.
        let begun = resumed.blocks_begun();
        let drawn = Stopping::LOOKS
            .looks(20)
            .into_iter()
            .find(|look| *look >= begun);
        let is_drawn = |block: usize| drawn.is_some_and(|drawn| block < drawn);
        let planned = whole
            .plan
            .rounds
            .iter()
            .filter(|round| is_drawn(round.block));
        resumed.plan.rounds = planned.copied().collect();
        play(&mut resumed, script);
        assert_eq!(resumed.rounds, whole.rounds, "after {done} rounds");
    }
}
