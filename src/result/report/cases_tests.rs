use super::*;
use crate::report::fixture::sample;
use crate::report::{junit, ktap};
use crate::types::result::{ExcludedBlock, Exclusion, Resumed, Status};

fn states(cases: &[Case]) -> Vec<State> {
    cases.iter().map(|case| case.state).collect()
}

const OF_THE_SAMPLE: [State; 6] = [
    State::Failed,
    State::Passed,
    State::Passed,
    State::Skipped,
    State::Passed,
    State::Passed,
];

#[test]
fn a_run_without_an_answer_has_errors_alone() {
    let mut runs = Vec::new();
    for status in [Status::Running, Status::Interrupted, Status::Failed] {
        let mut result = sample();
        result.status = status;
        result.error = (status == Status::Failed).then(|| "fio died".to_owned());
        runs.push(("incomparable", result));
    }
    let mut invalid = sample();
    let block = ExcludedBlock {
        block: 0,
        attempt: 0,
        exclusion: Exclusion::ForeignIo,
        arm: "bfq".into(),
        problem: "other processes moved bytes".into(),
    };
    invalid.excluded = vec![block; 3];
    runs.push(("invalid", invalid));
    let mut alarming = sample();
    let mut control = alarming.comparisons[0].clone();
    (control.primary, control.control) = (false, true);
    alarming.comparisons.push(control);
    runs.push(("incomparable", alarming));
    for (kind, result) in runs {
        let cases = of_report(&result);
        assert_eq!(states(&cases), [State::Error(kind); 7]);
        assert_eq!(cases[6].name, THE_RUN);
        assert!(!cases[6].text.is_empty());
        let ktap = ktap::render(&[&result]);
        assert_eq!(ktap.matches("\nnot ok ").count(), 7, "{ktap}");
        assert!(!ktap.contains("\nok "), "{ktap}");
        let xml = junit::render(&[&result]);
        assert_eq!(xml.matches("<error ").count(), 7, "{xml}");
        assert!(
            xml.contains("failures=\"0\" errors=\"7\" skipped=\"0\""),
            "{xml}"
        );
    }
}

#[test]
fn what_is_open_is_skipped_and_what_nothing_can_decide_is_an_error() {
    let mut result = sample();
    assert_eq!(states(&of_report(&result)), OF_THE_SAMPLE);
    let row = &mut result.comparisons[3].comparison;
    row.interval = None;
    let mut expected = OF_THE_SAMPLE;
    expected[3] = State::Error("undecided");
    assert_eq!(states(&of_report(&result)), expected);
    assert!(ktap::render(&[&result]).contains("\nnot ok 4 "));
    result.comparisons.retain(|row| !row.primary);
    let none = of_report(&result);
    assert_eq!(states(&none), [State::Error("undecided")]);
}

#[test]
fn a_gate_has_failures_and_errors_for_its_exit_code() {
    let result = sample();
    let of = |mode, require_verdict| {
        let rules = Rules {
            mode,
            require_verdict,
            other_kernel: false,
        };
        let judgement = judge(&result, &[], rules, Selection::default());
        states(&of_gate(&result, &judgement))
    };
    assert_eq!(of(Mode::Worse, false), OF_THE_SAMPLE);
    let mut expected = OF_THE_SAMPLE;
    expected[3] = State::Error("undecided");
    assert_eq!(of(Mode::Worse, true), expected);
    assert_eq!(of(Mode::Noninferior, false), expected);
}

#[test]
fn a_time_is_true_or_absent() {
    let mut result = sample();
    // 13 rounds of bfq, of which one did not count.
    let measured = measured_s(&result, "bfq").unwrap();
    assert!((measured - 13.0 * 19.96).abs() < 1e-9, "{measured}");
    assert_eq!(elapsed_s(&result), Some(3600.0));
    let xml = junit::render(&[&result]);
    assert!(xml.contains(" time=\"3600.000\""), "{xml}");
    assert!(!xml.contains("hostname="), "unknown: {xml}");
    result.environment.hostname = Some("lab-3".into());
    assert!(junit::render(&[&result]).contains(" hostname=\"lab-3\""));

    result.resumed = vec![Resumed {
        at: "2026-02-03T05:00:00Z".into(),
        after_rounds: 9,
    }];
    assert_eq!(elapsed_s(&result), None, "of the gap nothing is known");
    result.resumed.clear();
    for finished in [None, Some("2026-02-03T04:05:05Z"), Some("soon")] {
        result.finished = finished.map(str::to_owned);
        assert_eq!(elapsed_s(&result), None, "{finished:?}");
    }
    for window_s in [0.0, -1.0, f64::INFINITY, 1e300] {
        for round in &mut result.rounds {
            round.window_s = window_s;
        }
        assert_eq!(measured_s(&result, "bfq"), None, "{window_s}");
    }
    result.started = "at noon".into();
    let xml = junit::render(&[&result]);
    assert!(
        !xml.contains("time=") && !xml.contains("timestamp="),
        "{xml}"
    );
}
