use super::*;
use crate::analysis::conclude::primary_comparisons;
use crate::measured::histogram::DEVICE;
use crate::measured::snapshot::DeviceNumbers;
use crate::report::fixture::{empty, play, values};
use crate::statistics::stopping::Stopping;
use crate::statistics::verdict::{Reason, Verdict};
use crate::types::result::{Censored, ResultFile};

/// 100,000 requests, evenly from 1 to 2 ms.
fn even() -> Histogram {
    let mut histogram = Histogram::new(DEVICE);
    (0..100_000u64).for_each(|i| histogram.record(1_000_000 + 10 * i));
    histogram
}

fn device(lost: u64) -> DeviceNumbers {
    let mut device = DeviceNumbers::new("sda");
    device.ops[0].ios = 100_000;
    device.quality.evicted = lost;
    device
}

#[test]
fn few_losses_change_nothing() {
    assert!(Losses::of(&device(100)).leave_counts(), "0.1 %");
    assert!(!Losses::of(&device(101)).leave_counts());
    let mut few = device(20);
    few.ops[0].ios = 10;
    assert!(Losses::of(&few).leave_histograms(), "20 events");
}

#[test]
fn a_percentile_is_known_only_where_no_place_of_the_lost_changes_it() {
    let even = even();
    let losses = |lost| Losses::of(&device(lost));
    assert!(losses(900).leave_quantile(&even, 0.5));
    assert!(losses(900).leave_sum(100_000));
    assert!(losses(900).leave_quantile(&even, 0.95));
    // They may all lie above it: then there is no such percentile among the others.
    assert!(!losses(1_100).leave_quantile(&even, 0.99));
    assert!(!losses(1_100).leave_sum(100_000));
    assert!(!losses(101).leave_quantile(&even, 0.9995));
    // A tail: one of a hundred took a hundred times as long, and 0.2 % of all were lost.
    let mut tail = Histogram::new(DEVICE);
    (0..99_000).for_each(|_| tail.record(1_000_000));
    (0..1_000u64).for_each(|i| tail.record(100_000_000 + 100_000 * i));
    assert!(losses(200).leave_quantile(&tail, 0.5));
    assert!(!losses(200).leave_quantile(&tail, 0.99));
    assert!(!losses(200).leave_quantile(&tail, 0.999));
    assert!(losses(0).leave_quantile(&tail, 0.999));
}

#[test]
fn a_round_is_excluded_only_where_no_value_that_decides_is_left() {
    let fixed = Stopping::Fixed { blocks: 6 };
    let mut result = empty(&["none", "bfq"], fixed, &["throughput", "total_p99"]);
    play(&mut result, |turn| {
        Ok(values(turn, &[("throughput", 1e6), ("total_p99", 1e6)]))
    });
    let mut lose = |name: &str| {
        let last = result.rounds.last_mut().unwrap();
        last.evidence.device = device(500);
        last.metrics.remove(name);
        last.evidence.doubtful.push(name.to_owned());
        exclude(&result.design.primary, last);
        last.clone()
    };
    assert_eq!(lose("total_p99").exclusion, None);
    let last = lose("throughput");
    assert_eq!(last.exclusion, Some(Exclusion::LostEvents));
    let problem = last.problem.unwrap();
    assert!(problem.contains("lost 500 requests"), "{problem}");
    assert!(problem.contains("could change throughput"), "{problem}");
    assert!(problem.contains("500 whose end was not seen"), "{problem}");
    // An overrun stays its arm's.
    let last = result.rounds.last_mut().unwrap();
    (last.exclusion, last.censored) = (None, Some(Censored::Overrun));
    exclude(&result.design.primary, last);
    assert_eq!(last.exclusion, None);
}

/// Lost requests may be among the arm's slowest, so such a round never speaks for it.
#[test]
fn a_doubtful_value_may_be_anything() {
    let fixed = Stopping::Fixed { blocks: 12 };
    for lost in [3, 12] {
        let mut result = empty(&["none", "bfq"], fixed, &["throughput", "total_p99"]);
        play(&mut result, |turn| {
            let faster = if turn.planned.arm == 1 { 0.5 } else { 1.0 };
            let found = [("throughput", 1e6), ("total_p99", 1e6 * faster)];
            Ok(values(turn, &found))
        });
        let comparison = |result: &ResultFile, row: usize| {
            let rows = primary_comparisons(result);
            rows[row].comparison.clone()
        };
        assert_eq!(comparison(&result, 1).verdict, Verdict::Better);
        let of_bfq = result.rounds.iter_mut().filter(|of| of.arm == "bfq");
        for round in of_bfq.take(lost) {
            round.metrics.remove("total_p99");
            round.evidence.doubtful.push("total_p99".to_owned());
        }
        let found = comparison(&result, 1);
        assert_eq!((found.blocks, found.blocks_missing), (12, 0));
        let censored = Reason::Censored { blocks: lost };
        assert!(found.reasons.contains(&censored), "{found:?}");
        assert_eq!(found.verdict, Verdict::Inconclusive, "{lost}");
        assert_eq!(comparison(&result, 0).blocks, 12);
    }
}

/// They are in all counts and sums, so only percentiles can be wrong.
#[test]
fn requests_without_a_record_are_missing_in_histograms_only() {
    let mut device = device(0);
    device.quality.unrecorded = 5_000;
    let losses = Losses::of(&device);
    assert!(losses.leave_counts() && losses.leave_sum(100_000));
    assert!(!losses.leave_histograms() && !losses.leave_quantile(&even(), 0.5));
    // As few as are beyond the p99.9, and all of them may be.
    device.quality.unrecorded = 100;
    let losses = Losses::of(&device);
    assert!(!losses.leave_quantile(&even(), 0.9995) && losses.leave_quantile(&even(), 0.5));
    device.quality.unrecorded = 20;
    assert!(Losses::of(&device).leave_histograms());
    device.quality.unrecorded = 900;
    assert!(Losses::of(&device).leave_quantile(&even(), 0.5));
    device.quality.evicted = 2_000;
    let losses = Losses::of(&device);
    assert!(!losses.leave_counts() && !losses.leave_sum(100_000));
}
