//! Fleets, simulated: how often the mean over hosts that gain nothing is called better, and how often the interval for a further
//! host holds its truth.

use std::collections::BTreeMap;

use iosched_result::merge::{Merged, contribution, merge};
use iosched_result::statistics::stopping::Stopping;
use iosched_result::statistics::verdict::Verdict;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use rand_distr::{Distribution, StandardNormal};

use super::FULL;
use super::results::{Template, slack};

/// Noise of each round.
const NOISE: f64 = 0.04;
const HOSTS: [usize; 3] = [3, 5, 20];
/// Standard deviation of the true effects between hosts.
const SPREADS: [f64; 3] = [0.0, 0.05, 0.10];

/// Hosts whose true effects are around this mean, and the effect of a further one.
fn fleet(rng: &mut ChaCha8Rng, template: &Template, hosts: usize, spread: f64) -> (Merged, f64) {
    let effect = |rng: &mut ChaCha8Rng| -> f64 {
        let z: f64 = StandardNormal.sample(rng);
        spread * z
    };
    let results = (0..hosts).map(|host| {
        let truth = effect(rng);
        let mut result = template.run(rng, |rng, turn| {
            let noise: f64 = StandardNormal.sample(rng);
            let own = if turn.planned.arm == 1 { truth } else { 0.0 };
            let value = 1e8 * (own + NOISE * noise).exp();
            BTreeMap::from([("throughput".to_owned(), value)])
        });
        result.environment.hostname = Some(format!("host{host}"));
        result.status = iosched_result::types::result::Status::Complete;
        contribution("a result", result).expect("a run that compares")
    });
    let results = results.collect();
    let merged = merge(results, Vec::new()).expect("hosts");
    (merged, effect(rng))
}

#[test]
fn the_mean_of_hosts_that_gain_nothing_is_seldom_better() {
    let runs = |hosts: usize| {
        if cfg!(debug_assertions) {
            24 / hosts.min(8)
        } else {
            FULL / if hosts > 5 { 4 } else { 1 }
        }
    };
    let template = Template::new(&["none", "bfq"], Stopping::Fixed { blocks: 8 });
    for hosts in HOSTS {
        for spread in SPREADS {
            let mut rng = ChaCha8Rng::seed_from_u64(20_240_603);
            let (mut better, mut held, all) = (0, 0, runs(hosts));
            for _ in 0..all {
                let (merged, further) = fleet(&mut rng, &template, hosts, spread);
                let row = &merged.groups[0].rows[0];
                better += usize::from(row.verdict == Verdict::Better);
                let holds = row.prediction.is_some_and(|it| it.contains(further));
                held += usize::from(holds);
            }
            let percent = |count: usize| 100.0 * count as f64 / all as f64;
            println!(
                "{hosts} hosts, spread {:.0} %: better {:.1} %, a further host held {:.1} %, of {all}",
                spread * 100.0,
                percent(better),
                percent(held)
            );
            // A few fleets, as in debug builds, have no share worth a bound.
            if cfg!(debug_assertions) {
                assert!(better < all && held > 0, "{hosts} hosts, spread {spread}");
                continue;
            }
            assert!(
                percent(better) <= 6.0 + slack(3.0, all),
                "{hosts} hosts, spread {spread}"
            );
            // With three hosts it is wider than it says: it has one degree of freedom.
            assert!(
                percent(held) >= 93.0 - slack(95.0, all),
                "{hosts} hosts, spread {spread}"
            );
            if hosts > 3 {
                assert!(
                    percent(held) <= 97.0 + slack(95.0, all),
                    "{hosts} hosts, spread {spread}"
                );
            }
        }
    }
}
