//! Times that a pilot chooses: how soon they decide on a real disk's noise, and how often they err.

use std::collections::BTreeMap;

use iosched_result::analysis::times;
use iosched_result::metric::Metric;
use iosched_result::report::fixture::empty;
use iosched_result::statistics::stopping::Stopping;
use iosched_result::statistics::verdict::Verdict;
use iosched_result::types::result::Design;
use iosched_result::types::times::{AutoTimes, PilotRound, PilotSeries};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

use super::experiment::{QUIET, World, run};
use super::{Found, RUNS, steady, wandering};

/// Neither ramp nor window: what a round of the demo has.
const AROUND_S: f64 = 0.6;
const PILOT: usize = 10;
const EFFECT: f64 = 0.1;

/// Reads of one disk under one scheduler, second by second.
struct Trace {
    seconds: Vec<BTreeMap<String, f64>>,
}

#[derive(Clone, Copy)]
enum Kind {
    Rate,
    Mean,
    /// The median of the seconds' percentiles.
    Percentile,
}

const WATCHED: [(&str, &str, Kind); 3] = [
    ("riops", "read_iops:10", Kind::Rate),
    ("rmean", "read_total_mean:10", Kind::Mean),
    ("p99", "read_total_p99:10", Kind::Percentile),
];

impl Trace {
    fn read() -> Trace {
        let text = include_str!("../data/aa-trace.jsonl");
        let seconds = text
            .lines()
            .map(|line| serde_json::from_str(line).expect("numbers by name"));
        Trace {
            seconds: seconds.collect(),
        }
    }

    /// There and back again, for runs that are longer than it.
    fn second(&self, at: usize) -> &BTreeMap<String, f64> {
        let length = self.seconds.len();
        let at = at % (2 * length);
        &self.seconds[if at < length { at } else { 2 * length - 1 - at }]
    }

    /// The logarithm of what a round with this window has.
    fn window(&self, name: &str, kind: Kind, start: usize, seconds: usize) -> f64 {
        let of = |name: &str| -> Vec<f64> {
            (start..start + seconds)
                .map(|at| self.second(at)[name])
                .collect()
        };
        let mut values = of(name);
        let value = match kind {
            Kind::Rate => values.iter().sum::<f64>() / seconds as f64,
            Kind::Mean => {
                let weights = of("n");
                let sum: f64 = values
                    .iter()
                    .zip(&weights)
                    .map(|(value, weight)| value * weight)
                    .sum();
                sum / weights.iter().sum::<f64>()
            }
            Kind::Percentile => {
                values.sort_unstable_by(f64::total_cmp);
                f64::midpoint(values[(seconds - 1) / 2], values[seconds / 2])
            }
        };
        value.ln()
    }

    /// Two arms that are the same, one after the other.
    fn pilot(&self, start: usize) -> Vec<PilotRound> {
        let series = |name: &str, of: &str, from: usize, weights: Vec<f64>| PilotSeries {
            metric: name.to_owned(),
            values: (from..from + PILOT)
                .map(|at| Some(self.second(at)[of]))
                .collect(),
            weights,
        };
        let round = |arm: &str, from: usize| {
            let weights = (from..from + PILOT)
                .map(|at| self.second(at)["riops"])
                .collect();
            PilotRound {
                arm: arm.to_owned(),
                bin_s: 1.0,
                around_s: AROUND_S,
                series: vec![
                    series("read_iops", "riops", from, Vec::new()),
                    series("read_total_mean", "rmean", from, weights),
                ],
            }
        };
        vec![round("a", start), round("b", start + PILOT)]
    }

    fn chosen(&self, start: usize, metric: &str) -> Design {
        chosen(self.pilot(start), metric)
    }

    /// Blocks until a signed-rank test at 5 % shows the effect in 80 % of runs (Noether 1987).
    fn blocks(&self, name: &str, kind: Kind, ramp: usize, window: usize) -> f64 {
        let mut rng = ChaCha8Rng::seed_from_u64(20_261_127);
        let step = ramp + window;
        let pairs: Vec<f64> = (0..4000)
            .map(|_| {
                let start = rng.random_range(0..self.seconds.len() - 2 * step) + ramp;
                let first = self.window(name, kind, start, window);
                let second = self.window(name, kind, start + step, window);
                if rng.random_bool(0.5) {
                    second - first
                } else {
                    first - second
                }
            })
            .collect();
        let shown = (0..40_000).filter(|_| {
            let mut one = || pairs[rng.random_range(0..pairs.len())] + EFFECT.ln_1p();
            one() + one() > 0.0
        });
        let beyond_half = shown.count() as f64 / 40_000.0 - 0.5;
        ((1.96f64 + 0.8416).powi(2) / (3.0 * beyond_half.powi(2))).max(6.0)
    }
}

fn chosen(pilot: Vec<PilotRound>, metric: &str) -> Design {
    let mut result = empty(&["a", "b"], Stopping::LOOKS, &["iops"]);
    result.design.primary = vec![Metric::parse(metric, false).expect("a metric")];
    result.design.auto_times = Some(AutoTimes {
        ramp: true,
        round_time: true,
    });
    times::decide(&mut result, pilot, &[]);
    result.design
}

/// A difference of 10 %, in noise that needs a hundred blocks, in half of the time that rounds of 20 s after 5 s take. The best of
/// the times that may be chosen take 0.39, 0.43 and 0.40 of it on this trace; on a quiet disk six blocks take a fifth.
#[test]
fn a_pilot_chooses_times_that_decide_sooner() {
    let trace = Trace::read();
    for ((name, metric, kind), most) in WATCHED.into_iter().zip([0.50, 0.50, 0.50]) {
        let mut needed: BTreeMap<(usize, usize), f64> = BTreeMap::new();
        let mut time = |ramp: f64, window: f64| {
            let (ramp, window) = (ramp as usize, window as usize);
            let blocks = needed
                .entry((ramp, window))
                .or_insert_with(|| trace.blocks(name, kind, ramp, window));
            2.0 * *blocks * (ramp as f64 + window as f64 + AROUND_S)
        };
        let long = time(5.0, 20.0);
        let starts = (0..trace.seconds.len() - 2 * PILOT).step_by(7);
        let (mut sum, mut count) = (0.0, 0.0);
        let mut choices: BTreeMap<String, usize> = BTreeMap::new();
        for start in starts {
            let design = trace.chosen(start, metric);
            sum += time(design.ramp_s, design.round_time_s) + 2.0 * (PILOT as f64 + AROUND_S);
            count += 1.0;
            *choices
                .entry(format!("{} s + {} s", design.ramp_s, design.round_time_s))
                .or_default() += 1;
        }
        let ratio = sum / count / long;
        println!(
            "{metric}: decided in {:.0} min in place of {:.0}, {ratio:.2} of the time (at most {most}); {choices:?}",
            sum / count / 60.0,
            long / 60.0
        );
        assert!(ratio <= most, "{metric}: {ratio:.2}");
    }
}

/// The choice depends on how the load varies, and the number of looks on the choice: no more verdicts are false.
#[test]
fn chosen_times_err_no_more_often() {
    let trace = Trace::read();
    for (name, metric, kind) in WATCHED {
        let mut rng = ChaCha8Rng::seed_from_u64(20_261_128);
        let outcomes = (0..RUNS).map(|_| {
            let start = rng.random_range(0..2 * trace.seconds.len());
            let design = trace.chosen(start, metric);
            let (ramp, window) = (design.ramp_s as usize, design.round_time_s as usize);
            let rounds = |_: &mut ChaCha8Rng, n: usize| -> Vec<f64> {
                let at = |round: usize| start + 2 * PILOT + round * (ramp + window) + ramp;
                (0..n)
                    .map(|round| trace.window(name, kind, at(round), window))
                    .collect()
            };
            run(
                &mut rng,
                &World {
                    noise: &rounds,
                    ..QUIET
                },
                design.stopping,
            )
        });
        let found = Found {
            outcomes: outcomes.collect(),
        };
        let what = format!("{metric}, chosen times, false verdicts");
        found.is_at_most(&what, found.differences(), 6.0);
    }
}

/// More blocks at each look, and one look more.
#[test]
fn more_looks_hold_the_level() {
    for times in [2, 4, 7] {
        let noises: [(&str, &super::Noise); 2] =
            [("8 %", &steady(0.08)), ("wandering", &wandering)];
        for (name, noise) in noises {
            let null = Found::in_runs_of(&World { noise, ..QUIET }, Stopping::Looks { times });
            let what = format!("{name}, {times} times the blocks, false verdicts");
            null.is_at_most(&what, null.differences(), 6.0);
        }
    }
}

/// An arm that stalls for two seconds in twenty loses a tenth. A window of 5 s has a part of such a stall in 35 % of rounds.
/// Blocks of 60 s and more say that it is no match, or nothing: hardly ever that it is as good.
#[test]
fn an_arm_that_stalls_now_and_then_is_not_as_good() {
    let noise = &steady(0.01);
    let stalls = World {
        noise,
        stalls: (1, 0.35, -0.35),
        ..QUIET
    };
    let found = Found::in_runs_of(&stalls, Stopping::Fixed { blocks: 12 });
    let says = |verdict: Verdict| {
        found.percent(|outcome| {
            let mut rows = outcome.judged.iter();
            rows.any(|row| row.comparison.verdict == verdict)
        })
    };
    println!("stalls: worse in {:.1} %", says(Verdict::Worse));
    found.is_at_most("stalls, equivalent", says(Verdict::Equivalent), 3.0);
    found.is_at_most("stalls, better", says(Verdict::Better), 0.5);
}
