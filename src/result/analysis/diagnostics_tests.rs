use super::*;
use crate::report::fixture::{empty, play};
use crate::statistics::stopping::Stopping;
use crate::types::plan::Turn;

/// The logarithm of each round is noise of 0.01 plus what `add` makes of the preceding arm and the turn.
fn run(arms: &[&str], add: impl Fn(Option<usize>, &Turn) -> f64) -> Diagnostics {
    let mut result = empty(arms, Stopping::Fixed { blocks: 24 }, &["throughput"]);
    let mut before = None;
    play(&mut result, |turn| {
        // The multiplier is prime, so the noise has no period in common with the plan.
        let noise = 0.01 * (((turn.planned.index * 7919) % 101) as f64 / 50.0 - 1.0);
        let y = noise + add(before, turn);
        before = Some(turn.planned.arm);
        Ok([("throughput".to_owned(), y.exp())].into())
    });
    diagnostics(&result).remove(0)
}

const FOUR: [&str; 4] = ["none", "bfq", "mq-deadline", "kyber"];

#[test]
fn quiet_rounds_warn_of_nothing() {
    for arms in [&FOUR[..2], &FOUR] {
        let found = run(arms, |_, turn| 0.1 * turn.planned.arm as f64);
        assert_eq!(found.carry_over.len(), arms.len() - 1);
        assert!(found.carry_over.iter().all(|c| !c.is_warning), "{found:?}");
        assert!(found.drift_per_block.unwrap().estimate.abs() < 0.001);
        assert!(found.position.unwrap().estimate.abs() < 0.01);
        assert_eq!(found.autocorrelation.len(), arms.len() - 1);
    }
}

#[test]
fn what_an_arm_leaves_behind_is_found_and_told_from_what_it_is() {
    for arms in [&FOUR[..2], &FOUR] {
        let last = arms.len() - 1;
        let found = run(arms, |before, turn| {
            let left = if before == Some(last) { -0.06 } else { 0.0 };
            left + 0.3 * turn.planned.arm as f64
        });
        for (index, carry_over) in found.carry_over.iter().enumerate() {
            let expected = if index + 1 == last { -0.06 } else { 0.0 };
            let off = (carry_over.effect.estimate - expected).abs();
            assert!(off < 0.01, "{carry_over:?}");
            assert_eq!(carry_over.is_warning, index + 1 == last);
        }
        assert_eq!(found.carry_over[last - 1].after, arms[last]);
    }
}

#[test]
fn drift_and_position_are_told_apart() {
    let found = run(&FOUR, |_, turn| {
        0.02 * turn.planned.block as f64 - 0.05 * turn.planned.position as f64
    });
    let (drift, position) = (found.drift_per_block.unwrap(), found.position.unwrap());
    assert!(
        (drift.estimate - 0.02).abs() < 0.001 && drift.p < 1e-6,
        "{drift:?}"
    );
    assert!(
        (position.estimate + 0.05).abs() < 0.003 && position.p < 1e-6,
        "{position:?}"
    );
}

#[test]
fn waves_show_as_autocorrelation() {
    let found = run(&FOUR[..2], |_, turn| {
        let wave = (turn.planned.block as f64 / 2.0).sin();
        if turn.planned.arm == 1 { wave } else { 0.0 }
    });
    assert!(found.autocorrelation[0].lag_1 > 0.5, "{found:?}");
}

#[test]
fn too_little_says_nothing() {
    let mut result = empty(&FOUR[..2], Stopping::Fixed { blocks: 1 }, &["throughput"]);
    let nothing = diagnostics(&result).remove(0);
    assert!(nothing.drift_per_block.is_none() && nothing.carry_over.is_empty());
    play(&mut result, |_| Ok([("throughput".to_owned(), 1.0)].into()));
    let little = diagnostics(&result).remove(0);
    assert_eq!((little.drift_per_block, little.position), (None, None));
}
