//! Runs to which blocks are added after their end, because something is not decided.

use iosched_result::statistics::stopping::Stopping;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

use super::experiment::{Outcome, QUIET, World, extended};
use super::{Found, Noise, RUNS, hostile, steady, wandering};

const SIX: Stopping = Stopping::Fixed { blocks: 6 };
const TWELVE: Stopping = Stopping::Fixed { blocks: 12 };

fn in_runs_of(world: &World<'_>, stopping: Stopping, more: &[usize]) -> Found {
    let mut rng = ChaCha8Rng::seed_from_u64(20_261_127);
    let mut outcome = || extended(&mut rng, world, stopping, more);
    let outcomes: Vec<Outcome> = (0..RUNS * 2 / world.arms).map(|_| outcome()).collect();
    Found { outcomes }
}

/// Whoever extends each run that has not decided everything errs as rarely as with the first end.
#[test]
fn extensions_are_paid_for() {
    let noises: [(&str, &Noise); 4] = [
        ("4 %", &steady(0.04)),
        ("8 %", &steady(0.08)),
        ("wandering", &wandering),
        ("hostile", &hostile),
    ];
    let plans: [(&str, Stopping, &[usize]); 5] = [
        ("looks +12", Stopping::LOOKS, &[12]),
        ("looks +12 +12", Stopping::LOOKS, &[12, 12]),
        ("12 +12", TWELVE, &[12]),
        ("12 +12 +12", TWELVE, &[12, 12]),
        ("6 +6 +6", SIX, &[6, 6]),
    ];
    for (name, noise) in noises {
        for (plan, stopping, more) in plans {
            let what = format!("{plan}, {name}");
            let world = World { noise, ..QUIET };
            let null = in_runs_of(&world, stopping, more);
            null.is_at_most(&format!("{what}, false verdicts"), null.differences(), 6.0);
            let effect = 0.05f64.ln_1p();
            let effects = &[0.0, effect];
            let found = in_runs_of(&World { effects, ..world }, stopping, more);
            let covered = found.percent(|o| o.covers(effect));
            found.is_at_least(&format!("{what}, coverage at +5 %"), covered, 94.0);
        }
    }
}

/// However long the extensions are, and however little the noise lets see.
#[test]
fn short_and_long_extensions_are_paid_for_too() {
    for (plan, stopping) in [("looks", Stopping::LOOKS), ("12", TWELVE)] {
        for more in [1, 20, 60] {
            let world = World {
                noise: &steady(0.2),
                ..QUIET
            };
            let null = in_runs_of(&world, stopping, &[more; 2]);
            let what = format!("{plan} +{more} +{more}, 20 %, false verdicts");
            null.is_at_most(&what, null.differences(), 6.0);
        }
    }
}

/// What was not decided is decided more often: of 12 blocks at 8 % noise, +10 % in half of the runs, and with 24 more in most.
#[test]
fn extensions_decide() {
    let noise: &Noise = &steady(0.08);
    let effects = &[0.0, 0.1f64.ln_1p()];
    let world = World {
        noise,
        effects,
        ..QUIET
    };
    let (before, after) = (
        in_runs_of(&world, TWELVE, &[]).differences(),
        in_runs_of(&world, TWELVE, &[12, 12]),
    );
    println!("+10 % in 8 % noise: {before:.1} % of runs of 12 blocks");
    after.is_at_least("with +12 +12", after.differences(), 90.0);
    assert!(after.differences() > before);
}
