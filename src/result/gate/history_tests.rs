use super::super::{Check, GateOutcome, Mode, Rules, check, overall};
use super::*;
use crate::report::fixture::{empty, play, values};
use crate::report::gate::render;
use crate::statistics::stopping::Stopping;
use crate::types::result::ResultFile;

/// A run on a day in March in which `bfq` has `percent` more throughput than `none`.
fn run(day: usize, percent: f64) -> (String, ResultFile) {
    let stopping = Stopping::Fixed { blocks: 6 };
    let mut result = empty(&["none", "bfq"], stopping, &["throughput"]);
    play(&mut result, |turn| {
        let level = 1.0 + turn.planned.arm as f64 * percent / 100.0;
        Ok(values(turn, &[("throughput", 1e6 * level)]))
    });
    result.started = format!("2026-03-{day:02}T04:05:06Z");
    (format!("night-{day}.json"), result)
}

/// `levels` holds one run per day; the last is judged. The baselines are passed newest first.
fn checked(levels: &[f64], mode: Mode) -> Check {
    let wobble = |day: usize| 0.4 * ((day * 7 % 5) as f64 - 2.0);
    let runs = levels.iter().enumerate();
    let mut runs: Vec<_> = runs.map(|(i, x)| run(i + 1, x + wobble(i))).collect();
    let (_, new) = runs.pop().unwrap();
    runs.reverse();
    let rules = Rules {
        mode,
        require_verdict: false,
        other_kernel: false,
    };
    check(&new, &runs, rules).unwrap().remove(0)
}

fn levels(parts: &[(usize, f64)]) -> Vec<f64> {
    let all = parts.iter();
    all.flat_map(|&(runs, level)| vec![level; runs]).collect()
}

#[test]
fn a_worse_level_is_dated_and_fails_the_gate() {
    let fell = levels(&[(12, 0.0), (6, -12.0)]);
    for mode in [Mode::Worse, Mode::BeyondMargin, Mode::Noninferior] {
        let found = checked(&fell, mode);
        assert_eq!(found.verdict, Verdict::Inconclusive, "the baselines vary");
        assert_eq!(overall(std::slice::from_ref(&found)), GateOutcome::Failed);
        let level = found.level_change.as_ref().unwrap();
        assert_eq!(level.since, "night-13.json");
        assert_eq!(level.started, "2026-03-13T04:05:06Z");
        assert_eq!((level.runs_before, level.runs_since), (12, 6));
        assert!((level.change.exp() - 0.88).abs() < 0.01, "{level:?}");
        assert!(level.worse_beyond_margin && level.is_of_this_run);
        let page = render(&[found], None);
        for words in [
            "not decided; worse by more than 5 % since night-13.json",
            "throughput: bfq against none changed by -1",
            "with night-13.json, started 2026-03-13T04:05:06Z: 12 runs before, 6 since.",
        ] {
            assert!(page.contains(words), "{words}: {page}");
        }
    }
}

#[test]
fn the_rule_of_the_mode_decides() {
    let slightly = levels(&[(12, 0.0), (6, -5.0)]);
    let found = checked(&slightly, Mode::Worse);
    assert_eq!(found.outcome, GateOutcome::Failed, "{found:?}");
    let page = render(&[found], None);
    assert!(page.contains("; worse since night-13.json"), "{page}");
    let found = checked(&slightly, Mode::BeyondMargin);
    assert_eq!(found.outcome, GateOutcome::Passed, "{found:?}");
    for better in [
        levels(&[(12, 0.0), (6, 12.0)]),
        // Worse for a while, then good again.
        levels(&[(8, 0.0), (8, -12.0), (8, 0.0)]),
    ] {
        let found = checked(&better, Mode::Worse);
        assert_eq!(found.outcome, GateOutcome::Passed, "{found:?}");
        let level = found.level_change.unwrap();
        assert_eq!(level.verdict, Verdict::Better);
    }
}

#[test]
fn a_run_that_is_well_again_does_not_fail() {
    let found = checked(&levels(&[(12, 0.0), (5, -12.0), (1, 0.0)]), Mode::Worse);
    let level = found.level_change.as_ref().unwrap();
    assert!(!level.is_of_this_run, "{level:?}");
    assert_eq!(found.outcome, GateOutcome::Passed, "{found:?}");
    let page = render(&[found], None);
    assert!(!page.contains("; worse"), "{page}");
    assert!(page.contains("back near the level before"), "{page}");
}

#[test]
fn few_baselines_are_no_history() {
    let found = checked(&levels(&[(4, 0.0), (4, -12.0)]), Mode::Worse);
    assert_eq!(found.level_change, None);
    let steady = checked(&levels(&[(18, 0.0)]), Mode::Worse);
    assert_eq!(steady.level_change, None);
    assert_eq!(steady.outcome, GateOutcome::Passed);
}
