use super::*;
use crate::report::fixture::{empty, play, values};
use crate::statistics::stopping::Stopping;
use crate::types::result::Exclusion;
use crate::types::result::Status;

const WORSE: Rules = Rules {
    mode: Mode::Worse,
    require_verdict: false,
    other_kernel: false,
};

/// The arm `bfq` has `percent` more throughput than `none`.
fn run(percent: f64) -> ResultFile {
    let mut result = empty(
        &["none", "bfq"],
        Stopping::Fixed { blocks: 12 },
        &["throughput"],
    );
    play(&mut result, |turn| {
        let level = if turn.planned.arm == 1 {
            1.0 + percent / 100.0
        } else {
            1.0
        };
        Ok(values(turn, &[("throughput", 1e6 * level)]))
    });
    result
}

fn outcome_of(percent: f64, rules: Rules) -> GateOutcome {
    overall(&check(&run(percent), &[], rules).unwrap())
}

fn named(results: Vec<ResultFile>) -> Vec<(String, ResultFile)> {
    let names = (0..).map(|i: usize| i.to_string());
    names.zip(results).collect()
}

#[test]
fn modes_fail_at_different_depths() {
    let of = |mode| Rules { mode, ..WORSE };
    for (percent, worse, beyond, noninferior) in [
        (
            0.0,
            GateOutcome::Passed,
            GateOutcome::Passed,
            GateOutcome::Passed,
        ),
        (
            9.0,
            GateOutcome::Passed,
            GateOutcome::Passed,
            GateOutcome::Passed,
        ),
        (
            -3.0,
            GateOutcome::Passed,
            GateOutcome::Passed,
            GateOutcome::Passed,
        ),
        (
            -4.9,
            GateOutcome::Failed,
            GateOutcome::Passed,
            GateOutcome::Failed,
        ),
        (
            -20.0,
            GateOutcome::Failed,
            GateOutcome::Failed,
            GateOutcome::Failed,
        ),
    ] {
        assert_eq!(outcome_of(percent, of(Mode::Worse)), worse, "{percent}");
        assert_eq!(
            outcome_of(percent, of(Mode::BeyondMargin)),
            beyond,
            "{percent}"
        );
        assert_eq!(
            outcome_of(percent, of(Mode::Noninferior)),
            noninferior,
            "{percent}"
        );
    }
}

#[test]
fn what_is_not_decided_passes_only_where_no_decision_is_required() {
    let mut noisy = run(0.0);
    noisy.rounds.retain(|round| round.block < 4);
    noisy.comparisons = crate::analysis::conclude::comparisons(&noisy);
    let of = |rules| overall(&check(&noisy, &[], rules).unwrap());
    assert_eq!(of(WORSE), GateOutcome::Passed);
    let strict = Rules {
        require_verdict: true,
        ..WORSE
    };
    assert_eq!(of(strict), GateOutcome::Undecided);
    let noninferior = Rules {
        mode: Mode::Noninferior,
        ..WORSE
    };
    assert_eq!(of(noninferior), GateOutcome::Undecided);
    noisy.rounds.clear();
    noisy.comparisons = crate::analysis::conclude::comparisons(&noisy);
    assert_eq!(
        overall(&check(&noisy, &[], WORSE).unwrap()),
        GateOutcome::Undecided
    );
    assert_eq!(
        overall(&[]),
        GateOutcome::Undecided,
        "nothing compared is nothing shown"
    );
}

#[test]
fn five_baselines_show_how_much_a_ratio_varies() {
    let steady = named([10.0, 10.5, 9.5, 10.2, 9.8].map(run).to_vec());
    let of = |percent, baselines: &[_]| {
        let checks = check(&run(percent), baselines, WORSE).unwrap();
        assert_eq!(checks[0].basis, basis(baselines.len()));
        (overall(&checks), checks[0].verdict)
    };
    assert_eq!(
        of(10.0, &steady),
        (GateOutcome::Passed, Verdict::Equivalent)
    );
    // Still better than the reference, but worse than before.
    assert_eq!(of(2.0, &steady), (GateOutcome::Failed, Verdict::Worse));
    let wild = named([0.0, 20.0, 5.0, 15.0, 10.0].map(run).to_vec());
    assert_eq!(of(2.0, &wild), (GateOutcome::Passed, Verdict::Inconclusive));
    // One baseline: a standard deviation of 10 % is assumed.
    assert_eq!(
        of(2.0, &steady[..1]),
        (GateOutcome::Passed, Verdict::Inconclusive)
    );
    assert_eq!(
        of(-15.0, &steady[..1]),
        (GateOutcome::Passed, Verdict::Inconclusive)
    );
    assert_eq!(
        of(-25.0, &steady[..1]),
        (GateOutcome::Failed, Verdict::Worse)
    );
}

/// Ten blocks with a standard error of 1 %; interval from -3 % to +3 %.
fn estimate(value: f64) -> Estimate {
    Estimate {
        value,
        standard_error: 0.01,
        blocks: 10,
        interval: Some(between(value - 0.03, value + 0.03)),
    }
}

fn between(lower: f64, upper: f64) -> ConfidenceInterval {
    ConfidenceInterval {
        lower,
        upper,
        attained_confidence: 0.95,
    }
}

#[test]
fn the_prediction_interval_by_hand() {
    let earlier = [0.01, 0.02, 0.03, 0.04, 0.05].map(estimate);
    let half = |new| {
        let (change, interval) = super::change(new, &earlier, 0.05).unwrap();
        assert!((change + 0.03).abs() < 1e-12);
        interval.upper - change
    };
    // 2.776445 * 0.0158114 * sqrt(1.2)
    assert!((half(estimate(0.0)) - 0.048_089).abs() < 1e-6);
    let of_error = |standard_error| Estimate {
        standard_error,
        ..estimate(0.0)
    };
    // A more precise run does not narrow the interval: 2.776445 * sqrt(1.2 * 0.00025 + 0.0009 - 0.0001). 0.0011^2 /
    // (0.0003^2 / 4 + 0.0009^2 / 9) gives 10 degrees of freedom, so the 4 of the baselines stay.
    assert!((half(of_error(0.001)) - 0.048_089).abs() < 1e-6);
    assert!((half(of_error(0.03)) - 0.092_084).abs() < 1e-6);
    // Two blocks: 0.0011^2 / (0.0003^2 / 4 + 0.0009^2) is 1 degree of freedom; the quantile is 12.706205.
    let of_few = Estimate {
        blocks: 2,
        ..of_error(0.03)
    };
    assert!((half(of_few) - 0.421_417).abs() < 1e-5);
    assert!(super::change(estimate(0.0), &[], 0.05).is_none());
}

#[test]
fn the_assumed_interval_by_hand() {
    let of = |new, earlier: &[Estimate]| super::change(new, earlier, 0.05).unwrap().1;
    // 2.262157 * sqrt(0.01^2 + 0.01^2 + 2 * 0.1^2)
    let found = of(estimate(0.0), &[estimate(0.01)]);
    assert!((found.upper + 0.01 - 0.321_511).abs() < 1e-5, "{found:?}");
    // 30 and 40 % have an sd of 7 %, 0 and 40 % one of 28 %: 2.262157 * sqrt(0.01^2 + 2 * 0.01^2 / 4 + 1.5 * 0.08).
    let found = of(estimate(0.0), &[0.0, 0.4].map(estimate));
    assert!((found.upper + 0.2 - 0.784_125).abs() < 1e-5, "{found:?}");
}

#[test]
fn with_few_baselines_the_runs_must_lie_apart() {
    let of = |new, earlier: &[Estimate]| super::change(new, earlier, 0.05).unwrap().1;
    let with = |value, lower, upper| Estimate {
        interval: Some(between(lower, upper)),
        ..estimate(value)
    };
    assert!(of(estimate(-0.5), &[estimate(0.0)]).upper < 0.0);
    let wide = with(0.0, -0.48, 0.48);
    // -0.47 to -0.48.
    let found = of(estimate(-0.5), &[estimate(0.0), wide]);
    assert!((found.upper - 0.01).abs() < 1e-12, "{found:?}");
    let wide = with(-0.5, -1.0, -0.02);
    assert!((of(wide, &[estimate(0.0)]).upper - 0.01).abs() < 1e-12);
    let none = Estimate {
        interval: None,
        ..estimate(-0.5)
    };
    assert!(of(none, &[estimate(0.0)]).upper.is_infinite());
    assert!(of(estimate(-0.5), &[none]).upper.is_infinite());
    let five = [none; 5];
    assert!(
        of(estimate(-0.6), &five).upper < 0.0,
        "baselines without variation"
    );
}

#[test]
fn other_things_and_half_runs_are_refused() {
    let mut other = run(10.0);
    other.environment.kernel_release = "5.4.0".into();
    let why = check(&run(10.0), &named(vec![other.clone()]), WORSE).unwrap_err();
    assert!(why[0].contains("5.4"), "{why:?}");
    let any_kernel = Rules {
        other_kernel: true,
        ..WORSE
    };
    assert!(check(&run(10.0), &named(vec![other]), any_kernel).is_ok());
    let mut half = run(10.0);
    half.status = Status::Interrupted;
    assert_eq!(
        check(&half, &[], WORSE).unwrap_err(),
        ["the run is not complete: it has not ended"]
    );
}

/// The run itself is checked before the gate, see `run::ensure_valid`.
#[test]
fn an_invalid_baseline_is_refused() {
    let mut spoilt = empty(
        &["none", "bfq"],
        Stopping::Fixed { blocks: 8 },
        &["throughput"],
    );
    play(&mut spoilt, |turn| {
        if turn.planned.block % 2 == 0 {
            return Err(Exclusion::ForeignIo);
        }
        Ok(values(turn, &[("throughput", 1e6)]))
    });
    assert_eq!(spoilt.status, Status::Complete);
    let why = check(&run(10.0), &named(vec![spoilt]), WORSE).unwrap_err();
    assert!(
        why.iter().any(|why| why.contains("the run is invalid")),
        "{why:?}"
    );
}

/// A fixed CPU loop does not depend on the scheduler: if it differs, the other metrics are not to be trusted.
#[test]
fn a_control_that_differs_leaves_no_gate() {
    let with = |slow: f64| {
        let mut result = empty(
            &["none", "bfq"],
            Stopping::Fixed { blocks: 8 },
            &["throughput"],
        );
        play(&mut result, |turn| {
            let control = if turn.planned.arm == 1 { slow } else { 1.0 };
            Ok(values(
                turn,
                &[("throughput", 1e6), ("control_cpu", 1e6 * control)],
            ))
        });
        result
    };
    let same = with(1.0);
    assert_eq!(same.alarming_controls().count(), 0);
    let control = same.comparisons.iter().find(|row| row.control);
    assert!(control.is_some_and(|row| !row.primary));
    assert!(check(&same, &[], WORSE).is_ok());
    let slow = with(1.5);
    assert_eq!(slow.alarming_controls().count(), 1);
    let error = check(&slow, &[], WORSE).unwrap_err();
    assert!(error[0].contains("control_cpu under bfq"), "{error:?}");
    let text = crate::report::text::render(&slow, crate::report::text::Look::default());
    assert!(
        text.contains("NEGATIVE CONTROL: control_cpu: bfq against none: 50"),
        "{text}"
    );
    assert!(same.blind_controls().is_empty() && !text.contains("TOO NOISY"));
}

/// A control that varies between rounds of one arm says what it could have shown.
#[test]
fn a_control_on_a_noisy_machine_says_that_it_is_blind() {
    let mut result = empty(
        &["none", "bfq"],
        Stopping::Fixed { blocks: 8 },
        &["throughput"],
    );
    play(&mut result, |turn| {
        let noise = 1.0 + 0.4 * ((turn.planned.index * 7 % 11) as f64 / 11.0);
        let values = [("throughput", 1e6), ("control_cpu", 1e6 * noise)];
        Ok(values.map(|(name, value)| (name.to_owned(), value)).into())
    });
    assert_eq!(result.alarming_controls().count(), 0);
    let sight = result.blind_controls()["control_cpu"];
    assert!(sight.is_blind && sight.detectable > Some(0.1), "{sight:?}");
    let text = crate::report::text::render(&result, crate::report::text::Look::default());
    let says = "CONTROL TOO NOISY: control_cpu (a fixed loop on a CPU beside each round) checks ";
    assert!(text.contains(says), "{text}");
}

const NONINFERIOR: Rules = Rules {
    mode: Mode::Noninferior,
    ..WORSE
};

/// A run whose only row is modified by `change`.
fn with_row(percent: f64, change: impl FnOnce(&mut ArmComparison)) -> ResultFile {
    let mut result = run(percent);
    change(&mut result.comparisons[0]);
    result
}

#[test]
fn without_a_bound_nothing_is_noninferior() {
    let strict = Rules {
        require_verdict: true,
        ..WORSE
    };
    let steady = named([0.0, 0.5, -0.5, 0.2, -0.2].map(run).to_vec());
    let open = |lower, upper, verdict| {
        with_row(0.0, |row| {
            row.comparison.interval = Some(between(lower, upper));
            row.comparison.verdict = verdict;
        })
    };
    let of = |result: &ResultFile, baselines: &[_], rules| {
        let checks = check(result, baselines, rules).unwrap();
        overall(&checks)
    };
    assert_eq!(of(&run(0.0), &steady, NONINFERIOR), GateOutcome::Passed);
    let below = open(f64::NEG_INFINITY, 0.01, Verdict::Inconclusive);
    let above = open(-0.01, f64::INFINITY, Verdict::Inconclusive);
    for baselines in [&[][..], &steady] {
        for rules in [NONINFERIOR, strict] {
            assert_eq!(of(&below, baselines, rules), GateOutcome::Undecided);
        }
        // Better without an upper bound: non-inferior, but undecided.
        assert_eq!(of(&above, baselines, NONINFERIOR), GateOutcome::Passed);
        assert_eq!(of(&above, baselines, strict), GateOutcome::Undecided);
        assert_eq!(of(&below, baselines, WORSE), GateOutcome::Passed);
    }
    // For a time, the upper end is the worse one.
    let mut time = above.comparisons[0].comparison.clone();
    time.question.direction = Direction::LowerIsBetter;
    let found = outcome(NONINFERIOR, &time, time.interval, Verdict::Inconclusive);
    assert_eq!(found, GateOutcome::Undecided);
    // Censored blocks, without an interval.
    let censored = with_row(0.0, |row| {
        row.comparison.interval = None;
        row.comparison.reasons = vec![Reason::Censored { blocks: 1 }];
    });
    assert_eq!(of(&censored, &steady, NONINFERIOR), GateOutcome::Undecided);
}

#[test]
fn a_verdict_that_was_withheld_neither_fails_nor_is_noninferior() {
    let beyond = Rules {
        mode: Mode::BeyondMargin,
        ..WORSE
    };
    for reason in [Reason::MeanDisagrees, Reason::CarryOver { bias: None }] {
        let withheld = |percent| {
            with_row(percent, |row| {
                row.comparison.verdict = Verdict::Inconclusive;
                row.comparison.reasons = vec![reason];
            })
        };
        let of = |percent, rules| overall(&check(&withheld(percent), &[], rules).unwrap());
        assert_eq!(of(-20.0, beyond), GateOutcome::Passed);
        assert_eq!(of(9.0, NONINFERIOR), GateOutcome::Undecided);
    }
}

#[test]
fn the_margin_is_the_printed_one() {
    // 4.95 % less is -0.0508 on the log scale: beyond ln 1.05, but within 5 % less.
    let less = |ratio: f64| {
        with_row(0.0, |row| {
            row.comparison.interval = Some(between(ratio.ln(), 0.0));
            row.comparison.verdict = Verdict::Inconclusive;
        })
    };
    let of = |ratio| overall(&check(&less(ratio), &[], NONINFERIOR).unwrap());
    assert_eq!(of(0.9505), GateOutcome::Passed);
    assert_eq!(of(0.9495), GateOutcome::Undecided);
}

#[test]
fn a_warning_of_the_run_stands_against_baselines_too() {
    let warned = with_row(0.0, |row| {
        row.comparison.reasons = vec![
            Reason::NeedsRounds {
                at_least: 6,
                projected: None,
            },
            Reason::CarryOver { bias: Some(0.1) },
            Reason::MeanDisagrees,
            Reason::Censored { blocks: 2 },
            Reason::StalledRounds {
                arm: 3,
                reference: 0,
            },
        ];
    });
    let steady = named([0.0, 0.5, -0.5, 0.2, -0.2].map(run).to_vec());
    for baselines in [&steady[..1], &steady] {
        let checks = check(&warned, baselines, WORSE).unwrap();
        let page = crate::report::gate::render(&checks, None);
        for words in [
            "what an arm leaves behind",
            "the mean says the opposite",
            "in 2 of 12 blocks there is no ratio",
            "3 of 12 rounds stall",
        ] {
            assert!(page.contains(words), "{words}: {page}");
        }
        assert!(!page.contains("needs 6 blocks"), "{page}");
    }
}
