//! Arms that cannot be judged do not pass: whatever keeps a round from having a value, in some rounds and in every one.

use crate::types::result::Status;
use std::collections::BTreeMap;

use super::*;
use crate::analysis::conclude;
use crate::analysis::turn::{Next, next};
use crate::report::fixture::{empty, values};
use crate::statistics::stopping::Stopping;
use crate::types::plan::{Plan, Turn};
use crate::types::result::{Censored, Round, Spoilt};

const RULES: Rules = Rules {
    mode: Mode::Worse,
    require_verdict: false,
    other_kernel: false,
};
const BLOCKS: usize = 12;

/// The outcome of each round of an arm: its values, or why it has none.
type Rounds<'a> = &'a dyn Fn(&Turn) -> Result<BTreeMap<String, f64>, Censored>;

fn run(metric: &str, seed: u64, blocks: usize, play: Rounds<'_>) -> ResultFile {
    let mut result = empty(&["none", "bfq"], Stopping::Fixed { blocks }, &[metric]);
    result.plan = Plan::new(seed, 2, blocks);
    while let Next::Round(turn) = next(&result) {
        let (found, spoilt) = match play(&turn) {
            Ok(found) => (found, None),
            Err(why) => (
                BTreeMap::new(),
                Some((Spoilt::Censored(why), "it failed".into())),
            ),
        };
        let template = crate::report::fixture::round(&result, &turn, Ok(found));
        let round = Round::new(
            &turn,
            &result.design.arms[turn.planned.arm],
            template.started.clone(),
            template.window_s,
            spoilt,
            template.metrics.clone(),
            template.evidence.clone(),
        );
        result.rounds.push(round);
    }
    conclude::conclude(&mut result);
    result.status = Status::Complete;
    result
}

fn gate(result: &ResultFile) -> GateOutcome {
    match judge(result, &[], RULES, Selection::default()).decision {
        Decision::Passed => GateOutcome::Passed,
        Decision::Failed => GateOutcome::Failed,
        _ => GateOutcome::Undecided,
    }
}

/// Whether the arm's round of this block is a bad one, when so many are: spread over the run.
fn is_bad(turn: &Turn, bad: usize) -> bool {
    turn.planned.arm == 1 && (turn.planned.block * 7 + 3) % BLOCKS < bad
}

fn good(turn: &Turn, metric: &str) -> BTreeMap<String, f64> {
    let slower = if turn.planned.arm == 1 { 0.995 } else { 1.0 };
    values(turn, &[(metric, 1e8 * slower)])
}

#[test]
fn an_arm_that_stalls_in_most_rounds_is_worse() {
    for seed in 0..20 {
        for bad in 9..=BLOCKS {
            let overrun = run("throughput", seed, BLOCKS, &|turn| {
                if is_bad(turn, bad) {
                    return Err(Censored::Overrun);
                }
                Ok(good(turn, "throughput"))
            });
            let zero = run("throughput", seed, BLOCKS, &|turn| {
                if is_bad(turn, bad) {
                    return Ok(BTreeMap::from([("throughput".to_owned(), 0.0)]));
                }
                Ok(good(turn, "throughput"))
            });
            for result in [overrun, zero] {
                let row = result.primary().next().unwrap();
                assert_eq!(
                    row.comparison.verdict,
                    Verdict::Worse,
                    "{seed}, {bad}: {:?}",
                    row.comparison
                );
                assert_eq!(gate(&result), GateOutcome::Failed, "{seed}, {bad}");
            }
        }
    }
}

/// Fewer bad rounds may leave the comparison without a verdict. The gate does not pass it.
#[test]
fn stalls_of_one_arm_never_pass() {
    for seed in 0..20 {
        for bad in 1..9 {
            let result = run("throughput", seed, BLOCKS, &|turn| {
                if is_bad(turn, bad) {
                    return Err(Censored::Failed);
                }
                // The arm is faster where it does not fail.
                let faster = if turn.planned.arm == 1 { 1.1 } else { 1.0 };
                Ok(values(turn, &[("throughput", 1e8 * faster)]))
            });
            let row = result.primary().next().unwrap();
            let is_better = row.comparison.verdict == Verdict::Better;
            assert!(!is_better, "{seed}, {bad}: {:?}", row.comparison);
            assert_ne!(gate(&result), GateOutcome::Passed, "{seed}, {bad}");
        }
    }
}

#[test]
fn a_metric_that_an_arm_never_reports_fails_it() {
    let result = run("throughput", 1, BLOCKS, &|turn| {
        let found = [("throughput", 1e8)];
        let found = if turn.planned.arm == 1 {
            &found[..0]
        } else {
            &found[..]
        };
        Ok(values(turn, found))
    });
    assert_eq!(
        gate(&result),
        GateOutcome::Failed,
        "{:?}",
        result.comparisons
    );
}

#[test]
fn nothing_is_not_equivalent_to_nothing() {
    let zero = |metric: &str| {
        run(metric, 1, BLOCKS, &|_| {
            Ok(BTreeMap::from([(metric.to_owned(), 0.0)]))
        })
    };
    let result = zero("throughput");
    let row = result.primary().next().unwrap();
    assert_eq!(row.comparison.verdict, Verdict::Inconclusive);
    assert!(row.comparison.reasons.contains(&Reason::NothingHappened));
    assert_eq!(gate(&result), GateOutcome::Undecided);
    // Nothing can be lower than 0, so it is not worse; nothing was shown either.
    let result = zero("elapsed");
    assert_eq!(gate(&result), GateOutcome::Passed);
    let rules = Rules {
        require_verdict: true,
        ..RULES
    };
    let judged = judge(&result, &[], rules, Selection::default());
    assert_eq!(judged.decision, Decision::Undecided);
}

#[test]
fn a_run_that_could_not_have_failed_does_not_pass() {
    let halved = |blocks| {
        run("throughput", 1, blocks, &|turn| {
            let level = if turn.planned.arm == 1 { 0.5 } else { 1.0 };
            Ok(values(turn, &[("throughput", 1e8 * level)]))
        })
    };
    assert_eq!(gate(&halved(2)), GateOutcome::Undecided);
    assert_eq!(gate(&halved(6)), GateOutcome::Failed);
}

#[test]
fn an_arm_that_was_stopped_says_so_and_does_not_pass() {
    let result = run("throughput", 1, BLOCKS, &|turn| {
        if turn.planned.arm == 1 && turn.planned.block == 1 {
            return Err(Censored::Stopped);
        }
        Ok(good(turn, "throughput"))
    });
    let row = result.primary().next().unwrap();
    assert!(row.comparison.reasons.contains(&Reason::Stopped));
    assert_eq!(gate(&result), GateOutcome::Undecided);
}

/// As `run` wrote it and another process reads it.
fn as_read(result: &ResultFile) -> ResultFile {
    serde_json::from_slice(&serde_json::to_vec(result).unwrap()).unwrap()
}

#[test]
fn an_arm_that_is_worse_than_any_number_fails_in_every_mode() {
    let result = run("throughput", 1, BLOCKS, &|turn| match turn.planned.arm {
        1 => Err(Censored::Failed),
        _ => Ok(good(turn, "throughput")),
    });
    let result = as_read(&result);
    let healthy = run("throughput", 2, BLOCKS, &|turn| {
        Ok(good(turn, "throughput"))
    });
    let earlier: Vec<(String, ResultFile)> = (0..6)
        .map(|run| (format!("{run}"), healthy.clone()))
        .collect();
    for mode in [Mode::Worse, Mode::BeyondMargin, Mode::Noninferior] {
        for require_verdict in [false, true] {
            let rules = Rules {
                mode,
                require_verdict,
                other_kernel: false,
            };
            for baselines in [&earlier[..0], &earlier[..1], &earlier[..]] {
                let found = judge(&result, baselines, rules, Selection::default());
                let n = baselines.len();
                assert_eq!(found.decision, Decision::Failed, "{rules:?}, {n} baselines");
            }
        }
    }
    // The other way round, the arm is better than any number: no mode fails.
    let better = run("throughput", 1, BLOCKS, &|turn| match turn.planned.arm {
        0 => Err(Censored::Failed),
        _ => Ok(good(turn, "throughput")),
    });
    let rules = Rules {
        mode: Mode::Noninferior,
        ..RULES
    };
    let found = judge(&as_read(&better), &[], rules, Selection::default());
    assert_eq!(found.decision, Decision::Passed);
}

#[test]
fn an_arm_that_fails_more_often_is_never_equivalent() {
    for bad in 1..=4 {
        let result = run("throughput", 3, BLOCKS, &|turn| {
            if is_bad(turn, bad) {
                return Err(Censored::Failed);
            }
            Ok(values(turn, &[("throughput", 1e8)]))
        });
        assert_eq!(gate(&result), GateOutcome::Undecided, "{bad}");
    }
    // Both arms do nothing, and the reference did something once.
    let idle = run("throughput", 3, BLOCKS, &|turn| {
        let works = turn.planned.arm == 0 && turn.planned.block == 4;
        let value = if works { 1e8 } else { 0.0 };
        Ok(BTreeMap::from([("throughput".to_owned(), value)]))
    });
    assert_eq!(gate(&idle), GateOutcome::Undecided);
}

#[test]
fn as_many_failures_in_both_arms_cancel_out() {
    let result = run("throughput", 5, BLOCKS, &|turn| {
        let (arm, block) = (turn.planned.arm, turn.planned.block);
        if (arm, block) == (0, 2) || (arm, block) == (1, 9) {
            return Err(Censored::Failed);
        }
        let slower = if arm == 1 { 0.9 } else { 1.0 };
        Ok(values(turn, &[("throughput", 1e8 * slower)]))
    });
    assert_eq!(gate(&result), GateOutcome::Failed);
}

/// A benchmark prints -1 where it has no answer.
#[test]
fn a_negative_value_is_no_value() {
    let result = run("throughput", 3, BLOCKS, &|turn| {
        if is_bad(turn, 3) {
            return Ok(BTreeMap::from([("throughput".to_owned(), -1.0)]));
        }
        let faster = if turn.planned.arm == 1 { 1.5 } else { 1.0 };
        Ok(values(turn, &[("throughput", 1e8 * faster)]))
    });
    let row = result.primary().next().unwrap();
    assert_eq!(row.comparison.verdict, Verdict::Inconclusive);
    assert_eq!(gate(&result), GateOutcome::Undecided);
}

#[test]
fn what_the_reference_never_reports_is_no_merit_of_the_arm() {
    let result = run("throughput", 3, BLOCKS, &|turn| match turn.planned.arm {
        0 => Ok(BTreeMap::new()),
        _ => Ok(good(turn, "throughput")),
    });
    let row = result.primary().next().unwrap();
    assert_eq!(row.comparison.verdict, Verdict::Inconclusive);
    assert!(row.comparison.reasons.contains(&Reason::ReferenceSilent));
    assert_eq!(gate(&result), GateOutcome::Undecided);
}
