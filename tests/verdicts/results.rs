//! Result files of simulated runs: the real schedule, with made-up values instead of a device.

use std::collections::BTreeMap;

use iosched_result::analysis::turn::{Next, next};
use iosched_result::measured::snapshot::DeviceNumbers;
use iosched_result::metric::Metric;
use iosched_result::statistics::stopping::Stopping;
use iosched_result::types::arm::Arm;
use iosched_result::types::plan::{Plan, Turn};
use iosched_result::types::result::{ResultFile, Round};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::Rng;

pub type Values = BTreeMap<String, f64>;

/// Common parts of all runs.
pub struct Template {
    empty: ResultFile,
    round: Round,
}

impl Template {
    pub fn new(arms: &[&str], stopping: Stopping) -> Template {
        let text = include_str!("../data/report/result.json");
        let mut empty: ResultFile = serde_json::from_str(text).expect("a result");
        let mut round = empty.rounds[0].clone();
        round.evidence.device = DeviceNumbers::new(&empty.device.device.name);
        empty.rounds.clear();
        empty.excluded.clear();
        let arms = arms.iter().map(|arm| arm.parse().expect("an arm"));
        empty.design.arms = arms.collect::<Vec<Arm>>();
        empty.design.stopping = stopping;
        empty.design.primary = vec![Metric::named("throughput").expect("a metric")];
        Template { empty, round }
    }

    /// Carried out to its end, without its conclusions.
    pub fn run(
        &self,
        rng: &mut ChaCha8Rng,
        mut play: impl FnMut(&mut ChaCha8Rng, &Turn) -> Values,
    ) -> ResultFile {
        let mut result = self.empty.clone();
        let first = result.design.stopping.next_segment(0).expect("blocks");
        result.plan = Plan::new(rng.next_u64(), result.design.arms.len(), first);
        loop {
            match next(&result) {
                Next::Round(turn) => {
                    let round = Round::new(
                        &turn,
                        &result.design.arms[turn.planned.arm],
                        self.round.started.clone(),
                        self.round.window_s,
                        None,
                        play(rng, &turn),
                        self.round.evidence.clone(),
                    );
                    result.rounds.push(round);
                }
                Next::Draw(segment) => result.plan.extend(segment.blocks, &segment.arms),
                Next::End => return result,
            }
        }
    }
}

/// Three standard errors of a share of so many runs, in per cent.
pub fn slack(percent: f64, runs: usize) -> f64 {
    3.0 * (percent * (100.0 - percent) / runs as f64).sqrt()
}
