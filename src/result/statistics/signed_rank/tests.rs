use super::*;
use proptest::prelude::*;

/// Computed with scipy 1.17.
const CLEAR: [f64; 8] = [0.081, 0.032, 0.115, -0.014, 0.067, 0.049, 0.093, 0.021];
const SMALL: [f64; 12] = [
    0.012, -0.008, 0.021, 0.003, -0.015, 0.009, 0.014, -0.004, 0.006, 0.011, -0.002, 0.008,
];

fn exact(d: &[f64]) -> Vec<Difference> {
    d.iter().copied().map(Difference::exact).collect()
}

fn signed_rank_interval(d: &[f64], alpha: f64) -> Option<ConfidenceInterval> {
    interval(&exact(d), alpha)
}

fn signed_rank_p(d: &[f64]) -> Option<f64> {
    p(&exact(d))
}

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
fn the_examples() {
    assert_interval(signed_rank_interval(&CLEAR, 0.05), 0.0175, 0.093, 0.9609);
    assert_interval(signed_rank_interval(&CLEAR, 0.01914), 0.0035, 0.104, 0.9844);
    assert!(close(signed_rank_p(&CLEAR).unwrap(), 0.015_625, 1e-15));
    assert_interval(
        signed_rank_interval(&SMALL, 0.01914),
        -0.004,
        0.0125,
        0.9839,
    );
    assert!(close(
        hodges_lehmann(&exact(&CLEAR)).unwrap(),
        0.05675,
        1e-12
    ));
}

/// Rank k and attained confidence by blocks and level, from tables of the signed-rank test.
#[test]
fn the_null_distribution() {
    let k_and_percent = |n: usize, alpha: f64| {
        let distinct: Vec<f64> = (0..n).map(|i| f64::from(1 << i)).collect();
        let found = signed_rank_interval(&distinct, alpha)?;
        let k = walsh_averages(distinct.iter().copied(), 0.0)
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
fn the_approximation_for_many_blocks_agrees_with_the_exact_distribution() {
    let (exact, close) = (computed_cdf(MOST_EXACT), approximate_cdf(MOST_EXACT));
    assert_eq!(exact.len(), close.len());
    assert!(close.is_sorted());
    for (w, (exact, close)) in exact.iter().zip(&close).enumerate() {
        if *exact > 1e-7 {
            assert!((close / exact - 1.0).abs() < 0.01, "{w}: {exact} {close}");
        }
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
    // The zero leaves one of 36 averages undecided, which counts against the difference: P(W <= 1), not P(W <= 0).
    let with_zero = [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7];
    assert_eq!(signed_rank_p(&with_zero), Some(2.0 * 2.0 / 256.0));
    // 0.1 and -0.1 tie: their average counts for both sides.
    let with_tie = [-0.1, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7];
    assert_eq!(signed_rank_p(&with_tie), Some(2.0 * 3.0 / 256.0));
}

const WORST: f64 = f64::NEG_INFINITY;

/// A block in which the arm has no value has the largest rank. With many of them there is no bound on that side.
#[test]
fn a_censored_block_is_the_worst() {
    let with = |censored: usize| {
        let mut d = exact(&SMALL.map(|x| x + 0.1));
        d[..censored].fill(Difference::exact(WORST));
        d
    };
    let of = |censored| interval(&with(censored), 0.05).unwrap();
    assert!(of(0).lower > 0.09 && of(1).lower > 0.08 && of(1).lower < of(0).lower);
    assert!(
        of(2).lower.is_infinite(),
        "k = 13: 23 averages contain a censored block, which is too many"
    );
    assert!(of(2).upper.is_finite());
    assert!(of(12).upper.is_infinite());
    // One censored block of twelve has rank 12: W- = 12, and P(W <= 12) = 0.0171.
    assert!(
        close(p(&with(1)).unwrap(), 2.0 * 0.017_090, 1e-5),
        "{:?}",
        p(&with(1))
    );
    assert!(p(&with(2)).unwrap() > 0.1);
    assert_eq!(hodges_lehmann(&with(7)), None);
    assert!(hodges_lehmann(&with(3)).is_some_and(|d| d > 0.09));
}

/// Neither arm has a value: the difference is unknown and supports neither side.
#[test]
fn an_unknown_block_widens_both_ends() {
    let mut d = exact(&CLEAR);
    let before = interval(&d, 0.05).unwrap();
    d.push(Difference::UNKNOWN);
    let after = interval(&d, 0.05).unwrap();
    assert!(
        after.lower < before.lower && after.upper > before.upper,
        "{after:?}"
    );
    d.push(Difference::exact(f64::INFINITY));
    assert!(
        interval(&d, 0.05).is_some() && p(&d).is_some(),
        "opposite infinities"
    );
}

#[test]
fn few_blocks_must_agree_and_student_must_say_the_same() {
    assert_eq!(interval_of_few(&exact(&CLEAR[..5]), 0.05), None);
    let agree = exact(&[0.05, 0.051, 0.049, 0.052, 0.048, 0.05]);
    assert!(interval_of_few(&agree, 0.001).unwrap().lower > 0.04);
    let wild = exact(&[0.05, 0.2, 0.01, 0.4, 0.03, 0.9]);
    assert!(interval_of_few(&wild, 0.02).unwrap().lower < 0.0);
    let mut lost = agree.clone();
    lost[3] = Difference::exact(WORST);
    let found = interval_of_few(&lost, 0.05).unwrap();
    assert_eq!((found.lower, found.upper), (WORST, f64::INFINITY));
}

#[test]
fn an_open_end_is_null_in_json() {
    let d = [&exact(&SMALL)[..], &[Difference::exact(WORST); 4]].concat();
    let found = interval(&d, 0.05).unwrap();
    let json = serde_json::to_value(found).unwrap();
    assert!(
        json["lower"].is_null() && json["upper"].is_number(),
        "{json}"
    );
    assert_eq!(
        serde_json::from_value::<ConfidenceInterval>(json).unwrap(),
        found
    );
}

proptest! {
    /// A block that gets worse never makes the arm look better.
    #[test]
    fn worse_is_never_better(d in prop::collection::vec(-0.2f64..0.2, 6..16), which in 0usize..16) {
        let which = which % d.len();
        let before = interval(&exact(&d), 0.05).unwrap();
        let mut worse = exact(&d);
        worse[which] = Difference::exact(WORST);
        let after = interval(&worse, 0.05).unwrap();
        prop_assert!(after.lower <= before.lower && after.upper <= before.upper);
    }

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
                prop_assert!(interval.contains(hodges_lehmann(&exact(&d)).unwrap()));
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
        prop_assert_eq!(hodges_lehmann(&exact(&d)), hodges_lehmann(&exact(&mirrored)).map(|x| -x));
    }
}
