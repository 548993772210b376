//! Does the design keep its promises on noise as hostile as real disks, and would the usual ones have been fooled?
//!
//! Simulated rounds (drift, autocorrelation, steps, garbage collection, outliers) and 800 real one-second rounds under
//! one and the same scheduler go through the schedule and the statistics; the naive designs stand beside them to prove
//! that the noise is harmful enough to tell. Bounds are for 4000 repetitions; debug builds do fewer and widen
//! them by three times what that adds to the standard error.

#[path = "simulation/gates.rs"]
mod gates; // a new run against earlier ones
#[path = "simulation/naive.rs"]
mod naive; // what others do: one arm after the other, unpaired tests
#[path = "simulation/noise.rs"]
mod noise; // the four worlds

use iosched_result::analysis::shift::{BlockShift, band};
use iosched_result::statistics::estimate::{self, ConfidenceInterval};
use iosched_result::statistics::power;
use iosched_result::statistics::scale::{Direction, Scale};
use iosched_result::statistics::signed_rank::{self, Difference};
use iosched_result::statistics::stopping::Method;
use iosched_result::statistics::verdict::Question;
use iosched_result::types::plan::Plan;
use noise::{AUTOCORRELATED, DRIFT, HOSTILE, IID, World};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

const FULL: usize = 4000;
const REPETITIONS: usize = if cfg!(debug_assertions) { 2000 } else { FULL };
const ALPHA: f64 = 0.05;

fn assert_percent(what: &str, found: f64, allowed: RangeInclusive<f64>) {
    let error = |bound: f64, n: usize| (bound * (100.0 - bound) / n as f64).max(0.0).sqrt();
    let slack = |bound| 3.0 * (error(bound, REPETITIONS) - error(bound, FULL));
    let (low, high) = allowed.into_inner();
    println!("{what}: {found:.2} % (allowed {low} to {high})");
    assert!(
        found >= low - slack(low) && found <= high + slack(high),
        "{what}: {found:.2} % is outside {low} to {high}"
    );
}

/// The share, in percent, of repetitions in which `event` holds.
fn percent(stream: u64, mut event: impl FnMut(&mut ChaCha8Rng) -> bool) -> f64 {
    let mut rng = ChaCha8Rng::seed_from_u64(20_240_601);
    rng.set_stream(stream);
    let hits = (0..REPETITIONS).filter(|_| event(&mut rng)).count();
    100.0 * hits as f64 / REPETITIONS as f64
}

/// Rounds in a row with this noise, run by a fresh plan: the differences of arm 1, better by `effect`, to arm 0.
fn paired(rng: &mut ChaCha8Rng, world: &World, blocks: usize, effect: f64) -> Vec<f64> {
    let noise = world.rounds(rng, 2 * blocks);
    let plan = Plan::new(rng.next_u64(), 2, blocks);
    differences(&plan, &noise, |arm| if arm == 1 { effect } else { 0.0 }, 1)
}

fn interval(d: &[f64]) -> Option<ConfidenceInterval> {
    let d: Vec<Difference> = d.iter().copied().map(Difference::exact).collect();
    signed_rank::interval(&d, ALPHA)
}

/// Arm `arm` against arm 0, block by block, on the log scale.
fn differences(plan: &Plan, noise: &[f64], effect: impl Fn(usize) -> f64, arm: usize) -> Vec<f64> {
    let mut d = vec![0.0; plan.blocks()];
    for round in &plan.rounds {
        let y = noise[round.index] + effect(round.arm);
        if round.arm == arm {
            d[round.block] += y;
        } else if round.arm == 0 {
            d[round.block] -= y;
        }
    }
    d
}

fn excludes_zero(interval: Option<ConfidenceInterval>) -> bool {
    interval.is_some_and(|i| !i.contains(0.0))
}

fn exact_finds(d: &[f64]) -> bool {
    excludes_zero(interval(d))
}

fn student_finds(d: &[f64]) -> bool {
    excludes_zero(estimate::student_interval(d, ALPHA))
}

#[test]
fn hostile_noise_fools_the_naive_and_not_the_paired() {
    let blocks = 10;
    let exact = percent(1, |rng| exact_finds(&paired(rng, &HOSTILE, blocks, 0.0)));
    let student = percent(1, |rng| student_finds(&paired(rng, &HOSTILE, blocks, 0.0)));
    assert_percent("S3 null, signed rank", exact, 3.5..=6.7);
    assert_percent("S3 null, t", student, 3.0..=6.2);
    let welch = percent(2, |rng| {
        naive::welch_finds(&HOSTILE.rounds(rng, 2 * blocks), ALPHA)
    });
    let mann_whitney = percent(2, |rng| {
        naive::mann_whitney_finds(&HOSTILE.rounds(rng, 2 * blocks), ALPHA)
    });
    assert_percent("S3 null, AAA-BBB Welch", welch, 38.0..=100.0);
    assert_percent("S3 null, AAA-BBB Mann-Whitney", mann_whitney, 38.0..=100.0);
}

/// The naive tests are right where nothing drifts: what fools them is the order, not a slip in this file.
#[test]
fn without_drift_all_agree() {
    let exact = percent(3, |rng| exact_finds(&paired(rng, &IID, 10, 0.0)));
    let welch = percent(3, |rng| naive::welch_finds(&IID.rounds(rng, 20), ALPHA));
    let mann_whitney = percent(3, |rng| {
        naive::mann_whitney_finds(&IID.rounds(rng, 20), ALPHA)
    });
    assert_percent("S0 null, signed rank", exact, 3.5..=6.7);
    assert_percent("S0 null, AAA-BBB Welch", welch, 3.5..=6.7);
    assert_percent("S0 null, AAA-BBB Mann-Whitney", mann_whitney, 2.8..=6.0);
}

#[test]
fn more_rounds_make_the_naive_design_worse() {
    let welch = percent(4, |rng| naive::welch_finds(&DRIFT.rounds(rng, 40), ALPHA));
    assert_percent("S1 null, AAA-BBB Welch", welch, 97.0..=100.0);
    let exact = percent(5, |rng| exact_finds(&paired(rng, &DRIFT, 20, 0.0)));
    assert_percent("S1 null, signed rank", exact, 3.5..=6.7);
}

#[test]
fn intervals_cover_the_true_effect() {
    let effect = 1.1f64.ln();
    for (name, world, stream) in [("S2", &AUTOCORRELATED, 6), ("S3", &HOSTILE, 7)] {
        for blocks in [8, 10, 20] {
            let covered = percent(stream, |rng| {
                let d = paired(rng, world, blocks, effect);
                interval(&d).is_some_and(|i| i.contains(effect))
            });
            assert_percent(
                &format!("{name} +10 %, {blocks} blocks, coverage"),
                covered,
                93.6..=97.2,
            );
        }
    }
}

#[test]
fn real_effects_are_found() {
    let effect = 1.1f64.ln();
    let found = percent(8, |rng| {
        interval(&paired(rng, &AUTOCORRELATED, 8, effect)).is_some_and(|i| i.lower > 0.0)
    });
    assert_percent("S2 +10 %, 8 blocks, power", found, 94.0..=100.0);
    let effect = 1.05f64.ln();
    let exact = percent(9, |rng| exact_finds(&paired(rng, &HOSTILE, 20, effect)));
    let student = percent(9, |rng| student_finds(&paired(rng, &HOSTILE, 20, effect)));
    assert_percent("S3 +5 %, 20 blocks, power", exact, 73.0..=100.0);
    assert!(
        exact > student,
        "outliers blunt the mean: {exact} against {student}"
    );
}

#[test]
fn peeking_errs() {
    let peeked = percent(10, |rng| {
        naive::peeking_finds(&paired(rng, &HOSTILE, 20, 0.0), 0.05f64.ln_1p(), ALPHA)
    });
    assert_percent("S3 null, a look after each block", peeked, 12.0..=100.0);
}

/// Whether a run that may end after each block from the fourth on ever calls its arms different.
fn open_run_finds(d: &[f64]) -> bool {
    let margins = Scale::Log.margins(0.05);
    let found = (4..=d.len()).filter_map(|n| estimate::always_valid_interval(&d[..n], ALPHA));
    let decided = |i: &ConfidenceInterval| margins.hold(*i) || !i.contains(0.0);
    let first = found.into_iter().find(decided);
    first.is_some_and(|i| !margins.hold(i))
}

#[test]
fn an_interval_for_any_time_holds_at_any_time() {
    for (name, world, stream) in [("S0", &IID, 16), ("S3", &HOSTILE, 17)] {
        let found = percent(stream, |rng| open_run_finds(&paired(rng, world, 20, 0.0)));
        assert_percent(
            &format!("{name} null, stopped at any block"),
            found,
            0.3..=3.5,
        );
        let effect = 1.1f64.ln();
        let covered = percent(stream, |rng| {
            let d = paired(rng, world, 20, effect);
            estimate::always_valid_interval(&d, ALPHA).is_some_and(|i| i.contains(effect))
        });
        assert_percent(
            &format!("{name} +10 %, covered at every block of 20"),
            covered,
            97.0..=100.0,
        );
    }
    let found = percent(18, |rng| open_run_finds(&paired(rng, &IID, 20, 0.1)));
    assert_percent("S0 +10 %, stopped at any block, power", found, 95.0..=100.0);
}

/// Real rounds of one second, mq-deadline all the time, on a busy machine: whatever is found is false.
#[test]
fn a_real_trace_of_nothing() {
    let trace = include_str!("data/aa-trace.jsonl");
    let mut metrics: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for line in trace.lines() {
        let slot: serde_json::Value = serde_json::from_str(line).expect("a slot is JSON");
        for name in ["riops", "p50", "p99"] {
            let y = slot[name].as_f64().expect("a number").ln();
            metrics.entry(name).or_default().push(y);
        }
    }
    for (name, y) in metrics {
        assert_eq!(y.len(), 800);
        for blocks in [8, 10, 20] {
            let window = |rng: &mut ChaCha8Rng| {
                let start = rng.next_u64() as usize % (801 - 2 * blocks);
                &y[start..start + 2 * blocks]
            };
            let exact = percent(14, |rng| {
                let rounds = window(rng);
                let plan = Plan::new(rng.next_u64(), 2, blocks);
                exact_finds(&differences(&plan, rounds, |_| 0.0, 1))
            });
            assert_percent(
                &format!("trace {name}, {blocks} blocks, signed rank"),
                exact,
                0.0..=7.0,
            );
            let naive = percent(15, |rng| naive::mann_whitney_finds(window(rng), ALPHA));
            assert_percent(
                &format!("trace {name}, {blocks} blocks, Mann-Whitney"),
                naive,
                10.0..=100.0,
            );
        }
    }
}

/// Every decile of an arm's latencies, some shorter and some longer; a round moves all of them, stretches them, and has a
/// stall that only the upper ones see.
#[test]
fn the_band_of_a_shift_function_covers_all_deciles_at_once() {
    const RUNS: usize = if cfg!(debug_assertions) { 1000 } else { FULL };
    let truth: [f64; 9] = std::array::from_fn(|i| 0.05 * (i as f64 - 4.0));
    let quick = [("S0", &IID, 8), ("S3", &HOSTILE, 8), ("S3", &HOSTILE, 10)];
    let slow = [("S3", &HOSTILE, 12), ("S3", &HOSTILE, 20)];
    let slow = slow.iter().filter(|_| !cfg!(debug_assertions));
    for &(name, world, blocks) in quick.iter().chain(slow) {
        let mut rng = ChaCha8Rng::seed_from_u64(20_240_601);
        let covered = |rng: &mut ChaCha8Rng| {
            let mut noise = || paired(rng, world, blocks, 0.0);
            let (level, stretch, tail) = (noise(), noise(), noise());
            let own: [Vec<f64>; 9] = std::array::from_fn(|_| noise());
            let of_block = |block: usize| -> BlockShift {
                std::array::from_fn(|i| {
                    let place = (i as f64 - 4.0) / 4.0;
                    let stalled = if i > 6 { 2.0 * tail[block] } else { 0.0 };
                    let common = level[block] + place * stretch[block] + stalled;
                    Difference::exact(truth[i] + common + 0.5 * own[i][block])
                })
            };
            let blocks: Vec<_> = (0..blocks).map(|block| (block, of_block(block))).collect();
            let deciles = band(&blocks, ALPHA);
            let mut pairs = deciles.iter().zip(truth);
            pairs.all(|(decile, truth)| decile.interval.is_some_and(|i| i.contains(truth)))
        };
        let hits = (0..RUNS).filter(|_| covered(&mut rng)).count();
        let found = 100.0 * hits as f64 / RUNS as f64;
        println!("{name}, {blocks} blocks, all nine deciles covered: {found:.2} %");
        assert!(found >= 94.0, "{name}, {blocks} blocks: {found:.2} %");
    }
}

/// An arm against itself in twelve blocks says how many blocks an effect needs; a run of that many shows it.
#[test]
fn as_many_blocks_as_recommended_show_the_effect() {
    const RUNS: usize = if cfg!(debug_assertions) { 400 } else { FULL };
    let question = Question::plain(
        Scale::Log,
        Direction::HigherIsBetter,
        0.1,
        ALPHA,
        Method::SignedRank,
    );
    for (name, world, percent) in [("S0", &IID, 10), ("S3", &HOSTILE, 20)] {
        let effect = (f64::from(percent) / 100.0).ln_1p();
        let mut rng = ChaCha8Rng::seed_from_u64(20_240_601);
        let shown = (0..RUNS).filter(|_| {
            let alike = paired(&mut rng, world, 12, 0.0);
            let sd = estimate::sd(&alike).and_then(|sd| power::upper_sd(sd, alike.len()));
            let sd = sd.expect("twelve blocks");
            let blocks = power::blocks_for(question, sd, effect).expect("below a thousand");
            interval(&paired(&mut rng, world, blocks, effect)).is_some_and(|i| i.lower > 0.0)
        });
        let found = 100.0 * shown.count() as f64 / RUNS as f64;
        println!("{name} +{percent} %, as many blocks as recommended, power: {found:.1} %");
        assert!(found >= 80.0, "{name}: {found:.1} %");
    }
}
