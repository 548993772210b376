//! A rotation that somebody watches: a look after each block, for as long as they like. What is decided once stays.

use std::collections::HashMap;

use iosched_result::analysis::decided;
use iosched_result::statistics::rows::Judged;
use iosched_result::statistics::verdict::Verdict;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

use super::experiment::{QUIET, World, is_difference, watched};
use super::{drifting, hostile, steady, wandering};

const BLOCKS: usize = if cfg!(debug_assertions) { 12 } else { 30 };
/// Each costs as many analyses as it has blocks.
const RUNS: usize = if cfg!(debug_assertions) { 2 } else { 24 };
const METRICS: usize = 8;

/// Shares of the runs, in per cent.
#[derive(Debug)]
struct Watched {
    /// Some row was ever said to differ.
    ever: f64,
    /// Some row that had a verdict has another one in the end, or none.
    changed: f64,
    /// Rows that were decided in the end.
    decided: f64,
}

fn watch(world: &World<'_>) -> Watched {
    let mut rng = ChaCha8Rng::seed_from_u64(20_261_128);
    let rows = world.metrics * (world.arms - 1);
    let (mut ever, mut changed, mut decided) = (0, 0, 0);
    for _ in 0..RUNS {
        let mut first: HashMap<usize, (usize, Judged)> = HashMap::new();
        let mut shown = vec![Verdict::Inconclusive; rows];
        let mut differs = false;
        watched(&mut rng, world, BLOCKS, |blocks, judged| {
            for (row, now) in judged.iter().enumerate() {
                let kept = match first.get(&row) {
                    Some((then, of)) => decided::kept(of.clone(), now.clone(), *then).0,
                    None => now.clone(),
                };
                shown[row] = kept.comparison.verdict;
                if shown[row] != Verdict::Inconclusive {
                    first.entry(row).or_insert_with(|| (blocks, now.clone()));
                }
                differs |= is_difference(shown[row]);
            }
        });
        ever += usize::from(differs);
        let is_other = |(row, (_, of)): (&usize, &(usize, Judged))| {
            let now = shown[*row];
            now != of.comparison.verdict && now != Verdict::Equivalent
        };
        changed += usize::from(first.iter().any(is_other));
        let decided_now = |verdict: &&Verdict| **verdict != Verdict::Inconclusive;
        decided += shown.iter().filter(decided_now).count();
    }
    let percent = |n: usize, of: usize| 100.0 * n as f64 / of as f64;
    Watched {
        ever: percent(ever, RUNS),
        changed: percent(changed, RUNS),
        decided: percent(decided, RUNS * rows),
    }
}

fn world<'a>(
    noise: &'a super::experiment::Series<'a>,
    arms: usize,
    effects: &'a [f64],
) -> World<'a> {
    World {
        noise,
        arms,
        metrics: METRICS,
        effects,
        ..QUIET
    }
}

/// Three standard errors beside the bound.
fn is_at_most(name: &str, found: f64, bound: f64) {
    let error = (bound * (100.0 - bound) / RUNS as f64).sqrt();
    assert!(
        found <= bound + 3.0 * error,
        "{name}: {found:.1} %, more than {bound}"
    );
}

#[test]
fn however_long_one_watches_few_rotations_ever_say_something_false() {
    let steady = steady(0.04);
    for (name, noise) in [
        ("steady", &steady as &super::experiment::Series<'_>),
        ("hostile", &hostile),
        ("drifting", &drifting),
        ("wandering", &wandering),
    ] {
        let all: &[usize] = if name == "steady" { &[2, 4] } else { &[2] };
        for &arms in all {
            let found = watch(&world(noise, arms, &[]));
            println!("{name}, {arms} arms alike, {BLOCKS} blocks: {found:?}");
            is_at_most(name, found.ever, 5.0);
        }
    }
    let behind = World {
        carry_over: (1, -0.06, 1),
        ..world(&steady, 4, &[])
    };
    let found = watch(&behind);
    println!("an arm leaves 6 % behind: {found:?}");
    is_at_most("carry-over", found.ever, 6.0);
}

#[test]
fn what_is_decided_stays() {
    let steady = steady(0.04);
    for (name, noise) in [
        ("steady", &steady as &super::experiment::Series<'_>),
        ("hostile", &hostile),
    ] {
        let found = watch(&world(noise, 4, &[0.0, 0.2, -0.2, 0.0]));
        println!("{name}, 20 % better and worse: {found:?}");
        assert!(found.decided > 0.0, "{name}: nothing was decided");
        is_at_most(name, found.changed, 5.0);
    }
}
