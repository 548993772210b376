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
                bytes: 0,
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
    let all = found
        .arms
        .iter()
        .flat_map(|of| [of.throughput, of.device_time]);
    for trend in all.chain([found.run_throughput, found.run_device_time]) {
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
    is_near(found.arms[0].throughput, 0.0);
    is_near(found.arms[1].throughput, 0.7f64.ln());
    is_near(found.arms[1].device_time, -(0.7f64.ln()));
    assert!(found.arms[1].throughput.is_some_and(|it| it.is_no_level()));
    // Each block has the same of it.
    is_near(found.run_throughput, 0.0);
}

#[test]
fn a_disk_that_fills_its_cache_over_the_run_is_told_whatever_the_arms_do() {
    let found = run(&["none", "bfq", "kyber"], |round, _| {
        let arm = if round.arm == "bfq" { 0.1 } else { 1.0 };
        5000.0 * arm * (round.block as f64 * 0.5f64.ln() / 11.0).exp()
    });
    is_near(found.run_throughput, 0.5f64.ln());
    is_near(found.run_device_time, 2f64.ln());
    assert!(found.run_throughput.is_some_and(|it| it.is_no_level()));
    assert!(
        found
            .arms
            .iter()
            .all(|of| !of.throughput.unwrap().is_no_level())
    );
}

/// A part in which nearly nothing ended has no rate, and the round no trend: an arm that stalls seems not to fall or rise.
#[test]
fn a_round_with_an_empty_part_has_no_trend() {
    let found = run(&["none", "bfq"], |round, part| {
        match (round.arm.as_str(), part) {
            ("bfq", 3) => 1.0,
            _ => 5000.0,
        }
    });
    assert_eq!(found.arms[1].throughput, None);
    assert_eq!(found.run_throughput, None, "no block has both");
    is_near(found.arms[0].throughput, 0.0);
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
    assert_eq!(found.arms[0].throughput.map(|it| it.count), Some(5));
    assert_eq!(found.arms[0].device_time, None, "no device time is known");
}
