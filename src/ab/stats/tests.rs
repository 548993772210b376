use super::*;
use proptest::prelude::*;

/// Computed with scipy 1.17.
const CLEAR: [f64; 8] = [0.081, 0.032, 0.115, -0.014, 0.067, 0.049, 0.093, 0.021];
const SMALL: [f64; 12] = [
    0.012, -0.008, 0.021, 0.003, -0.015, 0.009, 0.014, -0.004, 0.006, 0.011, -0.002, 0.008,
];

fn close(a: f64, b: f64, tolerance: f64) -> bool {
    (a - b).abs() <= tolerance
}

fn assert_interval(found: Option<Interval>, lower: f64, upper: f64, confidence: f64) {
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
    assert_interval(signed_rank_interval(&CLEAR, 0.05), 0.0175, 0.093, 0.9609);
    assert_interval(signed_rank_interval(&CLEAR, 0.01914), 0.0035, 0.104, 0.9844);
    assert!(close(signed_rank_p(&CLEAR).unwrap(), 0.015_625, 1e-15));
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
    assert_interval(
        signed_rank_interval(&SMALL, 0.01914),
        -0.004,
        0.0125,
        0.9839,
    );
}

/// Rank k and attained confidence by blocks and level, as in the tables of the signed-rank test.
#[test]
fn the_null_distribution() {
    let k_and_percent = |n: usize, alpha: f64| {
        let distinct: Vec<f64> = (0..n).map(|i| f64::from(1 << i)).collect();
        let found = signed_rank_interval(&distinct, alpha)?;
        let k = walsh_averages(&distinct)
            .iter()
            .position(|&w| w >= found.lower)?;
        Some((k, (found.attained_confidence * 1000.0).round() / 10.0))
    };
    for (n, at_05, at_0191, at_00276) in [
        (6, Some((0, 96.9)), None, None),
        (8, Some((3, 96.1)), Some((1, 98.4)), None),
        (10, Some((8, 95.1)), Some((4, 98.6)), Some((0, 99.8))),
        (12, Some((13, 95.8)), Some((9, 98.4)), Some((3, 99.8))),
        (16, Some((29, 95.6)), Some((23, 98.2)), Some((13, 99.7))),
        (20, Some((52, 95.2)), Some((42, 98.3)), Some((28, 99.7))),
    ] {
        assert_eq!(k_and_percent(n, 0.05), at_05, "{n}");
        assert_eq!(k_and_percent(n, 0.0191), at_0191, "{n}");
        assert_eq!(k_and_percent(n, 0.00276), at_00276, "{n}");
    }
}

#[test]
fn too_few_blocks_give_no_interval_and_the_number_that_would() {
    assert_eq!(signed_rank_interval(&CLEAR[..5], 0.05), None);
    assert!(signed_rank_interval(&CLEAR[..6], 0.05).is_some());
    for (alpha, blocks) in [
        (0.05, 6),
        (0.0191, 7),
        (0.0083, 8),
        (0.0028, 10),
        (0.0625, 5),
        (1.0, 1),
    ] {
        assert_eq!(blocks_needed(alpha), blocks, "{alpha}");
        let d: Vec<f64> = (0..blocks).map(|i| i as f64).collect();
        assert!(signed_rank_interval(&d, alpha).is_some());
        assert_eq!(signed_rank_interval(&d[1..], alpha), None);
    }
    assert_eq!(blocks_needed(0.0), usize::MAX);
    assert_eq!(blocks_needed(f64::NAN), usize::MAX);
    assert_eq!(signed_rank_interval(&CLEAR, f64::NAN), None);
}

#[test]
fn ties_and_zeros_err_to_the_safe_side() {
    assert_eq!(signed_rank_p(&[0.0; 12]), Some(1.0));
    let all_equal = signed_rank_interval(&[0.03; 8], 0.05).unwrap();
    assert!(close(all_equal.lower, 0.03, 0.0) && close(all_equal.upper, 0.03, 0.0));
    assert_eq!(signed_rank_p(&[0.03; 8]), Some(2.0 / 256.0));
    // The zero leaves one of 36 averages undecided, and it counts against the difference: P(W <= 1), not P(W <= 0).
    let with_zero = [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7];
    assert_eq!(signed_rank_p(&with_zero), Some(2.0 * 2.0 / 256.0));
    // 0.1 and -0.1 tie: their average counts for both sides.
    let with_tie = [-0.1, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7];
    assert_eq!(signed_rank_p(&with_tie), Some(2.0 * 3.0 / 256.0));
}

#[test]
fn what_is_not_there_is_none() {
    for d in [&[][..], &[f64::NAN], &[1.0, f64::INFINITY]] {
        assert_eq!(mean(d), None);
        assert_eq!(sd(d), None);
        assert_eq!(median(d), None);
        assert_eq!(hodges_lehmann(d), None);
        assert_eq!(signed_rank_interval(d, 0.9), None);
        assert_eq!(signed_rank_p(d), None);
        assert_eq!(student_interval(d, 0.05), None);
        assert_eq!(student_p(d), None);
    }
    assert_eq!(sd(&[1.0]), None);
    assert_eq!(student_interval(&[1.0], 0.05), None);
    assert_eq!(student_p(&[2.0, 2.0]), None);
    assert_eq!(minimum_detectable_effect(0.1, 0, 0.05), None);
    assert_eq!(minimum_detectable_effect(0.1, 1, 0.05), None);
    assert_eq!(minimum_detectable_effect(0.1, 8, 0.0), None);
}

/// The formula against simulated power: an approximation, which promises up to 5 % too much where blocks are few.
#[test]
fn the_minimum_detectable_effect_in_standard_deviations() {
    for (blocks, at_05, at_0191, at_0083, at_0028) in [
        (8, 1.16, 1.41, 1.65, 2.00),
        (12, 0.89, 1.05, 1.20, 1.39),
        (20, 0.66, 0.77, 0.86, 0.97),
        (40, 0.45, 0.52, 0.58, 0.64),
    ] {
        for (alpha, simulated) in [
            (0.05, at_05),
            (0.0191, at_0191),
            (0.0083, at_0083),
            (0.0028, at_0028),
        ] {
            let found = minimum_detectable_effect(1.0, blocks, alpha).unwrap();
            let bound = if blocks == 8 { 0.05 } else { 0.03 };
            assert!(
                close(found / simulated, 1.0, bound),
                "{blocks} {alpha}: {found}"
            );
        }
    }
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
fn holm_and_pocock() {
    let expected = [0.03, 0.06, 0.06, 0.02];
    for (found, expected) in holm(&[0.01, 0.04, 0.03, 0.005]).into_iter().zip(expected) {
        assert!(close(found, expected, 1e-12), "{found}");
    }
    assert_eq!(holm(&[0.9, 0.8]), [1.0, 1.0]);
    assert!(holm(&[]).is_empty());
    assert!(close(pocock_level(0.05), 0.01914, 1e-12));
    assert!(close(pocock_level(0.00417), 0.00133, 1e-12));
    assert!(close(pocock_level(0.05 / 6.0), 0.00276, 5e-6));
    assert!(close(pocock_level(0.004), 0.001, 1e-12));
    assert!(close(pocock_level(0.1), 0.03828, 1e-12));
    let levels: Vec<f64> = (1..200)
        .map(|i| pocock_level(f64::from(i) * 5e-4))
        .collect();
    assert!(levels.is_sorted());
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
    // Two means: first here, then there. Nothing can contain both.
    let (near, far) = ([0.0, 0.001, -0.001, 0.0, 0.001], [9.0; 400]);
    let torn = [&near[..], &near[..], &near[..], &far[..]].concat();
    assert_eq!(always_valid_interval(&torn, 0.05), None);
    assert_eq!(always_valid_interval(&[], 0.05), None);
}

#[test]
fn false_discovery_rates() {
    // As R's p.adjust(method = "BH").
    let expected = [0.02, 0.04, 0.04, 0.02];
    let found = benjamini_hochberg(&[0.01, 0.04, 0.03, 0.005]);
    for (found, expected) in found.into_iter().zip(expected) {
        assert!(close(found, expected, 1e-12), "{found}");
    }
    assert!(benjamini_hochberg(&[]).is_empty());
}

#[test]
fn fairness() {
    assert_eq!(jain(&[1.0; 4]), Some(1.0));
    assert_eq!(jain(&[4.0, 0.0, 0.0, 0.0]), Some(0.25));
    assert_eq!(jain(&[3.0, 1.0, 1.0, 1.0]), Some(0.75));
    assert!(close(jain(&[10.0, 20.0, 30.0]).unwrap(), 0.857_143, 5e-7));
    let x = [100.0, 200.0, 400.0];
    assert!(close(jain(&x).unwrap(), 0.777_778, 5e-7));
    assert_eq!(jain_weighted(&x, &x), Some(1.0));
    assert_eq!(jain_weighted(&x, &[1.0, 2.0]), None);
    assert_eq!(jain_weighted(&x, &[1.0, 2.0, 0.0]), None);
    for x in [&[][..], &[1.0], &[0.0, 0.0], &[1.0, -1.0], &[1.0, f64::NAN]] {
        assert_eq!(jain(x), None);
    }
}

proptest! {
    /// Few distinct values, so that ties and zeros are common.
    #[test]
    fn interval_and_p_agree(
        d in prop::collection::vec((-6i32..7).prop_map(|i| f64::from(i) / 100.0), 1..16),
        alpha in prop::sample::select(vec![0.2, 0.05, 0.01914, 0.00276]),
    ) {
        let p = signed_rank_p(&d).unwrap();
        prop_assert!(p > 0.0 && p <= 1.0);
        match signed_rank_interval(&d, alpha) {
            None => prop_assert!(p > alpha && d.len() < blocks_needed(alpha)),
            Some(interval) => {
                prop_assert!(d.len() >= blocks_needed(alpha));
                prop_assert_eq!(p <= alpha, !interval.contains(0.0));
                prop_assert!(interval.contains(hodges_lehmann(&d).unwrap()));
                prop_assert!(interval.attained_confidence >= 1.0 - alpha);
            }
        }
    }

    #[test]
    fn signs_and_order_do_not_matter(d in prop::collection::vec(-1.0f64..1.0, 6..16)) {
        let mirrored: Vec<f64> = d.iter().rev().map(|x| -x).collect();
        let (a, b) = (signed_rank_interval(&d, 0.05).unwrap(), signed_rank_interval(&mirrored, 0.05).unwrap());
        prop_assert_eq!((a.lower, a.upper), (-b.upper, -b.lower));
        prop_assert_eq!(signed_rank_p(&d), signed_rank_p(&mirrored));
        prop_assert_eq!(hodges_lehmann(&d), hodges_lehmann(&mirrored).map(|x| -x));
    }
}
