//! Does the gate against earlier runs keep its promises, whatever the ratio does from run to run?

use iosched_result::gate::{self, LevelChange, Run};
use iosched_result::statistics::change_point::change_points;
use iosched_result::statistics::estimate;
use iosched_result::statistics::scale::{Direction, Scale};
use iosched_result::statistics::stopping::Method;
use iosched_result::statistics::verdict::{Question, Verdict};
use iosched_result::types::plan::Plan;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use rand_distr::{Distribution, StandardNormal};

use super::noise::IID;
use super::{ALPHA, assert_percent, differences, interval, naive, percent};

/// A run of ten blocks on some day: the machine is 8 % faster or slower that day, and the ratio 2 % per arm off.
struct Day {
    /// Values of the new arm, absolute, and its ratio to the reference.
    arm: Vec<f64>,
    ratio: gate::Estimate,
}

fn normal(rng: &mut ChaCha8Rng) -> f64 {
    StandardNormal.sample(rng)
}

fn day(rng: &mut ChaCha8Rng, effect: f64) -> Day {
    let speed = 0.08 * normal(rng);
    let off = [0.02 * normal(rng), effect + 0.02 * normal(rng)];
    let (blocks, noise) = (10, IID.rounds(rng, 20));
    let plan = Plan::new(rng.next_u64(), 2, blocks);
    let d = differences(&plan, &noise, |arm| off[arm], 1);
    let of_arm = plan.rounds.iter().filter(|round| round.arm == 1);
    Day {
        arm: of_arm.map(|r| speed + off[1] + noise[r.index]).collect(),
        ratio: gate::Estimate {
            value: estimate::hodges_lehmann(&d).expect("ten blocks"),
            standard_error: estimate::sd(&d).expect("ten blocks") / (blocks as f64).sqrt(),
            blocks,
            interval: interval(&d),
        },
    }
}

#[test]
fn a_gate_by_ratios_is_quiet_where_one_by_absolute_numbers_cries_wolf() {
    let absolute = percent(20, |rng| {
        let (old, new) = (day(rng, 0.0).arm, day(rng, 0.0).arm);
        let is_worse = estimate::mean(&new) < estimate::mean(&old);
        is_worse && naive::welch_finds(&[old, new].concat(), ALPHA)
    });
    assert_percent(
        "null, absolute against a stored run",
        absolute,
        25.0..=100.0,
    );
    let gated = |rng: &mut ChaCha8Rng, effect: f64| {
        let earlier: Vec<_> = (0..5).map(|_| day(rng, 0.0).ratio).collect();
        is_worse(day(rng, effect).ratio, &earlier)
    };
    let five = percent(22, |rng| gated(rng, 0.0));
    assert_percent("null, ratio against five runs", five, 1.5..=3.8);
    let found = percent(23, |rng| gated(rng, 0.9f64.ln()));
    assert_percent("-10 %, ratio against five runs", found, 50.0..=100.0);
}

fn is_worse(new: gate::Estimate, earlier: &[gate::Estimate]) -> bool {
    gate::change(new, earlier, ALPHA).is_some_and(|(_, interval)| interval.upper < 0.0)
}

/// A run of so many blocks, whose true ratio is off by `effect` and what `spread` adds from run to run.
fn run(rng: &mut ChaCha8Rng, spread: f64, effect: f64, blocks: usize) -> gate::Estimate {
    let off = effect + spread * normal(rng);
    let d: Vec<f64> = (0..blocks).map(|_| off + 0.057 * normal(rng)).collect();
    gate::Estimate {
        value: estimate::hodges_lehmann(&d).expect("blocks"),
        standard_error: estimate::sd(&d).expect("blocks") / (blocks as f64).sqrt(),
        blocks,
        interval: interval(&d),
    }
}

#[test]
fn few_baselines_call_no_good_run_worse() {
    for (baselines, stream) in [(1, 21), (3, 24)] {
        for spread in [0.02, 0.06, 0.1] {
            let mut apart = 0.0;
            let gated = percent(stream, |rng| {
                let earlier: Vec<_> = (0..baselines).map(|_| run(rng, spread, 0.0, 10)).collect();
                let new = run(rng, spread, 0.0, 10);
                let ends = |e: &gate::Estimate| e.interval.expect("ten blocks");
                if earlier.iter().all(|old| ends(&new).upper < ends(old).lower) {
                    apart += 100.0 / super::REPETITIONS as f64;
                }
                is_worse(new, &earlier)
            });
            let what = format!("null, {baselines} baselines, spread {spread}");
            assert_percent(&what, gated, 0.0..=3.0);
            // The runs' own intervals do not know of the spread.
            if spread > 0.05 && baselines == 1 {
                assert_percent(&format!("{what}, apart"), apart, 10.0..=100.0);
            }
        }
    }
    let found = percent(25, |rng| {
        let earlier = [run(rng, 0.02, 0.0, 10)];
        is_worse(run(rng, 0.02, 0.6f64.ln(), 10), &earlier)
    });
    assert_percent("-40 %, one baseline", found, 95.0..=100.0);
}

/// The same, by its mean alone.
fn mean_of_run(rng: &mut ChaCha8Rng, spread: f64, blocks: usize) -> gate::Estimate {
    let off = spread * normal(rng);
    let d: Vec<f64> = (0..blocks).map(|_| off + 0.057 * normal(rng)).collect();
    gate::Estimate {
        value: estimate::mean(&d).expect("blocks"),
        standard_error: estimate::sd(&d).expect("blocks") / (blocks as f64).sqrt(),
        blocks,
        interval: None,
    }
}

#[test]
fn more_baselines_predict_the_next_run() {
    // In the last two the new run is shorter than the baselines were, and its error larger.
    for (baselines, old_blocks, blocks, spread, stream) in [
        (5, 10, 10, 0.02, 26),
        (5, 10, 10, 0.1, 27),
        (10, 10, 10, 0.06, 28),
        (20, 10, 10, 0.02, 29),
        (5, 24, 6, 0.01, 30),
        (12, 24, 6, 0.01, 31),
    ] {
        let gated = percent(stream, |rng| {
            let one = |_| mean_of_run(rng, spread, old_blocks);
            let earlier: Vec<_> = (0..baselines).map(one).collect();
            is_worse(mean_of_run(rng, spread, blocks), &earlier)
        });
        let what = format!("null, {baselines} baselines, spread {spread}, {blocks} blocks");
        assert_percent(&what, gated, 0.5..=3.5);
    }
}

const QUESTION: Question = Question::plain(
    Scale::Log,
    Direction::HigherIsBetter,
    0.05,
    ALPHA,
    Method::SignedRank,
);

/// The estimates of a history; the last is that of the run that is judged.
fn last_change(values: &[f64]) -> Option<LevelChange> {
    let (new, earlier) = values.split_last()?;
    let runs = earlier.iter().enumerate();
    let runs: Vec<Run> = runs
        .map(|(i, x)| Run::new(&i.to_string(), &format!("{i:03}"), *x))
        .collect();
    gate::last_change(&runs, *new, QUESTION)
}

fn fails(change: &LevelChange) -> bool {
    change.is_of_this_run && change.verdict == Verdict::Worse
}

#[test]
fn a_step_is_dated() {
    const TIMES: usize = 100;
    let mut rng = ChaCha8Rng::seed_from_u64(32);
    let (mut dated, mut failed) = (0, 0);
    for _ in 0..TIMES {
        let step = |i| if i < 12 { 0.0 } else { 0.96f64.ln() };
        let values: Vec<f64> = (0..16).map(|i| step(i) + 0.01 * normal(&mut rng)).collect();
        if let Some(found) = last_change(&values) {
            let at: usize = found.since.parse().expect("a number");
            dated += usize::from((11..=13).contains(&at));
            failed += usize::from(fails(&found));
        }
    }
    let share = |n: usize| 100.0 * n as f64 / TIMES as f64;
    println!("dated {:.1} %, failed {:.1} %", share(dated), share(failed));
    assert!(share(dated) >= 80.0, "dated in {} %", share(dated));
    assert!(share(failed) >= 80.0, "failed in {} %", share(failed));
}

#[test]
fn identical_runs_have_no_change() {
    for (runs, spread, stream) in [(13, 0.1, 33), (17, 0.1, 34)] {
        let (mut at_the_end, mut failed) = (0.0, 0.0);
        let one = 100.0 / super::REPETITIONS as f64;
        let any = percent(stream, |rng| {
            let values: Vec<f64> = (0..runs).map(|_| spread * normal(rng)).collect();
            let found = change_points(&values);
            // Nothing more is in the level change of a series without one.
            if found.last() == Some(&(runs - 3)) {
                at_the_end += one;
            }
            if !found.is_empty() && last_change(&values).is_some_and(|found| fails(&found)) {
                failed += one;
            }
            !found.is_empty()
        });
        let what = format!("{runs} identical runs, spread {spread}");
        assert_percent(&format!("{what}: any change"), any, 0.0..=1.2);
        assert_percent(&format!("{what}: at the last place"), at_the_end, 0.0..=0.5);
        assert_percent(&format!("{what}: fails"), failed, 0.0..=0.5);
    }
}
