//! The schedule of a comparison, drawn from a seed before anything runs and recorded whole.
//!
//! A block runs every arm once; the order inside the block is what makes the comparison fair, whatever the device
//! drifts or remembers. Promises: the same seed, arms and blocks give the same schedule on every machine and with every
//! later version (a test holds one); no clock and no other source of chance is asked.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Plan {
    pub seed: u64,
    pub arms: usize,
    pub design: Design,
    pub rounds: Vec<PlannedRound>,
}

/// How the order inside the blocks is drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Design {
    /// One arm: nothing to order.
    Single,
    /// Two arms: half of the blocks in either order (an odd one by a coin), shuffled.
    BalancedPairs,
    /// Three and more: each square has every arm follow every other equally often; labels and rows drawn afresh.
    Williams,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct PlannedRound {
    /// Place in the whole run, from 0.
    pub index: usize,
    pub block: usize,
    /// Place inside the block, from 0.
    pub position: usize,
    pub arm: usize,
    /// The same for all arms of a block, so that they do the same work. Below 2^32: exact in any JSON reader.
    pub workload_seed: u64,
    /// How long to idle before the round, below one second, so that periodic jobs of the host do not keep step.
    pub phase_ns: u64,
}

impl Plan {
    /// No arms or no blocks give an empty plan.
    pub fn new(seed: u64, arms: usize, blocks: usize) -> Plan {
        Plan::in_segments(seed, arms, [blocks])
    }

    /// Each segment is balanced in itself, for runs that may end after any of them.
    pub fn in_segments(seed: u64, arms: usize, segments: impl IntoIterator<Item = usize>) -> Plan {
        let mut plan = Plan {
            seed,
            arms,
            design: match arms {
                0 | 1 => Design::Single,
                2 => Design::BalancedPairs,
                _ => Design::Williams,
            },
            rounds: Vec::new(),
        };
        segments.into_iter().for_each(|blocks| plan.extend(blocks));
        plan
    }

    /// Draws one more segment. What was drawn before stays as it is.
    pub fn extend(&mut self, blocks: usize) {
        let done = self.blocks();
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        rng.set_stream(done as u64);
        let orders = match self.design {
            Design::Single => vec![(0..self.arms).collect(); blocks],
            Design::BalancedPairs => balanced_pairs(&mut rng, blocks),
            Design::Williams => williams_rows(&mut rng, self.arms, blocks),
        };
        for (block, order) in orders.into_iter().enumerate() {
            let workload_seed = u64::from(rng.next_u32());
            for (position, arm) in order.into_iter().enumerate() {
                self.rounds.push(PlannedRound {
                    index: self.rounds.len(),
                    block: done + block,
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
}

fn balanced_pairs(rng: &mut ChaCha8Rng, blocks: usize) -> Vec<Vec<usize>> {
    let extra = if blocks % 2 == 1 { below(rng, 2) } else { 0 };
    let ab = blocks / 2 + extra as usize;
    let mut orders: Vec<Vec<usize>> = (0..blocks)
        .map(|i| if i < ab { vec![0, 1] } else { vec![1, 0] })
        .collect();
    shuffle(rng, &mut orders);
    orders
}

fn williams_rows(rng: &mut ChaCha8Rng, arms: usize, blocks: usize) -> Vec<Vec<usize>> {
    let mut orders = Vec::new();
    while orders.len() < blocks {
        let mut labels: Vec<usize> = (0..arms).collect();
        shuffle(rng, &mut labels);
        let mut square = williams_square(arms);
        shuffle(rng, &mut square);
        orders.extend(
            square
                .into_iter()
                .map(|row| row.into_iter().map(|i| labels[i]).collect()),
        );
    }
    orders.truncate(blocks);
    orders
}

/// Every ordered pair is adjacent once (an even number of arms, as many rows) or twice (odd, twice as many rows).
fn williams_square(arms: usize) -> Vec<Vec<usize>> {
    // 0, 1, K-1, 2, K-2, ...: the steps between neighbours are all different, so its shifts cover all pairs.
    let first = (0..arms).map(|i| {
        if i % 2 == 1 {
            i.div_ceil(2)
        } else {
            (arms - i / 2) % arms
        }
    });
    let first: Vec<usize> = first.collect();
    let shifted = |by: usize| first.iter().map(move |&i| (i + by) % arms);
    let mut rows: Vec<Vec<usize>> = (0..arms).map(|by| shifted(by).collect()).collect();
    if arms % 2 == 1 {
        rows.extend((0..arms).map(|by| shifted(by).rev().collect::<Vec<_>>()));
    }
    rows
}

/// Fisher-Yates, here and not from `rand`, whose sequence may change between versions.
fn shuffle<T>(rng: &mut ChaCha8Rng, items: &mut [T]) {
    for i in (1..items.len()).rev() {
        items.swap(i, below(rng, i as u64 + 1) as usize);
    }
}

/// Uniform in `0..n`; draws again where the remainder would favour small numbers.
fn below(rng: &mut ChaCha8Rng, n: u64) -> u64 {
    let fair = u64::MAX - u64::MAX % n;
    loop {
        let x = rng.next_u64();
        if x < fair {
            return x % n;
        }
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

    fn adjacent_pairs(rows: &[Vec<usize>], arms: usize) -> Vec<usize> {
        let mut seen = vec![0; arms * arms];
        for pair in rows.iter().flat_map(|row| row.windows(2)) {
            seen[pair[0] * arms + pair[1]] += 1;
        }
        seen
    }

    #[test]
    fn the_square_of_four() {
        let rows = [[0, 1, 3, 2], [1, 2, 0, 3], [2, 3, 1, 0], [3, 0, 2, 1]];
        assert_eq!(williams_square(4), rows.map(|row| row.to_vec()));
    }

    #[test]
    fn in_a_square_every_arm_follows_every_other_equally_often() {
        for arms in 2..=8 {
            let expected = 1 + arms % 2;
            let rows = arms * expected;
            let mut wanted = vec![expected; arms * arms];
            for i in 0..arms {
                wanted[i * arms + i] = 0;
            }
            assert_eq!(adjacent_pairs(&williams_square(arms), arms), wanted);
            if arms > 2 {
                let plan = Plan::new(7, arms, 2 * rows);
                let (first, second) = (
                    orders(&plan)[..rows].to_vec(),
                    orders(&plan)[rows..].to_vec(),
                );
                assert_eq!(adjacent_pairs(&first, arms), wanted);
                assert_eq!(adjacent_pairs(&second, arms), wanted);
                assert_ne!(first, second, "the second square is drawn afresh");
            }
        }
    }

    #[test]
    fn two_arms_lead_equally_often() {
        let leads = |seed, blocks| {
            let plan = Plan::new(seed, 2, blocks);
            orders(&plan).iter().filter(|order| order[0] == 0).count()
        };
        for seed in 0..200 {
            assert_eq!(leads(seed, 20), 10);
        }
        let extra_to_first = (0..200).filter(|&seed| leads(seed, 7) == 4).count();
        assert!((0..200).all(|seed| [3, 4].contains(&leads(seed, 7))));
        assert!((70..=130).contains(&extra_to_first), "{extra_to_first}");
        let first_block = (0..400).filter(|&seed| Plan::new(seed, 2, 8).rounds[0].arm == 0);
        assert!((160..=240).contains(&first_block.count()));
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
        assert_eq!(
            orders(&plan),
            [
                [3, 1, 2, 0],
                [2, 3, 0, 1],
                [1, 0, 3, 2],
                [0, 2, 1, 3],
                [1, 0, 2, 3]
            ]
        );
        assert_eq!(
            head,
            [(1_985_842_894, 911_671_910), (1_985_842_894, 932_920_089)]
        );
    }

    #[test]
    fn a_longer_plan_begins_with_the_shorter_one_and_each_segment_is_balanced() {
        for seed in 0..50 {
            let plan = Plan::in_segments(seed, 2, [8, 4, 4, 4]);
            assert_eq!((plan.blocks(), plan.rounds.len()), (20, 40));
            assert_eq!(plan.rounds[..16], Plan::new(seed, 2, 8).rounds);
            let leads: Vec<bool> = orders(&plan).iter().map(|order| order[0] == 0).collect();
            for (from, to) in [(0, 8), (8, 12), (12, 16), (16, 20)] {
                let first = leads[from..to].iter().filter(|leads| **leads).count();
                assert_eq!(first, (to - from) / 2);
            }
        }
        let plan = Plan::in_segments(1, 4, [8, 4]);
        assert!(
            plan.rounds
                .iter()
                .enumerate()
                .all(|(i, round)| round.index == i && round.block == i / 4)
        );
        let rows = orders(&plan);
        assert_ne!(rows[..4], rows[8..], "drawn afresh");
    }

    #[test]
    fn a_plan_survives_json() {
        let plan = Plan::new(3, 3, 4);
        let json = serde_json::to_string(&plan).unwrap();
        assert!(json.contains(r#""design":"williams""#), "{json}");
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
