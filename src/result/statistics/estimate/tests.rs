use super::*;

/// Computed with scipy 1.17.
const CLEAR: [f64; 8] = [0.081, 0.032, 0.115, -0.014, 0.067, 0.049, 0.093, 0.021];
const SMALL: [f64; 12] = [
    0.012, -0.008, 0.021, 0.003, -0.015, 0.009, 0.014, -0.004, 0.006, 0.011, -0.002, 0.008,
];

fn close(a: f64, b: f64, tolerance: f64) -> bool {
    (a - b).abs() <= tolerance
}

fn assert_interval(found: Option<ConfidenceInterval>, lower: f64, upper: f64, confidence: f64) {
    let found = found.expect("an interval");
    assert!(close(found.lower, lower, 1e-6), "{found:?}");
    assert!(close(found.upper, upper, 1e-6), "{found:?}");
    assert!(
        close(found.attained_confidence, confidence, 5e-5),
        "{found:?}"
    );
}

#[test]
fn the_clear_example() {
    assert!(close(mean(&CLEAR).unwrap(), 0.0555, 1e-12));
    assert!(close(sd(&CLEAR).unwrap(), 0.041_993, 5e-7));
    assert!(close(hodges_lehmann(&CLEAR).unwrap(), 0.05675, 1e-12));
    assert!(close(median(&CLEAR).unwrap(), 0.058, 1e-12));
    assert_interval(student_interval(&CLEAR, 0.05), 0.020_393, 0.090_607, 0.95);
    assert_interval(
        student_interval(&CLEAR, 0.01914),
        0.010_528,
        0.100_472,
        0.980_86,
    );
    assert!(close(student_p(&CLEAR).unwrap(), 0.00728, 5e-6));
}

#[test]
fn the_small_example() {
    assert_interval(
        student_interval(&SMALL, 0.01914),
        -0.003_508,
        0.012_675,
        0.980_86,
    );
    assert!(close(hodges_lehmann(&SMALL).unwrap(), 0.005, 1e-12));
}

#[test]
fn what_is_not_there_is_none() {
    for d in [&[][..], &[f64::NAN], &[1.0, f64::INFINITY]] {
        assert_eq!(mean(d), None);
        assert_eq!(sd(d), None);
        assert_eq!(median(d), None);
        assert_eq!(hodges_lehmann(d), None);
        assert_eq!(student_interval(d, 0.05), None);
        assert_eq!(student_p(d), None);
    }
    assert_eq!(sd(&[1.0]), None);
    assert_eq!(student_interval(&[1.0], 0.05), None);
    assert_eq!(student_p(&[2.0, 2.0]), None);
}

#[test]
fn students_quantiles_hold_far_out() {
    for (tail, df, expected) in [
        (0.025, 1, 12.706_205),
        (0.025, 7, 2.364_624),
        (0.0005, 3, 12.923_979),
        (0.025, 1_000, 1.962_339),
    ] {
        let found = student_quantile(tail, df).unwrap();
        assert!(
            close(found, expected, 2e-6 * expected),
            "{tail} {df}: {found}"
        );
    }
}

#[test]
fn an_interval_for_any_time() {
    // sqrt(9) / 0.05 = 60, 60^(1/4) = 2.78; sqrt(7 * 1.78 / (1 - 2.78 / 9)) / sqrt(8) = 1.50 standard deviations.
    let found = always_valid_half_width(8, 0.05).unwrap();
    assert!(close(found, 1.502, 2e-3), "{found}");
    assert_eq!(always_valid_half_width(4, 0.05), None);
    assert_eq!(always_valid_blocks_needed(0.05), 5);
    assert_eq!(always_valid_blocks_needed(0.0), usize::MAX);
    let (at_8, at_7) = (
        always_valid_interval(&CLEAR, 0.05).unwrap(),
        always_valid_interval(&CLEAR[..7], 0.05).unwrap(),
    );
    assert!(at_8.lower >= at_7.lower && at_8.upper <= at_7.upper);
    assert!(at_8.contains(0.0555), "{at_8:?}");
    assert!(at_8.lower < student_interval(&CLEAR, 0.05).unwrap().lower);
    // The mean changes after five blocks, so no interval contains both.
    let (near, far) = ([0.0, 0.001, -0.001, 0.0, 0.001], [9.0; 400]);
    let torn = [&near[..], &near[..], &near[..], &far[..]].concat();
    assert_eq!(always_valid_interval(&torn, 0.05), None);
    assert_eq!(always_valid_interval(&[], 0.05), None);
}

#[test]
fn false_discovery_rates() {
    // From R's p.adjust(method = "BH").
    let expected = [0.02, 0.04, 0.04, 0.02];
    let found = benjamini_hochberg(&[0.01, 0.04, 0.03, 0.005]);
    for (found, expected) in found.into_iter().zip(expected) {
        assert!(close(found, expected, 1e-12), "{found}");
    }
    assert!(benjamini_hochberg(&[]).is_empty());
}
