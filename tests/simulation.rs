//! Does the design keep its promises on noise as hostile as real disks, and would the usual ones have been fooled?
//!
//! Simulated rounds (drift, autocorrelation, steps, garbage collection, outliers) and 800 real one-second rounds under
//! one and the same scheduler go through the schedule and the statistics; the naive designs stand beside them to prove
//! that the noise is harmful enough to tell. Bounds are for 4000 repetitions; debug builds do fewer and widen
//! them by three times what that adds to the standard error.

#[path = "simulation/naive.rs"]
mod naive; // what others do: one arm after the other, unpaired tests
#[path = "simulation/noise.rs"]
mod noise; // the four worlds

use iosched::ab::gate;
use iosched::ab::max_t::max_t;
use iosched::ab::plan::Plan;
use iosched::ab::stats::{self, Interval};
use iosched::ab::stopping::{LOOKS, Method, Stopping};
use iosched::ab::verdict::{self, Direction, Question, Scale, Verdict};
use noise::{AUTOCORRELATED, DRIFT, HOSTILE, IID, World};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use rand_distr::{Distribution, StandardNormal};
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
    paired_in(rng, world, &[blocks], effect)
}

/// The same by a plan in segments, of a run that may end after each of them.
fn paired_in(rng: &mut ChaCha8Rng, world: &World, segments: &[usize], effect: f64) -> Vec<f64> {
    let noise = world.rounds(rng, 2 * segments.iter().sum::<usize>());
    let plan = Plan::in_segments(rng.next_u64(), 2, segments.iter().copied());
    differences(&plan, &noise, |arm| if arm == 1 { effect } else { 0.0 }, 1)
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

fn excludes_zero(interval: Option<Interval>) -> bool {
    interval.is_some_and(|i| !i.contains(0.0))
}

fn exact_finds(d: &[f64]) -> bool {
    excludes_zero(stats::signed_rank_interval(d, ALPHA))
}

fn student_finds(d: &[f64]) -> bool {
    excludes_zero(stats::student_interval(d, ALPHA))
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
                stats::signed_rank_interval(&d, ALPHA).is_some_and(|i| i.contains(effect))
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
        stats::signed_rank_interval(&paired(rng, &AUTOCORRELATED, 8, effect), ALPHA)
            .is_some_and(|i| i.lower > 0.0)
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

fn question(alpha: f64) -> Question {
    Question {
        scale: Scale::Log,
        direction: Direction::HigherIsBetter,
        margin: 0.05,
        alpha,
        method: Method::SignedRank,
        insufficient_tail: false,
        fragile_percentile: false,
        not_comparable: false,
    }
}

/// The first verdict at 8, 12, 16 or 20 blocks.
fn sequential(d: &[f64]) -> Verdict {
    let question = question(stats::pocock_level(ALPHA));
    let looks = LOOKS.into_iter().map(|n| {
        let d: Vec<Option<f64>> = d[..n].iter().copied().map(Some).collect();
        verdict::compare(&d, question).verdict
    });
    looks.fold(Verdict::Inconclusive, |first, next| {
        if first == Verdict::Inconclusive {
            next
        } else {
            first
        }
    })
}

#[test]
fn looking_four_times_keeps_the_level_and_peeking_does_not() {
    let wrong = |v| matches!(v, Verdict::Better | Verdict::Worse);
    let segments = Stopping::Looks.segments();
    let false_alarms = percent(10, |rng| {
        wrong(sequential(&paired_in(rng, &HOSTILE, &segments, 0.0)))
    });
    assert_percent("S3 null, looks at 8, 12, 16, 20", false_alarms, 2.5..=6.0);
    let peeked = percent(10, |rng| {
        naive::peeking_finds(&paired(rng, &HOSTILE, 20, 0.0), 0.05f64.ln_1p(), ALPHA)
    });
    assert_percent("S3 null, a look after each block", peeked, 12.0..=100.0);
    let margin = 0.05f64.ln_1p();
    let missed = percent(11, |rng| {
        sequential(&paired_in(rng, &HOSTILE, &segments, margin)) == Verdict::Equivalent
    });
    assert_percent("S3 at the margin, called equivalent", missed, 0.0..=3.5);
}

/// Whether a run that may end after each block from the fourth on ever calls its arms different.
fn open_run_finds(d: &[f64]) -> bool {
    let question = question(ALPHA);
    let verdicts = (4..=d.len()).filter_map(|n| {
        let interval = stats::always_valid_interval(&d[..n], ALPHA)?;
        Some(question.judge(interval))
    });
    let first = verdicts.into_iter().find(|v| *v != Verdict::Inconclusive);
    matches!(first, Some(Verdict::Better | Verdict::Worse))
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
            stats::always_valid_interval(&d, ALPHA).is_some_and(|i| i.contains(effect))
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

/// Three arms against a reference in two metrics: six chances to be wrong, and one level for all.
#[test]
fn a_family_is_wrong_as_seldom_as_one() {
    let (arms, family) = (4, 6);
    let differences_of_all = |rng: &mut ChaCha8Rng, blocks: usize| -> Vec<Vec<f64>> {
        let plan = Plan::new(rng.next_u64(), arms, blocks);
        let common = HOSTILE.rounds(rng, arms * blocks);
        let metric = |rng: &mut ChaCha8Rng| -> Vec<f64> {
            let own = IID.rounds(rng, arms * blocks);
            common.iter().zip(own).map(|(a, b)| a + b).collect()
        };
        let metrics = [metric(rng), metric(rng)];
        let of_metric = |y: &Vec<f64>| {
            (1..arms)
                .map(|arm| differences(&plan, y, |_| 0.0, arm))
                .collect()
        };
        metrics.iter().flat_map::<Vec<_>, _>(of_metric).collect()
    };
    let any_false_alarm = |rng: &mut ChaCha8Rng, alpha: f64| {
        let all = differences_of_all(rng, 12);
        all.iter()
            .any(|d| excludes_zero(stats::signed_rank_interval(d, alpha)))
    };
    let alpha = verdict::bonferroni(ALPHA, family);
    let adjusted = percent(19, |rng| any_false_alarm(rng, alpha));
    assert_percent(
        "S3 null, six comparisons, any false alarm",
        adjusted,
        1.5..=5.7,
    );
    let unadjusted = percent(19, |rng| any_false_alarm(rng, ALPHA));
    assert_percent("the same unadjusted", unadjusted, 12.0..=100.0);
    let flipped = percent(24, |rng| {
        let p = max_t(&differences_of_all(rng, 8)).expect("eight blocks");
        p.iter().any(|p| *p <= ALPHA)
    });
    assert_percent("the same with signs flipped, 8 blocks", flipped, 3.5..=6.7);
}

/// Arm 3 leaves the device 6 % slower for whoever comes next.
#[test]
fn carry_over_fools_the_cycle_and_not_the_williams_square() {
    let (arms, blocks) = (4, 12);
    let false_alarm = |plan: &Plan, rng: &mut ChaCha8Rng| {
        let mut y = IID.rounds(rng, arms * blocks);
        for pair in plan.rounds.windows(2) {
            if pair[0].arm == 3 {
                y[pair[1].index] -= 0.06;
            }
        }
        let p: Vec<f64> = (1..arms)
            .filter_map(|arm| stats::signed_rank_p(&differences(plan, &y, |_| 0.0, arm)))
            .collect();
        stats::holm(&p).iter().any(|p| *p <= ALPHA)
    };
    let cyclic = naive::cyclic(arms, blocks);
    let cycle = percent(12, |rng| false_alarm(&cyclic, rng));
    assert_percent(
        "carry-over, A B C D A B C D, any false alarm",
        cycle,
        75.0..=100.0,
    );
    let williams = percent(13, |rng| {
        let plan = Plan::new(rng.next_u64(), arms, blocks);
        false_alarm(&plan, rng)
    });
    assert_percent("carry-over, Williams, any false alarm", williams, 0.0..=6.0);
}

/// A run of ten blocks on some day: the machine is 8 % faster or slower that day, and the ratio 2 % per arm off.
struct Day {
    /// Of the new arm, absolute, and of its ratio to the reference.
    arm: Vec<f64>,
    ratio: gate::Estimate,
}

fn day(rng: &mut ChaCha8Rng, effect: f64) -> Day {
    let normal = |rng: &mut ChaCha8Rng| -> f64 { StandardNormal.sample(rng) };
    let speed = 0.08 * normal(rng);
    let off = [0.02 * normal(rng), effect + 0.02 * normal(rng)];
    let (blocks, noise) = (10, IID.rounds(rng, 20));
    let plan = Plan::new(rng.next_u64(), 2, blocks);
    let d = differences(&plan, &noise, |arm| off[arm], 1);
    let of_arm = plan.rounds.iter().filter(|round| round.arm == 1);
    Day {
        arm: of_arm.map(|r| speed + off[1] + noise[r.index]).collect(),
        ratio: gate::Estimate {
            value: stats::hodges_lehmann(&d).expect("ten blocks"),
            standard_error: stats::sd(&d).expect("ten blocks") / (blocks as f64).sqrt(),
            blocks,
        },
    }
}

#[test]
fn a_gate_by_ratios_is_quiet_where_one_by_absolute_numbers_cries_wolf() {
    let absolute = percent(20, |rng| {
        let (old, new) = (day(rng, 0.0).arm, day(rng, 0.0).arm);
        let is_worse = stats::mean(&new) < stats::mean(&old);
        is_worse && naive::welch_finds(&[old, new].concat(), ALPHA)
    });
    assert_percent(
        "null, absolute against a stored run",
        absolute,
        25.0..=100.0,
    );
    let gated = |rng: &mut ChaCha8Rng, baselines: usize, effect: f64| {
        let earlier: Vec<_> = (0..baselines).map(|_| day(rng, 0.0).ratio).collect();
        let found = gate::change(day(rng, effect).ratio, &earlier, ALPHA);
        found.is_some_and(|(_, interval)| interval.upper < 0.0)
    };
    let one = percent(21, |rng| gated(rng, 1, 0.0));
    assert_percent("null, ratio against one run, 3 % assumed", one, 0.3..=3.0);
    let five = percent(22, |rng| gated(rng, 5, 0.0));
    assert_percent("null, ratio against five runs", five, 1.5..=3.8);
    let found = percent(23, |rng| gated(rng, 5, 0.9f64.ln()));
    assert_percent("-10 %, ratio against five runs", found, 50.0..=100.0);
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
