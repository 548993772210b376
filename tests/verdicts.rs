//! Whole experiments, simulated: how often a verdict is wrong, how often a true difference is found, how long it takes.
//! Noise that is steady, that drifts, that keeps step with the rounds; what arms leave behind, what positions do, stalls.
//!
//! Bounds are for 2000 runs of each world, in release. Debug builds carry out a few, and widen the bounds by three times what
//! that adds to the standard error.

#[path = "verdicts/controls.rs"]
mod controls;
#[path = "verdicts/experiment.rs"]
mod experiment;
#[path = "verdicts/extended.rs"]
mod extended;
#[path = "verdicts/hosts.rs"]
mod hosts;
#[path = "simulation/noise.rs"]
mod noise;
#[path = "verdicts/results.rs"]
mod results;
#[path = "verdicts/studies.rs"]
mod studies;
#[path = "verdicts/times.rs"]
mod times;
#[path = "verdicts/watched.rs"]
mod watched;

use std::f64::consts::TAU;

use experiment::{Outcome, QUIET, World, run};
use iosched_result::statistics::stopping::Stopping;
use iosched_result::statistics::verdict::{Reason, Verdict};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use rand_distr::{Distribution, StandardNormal};

const FULL: usize = 2000;
const RUNS: usize = if cfg!(debug_assertions) { 40 } else { FULL };

/// Outcomes of so many runs of a world.
struct Found {
    outcomes: Vec<Outcome>,
}

impl Found {
    fn in_runs_of(world: &World<'_>, stopping: Stopping) -> Found {
        let runs = RUNS * 2 / world.arms;
        let mut rng = ChaCha8Rng::seed_from_u64(20_240_602);
        Found {
            outcomes: (0..runs).map(|_| run(&mut rng, world, stopping)).collect(),
        }
    }

    fn of(world: &World<'_>) -> Found {
        Found::in_runs_of(world, Stopping::LOOKS)
    }

    fn percent(&self, is: impl Fn(&Outcome) -> bool) -> f64 {
        let hits = self.outcomes.iter().filter(|outcome| is(outcome)).count();
        100.0 * hits as f64 / self.outcomes.len() as f64
    }

    fn differences(&self) -> f64 {
        self.percent(Outcome::any_difference)
    }

    fn mean(&self, of: impl Fn(&Outcome) -> usize) -> f64 {
        let sum: usize = self.outcomes.iter().map(of).sum();
        sum as f64 / self.outcomes.len() as f64
    }

    fn is_at_most(&self, what: &str, found: f64, bound: f64) {
        println!("{what}: {found:.1} % (at most {bound})");
        assert!(
            found <= bound + self.slack(bound),
            "{what}: {found:.1} %, more than {bound}"
        );
    }

    fn is_at_least(&self, what: &str, found: f64, bound: f64) {
        println!("{what}: {found:.1} % (at least {bound})");
        assert!(
            found >= bound - self.slack(bound),
            "{what}: {found:.1} %, less than {bound}"
        );
    }

    /// Two standard errors of a full simulation, and three of what a shorter one adds.
    fn slack(&self, bound: f64) -> f64 {
        let error = |n: usize| (bound * (100.0 - bound) / n as f64).sqrt();
        let (full, runs) = (error(FULL), error(self.outcomes.len()));
        2.0 * full + 3.0 * (runs - full).max(0.0)
    }
}

fn steady(sd: f64) -> impl Fn(&mut ChaCha8Rng, usize) -> Vec<f64> {
    move |rng, n| {
        let mut normal = || -> f64 { StandardNormal.sample(rng) };
        (0..n).map(|_| sd * normal()).collect()
    }
}

/// A wave of 6 %, beside 2 % of chance.
fn sine(period: f64) -> impl Fn(&mut ChaCha8Rng, usize) -> Vec<f64> {
    move |rng, n| {
        let phase: f64 = rng.random_range(0.0..TAU);
        let wave = |i: usize| 0.06 * (TAU * i as f64 / period + phase).sin();
        let noise = steady(0.02)(rng, n);
        noise
            .iter()
            .enumerate()
            .map(|(i, noise)| wave(i) + noise)
            .collect()
    }
}

fn hostile(rng: &mut ChaCha8Rng, n: usize) -> Vec<f64> {
    noise::HOSTILE.rounds(rng, n)
}

fn drifting(rng: &mut ChaCha8Rng, n: usize) -> Vec<f64> {
    noise::DRIFT.rounds(rng, n)
}

fn wandering(rng: &mut ChaCha8Rng, n: usize) -> Vec<f64> {
    noise::AUTOCORRELATED.rounds(rng, n)
}

type Noise = dyn Fn(&mut ChaCha8Rng, usize) -> Vec<f64>;

/// False verdicts where nothing differs, coverage and power at +5 % and +10 %. The power of a perfect test of two means
/// with the same looks would be about two points higher.
#[test]
fn two_arms() {
    let noises: [(&str, &Noise, [f64; 2]); 6] = [
        ("1 %", &steady(0.01), [98.0, 99.0]),
        ("4 %", &steady(0.04), [83.0, 99.0]),
        ("8 %", &steady(0.08), [27.0, 81.0]),
        ("wandering", &wandering, [85.0, 99.0]),
        ("drifting", &drifting, [83.0, 99.0]),
        ("hostile", &hostile, [57.0, 95.0]),
    ];
    for (name, noise, power) in noises {
        let null = Found::of(&World { noise, ..QUIET });
        null.is_at_most(&format!("{name}, false verdicts"), null.differences(), 6.0);
        for (effect, power) in [0.05f64.ln_1p(), 0.1f64.ln_1p()].into_iter().zip(power) {
            let found = Found::of(&World {
                noise,
                effects: &[0.0, effect],
                ..QUIET
            });
            let what = format!("{name}, effect {:.0} %", effect.exp_m1() * 100.0);
            found.is_at_least(
                &format!("{what}, coverage"),
                found.percent(|o| o.covers(effect)),
                94.0,
            );
            found.is_at_least(&format!("{what}, power"), found.differences(), power);
        }
    }
}

/// With little noise six blocks are enough for most, and what is not told apart by then is soon after.
#[test]
fn a_clear_difference_takes_six_blocks() {
    let found = Found::of(&World {
        noise: &steady(0.01),
        effects: &[0.0, 0.05],
        ..QUIET
    });
    let at_first = found.percent(|o| o.blocks == 6);
    found.is_at_least("1 %, effect 5 %, decided after six blocks", at_first, 75.0);
    assert!(found.mean(|o| o.blocks) < 7.5);
}

/// Noise that keeps step with the rounds fools orders that are balanced over several blocks; coins do not keep step.
#[test]
fn waves() {
    for period in [3.0, 4.0, 4.5, 5.3, 6.0, 8.0, 9.0] {
        for arms in [2, 4] {
            let null = Found::of(&World {
                noise: &sine(period),
                arms,
                ..QUIET
            });
            let what = format!("{arms} arms, a wave of {period} rounds, false verdicts");
            null.is_at_most(&what, null.differences(), 6.0);
        }
    }
}

/// A live run on a load that rises and falls, or wanders, also where it reacts to the arm: no false verdicts with the
/// adjustment for the load before each block. It finds more where loads fall back within a block, and elsewhere about as
/// much: the blocks already take most of a slow load away.
#[test]
fn slow_loads() {
    let loads: [(&str, &Noise, f64); 4] = [
        ("a wave of 6 rounds", &sine(6.0), 5.0),
        ("a wave of 12 rounds", &sine(12.0), 1.0),
        ("a wave of 40 rounds", &sine(40.0), -8.0),
        ("one that wanders", &wandering, -4.0),
    ];
    for (name, load, gain) in loads {
        for arms in [2, 4] {
            let effects = &[0.0, 0.03, 0.03, 0.03][..arms];
            let plain = World {
                noise: load,
                arms,
                ..QUIET
            };
            let calm = &steady(0.001);
            let adjusted = World {
                noise: calm,
                load: Some(load),
                arms,
                ..QUIET
            };
            let what = format!("{arms} arms, a load, {name}");
            for reacts in [0.0, 0.2] {
                let null = Found::of(&World { reacts, ..adjusted });
                let what = format!("{what}, which reacts by {reacts}, adjusted, false");
                null.is_at_most(&what, null.differences(), 6.0);
            }
            let without = Found::of(&World { effects, ..plain }).differences();
            let with = Found::of(&World {
                effects,
                ..adjusted
            });
            let power = with.differences();
            println!("{what}: power {without:.1} %, adjusted {power:.1} %");
            // The two differ by chance in few runs.
            let chance = if RUNS == FULL { 0.0 } else { 15.0 };
            let least = without + gain - chance;
            with.is_at_least(&format!("{what}, adjusted, power"), power, least);
        }
    }
}

/// Rounds cut from 800 reads of one disk under one scheduler, as they came: `tests/data/aa-trace.jsonl`.
#[test]
fn a_real_trace_of_nothing() {
    let trace = include_str!("data/aa-trace.jsonl");
    for metric in ["riops", "p50", "p99"] {
        let values = trace.lines().map(|line| {
            let slot: serde_json::Value = serde_json::from_str(line).expect("a slot is JSON");
            slot[metric].as_f64().expect("a number").ln()
        });
        let values: Vec<f64> = values.collect();
        let cut = |rng: &mut ChaCha8Rng, n: usize| {
            let start = rng.random_range(0..=values.len() - n);
            values[start..start + n].to_vec()
        };
        for arms in [2, 4] {
            let null = Found::of(&World {
                noise: &cut,
                arms,
                ..QUIET
            });
            let what = format!("trace {metric}, {arms} arms, false verdicts");
            null.is_at_most(&what, null.differences(), 6.0);
        }
    }
}

/// In the mode beyond-margin, a gate fails where an arm is shown to be worse by more than the margin of 5 %: once in 1600
/// rows is the aim, and missed where the noise of a round is larger than the margin.
#[test]
fn gates_on_identical_arms_hardly_fail() {
    const RUNS: usize = if cfg!(debug_assertions) { 50 } else { 8000 };
    let noises: [(&str, &Noise, f64); 3] = [
        ("4 %", &steady(0.04), 1600.0),
        ("8 %", &steady(0.08), 800.0),
        ("hostile", &hostile, 1600.0),
    ];
    for (name, noise, once_in) in noises {
        let mut rng = ChaCha8Rng::seed_from_u64(20_240_601);
        let world = World { noise, ..QUIET };
        let fails = |outcome: &Outcome| {
            let mut rows = outcome.judged.iter().map(|judged| &judged.comparison);
            rows.any(|row| row.verdict == Verdict::Worse && row.beyond_margin)
        };
        let failed = (0..RUNS).filter(|_| fails(&run(&mut rng, &world, Stopping::LOOKS)));
        let (failed, expected) = (failed.count() as f64, RUNS as f64 / once_in);
        println!("{name}: {failed} of {RUNS} gates fail on identical arms");
        assert!(
            failed <= expected + 3.0 * expected.sqrt(),
            "{name}: {failed} of {RUNS}"
        );
    }
}

#[test]
fn positions() {
    let noise = &steady(0.04);
    for by_position in [0.05, 0.1, 0.2] {
        for arms in [2, 4] {
            let null = Found::of(&World {
                noise,
                arms,
                by_position,
                ..QUIET
            });
            let what = format!("{arms} arms, each position {by_position} faster");
            null.is_at_most(&format!("{what}, false verdicts"), null.differences(), 6.0);
        }
        let effects = &[0.0, 0.05f64.ln_1p()];
        let found = Found::of(&World {
            noise,
            by_position,
            effects,
            ..QUIET
        });
        let what = format!("each position {by_position} faster, effect 5 %, power");
        found.is_at_least(&what, found.differences(), 80.0);
    }
}

/// With `--washout auto` verdicts hold their level whatever is left behind, and find as much.
#[test]
fn automatic_wash_out() {
    for (lasts, left) in [
        (1, -0.03f64),
        (1, -0.12),
        (2, -0.06),
        (3, -0.03),
        (3, -0.06),
        (3, -0.12),
    ] {
        for arms in [2, 4] {
            let null = Found::of(&World {
                noise: &steady(0.04),
                arms,
                carry_over: (arms - 1, left.ln_1p(), lasts),
                washes_out: true,
                ..QUIET
            });
            let what =
                format!("{arms} arms, {left} left for {lasts} rounds, washed out, false verdicts");
            // One of twelve worlds with few runs each is often beyond three standard errors.
            let most = if cfg!(debug_assertions) { 12.0 } else { 6.0 };
            null.is_at_most(&what, null.differences(), most);
        }
    }
    let found = Found::of(&World {
        noise: &steady(0.04),
        effects: &[0.0, 0.05f64.ln_1p()],
        washes_out: true,
        ..QUIET
    });
    found.is_at_least("washed out, effect 5 %, power", found.differences(), 79.0);
}

/// Arm 1, or 3 of four, leaves the device slower for the next one, two or three rounds. What a run cannot see, because it is
/// small and the noise is not, errs a little more often.
#[test]
fn carry_over() {
    for lasts in [1, 2, 3] {
        for left in [-0.03f64, -0.06, -0.12] {
            for sd in [0.01, 0.04] {
                for arms in [2, 4] {
                    let noise = &steady(sd);
                    let carry_over = (arms - 1, left.ln_1p(), lasts);
                    let null = Found::of(&World {
                        noise,
                        arms,
                        carry_over,
                        ..QUIET
                    });
                    let what = format!("{arms} arms, noise {sd}, {left} left for {lasts} rounds");
                    let most = if lasts == 1 { 7.0 } else { 9.0 };
                    null.is_at_most(&format!("{what}, false verdicts"), null.differences(), most);
                    // All rows count together, as the intervals are said to hold.
                    let covered = null.percent(|o| o.covers(0.0));
                    null.is_at_least(&format!("{what}, coverage"), covered, 90.0);
                }
            }
        }
    }
    // That something could be left behind is no reason where little could explain it.
    let (noise, carry_over) = (&steady(0.01), (1, (-0.01f64).ln_1p(), 1));
    let found = Found::of(&World {
        noise,
        carry_over,
        effects: &[0.0, 0.1],
        ..QUIET
    });
    found.is_at_least(
        "-1 % left behind, effect 10 %, power",
        found.differences(),
        95.0,
    );
}

/// Faster by 6 %, and in some rounds slower by two thirds: on the mean it loses. Where a run sees stalls, it is never
/// better; where it sees none, it says how many there may be.
#[test]
fn stalls() {
    for share in [0.1, 0.2] {
        let (noise, stalls) = (&steady(0.04), (1, share, -1.0));
        let found = Found::of(&World {
            noise,
            stalls,
            effects: &[0.0, 0.06],
            ..QUIET
        });
        let wrong = found.percent(|o| {
            let j = &o.judged[0].comparison;
            j.verdict == Verdict::Better
                && j.stalled.arm > 0
                && share > 0.06
                && j.student.estimate.is_some_and(|mean| mean < 0.0)
        });
        assert!(wrong < 1e-9, "{share}: {wrong}");
    }
    // Both arms stall alike: nothing differs.
    for share in [0.02, 0.05, 0.1, 0.2] {
        let noise = |rng: &mut ChaCha8Rng, n: usize| -> Vec<f64> {
            let calm = steady(0.04)(rng, n);
            calm.iter()
                .map(|y| if rng.random_bool(share) { y - 1.0 } else { *y })
                .collect()
        };
        let null = Found::of(&World {
            noise: &noise,
            ..QUIET
        });
        let what = format!("{share} of all rounds stall, false verdicts");
        null.is_at_most(&what, null.differences(), 6.0);
    }
    // The flag itself.
    for blocks in [6, 8, 12, 20] {
        let stopping = Stopping::Fixed { blocks };
        let clean = Found::in_runs_of(
            &World {
                noise: &steady(0.04),
                ..QUIET
            },
            stopping,
        );
        let flagged = clean.percent(|o| {
            o.judged[0]
                .comparison
                .reasons
                .iter()
                .any(|r| matches!(r, Reason::StalledRounds { .. }))
        });
        clean.is_at_most(
            &format!("{blocks} blocks, stalls in clean noise"),
            flagged,
            1.5,
        );
    }
}

/// Several rows share one level, arms that are decided leave, and nothing is decided more often falsely for it.
#[test]
fn families() {
    let (calm, wild) = (&steady(0.04), &hostile);
    let noises: [(&str, &Noise); 2] = [("4 %", calm), ("hostile", wild)];
    for (name, noise) in noises {
        for metrics in [1, 2] {
            let null = Found::of(&World {
                noise,
                arms: 4,
                metrics,
                ..QUIET
            });
            let what = format!("four arms, {metrics} metrics, {name}, any false verdict");
            null.is_at_most(&what, null.differences(), 6.0);
        }
    }
    let effects = [0.0, 0.05f64.ln_1p(), 0.1f64.ln_1p(), 0.0];
    let found = Found::of(&World {
        noise: calm,
        arms: 4,
        effects: &effects,
        ..QUIET
    });
    let false_ones = found.percent(|o| experiment::is_difference(o.judged[2].comparison.verdict));
    found.is_at_most("beside others that differ, false verdicts", false_ones, 5.0);
    let rounds = found.mean(|o| o.rounds);
    println!("four arms of which two differ: {rounds:.1} rounds");
    assert!(rounds < 80.0 * 0.78, "{rounds} of 80");
}

/// An effect that is said to be detectable in four of five runs is detected in about as many: its interval excludes zero.
#[test]
fn what_is_promised_is_kept() {
    for (arms, blocks) in [(2, 6), (2, 8), (2, 12), (2, 20), (4, 6), (4, 12), (4, 20)] {
        let stopping = Stopping::Fixed { blocks };
        let mut rng = ChaCha8Rng::seed_from_u64(7);
        let (mut found, mut asked) = (0, 0);
        for _ in 0..RUNS {
            let noise = &steady(0.04);
            let pilot = World {
                noise,
                arms,
                ..QUIET
            };
            let pilot = run(&mut rng, &pilot, stopping);
            let mde = pilot.judged[0].comparison.mde.expect("blocks");
            let effects = &[0.0, mde.ln_1p(), 0.0, 0.0][..arms];
            let next = World {
                noise,
                arms,
                effects,
                ..QUIET
            };
            let next = run(&mut rng, &next, stopping);
            let interval = next.judged[0].comparison.interval;
            found += usize::from(interval.is_some_and(|i| !i.contains(0.0)));
            asked += 1;
        }
        let kept = 100.0 * f64::from(found as u32) / f64::from(asked as u32);
        println!("{arms} arms, {blocks} blocks, detected: {kept:.1} % (80 is said)");
        // Three standard errors of few runs.
        let slack = if RUNS == FULL { 0.0 } else { 15.0 };
        assert!((76.0 - slack..=92.0 + slack).contains(&kept), "{kept}");
    }
}
