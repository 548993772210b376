#![allow(clippy::float_cmp)] // of a few that may be chosen

use super::*;
use crate::metric::Metric;
use crate::report::fixture::empty;
use crate::types::times::{AutoTimes, PilotSeries};

const BINS: usize = 40;
const BOTH: AutoTimes = AutoTimes {
    ramp: true,
    round_time: true,
};

/// Uniform in -1 to 1, by a linear congruential generator.
fn noise(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed;
    move || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }
}

/// A pilot of two arms, of which the second is ten times as fast: that must not matter.
fn pilot(of: impl Fn(usize, f64) -> f64) -> Vec<PilotRound> {
    let round = |arm: &str, level: f64, seed: u64| {
        let mut noise = noise(seed);
        let values = (0..BINS).map(|bin| Some(level * of(bin, noise())));
        PilotRound {
            arm: arm.to_owned(),
            bin_s: 0.25,
            around_s: 0.5,
            series: vec![PilotSeries {
                metric: "iops".to_owned(),
                values: values.collect(),
                weights: Vec::new(),
            }],
        }
    };
    vec![round("none", 1000.0, 1), round("bfq", 10_000.0, 2)]
}

fn decided(
    auto: AutoTimes,
    stopping: Stopping,
    primary: &[&str],
    pilot: Vec<PilotRound>,
    floors: &[Floor],
) -> (Design, ChosenTimes) {
    let mut result = empty(&["none", "bfq"], stopping, primary);
    (result.design.ramp_s, result.design.round_time_s) = (0.5, 7.0);
    result.design.auto_times = Some(auto);
    assert!(is_due(&result));
    decide(&mut result, pilot, floors);
    assert!(!is_due(&result));
    (result.design, result.times.expect("times"))
}

fn times_of(pilot: Vec<PilotRound>) -> (f64, f64, Stopping) {
    let (design, _) = decided(BOTH, Stopping::LOOKS, &["iops"], pilot, &[]);
    (design.ramp_s, design.round_time_s, design.stopping)
}

#[test]
fn a_quiet_disk_takes_the_shortest_rounds() {
    let quiet = pilot(|_, noise| 1.0 + 0.01 * noise);
    assert_eq!(times_of(quiet), (1.0, 5.0, Stopping::LOOKS));
}

#[test]
fn a_noisy_disk_takes_longer_rounds_and_more_blocks() {
    let (ramp, window, stopping) = times_of(pilot(|_, noise| 1.0 + 0.6 * noise));
    assert_eq!(ramp, 1.0);
    assert!((5.0..=20.0).contains(&window), "{window}");
    let Stopping::Looks { times } = stopping else {
        panic!("{stopping:?}")
    };
    let most = stopping.most_blocks().unwrap();
    let longest_s = LONGEST_ROUND_S * Stopping::LOOKS.most_blocks().unwrap() as f64;
    assert!(times > 1 && most as f64 * (ramp + window + 0.5) <= longest_s);
}

#[test]
fn the_ramp_lasts_until_the_level_is_that_of_later() {
    let slow = |until: usize| {
        pilot(move |bin, noise| if bin < until { 0.5 } else { 1.0 } * (1.0 + 0.01 * noise))
    };
    assert_eq!(times_of(slow(7)).0, 2.0);
    assert_eq!(times_of(slow(11)).0, 3.0);
    let (design, chosen) = decided(BOTH, Stopping::LOOKS, &["iops"], slow(19), &[]);
    assert_eq!(design.ramp_s, 5.0);
    assert!(
        chosen.ramp_because.contains("had not settled"),
        "{chosen:?}"
    );
}

/// Two arms, with 10.5 s of pilot for each.
fn in_budget(budget_s: f64, pilot: Vec<PilotRound>, floors: &[Floor]) -> (Design, ChosenTimes) {
    let mut result = empty(&["none", "bfq"], Stopping::LOOKS, &["iops", "total_p50"]);
    result.design.auto_times = Some(BOTH);
    result.design.budget_s = Some(budget_s);
    decide(&mut result, pilot, floors);
    (result.design, result.times.expect("times"))
}

#[test]
fn a_limited_time_is_filled_with_blocks_and_says_what_they_show() {
    let quiet = || pilot(|_, noise| 1.0 + 0.01 * noise);
    let shown = |chosen: &ChosenTimes| -> Vec<String> {
        let detectable = chosen.detectable.iter();
        detectable.map(|it| it.metric.clone()).collect()
    };
    // Rounds of 6.5 s: 20 blocks take 260 s, after 21 s of pilot.
    let (design, chosen) = in_budget(282.0, quiet(), &[]);
    assert_eq!(
        (design.round_time_s, chosen.blocks_in_budget),
        (5.0, Some(20))
    );
    // The mean that stands for a percentile says nothing of it.
    assert_eq!(shown(&chosen), ["iops"]);
    let (_, half) = in_budget(152.0, quiet(), &[]);
    assert_eq!(half.blocks_in_budget, Some(10));
    assert!(half.detectable[0].effect > chosen.detectable[0].effect);
    // More than the looks are far apart: no more blocks than the noise needs.
    let (long, _) = in_budget(3600.0, quiet(), &[]);
    assert_eq!(long.stopping, Stopping::LOOKS);
    let (noisy, of_noisy) = in_budget(3600.0, pilot(|_, noise| 1.0 + 0.6 * noise), &[]);
    assert_eq!(
        noisy.stopping.most_blocks().map(|most| most > 20),
        Some(true)
    );
    assert!(of_noisy.blocks_in_budget > Some(20));
}

#[test]
fn a_short_time_makes_rounds_shorter_and_says_so() {
    let floor = [Floor {
        ramp_s: 0.0,
        round_time_s: 20.0,
        because: "writes expire".to_owned(),
    }];
    let quiet = || pilot(|_, noise| 1.0 + 0.01 * noise);
    let (design, chosen) = in_budget(221.0, quiet(), &floor);
    assert!((5.0..20.0).contains(&design.round_time_s), "{design:?}");
    assert!(
        chosen.round_time_because.contains("writes expire"),
        "{chosen:?}"
    );
    assert!(chosen.blocks_in_budget >= Some(6));
    // Not shorter than the shortest: that is refused instead.
    let mut result = empty(&["none", "bfq"], Stopping::LOOKS, &["iops"]);
    result.design.auto_times = Some(BOTH);
    result.design.budget_s = Some(60.0);
    decide(&mut result, quiet(), &[]);
    let error = crate::analysis::budget::ensure_planned(&result).unwrap_err();
    assert!(
        format!("{error:#}").contains("60 s show nothing"),
        "{error:#}"
    );
}

#[test]
fn what_is_named_stays() {
    let quiet = || pilot(|_, noise| 1.0 + 0.01 * noise);
    let ramp = AutoTimes {
        ramp: true,
        round_time: false,
    };
    let (design, _) = decided(ramp, Stopping::LOOKS, &["iops"], quiet(), &[]);
    assert_eq!((design.ramp_s, design.round_time_s), (1.0, 7.0));
    let window = AutoTimes {
        ramp: false,
        round_time: true,
    };
    let (design, _) = decided(
        window,
        Stopping::Fixed { blocks: 6 },
        &["iops"],
        quiet(),
        &[],
    );
    assert_eq!((design.ramp_s, design.round_time_s), (0.5, 10.0));
    assert_eq!(design.stopping, Stopping::Fixed { blocks: 6 });
}

#[test]
fn floors_are_not_undercut_and_say_so() {
    let floors = [
        Floor {
            ramp_s: 3.0,
            round_time_s: 0.0,
            because: "bfq".to_owned(),
        },
        Floor {
            ramp_s: 0.0,
            round_time_s: 7.0,
            because: "expiry".to_owned(),
        },
    ];
    let quiet = pilot(|_, noise| 1.0 + 0.01 * noise);
    let (design, chosen) = decided(BOTH, Stopping::LOOKS, &["iops"], quiet, &floors);
    assert_eq!((design.ramp_s, design.round_time_s), (3.0, 7.0));
    assert_eq!(
        (&*chosen.ramp_because, &*chosen.round_time_because),
        ("bfq", "expiry")
    );
}

/// 1000 I/Os per second under the slower arm: a hundred beyond p99 are there after 10 s, and those beyond p99.9 never.
#[test]
fn a_percentile_has_its_tail() {
    let quiet = || pilot(|_, noise| 1.0 + 0.01 * noise);
    let of = |metric| decided(BOTH, Stopping::LOOKS, &[metric], quiet(), &[]);
    assert_eq!(of("read_total_p99").0.round_time_s, 12.0);
    let (design, chosen) = of("read_total_p99.9");
    assert_eq!(design.round_time_s, 20.0);
    assert!(
        chosen.round_time_because.contains("rounds of 100 s"),
        "{chosen:?}"
    );
}

#[test]
fn fixed_blocks_have_rounds_that_show_the_margin() {
    let of = |blocks, noise: f64| {
        let pilot = pilot(move |_, x| 1.0 + noise * x);
        decided(BOTH, Stopping::Fixed { blocks }, &["iops"], pilot, &[])
    };
    assert_eq!(of(200, 0.4).0.round_time_s, 5.0);
    assert_eq!(of(8, 0.4).0.round_time_s, 20.0);
    // Fewer than the ranks of two rows need, but the noise is not to blame.
    let (design, chosen) = of(6, 0.001);
    assert_eq!((design.round_time_s, chosen.blocks_needed), (10.0, Some(1)));
    assert!(chosen.round_time_because.contains("a minute"), "{chosen:?}");
}

/// The dead arm's own pilot tells nothing, so nothing is shortened.
#[test]
fn a_pilot_that_shows_nothing_shortens_nothing() {
    let quiet = || pilot(|_, noise| 1.0 + 0.01 * noise);
    let mut dead = quiet();
    dead[1].series.clear();
    let mut silent = quiet();
    silent[1].series[0].values.fill(None);
    let mut zero = quiet();
    zero[1].series[0].values.fill(Some(0.0));
    let mut dies = quiet();
    dies[1].series[0].values[20..].fill(Some(0.0));
    for pilot in [Vec::new(), dead, silent, zero, dies] {
        assert_eq!(times_of(pilot), (5.0, 20.0, Stopping::LOOKS));
    }
    let unseen = decided(
        BOTH,
        Stopping::LOOKS,
        &["iops", "hog.throughput"],
        Vec::new(),
        &[],
    );
    assert_eq!(unseen.0.round_time_s, 20.0);
    assert!(unseen.1.round_time_because.contains("does not show iops"));
}

/// A stall of four seconds is noise, and no reason for windows that do not see it.
#[test]
fn a_stall_in_the_pilot_is_no_silence() {
    let mut stalls = pilot(|_, noise| 1.0 + 0.01 * noise);
    stalls[1].series[0].values[12..28].fill(Some(0.0));
    assert_eq!(times_of(stalls).1, 20.0);
}

/// What must be decided is the noisy arm against the reference.
#[test]
fn quiet_arms_do_not_make_a_noisy_one_quiet() {
    let needed = |more: usize| {
        let mut pilot = pilot(|_, noise| 1.0 + 0.01 * noise);
        pilot[1] = self::pilot(|_, noise| 1.0 + 0.5 * noise)[1].clone();
        for arm in 0..more {
            let arm = PilotRound {
                arm: format!("quiet{arm}"),
                ..pilot[0].clone()
            };
            pilot.push(arm);
        }
        decided(BOTH, Stopping::LOOKS, &["iops"], pilot, &[])
            .1
            .blocks_needed
    };
    assert_eq!(needed(0), needed(4));
}

#[test]
fn latencies_of_programs_are_watched_by_those_of_the_kernel() {
    let names = kept(&[
        Metric::named("probe.read_clat_p99").unwrap(),
        Metric::named("hog.throughput").unwrap(),
    ]);
    for name in [
        "read_total_mean",
        "total_mean",
        "probe.iops",
        "read_iops",
        "hog.throughput",
        "iops",
    ] {
        assert!(names.iter().any(|it| it == name), "{name} in {names:?}");
    }
    assert_eq!(weight_of("read_total_mean").as_deref(), Some("read_iops"));
    assert_eq!(weight_of("hog.throughput"), None);
}
