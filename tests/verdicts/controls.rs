//! Negative controls, simulated: how often one that nothing changes raises an alarm, and whether one that is not called
//! blind sees what it should.

use std::collections::BTreeMap;

use iosched_result::analysis::conclude;
use iosched_result::statistics::stopping::Stopping;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use rand_distr::{Distribution, StandardNormal};

use super::FULL;
use super::results::{Template, slack};

const RUNS: usize = if cfg!(debug_assertions) { 60 } else { FULL / 4 };
/// Margin of the control.
const MARGIN: f64 = 0.1;

struct Found {
    blind: f64,
    /// Percentage of all runs.
    alarms: f64,
    /// Percentage of the runs that are not blind.
    seen: f64,
}

/// Rounds of one arm differ by `noise`; arm 1 makes the control slower by `slower`.
fn controls(noise: f64, slower: f64, blocks: usize) -> Found {
    let template = Template::new(&["none", "bfq"], Stopping::Fixed { blocks });
    let mut rng = ChaCha8Rng::seed_from_u64(20_240_601);
    let (mut blind, mut alarms, mut seen) = (0, 0, 0);
    for _ in 0..RUNS {
        let mut result = template.run(&mut rng, |rng, turn| {
            let chance: f64 = StandardNormal.sample(rng);
            let own = if turn.planned.arm == 1 {
                slower.ln_1p()
            } else {
                0.0
            };
            let control_ns = 5e6 * (own + noise * chance).exp();
            BTreeMap::from([
                ("throughput".to_owned(), 1e8),
                ("control_cpu".to_owned(), control_ns),
            ])
        });
        result.comparisons = conclude::comparisons(&result);
        let is_blind = !result.blind_controls().is_empty();
        let is_alarm = result.alarming_controls().count() > 0;
        blind += usize::from(is_blind);
        alarms += usize::from(is_alarm);
        seen += usize::from(is_alarm && !is_blind);
    }
    let percent = |hits: usize, of: usize| 100.0 * hits as f64 / of.max(1) as f64;
    let found = Found {
        blind: percent(blind, RUNS),
        alarms: percent(alarms, RUNS),
        seen: percent(seen, RUNS - blind),
    };
    println!(
        "control, noise {:.0} %, {blocks} blocks, {:.0} % slower under one arm: blind {:.1} %, alarms {:.1} %, of those that see {:.1} %",
        noise * 100.0,
        slower * 100.0,
        found.blind,
        found.alarms,
        found.seen
    );
    found
}

#[test]
fn a_control_sees_or_says_that_it_is_blind() {
    for blocks in [6, 12, 20] {
        for noise in [0.005, 0.02, 0.04, 0.08, 0.16] {
            let same = controls(noise, 0.0, blocks);
            assert!(same.alarms <= 1.0 + slack(1.0, RUNS), "{} %", same.alarms);
            assert!(noise > 0.005 || same.blind < 1.0, "{} %", same.blind);
            assert!(noise < 0.16 || same.blind > 95.0, "{} %", same.blind);
            // Half of the margin on top: an estimate of just the margin is an alarm every other time.
            let slow = controls(noise, 1.5 * MARGIN, blocks);
            assert!(
                slow.blind > 50.0 || slow.seen >= 80.0 - slack(80.0, RUNS),
                "noise {noise}, {blocks} blocks: {} %",
                slow.seen
            );
        }
    }
}
