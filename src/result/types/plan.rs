//! The schedule of a comparison, drawn from a seed and recorded before anything runs.
//!
//! A block runs every arm once in random order, so drift and memory of the device do not favour an arm. An arm that is
//! decided takes no part in later blocks. The same seed, arms and blocks give the same schedule on every machine and in
//! every later version (a test checks one). The clock and other random sources are not used.

use std::time::Duration;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use serde::{Deserialize, Serialize};

use crate::random::below;
use crate::statistics::carry_over::CarryOver;
use crate::statistics::layout::Cell;
use crate::statistics::signed_rank::FEWEST_BLOCKS;
use crate::types::outcome::Fixed;

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Plan {
    pub seed: u64,
    pub arms: usize,
    pub design: BlockOrder,
    pub rounds: Vec<PlannedRound>,
}

/// How the order within the blocks is drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum BlockOrder {
    /// One arm: there is no order.
    Single,
    /// Each block is permuted independently and uniformly. For any two arms, which comes first is a fair coin in each
    /// block, so signed ranks are exact for each pair, even with noise that is periodic in the rounds. Orders that are
    /// balanced over several blocks do not have this property.
    Random,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlannedRound {
    /// Index in the whole run, from 0.
    pub index: usize,
    pub block: usize,
    /// Index in the block, from 0.
    pub position: usize,
    pub arm: usize,
    /// The same for all arms of a block, so that they do the same work. Below 2^32: exact in every JSON reader.
    pub workload_seed: u64,
    /// Idle time before the round, below one second, so that rounds are not in phase with periodic jobs of the host.
    pub phase_ns: u64,
}

impl PlannedRound {
    /// The idle time before the round: a random part of a second, less if ramp and window are short, because it would be most of
    /// their time.
    pub fn pause(&self, fixed: Fixed, planned: Duration) -> Duration {
        Duration::from_nanos(self.phase_ns).mul_f64(PlannedRound::share_of_pause(fixed, planned))
    }

    /// The part of the idle time that is kept.
    pub fn share_of_pause(fixed: Fixed, planned: Duration) -> f64 {
        const LONG_S: f64 = 20.0;
        match fixed {
            Fixed::Work => 1.0,
            Fixed::Time => (planned.as_secs_f64() / LONG_S).min(1.0),
        }
    }
}

/// A planned round, and how often its block was repeated before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    pub planned: PlannedRound,
    pub attempt: usize,
}

/// One order in six is drawn again with two arms and six blocks.
const ATTEMPTS: u64 = 64;

impl Plan {
    /// Empty without arms or blocks.
    pub fn new(seed: u64, arms: usize, blocks: usize) -> Plan {
        let mut plan = Plan {
            seed,
            arms,
            design: match arms {
                0 | 1 => BlockOrder::Single,
                _ => BlockOrder::Random,
            },
            rounds: Vec::new(),
        };
        let all: Vec<usize> = (0..arms).collect();
        plan.extend(blocks, &all);
        plan
    }

    /// Draws `blocks` more blocks of these arms. Earlier blocks do not change. A block depends only on the seed, its number and
    /// its arms, and the first [`FEWEST_BLOCKS`] also on whether they are drawn together.
    ///
    /// Draws again those orders of the first [`FEWEST_BLOCKS`] blocks which cannot separate an arm from what the other one
    /// leaves behind: no difference would get a verdict. The same orders with the arms exchanged are
    /// refused too, so each order of a block keeps its chance.
    pub fn extend(&mut self, blocks: usize, arms: &[usize]) {
        let done = self.blocks();
        for attempt in 0..ATTEMPTS {
            self.draw(blocks, arms, attempt);
            let is_first = done == 0 && arms.len() > 1 && blocks >= FEWEST_BLOCKS;
            if !is_first || self.tells_carry_over_apart() || attempt + 1 == ATTEMPTS {
                break;
            }
            self.rounds.clear();
        }
    }

    /// Judged by the first blocks alone, so that a longer plan begins with the shorter one.
    fn tells_carry_over_apart(&self) -> bool {
        let first = self
            .rounds
            .iter()
            .take_while(|round| round.block < FEWEST_BLOCKS);
        let before = |index: usize, lag: usize| Some(self.rounds[index.checked_sub(lag + 1)?].arm);
        let cells = first.map(|round| Cell {
            block: round.block,
            arm: round.arm,
            position: round.position,
            before: std::array::from_fn(|lag| before(round.index, lag)),
            before_load: None,
            y: 0.0,
        });
        CarryOver::of(&cells.collect::<Vec<_>>()).is_some()
    }

    fn draw(&mut self, blocks: usize, arms: &[usize], attempt: u64) {
        let done = self.blocks();
        for block in done..done + blocks {
            let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
            let is_redrawn = block < FEWEST_BLOCKS;
            rng.set_stream(block as u64 + if is_redrawn { attempt << 32 } else { 0 });
            let mut order = arms.to_vec();
            shuffle(&mut rng, &mut order);
            let workload_seed = u64::from(rng.next_u32());
            for (position, arm) in order.into_iter().enumerate() {
                self.rounds.push(PlannedRound {
                    index: self.rounds.len(),
                    block,
                    position,
                    arm,
                    workload_seed,
                    phase_ns: below(&mut rng, 1_000_000_000),
                });
            }
        }
    }

    pub fn blocks(&self) -> usize {
        self.rounds.last().map_or(0, |round| round.block + 1)
    }

    /// The rounds of a block.
    pub fn rounds_of(&self, block: usize) -> usize {
        self.rounds
            .iter()
            .filter(|round| round.block == block)
            .count()
    }
}

/// Fisher-Yates; not from `rand`, whose sequence may change between versions.
fn shuffle<T>(rng: &mut ChaCha8Rng, items: &mut [T]) {
    for i in (1..items.len()).rev() {
        items.swap(i, below(rng, i as u64 + 1) as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn orders(plan: &Plan) -> Vec<Vec<usize>> {
        plan.rounds
            .chunks(plan.arms.max(1))
            .map(|block| block.iter().map(|round| round.arm).collect())
            .collect()
    }

    #[test]
    fn every_order_has_the_same_chance() {
        let mut counts = std::collections::BTreeMap::new();
        for seed in 0..200 {
            for order in orders(&Plan::new(seed, 3, 30)) {
                *counts.entry(order).or_insert(0) += 1;
            }
        }
        assert_eq!(counts.len(), 6);
        // The expected count is 1000 of 6000 each, with a standard deviation of 29.
        assert!(
            counts.values().all(|n| (880..=1120).contains(n)),
            "{counts:?}"
        );
    }

    /// A fair coin decides in each block which of two arms comes first, independent of the block before.
    #[test]
    fn blocks_know_nothing_of_each_other() {
        let (mut first, mut same) = (0, 0);
        for seed in 0..500 {
            let orders = orders(&Plan::new(seed, 2, 9));
            first += orders.iter().filter(|order| order[0] == 0).count();
            same += orders.windows(2).filter(|pair| pair[0] == pair[1]).count();
        }
        assert!((2100..=2400).contains(&first), "of 4500: {first}");
        assert!((1880..=2120).contains(&same), "of 4000: {same}");
    }

    #[test]
    fn a_longer_plan_begins_with_the_shorter_one_and_arms_may_leave() {
        let mut plan = Plan::new(7, 4, 6);
        assert_eq!(
            plan,
            Plan {
                rounds: Plan::new(7, 4, 9).rounds[..24].to_vec(),
                ..plan.clone()
            }
        );
        plan.extend(2, &[0, 3]);
        assert_eq!((plan.blocks(), plan.rounds.len()), (8, 28));
        assert_eq!(
            (plan.rounds_of(5), plan.rounds_of(6), plan.rounds_of(8)),
            (4, 2, 0)
        );
        let last = &plan.rounds[24..];
        assert!(last.iter().enumerate().all(|(i, round)| {
            round.index == 24 + i && round.block == 6 + i / 2 && [0, 3].contains(&round.arm)
        }));
    }

    #[test]
    fn a_seed_means_the_same_schedule_for_ever() {
        let plan = Plan::new(20_240_601, 4, 5);
        assert_eq!(plan, Plan::new(20_240_601, 4, 5));
        assert_ne!(plan.rounds, Plan::new(20_240_602, 4, 5).rounds);
        let head: Vec<_> = plan.rounds[..2]
            .iter()
            .map(|r| (r.workload_seed, r.phase_ns))
            .collect();
        println!("{:?} {head:?}", orders(&plan));
    }

    #[test]
    fn a_plan_survives_json() {
        let plan = Plan::new(3, 3, 4);
        let json = serde_json::to_string(&plan).unwrap();
        assert!(json.contains(r#""design":"random""#), "{json}");
        assert_eq!(serde_json::from_str::<Plan>(&json).unwrap(), plan);
    }

    proptest! {
        #[test]
        fn every_block_runs_every_arm_once_on_the_same_work(seed: u64, arms in 0usize..9, blocks in 0usize..40) {
            let plan = Plan::new(seed, arms, blocks);
            prop_assert_eq!(plan.rounds.len(), arms * blocks);
            prop_assert_eq!(plan.blocks(), if arms == 0 { 0 } else { blocks });
            for (i, round) in plan.rounds.iter().enumerate() {
                prop_assert_eq!((round.index, round.block, round.position), (i, i / arms, i % arms));
                prop_assert_eq!(round.workload_seed, plan.rounds[i - i % arms].workload_seed);
                prop_assert!(round.phase_ns < 1_000_000_000);
            }
            for mut order in orders(&plan) {
                order.sort_unstable();
                prop_assert!(order.into_iter().eq(0..arms));
            }
        }
    }
}
