//! Arms that cannot be judged do not pass: whatever keeps a round from having a value, in some rounds and in every one.

use std::collections::BTreeMap;

use super::*;
use crate::ab::result::{Censored, Round, Spoilt};
use crate::ab::statistics::stopping::Stopping;
use crate::ab::turn::{Next, Turn, next};
use crate::ab::{conclude, plan::Plan};
use crate::report::fixture::{empty, values};

const RULES: Rules = Rules {
    mode: Mode::Worse,
    require_verdict: false,
    other_kernel: false,
};
const BLOCKS: usize = 12;

/// What happens in the rounds of an arm: its values, or why it has none.
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

/// With fewer bad rounds there may be no verdict; then the gate does not pass.
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
