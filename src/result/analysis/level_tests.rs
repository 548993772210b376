use super::*;
use crate::report::fixture::{empty, play};
use crate::statistics::stopping::Stopping;
use crate::types::result::{Exclusion, Round};

/// Parts whose I/Os per second follow from the round and the part, with noise of 2 %.
fn run(arms: &[&str], iops: impl Fn(&Round, usize) -> f64) -> Levels {
    let mut result = empty(arms, Stopping::Fixed { blocks: 12 }, &["throughput"]);
    play(&mut result, |_| Ok([("throughput".to_owned(), 1.0)].into()));
    for round in &mut result.rounds {
        let parts = (0..5).map(|part| {
            let noise = 1.0 + 0.02 * (((round.index * 5 + part) * 7919 % 101) as f64 / 50.0 - 1.0);
            let iops = iops(round, part) * noise;
            WindowPart {
                seconds: 4.0,
                ios: (4.0 * iops).round() as u64,
                device_mean_ns: Some(1e9 / iops),
            }
        });
        round.evidence.parts = parts.collect();
    }
    levels(&Table::new(&result)).expect("parts")
}

fn is_near(trend: Option<Trend>, change: f64) {
    let trend = trend.expect("a trend");
    let interval = trend.interval.expect("an interval");
    assert!(
        (trend.change - change).abs() < 0.02,
        "{trend:?}, not {change}"
    );
    assert!(interval.contains(change) && interval.upper - interval.lower < 0.1);
}

#[test]
fn a_level_is_one() {
    let found = run(&["none", "bfq"], |_, _| 5000.0);
    let all = found.arms.iter().flat_map(|of| [of.iops, of.device_time]);
    for trend in all.chain([found.run_iops, found.run_device_time]) {
        is_near(trend, 0.0);
        assert!(trend.is_some_and(|trend| !trend.is_no_level()));
    }
}

#[test]
fn an_arm_that_falls_within_its_rounds_is_told_from_the_others() {
    // By 30 % from the beginning to the end of a window: by 6 % a part.
    let found = run(&["none", "bfq"], |round, part| match round.arm.as_str() {
        "bfq" => 5000.0 * (part as f64 * 0.7f64.ln() / 5.0).exp(),
        _ => 5000.0,
    });
    is_near(found.arms[0].iops, 0.0);
    is_near(found.arms[1].iops, 0.7f64.ln());
    is_near(found.arms[1].device_time, -(0.7f64.ln()));
    assert!(found.arms[1].iops.is_some_and(|it| it.is_no_level()));
    // Each block has the same of it.
    is_near(found.run_iops, 0.0);
}

#[test]
fn a_disk_that_fills_its_cache_over_the_run_is_told_whatever_the_arms_do() {
    let found = run(&["none", "bfq", "kyber"], |round, _| {
        let arm = if round.arm == "bfq" { 0.1 } else { 1.0 };
        5000.0 * arm * (round.block as f64 * 0.5f64.ln() / 11.0).exp()
    });
    is_near(found.run_iops, 0.5f64.ln());
    is_near(found.run_device_time, 2f64.ln());
    assert!(found.run_iops.is_some_and(|it| it.is_no_level()));
    assert!(found.arms.iter().all(|of| !of.iops.unwrap().is_no_level()));
}

/// A disk that stops within its windows falls most: it must not go missing for want of I/Os.
#[test]
fn an_arm_whose_windows_end_with_nothing_falls() {
    let found = run(&["none", "bfq"], |round, part| {
        match (round.arm.as_str(), part) {
            ("bfq", 3..) => 0.0,
            _ => 5000.0,
        }
    });
    assert!(
        found.arms[1]
            .iops
            .is_some_and(|it| it.is_no_level() && it.change < -3.0)
    );
    assert_eq!(
        found.arms[1].device_time, None,
        "of no I/O there is no time"
    );
    is_near(found.arms[0].iops, 0.0);
    is_near(found.run_iops, 0.0);
    assert_eq!(found.run_device_time, None, "no block has both");
}

/// The text says of how many rounds a trend is.
#[test]
fn rounds_with_too_few_ios_are_counted() {
    let found = run(&["none", "bfq"], |round, part| {
        match (round.arm.as_str(), round.block, part) {
            ("bfq", 6.., 4) => 1.0,
            _ => 5000.0,
        }
    });
    let of = &found.arms[1];
    assert_eq!((of.rounds, of.iops.map(|it| it.count)), (12, Some(12)));
    assert_eq!(of.device_time.map(|it| it.count), Some(6));
    assert_eq!(
        (found.blocks, found.run_device_time.map(|it| it.count)),
        (12, Some(6))
    );
    let rows = crate::report::level::rows(&found);
    assert!(rows[1][2].ends_with(", 6 of 12"), "{rows:?}");
    assert!(!rows[1][1].contains(" of "), "{rows:?}");
}

#[test]
fn rounds_that_do_not_count_and_commands_have_none() {
    let mut result = empty(
        &["none", "bfq"],
        Stopping::Fixed { blocks: 6 },
        &["throughput"],
    );
    play(&mut result, |turn| match turn.planned.block {
        0 => Err(Exclusion::DeviceErrors),
        _ => Ok([("throughput".to_owned(), 1.0)].into()),
    });
    assert_eq!(result.levels, None);
    for round in &mut result.rounds {
        let part = WindowPart {
            seconds: 4.0,
            ios: 100,
            ..WindowPart::default()
        };
        round.evidence.parts = vec![part; 5];
    }
    let found = levels(&Table::new(&result)).expect("parts");
    assert_eq!(found.arms[0].iops.map(|it| it.count), Some(5));
    assert_eq!(found.arms[0].device_time, None, "no device time is known");
}
