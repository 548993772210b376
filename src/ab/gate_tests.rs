use super::*;
use crate::ab::stopping::Stopping;
use crate::report::fixture::{carry_out, empty, values};

const WORSE: Rules = Rules {
    mode: Mode::Worse,
    require_verdict: false,
    other_kernel: false,
};

/// The arm `bfq` with so many per cent more throughput than `none`.
fn run(percent: f64) -> ResultFile {
    let mut result = empty(
        &["none", "bfq"],
        Stopping::Fixed { blocks: 12 },
        &["throughput"],
    );
    carry_out(&mut result, |turn| {
        let level = if turn.planned.arm == 1 {
            1.0 + percent / 100.0
        } else {
            1.0
        };
        Ok(values(turn, &[("throughput", 1e6 * level)]))
    });
    result
}

fn outcome_of(percent: f64, rules: Rules) -> Outcome {
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
        (0.0, Outcome::Passed, Outcome::Passed, Outcome::Passed),
        (9.0, Outcome::Passed, Outcome::Passed, Outcome::Passed),
        (-3.0, Outcome::Passed, Outcome::Passed, Outcome::Passed),
        (-4.9, Outcome::Failed, Outcome::Passed, Outcome::Failed),
        (-20.0, Outcome::Failed, Outcome::Failed, Outcome::Failed),
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
    noisy.comparisons = crate::ab::analysis::comparisons(&noisy);
    let of = |rules| overall(&check(&noisy, &[], rules).unwrap());
    assert_eq!(of(WORSE), Outcome::Passed);
    let strict = Rules {
        require_verdict: true,
        ..WORSE
    };
    assert_eq!(of(strict), Outcome::Undecided);
    let noninferior = Rules {
        mode: Mode::Noninferior,
        ..WORSE
    };
    assert_eq!(of(noninferior), Outcome::Undecided);
    noisy.rounds.clear();
    noisy.comparisons = crate::ab::analysis::comparisons(&noisy);
    assert_eq!(
        overall(&check(&noisy, &[], WORSE).unwrap()),
        Outcome::Undecided
    );
    assert_eq!(
        overall(&[]),
        Outcome::Undecided,
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
    assert_eq!(of(10.0, &steady), (Outcome::Passed, Verdict::Equivalent));
    // Better than the reference still, and yet worse than it was.
    assert_eq!(of(2.0, &steady), (Outcome::Failed, Verdict::Worse));
    let wild = named([0.0, 20.0, 5.0, 15.0, 10.0].map(run).to_vec());
    assert_eq!(of(2.0, &wild), (Outcome::Passed, Verdict::Inconclusive));
    // One baseline: 3 % is assumed, 7 % within is not enough to tell.
    assert_eq!(
        of(2.0, &steady[..1]),
        (Outcome::Passed, Verdict::Inconclusive)
    );
    assert_eq!(of(-20.0, &steady[..1]), (Outcome::Failed, Verdict::Worse));
}

#[test]
fn the_prediction_interval_by_hand() {
    let estimate = |value| Estimate {
        value,
        standard_error: 0.01,
        blocks: 10,
    };
    let earlier = [0.01, 0.02, 0.03, 0.04, 0.05].map(estimate);
    let (change, interval) = super::change(estimate(0.0), &earlier, 0.05).unwrap();
    // 2.776445 * 0.0158114 * sqrt(1.2)
    assert!((change + 0.03).abs() < 1e-12);
    assert!(
        (interval.upper - change - 0.048_089).abs() < 1e-6,
        "{interval:?}"
    );
    // 2.262157 * sqrt(0.01^2 + 0.01^2 + 2 * 0.03^2)
    let (_, interval) = super::change(estimate(0.0), &earlier[..1], 0.05).unwrap();
    assert!(
        (interval.upper - interval.lower - 2.0 * 0.101_167).abs() < 1e-5,
        "{interval:?}"
    );
    assert!(super::change(estimate(0.0), &[], 0.05).is_none());
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
        ["it is not complete"]
    );
}
