use super::*;
use crate::analysis::conclude::conclude;
use crate::report::fixture::{empty, latencies, play, values};
use crate::statistics::stopping::Stopping;
use crate::types::result::{Censored, ResultFile};

/// Times of the reference: each group of I/Os has its own histogram cell.
fn group_ns(i: u32) -> f64 {
    1e5 * 1.5f64.powi(i as i32)
}

/// Reads; those of the arm are multiplied by `stretch(block, group)`.
fn run(blocks: usize, stretch: impl Fn(usize, u32) -> f64) -> ResultFile {
    let fixed = Stopping::Fixed { blocks };
    let mut result = empty(&["none", "bfq"], fixed, &["throughput"]);
    play(&mut result, |turn| Ok(values(turn, &[("throughput", 1e6)])));
    for round in &mut result.rounds {
        let of = |i| match round.arm.as_str() {
            "bfq" => group_ns(i) * stretch(round.block, i),
            _ => group_ns(i),
        };
        let reads = &mut round.evidence.device.ops[Op::Read as usize];
        reads.q2c = latencies((0..10).map(of));
        reads.d2c = latencies((0..10).map(|_| 5e4));
    }
    conclude(&mut result);
    result
}

fn shift_of<'a>(result: &'a ResultFile, distribution: &str) -> &'a ShiftFunction {
    let mut shifts = result.shifts.iter();
    let found = shifts.find(|shift| shift.distribution == distribution);
    found.expect("a shift function")
}

fn names(result: &ResultFile) -> Vec<&str> {
    let shifts = result.shifts.iter();
    shifts.map(|shift| shift.distribution.as_str()).collect()
}

#[test]
fn twice_as_long_is_twice_at_each_decile() {
    let result = run(12, |_, _| 2.0);
    assert_eq!(
        names(&result),
        ["total", "read_total"],
        "the run has no writes"
    );
    for shift in &result.shifts {
        assert_eq!((shift.arm.as_str(), shift.blocks), ("bfq", 12));
        assert!(shift.deciles.iter().map(|decile| decile.p).eq(DECILES));
        for decile in &shift.deciles {
            let interval = decile.ratio_interval.unwrap();
            for ratio in [decile.ratio.unwrap(), interval.lower, interval.upper] {
                assert!((ratio - 2.0).abs() < 1e-9, "{decile:?}");
            }
            assert!(interval.attained_confidence >= 0.95);
        }
    }
}

#[test]
fn a_slow_tail_shows_in_the_upper_deciles_alone() {
    let result = run(12, |block, i| {
        let wobble = 1.0 + 0.1 * ((block * 5 % 12) as f64 / 11.0 - 0.5);
        if i >= 7 { 3.0 * wobble } else { wobble }
    });
    for decile in &shift_of(&result, "read_total").deciles {
        let interval = decile.interval.unwrap();
        let truth = if decile.p > 0.75 { 3f64.ln() } else { 0.0 };
        assert!(interval.contains(truth), "{decile:?}");
        assert_eq!(interval.contains(0.0), decile.p < 0.75, "{decile:?}");
    }
}

#[test]
fn few_blocks_have_wide_intervals_or_none() {
    let wobble = |block: usize, _| 1.5 + 0.1 * (block % 4) as f64;
    let interval = |blocks| {
        let result = run(blocks, wobble);
        let decile = shift_of(&result, "total").deciles[4];
        assert!(decile.estimate.is_some());
        decile.interval
    };
    assert_eq!(interval(5), None);
    let (few, more) = (interval(6).unwrap(), interval(12).unwrap());
    assert!(few.lower > 0.0 && few.upper - few.lower > more.upper - more.lower);
}

#[test]
fn where_submitters_were_stalled_the_device_time_takes_the_place_of_the_total() {
    let mut result = run(8, |_, _| 2.0);
    for round in result.rounds.iter_mut().filter(|round| round.arm == "bfq") {
        round.evidence.device.stalled_ns = 10_000_000_000;
    }
    conclude(&mut result);
    assert_eq!(names(&result), ["device", "read_device"]);
    let ratio = shift_of(&result, "device").deciles[0].ratio.unwrap();
    assert!((ratio - 1.0).abs() < 1e-9, "{ratio}");
}

#[test]
fn a_round_without_values_is_the_worst_and_too_few_reads_are_none() {
    let mut result = run(12, |_, _| 2.0);
    let bad = |round: &&mut Round| round.arm == "bfq" && round.block < 4;
    for round in result.rounds.iter_mut().filter(bad) {
        match round.block {
            0 => round.censored = Some(Censored::Starved),
            1 => round.evidence.device.ops[Op::Read as usize].q2c = latencies([]),
            _ => {}
        }
    }
    conclude(&mut result);
    let shift = shift_of(&result, "read_total");
    assert_eq!(shift.blocks, 11, "a block without reads is left out");
    let decile = shift.deciles[0];
    assert!((decile.ratio.unwrap() - 2.0).abs() < 1e-9);
    assert!(decile.interval.unwrap().lower > 0.0);
    for round in &mut result.rounds {
        let few = latencies([1e5]);
        round.evidence.device.ops[Op::Read as usize].q2c = few;
    }
    conclude(&mut result);
    assert!(names(&result).is_empty(), "200 I/Os have no outer decile");
}

#[test]
fn a_result_without_shift_functions_can_be_read() {
    let mut json = serde_json::to_value(run(6, |_, _| 2.0)).unwrap();
    json.as_object_mut().unwrap().remove("shifts").unwrap();
    let read: ResultFile = serde_json::from_value(json).unwrap();
    assert!(read.shifts.is_empty());
}

/// Deciles of incomplete histograms are no better known than the percentiles of the same round.
#[test]
fn lost_records_leave_no_decile() {
    let mut result = run(12, |_, _| 2.0);
    for round in &mut result.rounds {
        let device = &mut round.evidence.device;
        device.quality.unrecorded = device.ops[Op::Read as usize].q2c.count();
    }
    conclude(&mut result);
    assert_eq!(names(&result), [""; 0]);
}
